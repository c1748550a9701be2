import Foundation
import ProxyTestKit
import Testing

/// The built program with recorded bodies that are too large to be in memory, in each form that archives have, beside
/// the same bytes mapped as a file.
@Suite("Recorded bodies that are not in memory", .onThreads)
struct LargeEntryTests {
    /// Lines of eight bytes with their numbers: somewhat more than is passed over at once.
    static let lines = 160_000
    static let text: [UInt8] = Array((0..<lines).map { String(format: "%07d\n", $0) }.joined().utf8)
    static let size = lines * 8

    enum Form: String, CaseIterable {
        case warc, warcGzip, warcBrotli, warcZstandard, warcChunked, compressedWARC
        case mhtmlBinary, mhtmlBase64, mhtmlQuoted, mhtmlPage
        case webarchiveBinary, webarchiveXML, harText, harBase64, harFile
    }

    // MARK: Writing

    private static func fields(_ type: String, _ more: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\(more)\r\n"
    }

    static func record(_ url: String, _ head: String, _ body: [UInt8]) -> [UInt8] {
        let lines = [
            "WARC/1.1", "WARC-Type: response", "WARC-Target-URI: \(url)", "WARC-Date: 2026-01-01T00:00:00Z",
            "Content-Type: application/http", "Content-Length: \(head.utf8.count + body.count)", "", head,
        ]
        return Array(lines.joined(separator: "\r\n").utf8) + body + Array("\r\n\r\n".utf8)
    }

    static func gzip(_ bytes: [UInt8], in folder: TemporaryFolder) throws -> [UInt8] {
        let name = folder.at(UUID().uuidString)
        try Data(bytes).write(to: URL(filePath: name))
        try #require(try ChildProcess.run(["gzip", "-n", name]).status == 0)
        return Array(try Data(contentsOf: URL(filePath: name + ".gz")))
    }

    /// Pieces of a body, each behind its own head.
    private static func pieces(
        _ bytes: [UInt8], of length: Int, _ head: (_ piece: ArraySlice<UInt8>, _ start: Int) -> [UInt8]
    ) -> [UInt8] {
        stride(from: 0, to: bytes.count, by: length).flatMap { start in
            let piece = bytes[start..<min(bytes.count, start + length)]
            return head(piece, start) + piece
        }
    }

    /// Brotli's form of bytes as they are (RFC 7932 §9.2).
    private static func brotli(_ bytes: [UInt8]) -> [UInt8] {
        pieces(bytes, of: 65_536) { piece, start in
            let bits = UInt32(piece.count - 1) << 3 | 1 << 19
            let header = start == 0 ? bits << 1 : bits
            return (0..<3).map { UInt8(truncatingIfNeeded: header >> (8 * $0)) }
        } + [3]
    }

    /// Zstandard's (RFC 8878 §3.1.1.2).
    private static func zstandard(_ bytes: [UInt8]) -> [UInt8] {
        [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38]
            + pieces(bytes, of: 65_536) { piece, start in
                let header = UInt32(piece.count) << 3 | (start + piece.count == bytes.count ? 1 : 0)
                return (0..<3).map { UInt8(truncatingIfNeeded: header >> (8 * $0)) }
            }
    }

    private static func mhtml(_ encoding: String, _ type: String, _ body: [UInt8]) -> [UInt8] {
        let head = [
            "MIME-Version: 1.0", "Content-Type: multipart/related; boundary=b", "", "--b",
            "Content-Type: \(type)", "Content-Transfer-Encoding: \(encoding)", "Content-Location: http://a.test/x", "",
            "",
        ]
        return Array(head.joined(separator: "\r\n").utf8) + body + Array("\r\n--b--\r\n".utf8)
    }

    private static func har(_ content: String) -> [UInt8] {
        Array(
            """
            {"log":{"version":"1.2","entries":[{"startedDateTime":"2026-01-01T00:00:00Z","time":1,\
            "request":{"method":"GET","url":"http://a.test/x","headers":[]},\
            "response":{"status":200,"statusText":"","redirectURL":"","headers":[\
            {"name":"Last-Modified","value":"Thu, 01 Jan 2026 00:00:00 GMT"}],\
            "content":{"size":1,"mimeType":"text/plain",\(content)}}}]}}
            """.utf8)
    }

    /// Writes an archive with one entry, http://a.test/x; its name.
    static func write(_ form: Form, in folder: TemporaryFolder) throws -> String {
        let base64 = Data(text).base64EncodedString()
        let wrapped = Data(text).base64EncodedData(options: [.lineLength76Characters])
        let quoted = String(decoding: text, as: UTF8.self).replacing("\n", with: "=0A=\r\n")
        func response(_ body: [UInt8], _ more: String = "") -> [UInt8] {
            record("http://a.test/x", fields("text/plain", more), body)
        }
        let (name, bytes): (String, [UInt8]) =
            switch form {
            case .warc: ("a.warc", response(text))
            case .warcGzip: ("a.warc", response(try gzip(text, in: folder), "Content-Encoding: gzip\r\n"))
            case .warcBrotli: ("a.warc", response(brotli(text), "Content-Encoding: br\r\n"))
            case .warcZstandard: ("a.warc", response(zstandard(text), "Content-Encoding: zstd\r\n"))
            case .warcChunked:
                (
                    "a.warc",
                    response(
                        // The end of a chunk's line belongs to the next one's head here.
                        pieces(text, of: 1000) { piece, start in
                            Array("\(start == 0 ? "" : "\r\n")\(String(piece.count, radix: 16))\r\n".utf8)
                        } + Array("\r\n0\r\n\r\n".utf8), "Transfer-Encoding: chunked\r\n")
                )
            case .compressedWARC: ("a.warc.gz", try gzip(response(text), in: folder))
            case .mhtmlBinary: ("a.mhtml", mhtml("binary", "text/plain", text))
            case .mhtmlBase64: ("a.mhtml", mhtml("base64", "text/plain", Array(wrapped)))
            case .mhtmlQuoted: ("a.mhtml", mhtml("quoted-printable", "text/plain", Array(quoted.utf8)))
            // Nothing in it has to be rewritten, which only its end tells.
            case .mhtmlPage: ("a.mhtml", mhtml("quoted-printable", "text/html", Array(quoted.utf8)))
            case .webarchiveBinary: ("a.webarchive", [])
            case .webarchiveXML:
                (
                    "a.webarchive",
                    Array(
                        """
                        <?xml version="1.0" encoding="UTF-8"?>
                        <plist version="1.0"><dict><key>WebMainResource</key><dict>
                        <key>WebResourceData</key><data>\(String(decoding: wrapped, as: UTF8.self))</data>
                        <key>WebResourceMIMEType</key><string>text/plain</string>
                        <key>WebResourceURL</key><string>http://a.test/x</string>
                        </dict></dict></plist>
                        """.utf8)
                )
            case .harText:
                (
                    "a.har",
                    har("\"text\":\"\(String(decoding: text, as: UTF8.self).replacing("\n", with: "\\u000a"))\"")
                )
            case .harBase64: ("a.har", har("\"encoding\":\"base64\",\"text\":\"\(base64)\""))
            case .harFile: ("a.har", har("\"_file\":\"body.txt\""))
            }
        if form == .webarchiveBinary {
            let other = try write(.webarchiveXML, in: folder)
            try #require(rename(folder.at(other), folder.at("b.webarchive")) == 0)
            let convert = ["archive", "convert", folder.at("b.webarchive"), folder.at(name)]
            try #require(try SubproxyProcess.run(convert).status == 0)
        } else {
            try Data(bytes).write(to: URL(filePath: folder.at(name)))
        }
        return name
    }

    /// An archive, and its entry's bytes as a mapped file.
    private final class Served {
        let folder = TemporaryFolder()
        let archive: String
        let binary: RunningBinary

        init(_ form: Form, options: [String] = []) throws {
            try Data(LargeEntryTests.text).write(to: URL(filePath: folder.at("body.txt")))
            archive = try LargeEntryTests.write(form, in: folder)
            folder.age()
            let map = try folder.write(
                "m.yaml",
                "archives: [\(archive)]\nsubstitutions:\n  http://f.test/x: { file: body.txt, type: text/plain }\n")
            binary = try RunningBinary(map: map, ["--offline", "--retain-file", "64KiB"] + options)
        }

        func entry(_ fields: [String] = [], _ method: String = "GET") throws -> ProxyResponse {
            try binary.exchange(method, "http://a.test/x", fields: fields)
        }

        func file(_ fields: [String] = [], _ method: String = "GET") throws -> ProxyResponse {
            try binary.exchange(method, "http://f.test/x", fields: fields)
        }
    }

    /// The parts of a response, in the order of their bytes: Content-Range and bytes.
    private static func parts(_ response: ProxyResponse) throws -> [String] {
        guard let type = response.field("Content-Type"), type.hasPrefix("multipart/byteranges; boundary=") else {
            return ["\(response.field("Content-Range") ?? "") \(response.text)"]
        }
        let boundary = type.dropFirst("multipart/byteranges; boundary=".count)
        let texts = response.text.components(separatedBy: "--\(boundary)")
        try #require(texts.first == "" && texts.last == "--\r\n")
        return texts.dropFirst().dropLast().map { text in
            let halves = text.components(separatedBy: "\r\n\r\n")
            let range = halves[0].split(separator: "\r\n").first { $0.hasPrefix("Content-Range: ") } ?? ""
            return "\(range) \(halves.dropFirst().joined(separator: "\r\n\r\n"))"
        }.sorted()
    }

    // MARK: Tests

    @Test("have conditions, ranges and lengths as files have them", arguments: Form.allCases)
    func table(_ form: Form) throws {
        let served = try Served(form)
        let tags = try [served.entry([], "HEAD"), served.file([], "HEAD")].map { try #require($0.field("ETag")) }
        #expect(tags[0].hasPrefix("\"") && tags[0] != tags[1])
        let date = "Last-Modified"
        let dates = try [served.entry([], "HEAD").field(date), served.file([], "HEAD").field(date)]
        func compare(_ method: String, _ fields: String...) throws {
            func filled(_ side: Int) -> [String] {
                fields.map { $0.replacing("TAG", with: tags[side]).replacing("DATE", with: dates[side] ?? "") }
            }
            let (entry, file) = (try served.entry(filled(0), method), try served.file(filled(1), method))
            let comment: Comment = "\(method) \(fields)\n\(entry.head)\n\(file.head)"
            #expect(entry.status == file.status && entry.isComplete && file.isComplete, comment)
            #expect(try Self.parts(entry) == Self.parts(file), comment)
            #expect(entry.field("Content-Range") == file.field("Content-Range"), comment)
            #expect(entry.field("Accept-Ranges") == file.field("Accept-Ranges"), comment)
            if entry.field("Content-Type")?.hasPrefix("multipart") != true {
                #expect(entry.field("Content-Length") == file.field("Content-Length"), comment)
            }
            #expect(entry.field("ETag") == tags[0] && file.field("ETag") == tags[1], comment)
        }
        let last = Self.size - 1
        for range in [
            "0-0", "0-9", "700001-700013", "1100000-1100015", "\(last)-\(last)", "\(last - 9)-", "1200000-99999999",
            "-5",
            "-99999999", "\(Self.size)-", "-0", "0-3,90000-90003,-3", "1200000-1200003,5-9", "0-9,5-14", "9-5", "a-b",
        ] {
            try compare("GET", "Range: bytes=\(range)")
        }
        try compare("HEAD")
        try compare("GET")
        try compare("GET", "Range: bytes=1100000-1100003", "If-Range: TAG")
        try compare("GET", "Range: bytes=5-6", "If-Range: \"other\"")
        try compare("GET", "Range: bytes=5-6", "If-Range: W/TAG")
        for method in ["GET", "HEAD"] {
            for field in [
                "If-None-Match: TAG", "If-None-Match: W/TAG", "If-None-Match: *", "If-None-Match: \"other\"",
                "If-Match: TAG", "If-Match: *", "If-Match: \"other\"", "If-Match: W/TAG",
            ] {
                try compare(method, field)
            }
        }
        try compare("GET", "Range: bytes=5-6", "If-None-Match: TAG")
        try compare("GET", "Range: bytes=5-6", "If-Match: \"other\"")
        guard dates[0] != nil else { return }
        try compare("GET", "If-Modified-Since: DATE")
        try compare("GET", "If-Unmodified-Since: Wed, 31 Dec 2025 00:00:00 GMT")
        try compare("GET", "Range: bytes=5-6", "If-Range: DATE")
    }

    @Test("are sent whole before anything is known of their length, and with it from then on", arguments: Form.allCases)
    func whole(_ form: Form) throws {
        let served = try Served(form)
        let first = try served.entry()
        #expect(first.status == 200 && first.body == Self.text && first.isComplete)
        let second = try served.entry()
        #expect(second.body == Self.text && second.field("Content-Length") == "\(Self.size)")
        #expect(first.field("ETag") != nil && first.field("ETag") == second.field("ETag"))
        #expect(first.field("Accept-Ranges") == "bytes" && first.field("Content-Encoding") == nil)
        let shown = try SubproxyProcess.run(["archive", "cat", "-i", served.folder.at(served.archive), "1"]).output
        #expect(shown.hasSuffix("\r\n\r\n" + String(decoding: Self.text, as: UTF8.self)))
    }

    @Test("that are rewritten have ranges, and no ETag")
    func rewritten() throws {
        let folder = TemporaryFolder()
        let page = Array("<img src=cid:a>".utf8) + Self.text
        let boundary = "\r\n--b\r\nContent-Type: text/plain\r\nContent-ID: <a>\r\n\r\nimage\r\n--b--\r\n"
        var bytes = Self.mhtml("binary", "text/html", page)
        bytes.removeLast("\r\n--b--\r\n".utf8.count)
        try Data(bytes + Array(boundary.utf8)).write(to: URL(filePath: folder.at("a.mhtml")))
        let binary = try RunningBinary(map: folder.at("a.mhtml"), ["--offline", "--retain-file", "64KiB"])
        let whole = try binary.get("http://a.test/x")
        #expect(whole.text.hasPrefix("<img src=http://a.test/.cid-a>") && whole.field("ETag") == nil)
        let part = try binary.get("http://a.test/x", fields: ["Range: bytes=-8"])
        #expect(part.status == 206 && part.text == "0159999\n" && part.field("ETag") == nil)
        #expect(part.field("Content-Range")?.hasSuffix("/\(whole.body.count)") == true)
        // In memory too, where one of more than 1 MiB is told only by its end.
        for (bytes, hasTag) in [
            (bytes + Array(boundary.utf8), false), (Self.mhtml("binary", "text/html", Self.text), true),
        ] {
            try Data(bytes).write(to: URL(filePath: folder.at("b.mhtml")))
            let retaining = try RunningBinary(map: folder.at("b.mhtml"), ["--offline"])
            let response = try retaining.get("http://a.test/x")
            #expect((response.field("ETag") != nil) == hasTag)
            let shown = try SubproxyProcess.run(["archive", "cat", "-i", folder.at("b.mhtml"), "1"]).output
            #expect(shown.contains("\r\nETag: ") == hasTag)
        }
    }

    @Test("that are damaged are 502 where their length is needed, and broken off where the head is out")
    func damaged() throws {
        let folder = TemporaryFolder()
        let coded = try Self.gzip(Self.text, in: folder)
        let fields = Self.fields("text/plain", "Content-Encoding: gzip\r\nETag: \"v\"\r\n")
        let bytes = Self.record("http://a.test/x", fields, Array(coded.dropLast(coded.count / 3)))
        try Data(bytes).write(to: URL(filePath: folder.at("a.warc")))
        let binary = try RunningBinary(map: folder.at("a.warc"), ["--offline", "--retain-file", "64KiB"])
        for _ in 0..<2 {
            let whole = try binary.get("http://a.test/x")
            #expect(whole.status == 200 && !whole.isComplete && Self.text.starts(with: whole.body))
            let part = try binary.get("http://a.test/x", fields: ["Range: bytes=0-3"])
            #expect(part.status == 502 && part.text.contains("cut short"), "\(part)")
            #expect(try binary.exchange("HEAD", "http://a.test/x").status == 502)
            let tag = try #require(whole.field("ETag"))
            #expect(try binary.get("http://a.test/x", fields: ["If-None-Match: \(tag)"]).status == 304)
        }
        let limited = try RunningBinary(
            map: folder.at("a.warc"), ["--offline", "--retain-file", "64KiB", "--max-entry-body", "128KiB"])
        let part = try limited.get("http://a.test/x", fields: ["Range: bytes=0-3"])
        #expect(part.status == 502 && part.text.contains("--max-entry-body"), "\(part)")
    }

    @Test("give many clients parts of one at once, each decoded a piece at a time")
    func many() async throws {
        let served = try Served(.warcGzip)
        let folder = served.folder
        let large = [UInt8](repeating: 0x61, count: 16 << 20) + Array("the end".utf8)
        let head = Self.fields("text/plain", "Content-Encoding: gzip\r\n")
        let record = Self.record("http://a.test/large", head, try Self.gzip(large, in: folder))
        try Data(record).write(to: URL(filePath: folder.at("large.warc")))
        let binary = try RunningBinary(map: folder.at("large.warc"), ["--offline", "--retain-file", "64KiB"])
        _ = try binary.get("http://127.0.0.1:\(binary.port)/")
        let before = binary.residentBytes
        // Some go before they are answered, also the one that finds out the length for all.
        for _ in 0..<3 {
            let socket = try binary.connect()
            try socket.sendRequest("GET", "http://a.test/large", fields: ["Range: bytes=-1"])
        }
        let parts = try await atOnce(12) { number in
            try binary.get("http://a.test/large", fields: ["Range: bytes=-\(number + 1)"])
        }
        for (number, part) in parts.enumerated() {
            #expect(part.status == 206 && part.body.elementsEqual(large.suffix(number + 1)), "\(part.head)")
        }
        // None of them has all that it passes over in memory.
        #expect(binary.residentBytes - before < 6 * large.count)
    }

    @Test("are shown by archive cat -i with the ETag that they are sent with")
    func shown() throws {
        let folder = TemporaryFolder()
        let large = [UInt8](repeating: 0x61, count: 17 << 20)
        let coded = try Self.gzip(large, in: folder)
        let records = [
            Self.record("http://a.test/1", Self.fields("text/plain"), large),
            Self.record("http://a.test/2", Self.fields("text/plain", "Content-Encoding: gzip\r\n"), coded),
            Self.record("http://a.test/3", Self.fields("text/plain", "ETag: \"v\"\r\n"), large),
        ]
        try Data(records.flatMap { $0 }).write(to: URL(filePath: folder.at("a.warc")))
        let binary = try RunningBinary(map: folder.at("a.warc"), ["--offline"])
        for number in 1...3 {
            let sent = try binary.get("http://a.test/\(number)").head.components(separatedBy: "\r\n")
            let shown = try SubproxyProcess.run(["archive", "cat", "-i", folder.at("a.warc"), "\(number)"]).output
            let head = try #require(shown.components(separatedBy: "\r\n\r\n").first).components(separatedBy: "\r\n")
            #expect(head.contains { $0.hasPrefix("ETag: \"") } && head.contains("Accept-Ranges: bytes"), "\(head)")
            for line in head { #expect(sent.contains(line), "\(line)\n\(sent)") }
        }
    }

    @Test("in a file that is replaced while their length is found out have another tag, or are refused")
    func replaced() throws {
        let folder = TemporaryFolder()
        let coded = try Self.gzip(Self.text, in: folder)
        try Data(coded).write(to: URL(filePath: folder.at("body")))
        let recording =
            "- url: http://a.test/x\n  headers: [Content-Type: text/plain, Content-Encoding: gzip]\n  file: body\n"
        let binary = try RunningBinary(
            map: try folder.write("recording.yaml", recording), ["--offline", "--retain-file", "64KiB"])
        let part = try binary.get("http://a.test/x", fields: ["Range: bytes=8-15"])
        #expect(part.status == 206 && part.text == "0000001\n", "\(part)")
        let tag = try #require(part.field("ETag"))
        let other = Array(Self.text.reversed())
        try Data(try Self.gzip(other, in: folder)).write(to: URL(filePath: folder.at("other")))
        try #require(rename(folder.at("other"), folder.at("body")) == 0)
        let next = try binary.get("http://a.test/x", fields: ["Range: bytes=8-15", "If-Range: \(tag)"])
        #expect(next.status == 200 && next.body == other && next.field("ETag") != tag, "\(next.head)")
    }
}
