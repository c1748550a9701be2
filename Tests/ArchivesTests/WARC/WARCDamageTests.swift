import Testing

@testable import Archives

@Suite("A damaged WARC")
struct WARCDamageTests {
    /// Three records, each some hundred bytes long.
    private func text() -> WARCText {
        var text = WARCText()
        for number in 1...3 {
            text.respond(
                "http://a.example/\(number)", id: number,
                "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "\(number)", count: 300))
        }
        return text
    }

    private func urls(_ read: ReadArchive) -> [Int] {
        (0..<read.archive.table.count).compactMap {
            Int(String(decoding: read.archive.table[$0].url.suffix(1), as: UTF8.self))
        }
    }

    @Test("is read without its last record where that is cut short", arguments: [1, 50, 250, 400])
    func torn(_ cut: Int) throws {
        let plain = text().plain
        let read = try ReadArchive(Array(plain.dropLast(cut)), name: "a.warc")
        // The empty lines behind a record may be missing.
        #expect(urls(read) == (cut < 4 ? [1, 2, 3] : [1, 2]))
        #expect(read.warnings.count == (cut < 4 ? 0 : 1))
        let compressed = try text().compressed()
        let torn = try ReadArchive(Array(compressed.dropLast(min(cut, 60))), name: "a.warc.gz")
        #expect(urls(torn).starts(with: [1, 2]) && torn.warnings.count == 1)
    }

    @Test(
        "goes on at the next record behind damage",
        arguments: [
            // What is replaced in the second record, by what; which records are read then.
            ("WARC/1.1", "XXXX/1.1", [1, 3]), ("Content-Length: 319", "Content-Length: 999999999", [1, 3]),
            ("Content-Length: 319", "Content-Length: 719", [1, 3]),
            ("Content-Length: 319", "Content-Length: 300", [1, 2, 3]),
            ("Content-Length: 319", "Content-Length: x", [1, 3]),
            ("Content-Length: 319", "Content-Length: -1", [1, 3]),
            ("Content-Length: 319", "Content-Length: 9223372036854775807", [1, 3]),
            ("Content-Length: 319", "Content-Length: 99999999999999999999", [1, 3]),
        ])
    func damage(_ old: String, _ new: String, _ numbers: [Int]) throws {
        var records = text().records
        let changed = String(decoding: records[1], as: UTF8.self).replacing(old, with: new)
        #expect(changed != String(decoding: records[1], as: UTF8.self))
        records[1] = Array(changed.utf8)
        let plain = try ReadArchive(records.flatMap { $0 }, name: "a.warc")
        #expect(urls(plain) == numbers)
        #expect(plain.warnings.count == 1)
        let compressed = try ReadArchive(try records.flatMap { try gzip($0) }, name: "a.warc.gz")
        #expect(urls(compressed).contains(1) && urls(compressed).contains(3))
        #expect(!compressed.warnings.isEmpty)
        // All in one member: nothing but the length tells where a record ends.
        let shared = try ReadArchive(try gzip(records.flatMap { $0 }), name: "a.warc.gz")
        #expect(urls(shared) == numbers)
        #expect(shared.warnings.count == 2)
        #expect(try shared.body(shared.archive.table.count - 1) == String(repeating: "3", count: 300))
        #expect(try shared.archive.verified().isEmpty)
    }

    @Test(
        "in one gzip member loses its first record where that has a wrong length, and no other",
        arguments: [719, 1 << 40])
    func firstOfMember(_ length: Int) throws {
        var records = text().records
        let first = String(decoding: records[0], as: UTF8.self)
        records[0] = Array(first.replacing("Content-Length: 319", with: "Content-Length: \(length)").utf8)
        let shared = try ReadArchive(try gzip(records.flatMap { $0 }), name: "a.warc.gz")
        #expect(urls(shared) == [2, 3])
        #expect(try shared.body(0) == String(repeating: "2", count: 300))
    }

    @Test("loses the record whose length ends it at an empty line of the next one, and not the next one")
    func lengthIntoHead() throws {
        var records = text().records
        let third = String(decoding: records[2], as: UTF8.self)
        let head = try #require(third.firstRange(of: "\r\n\r\n")).lowerBound
        let length = 319 + 4 + third.utf8.distance(from: third.startIndex, to: head)
        let second = String(decoding: records[1], as: UTF8.self)
        records[1] = Array(second.replacing("Content-Length: 319", with: "Content-Length: \(length)").utf8)
        let read = try ReadArchive(records.flatMap { $0 }, name: "a.warc")
        #expect(urls(read) == [1, 3] && read.warnings == ["the record's length is wrong"])
        let shared = try ReadArchive(try gzip(records.flatMap { $0 }), name: "a.warc.gz")
        #expect(urls(shared) == [1, 3] && shared.warnings.contains("the record's length is wrong"))
    }

    @Test(
        "has whole records with a URL that ends as a record begins, and torn ones of which the rest is the next record",
        arguments: [
            (
                "WARC-Type: response\r\nWARC-Target-URI: http://a.example/WARC/1.0\r\n",
                ["GET 200 http://a.example/WARC/1.0"]
            ),
            (
                "WARC-Target-URI: http://a.example/WARC/1.0\r\nWARC-Type: response\r\n",
                ["GET 200 http://a.example/WARC/1.0"]
            ),
            // Cut in the URL, in a name, and in the first line.
            (
                "WARC-Type: request\r\nWARC-Target-URI: http://a.exWARC/1.0\r\nWARC-Type: response\r\n"
                    + "WARC-Target-URI: http://a.example/\r\n", ["GET 200 http://a.example/"]
            ),
            (
                "WARC-TypWARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\n",
                ["GET 200 http://a.example/"]
            ),
            (
                "WARC-Target-URI: http://a.exWARC/1.0\r\nWARC-Target-URI: http://a.example/\r\nWARC-Type: response\r\n",
                ["GET 200 http://a.example/"]
            ),
        ])
    func urlsLikeRecords(_ fields: String, _ lines: [String]) throws {
        let block = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
        let text =
            "WARC/1.0\r\n\(fields)WARC-Date: 2026-11-23T03:00:00Z\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
            + "Content-Type: application/http;msgtype=response\r\nContent-Length: \(block.utf8.count)\r\n\r\n\(block)\r\n\r\n"
        let read = try ReadArchive(Array(text.utf8), name: "a.warc")
        #expect(read.lines == lines, "\(read.warnings)")
        #expect(try read.body(0) == "hi")
    }

    @Test(
        "goes on at the record behind a torn one, which is dropped", arguments: [8, 10, 200, 310, 419, 470, 500, 530])
    func tornBefore(_ cut: Int) throws {
        var records = text().records
        records[1].removeLast(cut)
        records += self.text().records
        let read = try ReadArchive(records.flatMap { $0 }, name: "a.warc")
        #expect(urls(read) == [1, 3, 1, 2, 3] && !read.warnings.isEmpty, "\(read.warnings)")
        for (entry, digit) in zip(0..<5, "13123") {
            #expect(try read.body(entry) == String(repeating: digit, count: 300))
        }
        let shared = try ReadArchive(try gzip(records.flatMap { $0 }), name: "a.warc.gz")
        #expect(urls(shared) == [1, 3, 1, 2, 3], "\(shared.warnings)")
        // Without a record behind it, what was torn is all that is lost.
        #expect(try urls(ReadArchive(records[0...2].flatMap { $0 }, name: "a.warc")) == [1, 3])
    }

    @Test("has a record that lost just as many bytes as the next one has: nothing but its digest tells")
    func tornByARecord() throws {
        var text = text()
        let message = "HTTP/1.1 200 OK\r\n\r\n" + (0..<500).map { "\($0) " }.joined()
        text.respond(
            "http://a.example/4", id: 4, with: ["WARC-Block-Digest: sha1:468d1f0d7644b516c84256375576925bb24c9316"],
            message)
        var records = text.records
        #expect(try ReadArchive(records.flatMap { $0 }, name: "a.warc").archive.verified().isEmpty)
        records = [records[0], records[3], records[1], records[2]]
        let start = records[1].count - 1000
        records[1].removeSubrange(start..<start + records[2].count)
        let read = try ReadArchive(records.flatMap { $0 }, name: "a.warc")
        #expect(urls(read) == [1, 4, 3] && read.warnings.isEmpty)
        let told = try read.archive.verified()
        #expect(told.count == 1 && told[0].hasSuffix("the record is not what its WARC-Block-Digest says"), "\(told)")
    }

    @Test("goes on at the record right behind garbage")
    func afterGarbage() throws {
        let records = text().records
        let read = try ReadArchive(records[0] + [0, 1] + "garbage".utf8 + records[1] + records[2], name: "a.warc")
        #expect(urls(read) == [1, 2, 3] && read.warnings == ["no record follows the one before"])
    }

    @Test("goes on at the gzip member behind a torn one, whatever is decoded of it", arguments: [0, 6, 9000])
    func tornMember(_ noise: Int) throws {
        var text = text()
        var random: UInt32 = 1
        // What zlib can hardly compress, so that a cut is in the midst of it.
        let body = (0..<noise).map { _ in
            random = random &* 1_664_525 &+ 1_013_904_223
            return Character(Unicode.Scalar(UInt8(0x20 + (random >> 24) % 90)))
        }
        text.respond("http://a.example/4", "HTTP/1.1 200 OK\r\n\r\n" + String(body))
        text.respond("http://a.example/5", "HTTP/1.1 200 OK\r\n\r\nfifth")
        text.respond("http://a.example/6", "HTTP/1.1 200 OK\r\n\r\nsixth")
        let members = try text.records.map { try gzip($0) }
        let cuts = Array(stride(from: 9, to: min(members[3].count - 30, 150), by: 7))
        for cut in cuts + [members[3].count / 2, members[3].count - 30] {
            let torn = members[3].dropLast(cut)
            let bytes = members[0] + torn + members[4] + members[5] + members[1]
            let read = try ReadArchive(Array(bytes), name: "a.warc.gz")
            let found = urls(read)
            #expect(found == [1, 5, 6, 2] || (cut < 13 && found == [1, 4, 5, 6, 2]), "\(cut): \(found)")
            #expect(!read.warnings.isEmpty)
            if found.contains(4) { #expect(try read.body(1) == String(body)) }
            #expect(try read.body(found.count - 3) == "fifth")
        }
    }

    @Test("keeps a whole record that was recorded of a WARC with a torn record")
    func embeddedTorn() throws {
        let inner = String(decoding: self.text().records[0].dropLast(200) + self.text().plain, as: UTF8.self)
        var text = WARCText()
        text.respond("http://a.example/4", "HTTP/1.1 200 OK\r\n\r\n\(inner)")
        text.respond("http://a.example/5", "HTTP/1.1 200 OK\r\n\r\n")
        for bytes in [text.plain, try text.compressed(), try gzip(text.plain)] {
            let read = try ReadArchive(bytes, name: "a.warc")
            #expect(urls(read) == [4, 5])
            #expect(try read.body(0) == inner)
        }
    }

    @Test("keeps a record that was recorded of a WARC, though none follows it")
    func embedded() throws {
        var text = WARCText()
        let inner = String(decoding: self.text().plain, as: UTF8.self)
        text.respond("http://a.example/4", "HTTP/1.1 200 OK\r\n\r\nof a WARC:\r\n\(inner)")
        text.respond("http://a.example/5", "HTTP/1.1 200 OK\r\n\r\n")
        var records = text.records
        records[1][0] = 0x58
        let read = try ReadArchive(records.flatMap { $0 } + self.text().records[2], name: "a.warc")
        #expect(urls(read) == [4, 3] && read.warnings == ["no record follows the one before"])
        #expect(try read.body(0) == "of a WARC:\r\n\(inner)")
        let shared = try ReadArchive(
            try gzip(records.flatMap { $0 } + self.text().records[2]), name: "a.warc.gz")
        #expect(urls(shared) == [4, 3] && shared.warnings.contains("no record begins here"))
        #expect(try shared.body(0) == "of a WARC:\r\n\(inner)")
    }

    @Test("goes on behind damaged gzip members", arguments: [0, 1, 3, 12, 40, 90])
    func members(_ offset: Int) throws {
        var members = try text().records.map { try gzip($0) }
        members[1][min(offset, members[1].count - 1)] ^= 0xFF
        let read = try ReadArchive(members.flatMap { $0 }, name: "a.warc.gz")
        #expect(urls(read).first == 1 && urls(read).last == 3)
        #expect(!read.warnings.isEmpty)
    }

    @Test("is read over garbage between members, and behind the last")
    func garbage() throws {
        let members = try text().records.map { try gzip($0) }
        for garbage in [[0], [0x1F], [0x1F, 0x8B], Array("garbage".utf8), [UInt8](repeating: 0x1F, count: 5000)]
            as [[UInt8]]
        {
            let read = try ReadArchive(members.flatMap { $0 + garbage }, name: "a.warc.gz")
            #expect(urls(read) == [1, 2, 3])
        }
    }

    @Test("never ends the reading otherwise than by an error, wherever it is cut or changed")
    func everywhere() throws {
        for bytes in [text().plain, try text().compressed(), try gzip(text().plain)] {
            for index in stride(from: 0, to: bytes.count, by: 3) {
                for changed in [
                    Array(bytes[..<index]), bytes[..<index] + [bytes[index] ^ 0x55] + bytes[(index + 1)...],
                ] {
                    guard let read = try? ReadArchive(changed, name: "a.warc") else { continue }
                    for entry in 0..<read.archive.table.count { _ = try? read.body(entry) }
                    try? read.archive.verify { _ in }
                }
            }
        }
    }

    @Test("without an entry says what the first damage is")
    func noEntry() throws {
        var text = WARCText()
        text.respond("http://a.example/", "HTTP/1.1 200 OK\r\n\r\nbody")
        let cut = Array(text.plain.dropLast(6))
        #expect(problem(cut, "a.warc")?.contains("in it: the record is cut short") == true)
    }

    @Test("is none without an entry, as ARC, and in formats that aren't read")
    func refused() throws {
        var other = WARCText()
        other.add("warcinfo", "x")
        let arc = "filedesc://a.arc 0.0.0.0 20200101000000 text/plain 10\n"
        #expect(problem(other.plain, "a.warc")?.contains("no record of a response") == true)
        #expect(problem(try other.compressed(), "a.warc.gz")?.contains("no record of a response") == true)
        #expect(problem(Array(arc.utf8), "a.arc")?.contains("warcio recompress") == true)
        #expect(problem(try gzip(Array(arc.utf8)), "a.arc.gz")?.contains("warcio recompress") == true)
        #expect(problem([0x28, 0xB5, 0x2F, 0xFD, 1, 2], "a.warc.zst")?.contains("zstd -d") == true)
    }

    @Test("has a header block of at most 256 KiB")
    func longHead() throws {
        var text = WARCText()
        text.respond(
            "http://a.example/1", with: ["X: " + String(repeating: "x", count: 270_000)], "HTTP/1.1 200 OK\r\n\r\n")
        text.respond(
            "http://a.example/2", with: ["X: " + String(repeating: "x", count: 250_000)], "HTTP/1.1 200 OK\r\n\r\n")
        #expect(try urls(ReadArchive(text.plain, name: "a.warc")) == [2])
        #expect(try urls(ReadArchive(try text.compressed(), name: "a.warc.gz")) == [2])
    }

    @Test("tells wrong digests and broken chunks when it is verified")
    func digests() throws {
        func digest(_ value: String) -> [String] { ["WARC-Block-Digest: sha1:\(value)"] }
        var text = WARCText()
        text.respond("http://a.example/1", with: digest("OP3ZUEAEIGC5QPO47I7DR5X4KB6IV5TP"), "HTTP/1.1 200 OK\r\n\r\n")
        text.respond("http://a.example/2", with: digest("OP3ZUEAEIGC5QPO47I7DR5X4KB6IV5TA"), "HTTP/1.1 200 OK\r\n\r\n")
        text.respond("http://a.example/3", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc")
        let verified = try ReadArchive(text.plain, name: "a.warc").archive.verified()
        #expect(verified.count == 2)
        #expect(verified.first?.contains("entry 2: ") == true && verified.last?.contains("entry 3: ") == true)
    }

    @Test("tells bodies that can't be decoded when it is checked", arguments: [false, true])
    func undecodable(_ isShared: Bool) throws {
        var text = WARCText()
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: "
        let chunks = "2\r\n\u{7}b\r\n0\r\n\r\n"
        text.respond("http://a.example/1", "\(head)deflate\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)")
        text.respond("http://a.example/2", "\(head)gzip\r\n\r\nthis is none")
        text.respond("http://a.example/3", "\(head)lzma\r\n\r\nx")
        text.respond("http://a.example/4", "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 100))
        var limits = ArchiveLimits()
        limits.body = 99
        let bytes = isShared ? try gzip(text.plain) : text.plain
        let archive = try ReadArchive(bytes, name: "a.warc", limits: limits).archive
        var problems: [ArchiveProblem] = []
        try archive.check { problems.append($0) }
        #expect(problems.map(\.entry) == [1, 3, 4])
        #expect(problems.allSatisfy { $0.severity == .warning })
        let words = ["can't be decoded (deflate)", "'lzma' is not known", "--max-entry-body (99 bytes)"]
        for (problem, words) in zip(problems, words) { #expect(problem.message.contains(words)) }
    }
}
