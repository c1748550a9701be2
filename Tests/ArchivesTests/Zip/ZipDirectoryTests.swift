import Testing

@testable import Archives

/// Writes zips, and ones that lie.
struct ZipText {
    struct File {
        var name: String
        var method: UInt16
        var stored: [UInt8]
        var size: Int
        var checksum: UInt32
        var flags: UInt16 = 0
        /// Where the directory says that it is; nil for where it is.
        var offset: Int?
        /// What the directory says of its stored size; nil for what it is.
        var storedSize: Int?
    }

    var files: [File] = []
    var usesZip64 = false
    var comment = ""
    /// Added to the directory's offset and to the number of files.
    var lies = (offset: 0, count: 0)

    mutating func add(_ name: String, _ bytes: [UInt8], deflated: [UInt8]? = nil) {
        var checksum = CRC32()
        bytes.withUnsafeBytes { checksum.update($0) }
        files.append(
            File(
                name: name, method: deflated == nil ? 0 : 8, stored: deflated ?? bytes, size: bytes.count,
                checksum: checksum.value))
    }

    private func number(_ value: Int, _ width: Int) -> [UInt8] {
        (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        var directory: [UInt8] = []
        for file in files {
            let offset = file.offset ?? bytes.count
            let storedSize = file.storedSize ?? file.stored.count
            let name = Array(file.name.utf8)
            let common =
                number(Int(file.flags), 2) + number(Int(file.method), 2) + number(0, 4) + number(Int(file.checksum), 4)
            bytes +=
                number(0x0403_4B50, 4) + number(20, 2) + common + number(file.stored.count, 4) + number(file.size, 4)
            bytes += number(name.count, 2) + number(3, 2) + name + [1, 2, 3] + file.stored
            let extra =
                usesZip64
                ? number(1, 2) + number(24, 2) + number(file.size, 8) + number(storedSize, 8) + number(offset, 8) : []
            func large(_ value: Int) -> [UInt8] { usesZip64 ? number(0xFFFF_FFFF, 4) : number(value, 4) }
            directory +=
                number(0x0201_4B50, 4) + number(20, 2) + number(20, 2) + common + large(storedSize) + large(file.size)
            directory += number(name.count, 2) + number(extra.count, 2) + number(0, 2) + number(0, 8) + large(offset)
            directory += name + extra
        }
        let start = bytes.count + lies.offset
        let count = files.count + lies.count
        let end = bytes.count + directory.count
        bytes += directory
        if usesZip64 {
            bytes += number(0x0606_4B50, 4) + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8)
            bytes += number(count, 8) + number(count, 8) + number(directory.count, 8) + number(start, 8)
            bytes += number(0x0706_4B50, 4) + number(0, 4) + number(end, 8) + number(1, 4)
        }
        bytes += number(0x0605_4B50, 4) + number(0, 4) + number(usesZip64 ? 0xFFFF : count, 2)
        bytes += number(usesZip64 ? 0xFFFF : count, 2) + number(usesZip64 ? 0xFFFF_FFFF : directory.count, 4)
        return bytes + number(usesZip64 ? 0xFFFF_FFFF : start, 4) + number(comment.utf8.count, 2) + Array(comment.utf8)
    }
}

@Suite("The directory of a zip")
struct ZipDirectoryTests {
    private func sample() -> ZipText {
        var zip = ZipText()
        zip.add("a.txt", Array("stored".utf8))
        zip.add("folder/", [])
        zip.add("b", Array(ContentDecoderTests.text.utf8), deflated: ContentDecoderTests.raw)
        zip.add("c", [])
        return zip
    }

    private func text(_ zip: ZipDirectory, _ name: String) throws -> String? {
        guard var stream = try zip.open(name) else { return nil }
        return String(decoding: try stream.readAll(limit: 1 << 20), as: UTF8.self)
    }

    private func problem(_ zip: ZipText) -> String {
        ArchiveProblem.thrown { try ZipDirectory(ArchiveBytes(zip.bytes)) }?.message ?? "none"
    }

    /// What reading its first file throws.
    private func problemOfFile(_ zip: ZipText) -> String {
        ArchiveProblem.thrown {
            let zip = try ZipDirectory(ArchiveBytes(zip.bytes))
            var stream = try zip.open(0)
            return try stream.readAll(limit: 1 << 30)
        }?.message ?? "none"
    }

    @Test("names files that are stored and deflated, with and without zip64", arguments: [false, true])
    func files(_ usesZip64: Bool) throws {
        var sample = sample()
        sample.usesZip64 = usesZip64
        sample.comment = "PK\u{5}\u{6} a comment"
        let zip = try ZipDirectory(ArchiveBytes(sample.bytes))
        #expect(zip.entries.count == 4)
        #expect(
            try text(zip, "a.txt") == "stored" && text(zip, "b") == ContentDecoderTests.text && text(zip, "c") == "")
        #expect(try text(zip, "d") == nil)
        #expect(try zip.range(0) == 38..<44 && zip.range(2) == nil)
        #expect(zip.name(1).elementsEqual("folder/".utf8))
    }

    @Test("gives the last of several files of a name")
    func repeated() throws {
        var sample = ZipText()
        sample.add("a", [1])
        sample.add("a", [2])
        #expect(try ZipDirectory(ArchiveBytes(sample.bytes)).find("a".utf8) == 1)
        #expect(try ZipDirectory(ArchiveBytes(ZipText().bytes)).entries.isEmpty)
    }

    @Test("is refused where it can't be, or what it names isn't read here")
    func refused() {
        let changes: [((inout ZipText) -> Void, String)] = [
            ({ $0.files[1].offset = 0 }, "overlap"), ({ $0.files[2].storedSize = 100 }, "beyond the file"),
            (
                {
                    $0.files[0].storedSize = 60; $0.files[0].size = 60
                }, "overlap"
            ),
            ({ $0.files[0].size = 7 }, "beyond the file"), ({ $0.files[0].method = 12 }, "only stored and deflate"),
            ({ $0.files[0].flags = 1 }, "encrypted"), ({ $0.lies.offset = 1 << 30 }, "beyond the file"),
            ({ $0.lies.offset = -1 }, "damaged"), ({ $0.lies.count = 1 }, "damaged"),
            ({ $0.files[0].offset = 1 << 30 }, "beyond the file"),
        ]
        for (change, message) in changes {
            var zip = sample()
            change(&zip)
            #expect(problem(zip).contains(message), "\(problem(zip))")
        }
        var many = sample()
        many.usesZip64 = true
        many.lies.count = 1_000_001
        #expect(problem(many).contains("more than 1000000 files"))
        let bytes = sample().bytes
        #expect(throws: ArchiveProblem.self) { try ZipDirectory(ArchiveBytes(Array(bytes.dropLast()))) }
        #expect(throws: ArchiveProblem.self) { try ZipDirectory(ArchiveBytes([])) }
    }

    @Test("is believed neither on lengths nor on checksums")
    func lies() {
        var zip = ZipText()
        zip.add("a", Array(ContentDecoderTests.text.utf8), deflated: ContentDecoderTests.raw)
        #expect(problemOfFile(zip) == "none")
        zip.files[0].size = 22
        #expect(problemOfFile(zip).contains("longer"))
        zip.files[0].size = 24
        #expect(problemOfFile(zip).contains("not as long"))
        zip.files[0].size = 23
        zip.files[0].checksum ^= 1
        #expect(problemOfFile(zip).contains("checksum"))
        zip.files[0].stored.removeLast(3)
        #expect(problemOfFile(zip).contains("cut short"))
        zip.files[0].stored = [7]
        #expect(problemOfFile(zip).contains("can't be read"))
    }

    @Test("never ends the reading otherwise than by an error, whatever byte is changed")
    func everywhere() throws {
        var large = sample()
        large.usesZip64 = true
        for bytes in [sample().bytes, large.bytes] {
            for index in bytes.indices {
                for change in [0x01, 0x80, 0xFF] as [UInt8] {
                    var changed = bytes
                    changed[index] ^= change
                    guard let zip = try? ZipDirectory(ArchiveBytes(changed)) else { continue }
                    for entry in zip.entries.indices {
                        guard var stream = try? zip.open(entry) else { continue }
                        _ = try? stream.readAll(limit: 1 << 20)
                    }
                }
            }
        }
    }
}

@Suite("A WACZ")
struct WACZReaderTests {
    private func sample() throws -> ZipText {
        var text = WARCText()
        text.respond("http://a.example/1", id: 1, "HTTP/1.1 200 OK\r\n\r\nfirst")
        var second = WARCText()
        second.respond("http://a.example/2", id: 2, "HTTP/1.1 200 OK\r\n\r\nsecond")
        second.add("revisit", with: ["WARC-Target-URI: http://a.example/3", "WARC-Refers-To: \(WARCText.id(1))"], "")
        var zip = ZipText()
        zip.add("archive/a.warc.gz", try text.compressed())
        zip.add("archive/b.warc", second.plain)
        zip.add("archive/readme.txt", [1])
        let pages = """
            {"format":"json-pages-1.0","id":"pages","title":"All Pages"}
            {"url":"--renderer-cmd-prefix=touch","title":"a switch of a browser's"}
            {"url":"file:///etc/passwd"}
            {"url":"http://a.example/1","title":"Ä \\u00e4","ts":"2026-11-23T03:00:00Z"}
            no JSON

            {"url":"http://a.example/2"}
            """
        zip.add("pages/pages.jsonl", Array(pages.utf8))
        return zip
    }

    @Test("has the entries of all its WARC files, and its pages")
    func entries() throws {
        let read = try ReadArchive(try sample().bytes, name: "site.wacz")
        #expect(
            read.lines == ["GET 200 http://a.example/1", "GET 200 http://a.example/2", "GET 200 http://a.example/3"])
        #expect(try read.body(0) == "first" && read.body(1) == "second" && read.body(2) == "first")
        #expect((0..<3).map { read.archive.table.number($0) } == [":a.warc.gz#1", ":b.warc#1", ":b.warc#2"])
        #expect(
            read.archive.pages == [
                ArchivePage(url: Array("http://a.example/1".utf8), title: "Ä ä"),
                ArchivePage(url: Array("http://a.example/2".utf8)),
            ])
        #expect(read.warnings.count == 1)
    }

    @Test("has the path of a WARC file below archive/ in the positions of its entries")
    func folders() throws {
        var text = WARCText()
        text.respond("http://a.example/4", id: 4, "HTTP/1.1 200 OK\r\n\r\nfourth")
        var zip = try sample()
        zip.add("archive/sub/c.warc", text.plain)
        let table = try ReadArchive(zip.bytes, name: "site.wacz").archive.table
        #expect(table.number(3) == ":sub/c.warc#1" && table.entry(numbered: [":sub/c.warc#1"]) == 3)
    }

    @Test("is told by what is in it, whatever its name")
    func detection() throws {
        var zip = try sample()
        zip.add("datapackage.json", Array("{}".utf8))
        #expect(try ReadArchive(zip.bytes, name: "site.zip").archive.format == .wacz)
    }

    @Test("is refused without a WARC, and with one that is compressed once more, or encrypted")
    func refused() throws {
        var zip = ZipText()
        zip.add("readme", [])
        #expect(problem(zip.bytes, "a.wacz")?.contains("no archive/") == true)
        zip.add("archive/a.warc", Array(ContentDecoderTests.text.utf8), deflated: ContentDecoderTests.raw)
        #expect(problem(zip.bytes, "a.wacz")?.contains("compressed once more") == true)
        zip.files[1].flags = 1
        #expect(problem(zip.bytes, "a.wacz")?.contains("encrypted") == true)
        zip = ZipText()
        zip.add("archive/a.warc.zst", [])
        #expect(problem(zip.bytes, "a.wacz")?.contains("zstd -d") == true)
    }

    @Test("is verified by the digests that it has")
    func digests() throws {
        // SHA-256 of the one byte 1.
        let digest = "sha256:4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a"
        let list = { (digest: String, count: Int) in
            #"{"profile":"data-package","resources":[{"path":"archive/readme.txt","hash":"\#(digest)","bytes":\#(count)}]}"#
        }
        func verified(_ list: String) throws -> [String] {
            var zip = try sample()
            zip.add("datapackage.json", Array(list.utf8))
            return try ReadArchive(zip.bytes, name: "site.wacz").archive.verified()
        }
        #expect(try verified(list(digest, 1)) == [])
        #expect(try verified(list(digest, 2)).first?.contains("not as long") == true)
        #expect(try verified(list(digest.replacing("4b", with: "4c"), 1)).first?.contains("digest") == true)
        #expect(
            try verified(list(digest, 1).replacing("readme", with: "none")).first?.contains("not in the zip") == true)
        #expect(try verified("{").count == 1)
        let twice = list(digest, 2).replacing(#"s":[{"#, with: #"s":[{"path":"archive/readme.txt","bytes":2},{"#)
        #expect(try verified(twice).count == 1)
    }

    @Test("has a list of pages that is read as far as a list goes")
    func longPages() throws {
        var zip = try sample()
        zip.add("pages/pages.jsonl", [UInt8](repeating: 0x0A, count: 1_100_000))
        let warnings = try ReadArchive(zip.bytes, name: "site.wacz").archive.warnings.map(\.message)
        #expect(warnings == ["pages/pages.jsonl: more than 256 MiB, or 1,000,000 lines, of it are not read"])
    }
}
