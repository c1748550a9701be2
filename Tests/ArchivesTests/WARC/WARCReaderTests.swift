import Synchronization
import Testing

@testable import Archives

/// Writes records as a writer of WARC does that is not ours.
struct WARCText {
    var lineEnd = "\r\n"
    private(set) var records: [[UInt8]] = []

    /// The identifier of a record by its number.
    static func id(_ number: Int) -> String { "<urn:uuid:00000000-0000-0000-0000-\(100_000_000_000 + number)>" }

    mutating func add(_ type: String, id: Int? = nil, with fields: [String] = [], _ block: String) {
        var head = ["WARC/1.1", "WARC-Type: \(type)", "WARC-Date: 2026-11-23T03:00:00Z"]
        if let id { head.append("WARC-Record-ID: \(WARCText.id(id))") }
        head += fields + ["Content-Length: \(block.utf8.count)", "", ""]
        records.append(Array((head.joined(separator: lineEnd) + block + lineEnd + lineEnd).utf8))
    }

    mutating func respond(_ url: String, id: Int? = nil, with fields: [String] = [], _ message: String) {
        add("response", id: id, with: ["WARC-Target-URI: \(url)", "Content-Type: application/http"] + fields, message)
    }

    var plain: [UInt8] { records.flatMap { $0 } }

    func compressed() throws -> [UInt8] { try records.flatMap { try gzip($0) } }
}

@Suite("A WARC")
struct WARCReaderTests {
    static let forms = ["plain", "by record", "one member"]

    private func read(_ text: WARCText, _ form: String) throws -> ReadArchive {
        switch form {
        case "plain": try ReadArchive(text.plain, name: "a.warc")
        case "by record": try ReadArchive(try text.compressed(), name: "a.warc.gz")
        default: try ReadArchive(try gzip(text.plain), name: "a.warc.gz")
        }
    }

    @Test("is read plain, compressed by record, and in one member, of which it warns", arguments: forms)
    func kinds(_ form: String) throws {
        var text = WARCText()
        text.add("warcinfo", with: ["Content-Type: application/warc-fields"], "software: x\r\n")
        text.respond("http://a.example/1", id: 1, "HTTP/1.1 200 OK\r\nX-A: 1\r\nVary: A\r\n\r\nfirst")
        text.add(
            "request", id: 2, with: ["WARC-Target-URI: http://a.example/1", "WARC-Concurrent-To: \(WARCText.id(1))"],
            "POST /1 HTTP/1.1\r\nA: b\r\n\r\nposted")
        text.add("metadata", "x")
        text.respond(
            "<http://a.example/2 b>", id: 3, "HTTP/1.1 404 Not Found\r\n\r\n" + String(repeating: "b", count: 9000))
        text.add("resource", with: ["WARC-Target-URI: http://a.example/r", "Content-Type: text/css"], "a{}")
        let read = try read(text, form)
        #expect(
            read.lines == [
                "POST 200 http://a.example/1", "GET 404 http://a.example/2%20b", "GET 200 http://a.example/r",
            ])
        #expect(try read.body(0) == "first")
        #expect(try read.body(1) == String(repeating: "b", count: 9000))
        #expect(try read.body(2) == "a{}")
        #expect(try read.fields(0) == ["X-A: 1", "Vary: A"])
        #expect(try read.fields(2) == ["Content-Type: text/css"])
        let exchange = try read.archive.exchange(0)
        #expect(exchange.method == "POST" && exchange.requestBody == Array("posted".utf8))
        #expect(exchange.requestFields == [RecordedField("A", "b")] && exchange.time == 1_795_402_800_000)
        #expect(exchange.reason == Array("OK".utf8) && exchange.body.size == 5)
        #expect(read.archive.table[0].hasRequestBody && read.archive.table[0].varies)
        #expect(read.warnings.count == (form == "one member" ? 1 : 0))
    }

    @Test("is read with lines that end in LF, in many CR, and without a reason phrase", arguments: ["\n", "\r\r\n"])
    func lineEnds(_ lineEnd: String) throws {
        var text = WARCText()
        text.lineEnd = lineEnd
        let head = ["HTTP/1.1 201", "A: 1", " 2", "no field", "Transfer-Encoding: Chunked", "", ""]
        text.respond("http://a.example/", head.joined(separator: lineEnd) + "3;x\(lineEnd)abc\(lineEnd)0\n\n")
        let read = try read(text, "plain")
        #expect(read.lines == ["GET 201 http://a.example/"])
        #expect(try read.fields(0) == ["A: 1 2", "Transfer-Encoding: Chunked"])
        #expect(try read.body(0) == "abc")
        #expect(try read.archive.exchange(0).body.size == nil)
    }

    @Test(
        "has chunked bodies, broken ones, and ones that are none",
        arguments: [
            ("5\r\nhello\r\n0\r\n\r\n", "hello"), ("<html>plain\r\n", "<html>plain\r\n"), ("", ""),
            ("5\r\nhello\r\nxyz\r\n", "hello"), ("5\r\nhelloworld", "hello"), ("9\r\nhello", "hello"),
            ("5\r\nhello\r\n3 ; a=b\r\nabc\r\n0\r\nT: 1\r\n\r\nmore", "helloabc"), ("ff", "ff"),
            ("5\r\nhello\r\n", "hello"), ("0123456789abcdef01\r\nx", "0123456789abcdef01\r\nx"),
        ])
    func chunks(_ stored: String, _ body: String) throws {
        var text = WARCText()
        text.respond("http://a.example/", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + stored)
        for form in Self.forms {
            let read = try read(text, form)
            #expect(try read.body(0) == body)
            #expect(try read.body(0, step: 1000) == body)
        }
    }

    @Test("whose bodies are long is read by its heads alone: little more than they are, and each at once")
    func heads() throws {
        var text = WARCText()
        for number in 1...400 {
            text.respond(
                "http://a.example/\(number)", "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "b", count: 20_000))
        }
        let bytes = text.plain
        let reads = Mutex<(count: Int, bytes: Int)>((0, 0))
        let counting = ArchiveBytes(count: bytes.count) { buffer, offset in
            let length = min(buffer.count, bytes.count - offset)
            reads.withLock { $0 = ($0.count + 1, $0.bytes + length) }
            for index in 0..<length { buffer[index] = bytes[offset + index] }
            return length
        }
        let archive = try Archive.open(ArchiveInput(name: "a.warc", bytes: counting))
        #expect(archive.table.usableCount == 400)
        let (count, read) = reads.withLock { $0 }
        #expect(count < 440 && read < bytes.count / 10, "\(count) times, \(read) bytes of \(bytes.count)")
    }

    @Test("pairs requests and responses by either's WARC-Concurrent-To, in any order")
    func pairs() throws {
        func to(_ id: Int) -> String { "WARC-Concurrent-To: \(WARCText.id(id))" }
        var text = WARCText()
        text.add("request", id: 1, with: [to(2)], "PUT / HTTP/1.1\r\n\r\n")
        text.respond("http://a.example/2", id: 2, "HTTP/1.1 200 OK\r\n\r\n")
        text.add("request", id: 3, "POST / HTTP/1.1\r\n\r\n")
        text.respond("http://a.example/4", id: 4, with: [to(99), to(3)], "HTTP/1.1 200 OK\r\n\r\n")
        text.respond("http://a.example/5", id: 5, "HTTP/1.1 200 OK\r\n\r\n")
        text.respond("http://a.example/6", id: 6, with: [to(8)], "HTTP/1.1 200 OK\r\n\r\n")
        text.add("request", id: 7, with: [to(5)], "HEAD / HTTP/1.1\r\n\r\n")
        text.add("request", id: 8, "DELETE / HTTP/1.1\r\n\r\n")
        text.respond("http://a.example/9", id: 9, "HTTP/1.1 200 OK\r\n\r\n")
        #expect(
            try read(text, "by record").lines == [
                "PUT 200 http://a.example/2", "POST 200 http://a.example/4", "HEAD 200 http://a.example/5",
                "DELETE 200 http://a.example/6", "GET 200 http://a.example/9",
            ])
    }

    @Test("pairs records however many stand between them")
    func distantPairs() throws {
        for requestsFirst in [true, false] {
            var text = WARCText()
            let numbers = 1...12
            for number in numbers where requestsFirst { text.add("request", id: number, "PUT / HTTP/1.1\r\n\r\n") }
            for number in numbers {
                let to = ["WARC-Concurrent-To: \(WARCText.id(13 - number))"]
                text.respond(
                    "http://a.example/\(number)", id: 100 + number, with: requestsFirst ? to : [],
                    "HTTP/1.1 200 OK\r\n\r\n")
            }
            for number in numbers where !requestsFirst {
                let to = ["WARC-Concurrent-To: \(WARCText.id(113 - number))"]
                text.add("request", id: number, with: to, "PUT / HTTP/1.1\r\n\r\n")
            }
            let lines = try read(text, "by record").lines
            #expect(lines == numbers.map { "PUT 200 http://a.example/\($0)" })
        }
    }

    @Test(
        "drops a coding that its writer has taken off, and passes over names that stand for none",
        arguments: [
            ("br", #"{"a":[1,2]}"#, []), ("br", "<!DOCTYPE html>\n<p>text", []), ("br", "a{}", []),
            // In Brotli the first character is a whole stream, with nothing in it.
            ("br", ";(function(){})()", []),
            ("deflate", #"{"a":[1,2]}"#, []), ("deflate", "<!DOCTYPE html>\n<p>text", []), ("gzip", "text", []),
            ("none", "text", []), ("UTF-8", "text", []), ("gzip, none", "text", []), ("compress", "text", ["compress"]),
            // No text, and nothing.
            ("br", "\u{01}\u{02}text", ["br"]), ("deflate", "\u{02}text", ["deflate"]), ("br", "", ["br"]),
        ] as [(String, String, [String])])
    func wrongCodings(coding: String, body: String, codings: [String]) throws {
        var text = WARCText()
        text.respond("http://a.example/", "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\n\r\n\(body)")
        for form in Self.forms {
            let read = try read(text, form)
            #expect(try read.archive.exchange(0).body.codings == codings)
            #expect(try read.body(0) == body)
            if codings.isEmpty {
                var warnings: [ArchiveProblem] = []
                try read.archive.check { warnings.append($0) }
                #expect(warnings.isEmpty, "\(warnings)")
            }
        }
    }

    @Test("of a segment the body is missing, since other records have the rest", arguments: forms)
    func segment(_ form: String) throws {
        var text = WARCText()
        text.respond(
            "http://a.example/1", with: ["WARC-Segment-Number: 1"], "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbody")
        let read = try read(text, form)
        #expect(read.lines == ["GET 200 http://a.example/1 bodyNotRecorded"])
        #expect(try read.archive.exchange(0).body.isMissing)
    }

    @Test("a truncated record has the part that there is, and a revisit the whole of another one", arguments: forms)
    func truncated(_ form: String) throws {
        var text = WARCText()
        text.respond("http://a.example/1", id: 1, with: ["WARC-Truncated: length"], "HTTP/1.1 200 OK\r\n\r\nbo")
        text.respond("http://a.example/2", id: 2, "HTTP/1.1 200 OK\r\n\r\nbody")
        for number in 1...2 {
            let fields = ["WARC-Target-URI: http://a.example/\(number)", "WARC-Refers-To: \(WARCText.id(number))"]
            text.add("revisit", with: fields + ["WARC-Truncated: length"], "HTTP/1.1 200 OK\r\n\r\n")
        }
        let read = try read(text, form)
        #expect(
            read.lines == [
                "GET 200 http://a.example/1 bodyTruncated", "GET 200 http://a.example/2",
                "GET 200 http://a.example/1 unresolvedRevisit", "GET 200 http://a.example/2",
            ])
        #expect(try (0..<4).map { try read.archive.exchange($0).body.isMissing } == [false, false, true, false])
        #expect(try read.body(0) == "bo" && read.body(3) == "body")
    }

    @Test("a truncated redirect, whose body nobody needs, is whole", arguments: forms)
    func truncatedRedirect(_ form: String) throws {
        var text = WARCText()
        let head = "HTTP/1.1 301 Moved Permanently\r\nLocation: /2\r\n\r\n"
        text.respond("http://a.example/1", with: ["WARC-Truncated: disconnect"], head)
        let read = try read(text, form)
        #expect(read.lines == ["GET 301 http://a.example/1"])
        #expect(try !read.archive.exchange(0).body.isMissing)
    }

    @Test("resolves revisits by record, by URI and date, and by digest", arguments: forms)
    func revisits(_ form: String) throws {
        let digest = "WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
        var text = WARCText()
        text.respond(
            "http://a.example/1", id: 1, with: ["WARC-Payload-Digest: SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709"],
            "HTTP/1.1 203 OK\r\nContent-Type: text/css\r\nA: 1\r\nContent-Encoding: compress\r\n\r\nbody")
        text.add("revisit", with: ["WARC-Target-URI: http://a.example/2", "WARC-Refers-To: \(WARCText.id(1))"], "")
        text.add(
            "revisit",
            with: [
                "WARC-Target-URI: http://a.example/3", "WARC-Refers-To-Target-URI: http://A.example/1",
                "WARC-Refers-To-Date: 2026-11-23T04:00:00+01:00",
            ], "HTTP/1.1 200 OK\r\nB: 2\r\n\r\n")
        text.add(
            "revisit", id: 4, with: ["WARC-Target-URI: http://a.example/4", digest],
            "HTTP/1.1 304 Not Modified\r\nA: 3\r\n\r\n")
        text.add("revisit", with: ["WARC-Target-URI: http://a.example/5", "WARC-Refers-To: \(WARCText.id(4))"], "")
        text.add("revisit", with: ["WARC-Target-URI: http://a.example/6", "WARC-Refers-To: \(WARCText.id(9))"], "")
        text.respond("http://a.example/7", "HTTP/1.1 304 Not Modified\r\n\r\n")
        let read = try read(text, form)
        #expect(
            read.lines == [
                "GET 203 http://a.example/1", "GET 203 http://a.example/2", "GET 200 http://a.example/3",
                "GET 203 http://a.example/4", "GET 203 http://a.example/5",
                "GET 200 http://a.example/6 unresolvedRevisit", "GET 304 http://a.example/7 notModified",
            ])
        for index in 0..<5 { #expect(try read.body(index) == "body") }
        #expect(try read.fields(1) == ["Content-Type: text/css", "A: 1", "Content-Encoding: compress"])
        #expect(try read.fields(2) == ["B: 2", "Content-Type: text/css", "Content-Encoding: compress"])
        #expect(try read.fields(3) == ["A: 3", "Content-Type: text/css", "Content-Encoding: compress"])
        #expect(try read.archive.exchange(3).status == 203)
        #expect(try read.archive.exchange(2).body.codings == ["compress"])
        // What is not there is no empty body, for whoever copies entries.
        #expect(try (0..<7).map { try read.archive.exchange($0).body.isMissing }.firstIndex(of: true) == 5)
    }
}
