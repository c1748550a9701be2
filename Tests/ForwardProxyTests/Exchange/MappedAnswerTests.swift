import Files
import ForwardProxy
import Foundation
import HTTPSemantics
import ProxyTestKit
import Substitution
import Testing

@Suite("What a mapped URL is answered with")
struct MappedAnswerTests {
    private static let text = "The quick brown fox jumps over the lazy dog"

    private func proxy() throws -> TestProxy {
        try TestProxy(
            """
            substitutions:
              http://m.test/f.txt: f.txt
              http://m.test/d/: ./
              http://m.test/json: { json: { user: guest }, status: 201, headers: { X-Mock: "yes" } }
              http://m.test/blocked: { block: true }
              http://m.test/moved: { redirect: "http://other.test/x" }
              http://m.test/missing: nope.txt
              http://m.test/missing404: { file: nope.txt, missing: 404 }
              http://m.test/open: { file: f.txt, headers: { Access-Control-Allow-Origin: "*", ETag: null } }
              http://m.test/closed: { file: f.txt, cors: off }
              http://m.test/never: { file: f.txt, bypass: never }
              http://m.test/check: { file: f.txt, bypass: revalidate }
              http://m.test/post: { text: posted, methods: [POST] }
              assets://logo.txt: f.txt
            """, files: ["f.txt": Self.text, "index.html": "<p>index", "empty.bin": ""])
    }

    @Test("a file comes with its validators, its type, and what says that the map answered")
    func plain() throws {
        let proxy = try proxy()
        let response = try proxy.exchange("GET", "http://m.test/f.txt")
        #expect(response.status == 200)
        #expect(response.body == Self.text)
        #expect(response.field("Content-Type") == "text/plain; charset=utf-8")
        #expect(response.field("Content-Length") == "43")
        #expect(response.field("Cache-Status") == #"subproxy; hit; detail="m.yaml:2""#)
        #expect(response.field("Cache-Control") == "no-cache")
        #expect(response.field("Accept-Ranges") == "bytes")
        #expect(response.field("ETag")?.hasPrefix("\"") == true)
        #expect(response.field("Last-Modified")?.hasSuffix(" GMT") == true)
        #expect(response.field("Date")?.hasSuffix(" GMT") == true)
        #expect(response.field("Via")?.hasPrefix("1.1 subproxy-") == true)
    }

    @Test("a folder that is named without its slash answers what is below it, and nothing beside it")
    func folderWithoutSlash() throws {
        let proxy = try TestProxy(
            "substitutions:\n  http://m.test/a/: a\n  http://m.test/b/: { file: a }\n",
            files: ["a/f.txt": "below", "a/index.html": "index", "a-private/f.txt": "beside"])
        for folder in ["a", "b"] {
            #expect(try proxy.exchange("GET", "http://m.test/\(folder)/f.txt").body == "below")
            #expect(try proxy.exchange("GET", "http://m.test/\(folder)/").body == "index")
            #expect(try proxy.exchange("GET", "http://m.test/\(folder)/-private/f.txt").status == 502)
        }
    }

    @Test("a star of a key's query chooses the file anew for each query")
    func queryCaptures() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://m.test/item?id=*: $1.txt
              http://m.test/n?id=*: { answers: [{ file: $1.txt, times: 1 }, { file: $1.txt }] }
            """, files: ["one.txt": "1", "two.txt": "2"])
        for _ in 0..<3 {
            for (id, body) in [("one", "1"), ("two", "2")] {
                for fields in [[], ["Cache-Control: max-age=0"]] {
                    #expect(try proxy.exchange("GET", "http://m.test/item?id=\(id)", fields: fields).body == body)
                }
                #expect(try proxy.exchange("GET", "http://m.test/n?id=\(id)").body == body)
            }
            #expect(try proxy.exchange("GET", "http://m.test/item?id=none").status == 502)
        }
    }

    @Test("a status that has no content is sent without any", arguments: [(204, nil), (205, "0")])
    func withoutContent(status: Int, length: String?) throws {
        let proxy = try TestProxy(
            "substitutions:\n  http://m.test/t: { text: content, status: \(status) }\n"
                + "  http://m.test/f: { file: f.txt, status: \(status) }\n", files: ["f.txt": Self.text])
        for url in ["http://m.test/t", "http://m.test/f"] {
            let response = try proxy.exchange("GET", url)
            #expect(response.status == status && response.body.isEmpty, "\(url)")
            #expect(response.field("Content-Length") == length)
        }
    }

    @Test("the second answer, from memory, is the same as the first but for its date, also pipelined")
    func pipelined() throws {
        let proxy = try proxy()
        let first = try proxy.exchange("GET", "http://m.test/f.txt")
        let socket = try proxy.connect()
        let request = "GET http://m.test/f.txt HTTP/1.1\r\nHost: m.test\r\n\r\n"
        try socket.send(String(repeating: request, count: 20))
        socket.finish()
        let all = String(decoding: try socket.receiveAll(), as: UTF8.self)
        #expect(all.components(separatedBy: "HTTP/1.1 200 OK\r\n").count == 21)
        #expect(all.components(separatedBy: Self.text).count == 21)
        let etag = try #require(first.field("ETag"))
        #expect(all.components(separatedBy: "ETag: \(etag)\r\n").count == 21)
    }

    @Test("an error says of HEAD how long that of GET is", arguments: ["missing", "missing404", "post", "blocked"])
    func errorToHead(path: String) throws {
        let proxy = try proxy()
        let lengths = try ["GET", "HEAD"].map { method in
            try proxy.exchange(method, "http://m.test/\(path)").field("Content-Length")
        }
        #expect(lengths[0] != nil && lengths[0] == lengths[1], "\(lengths)")
    }

    @Test("a file whose rule sets ETag is sent without its compressed siblings, for which the tag would not stand")
    func ownTag() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://m.test/own: { file: f.txt, headers: { ETag: '"v1"' } }
              http://m.test/none: { file: f.txt, headers: { ETag: null } }
            """, files: ["f.txt": Self.text, "f.txt.gz": "coded"])
        for (path, coding) in [("own", nil), ("none", "gzip")] {
            let response = try proxy.exchange("GET", "http://m.test/\(path)", fields: ["Accept-Encoding: gzip"])
            #expect(response.field("Content-Encoding") == coding)
            #expect(response.body == (coding == nil ? Self.text : "coded"))
        }
    }

    @Test("HEAD has the same fields and no body")
    func head() throws {
        let proxy = try proxy()
        let socket = try proxy.connect()
        try socket.send(
            "HEAD http://m.test/f.txt HTTP/1.1\r\nHost: m.test\r\n\r\nGET http://m.test/d/empty.bin HTTP/1.1\r\n"
                + "Host: m.test\r\nConnection: close\r\n\r\n")
        let all = String(decoding: try socket.receiveAll(), as: UTF8.self)
        #expect(all.contains("Content-Length: 43\r\n"))
        #expect(!all.contains("fox"))
        #expect(all.contains("Content-Length: 0\r\n"))
    }

    @Test(
        "conditional requests are answered in the order of RFC 9110 §13.2.2",
        arguments: [
            (["If-None-Match: TAG"], 304), (["If-None-Match: W/TAG"], 304), (["If-None-Match: *"], 304),
            (["If-None-Match: \"other\", TAG"], 304), (["If-None-Match: \"other\""], 200), (["If-Match: TAG"], 200),
            (["If-Match: \"other\""], 412), (["If-Match: W/TAG"], 412), (["If-Modified-Since: DATE"], 304),
            (["If-Modified-Since: garbage"], 200), (["If-Unmodified-Since: DATE"], 200),
            (["If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT"], 412),
            (["If-None-Match: \"other\"", "If-Modified-Since: DATE"], 200),
        ] as [([String], Int)])
    func conditional(_ fields: [String], _ status: Int) throws {
        let proxy = try proxy()
        let plain = try proxy.exchange("GET", "http://m.test/f.txt")
        let tag = try #require(plain.field("ETag"))
        let date = try #require(plain.field("Last-Modified"))
        let filled = fields.map {
            $0.replacingOccurrences(of: "TAG", with: tag).replacingOccurrences(of: "DATE", with: date)
        }
        let response = try proxy.exchange("GET", "http://m.test/f.txt", fields: filled)
        #expect(response.status == status)
        #expect(response.field("ETag") == tag)
        if status == 304 {
            #expect(response.body.isEmpty)
            #expect(response.field("Content-Length") == nil)
        }
    }

    @Test("of a file from the future, Last-Modified is the time of its first answer, and so never after Date")
    func futureFile() throws {
        let proxy = try proxy()
        let future = Int64(time(nil)) + 86_400
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: Double(future))], ofItemAtPath: "\(proxy.folder)/f.txt")
        let before = Int64(time(nil))
        let response = try proxy.exchange("GET", "http://m.test/f.txt")
        let modified = try #require(response.field("Last-Modified"))
        // A second may begin between the answer and its Date.
        #expect(try before <= seconds(modified))
        #expect(try seconds(modified) <= seconds(#require(response.field("Date"))))
        let again = try proxy.exchange("GET", "http://m.test/f.txt", fields: ["If-Modified-Since: \(modified)"])
        #expect(again.status == 304)
        #expect(again.field("Last-Modified") ?? modified == modified)
    }

    /// What a date of a field says, in Unix seconds.
    private func seconds(_ date: String) throws -> Int64 {
        try #require(Array(date.utf8).withUnsafeBytes { HTTPDate.parse($0, now: Int64(time(nil))) })
    }

    @Test(
        "one range is a 206, what can't be satisfied a 416, nonsense the whole",
        arguments: [
            ("bytes=0-3", 206, "The "), ("bytes=-3", 206, "dog"), ("bytes=40-", 206, "dog"), ("bytes=-100", 206, text),
            ("bytes=0-18446744073709551616", 206, text), ("bytes=100-", 416, ""), ("bytes=5-4", 200, text),
            ("bytes=a-b", 200, text), ("items=0-1", 200, text), ("bytes=9223372036854775807-", 416, ""),
            ("bytes=0-0,0-0,0-0", 206, "T"), ("bytes=0-,0-,0-", 206, text),
        ])
    func ranges(_ range: String, _ status: Int, _ body: String) throws {
        let proxy = try proxy()
        let response = try proxy.exchange("GET", "http://m.test/f.txt", fields: ["Range: \(range)"])
        #expect(response.status == status)
        #expect(response.body == body)
        if status == 206 { #expect(response.field("Content-Range")?.hasSuffix("/43") == true) }
        if status == 416 { #expect(response.field("Content-Range") == "bytes */43") }
    }

    @Test("several ranges are a multipart body of the announced length")
    func multipart() throws {
        let proxy = try proxy()
        let response = try proxy.exchange("GET", "http://m.test/f.txt", fields: ["Range: bytes=0-2,10-14"])
        #expect(response.status == 206)
        let type = try #require(response.field("Content-Type"))
        let boundary = try #require(type.components(separatedBy: "boundary=").last)
        #expect(type.hasPrefix("multipart/byteranges; boundary="))
        #expect(response.field("Content-Length") == "\(response.body.utf8.count)")
        #expect(response.body.contains("Content-Range: bytes 0-2/43\r\n\r\nThe\r\n"))
        #expect(response.body.contains("Content-Range: bytes 10-14/43\r\n\r\nbrown\r\n"))
        #expect(response.body.hasSuffix("--\(boundary.replacingOccurrences(of: "\"", with: ""))--\r\n"))
    }

    @Test("a digest that a rule sets is in no response without the whole content (RFC 9530 §2)")
    func digest() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://m.test/x: { text: 0123456789, headers: { Content-Digest: "x=:eA==:", Repr-Digest: "x=:eA==:" } }
            """)
        let whole = try proxy.exchange("GET", "http://m.test/x")
        let tag = "If-None-Match: \(try #require(whole.field("ETag")))"
        let part = try proxy.exchange("GET", "http://m.test/x", fields: ["Range: bytes=1-2"])
        let parts = try proxy.exchange("GET", "http://m.test/x", fields: ["Range: bytes=1-2, 8-9"])
        let none = try proxy.exchange("GET", "http://m.test/x", fields: [tag])
        let responses = [whole, part, parts, none]
        #expect(responses.map(\.status) == [200, 206, 206, 304])
        #expect(responses.map { $0.field("Content-Digest") } == ["x=:eA==:", nil, nil, nil])
        #expect(responses.map { $0.field("Repr-Digest") } == Array(repeating: "x=:eA==:", count: 4))
    }

    @Test("If-Range lets a range through only for the very representation")
    func ifRange() throws {
        let proxy = try proxy()
        let tag = try #require(try proxy.exchange("GET", "http://m.test/f.txt").field("ETag"))
        let matching = try proxy.exchange(
            "GET", "http://m.test/f.txt", fields: ["Range: bytes=0-2", "If-Range: \(tag)"])
        #expect(matching.status == 206)
        for other in ["\"other\"", "W/\(tag)", "garbage", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            let response = try proxy.exchange(
                "GET", "http://m.test/f.txt", fields: ["Range: bytes=0-2", "If-Range: \(other)"])
            #expect(response.status == 200)
        }
    }

    @Test("bodies in the map, statuses, redirects and blocks")
    func otherSources() throws {
        let proxy = try proxy()
        let json = try proxy.exchange("POST", "http://m.test/json", body: "{}")
        #expect(json.status == 201)
        #expect(json.body == #"{"user":"guest"}"#)
        #expect(json.field("X-Mock") == "yes")
        let moved = try proxy.exchange("GET", "http://m.test/moved")
        #expect(moved.status == 302)
        #expect(moved.field("Location") == "http://other.test/x")
        #expect(try proxy.exchange("GET", "http://m.test/blocked").status == 403)
        let asset = try proxy.exchange("GET", "assets://logo.txt")
        #expect(asset.body == Self.text)
    }

    @Test("a folder answers with what is below it and with its index; nothing leaves the root")
    func folder() throws {
        let proxy = try proxy()
        #expect(try proxy.exchange("GET", "http://m.test/d/f.txt").body == Self.text)
        #expect(try proxy.exchange("GET", "http://m.test/d/").body == "<p>index")
        #expect(try proxy.exchange("GET", "http://m.test/d/f.txt?v=1").body == Self.text)
        try FileManager.default.createSymbolicLink(
            atPath: "\(proxy.folder)/link", withDestinationPath: "/etc/passwd")
        for path in [
            "..%2f..%2fetc/passwd", "link", "%00", "a%00.html", "%2fetc/passwd", "/etc/passwd", "..\\..\\x", "....//x",
        ] {
            let response = try proxy.exchange("GET", "http://m.test/d/\(path)")
            #expect((400..<405).contains(response.status), "\(path) gave \(response.status)")
            #expect(!response.body.contains("root:"))
        }
    }

    @Test("a file that does not exist is a 502 that names rule and path, or what `missing` says")
    func missing() throws {
        let proxy = try proxy()
        let response = try proxy.exchange("GET", "http://m.test/missing")
        #expect(response.status == 502)
        #expect(response.body.contains("m.yaml:7") && response.body.contains("nope.txt"))
        #expect(response.field("Proxy-Status")?.hasPrefix("subproxy; error=") == true)
        let wanted = try proxy.exchange("GET", "http://m.test/missing404")
        #expect(wanted.status == 404)
        // Asked for by the map, it is no error of which RFC 9209 has a type.
        #expect(
            wanted.field("Proxy-Status") == #"subproxy; details="The rule at m.yaml:8 has no file for this URL.""#)
        try proxy.write("here now", to: "nope.txt")
        #expect(try proxy.exchange("GET", "http://m.test/missing").body == "here now")
    }

    @Test("an edit by rename shows in the next request that comes 100 ms later, with another tag")
    func edits() throws {
        let proxy = try proxy()
        let old = try proxy.exchange("GET", "http://m.test/f.txt")
        try proxy.write("edited", to: "f.txt")
        var response = old
        try Wait.until {
            response = try proxy.exchange("GET", "http://m.test/f.txt")
            return response.body == "edited"
        }
        #expect(response.field("ETag") != old.field("ETag"))
        // A browser's Reload sees an edit at once.
        try proxy.write("again", to: "f.txt")
        #expect(try proxy.exchange("GET", "http://m.test/f.txt", fields: ["Cache-Control: max-age=0"]).body == "again")
    }

    @Test("encoded siblings go to clients that accept them")
    func encodings() throws {
        let proxy = try proxy()
        try proxy.write("BR", to: "f.txt.br")
        try proxy.write("GZ", to: "f.txt.gz")
        let brotli = try proxy.exchange("GET", "http://m.test/f.txt", fields: ["Accept-Encoding: gzip, br"])
        #expect(brotli.body == "BR")
        #expect(brotli.field("Content-Encoding") == "br")
        #expect(brotli.field("Vary") == "Accept-Encoding, Origin")
        #expect(brotli.field("Content-Type") == "text/plain; charset=utf-8")
        let gzip = try proxy.exchange("GET", "http://m.test/f.txt", fields: ["Accept-Encoding: gzip"])
        #expect(gzip.body == "GZ")
        #expect(gzip.field("ETag") != brotli.field("ETag"))
        let plain = try proxy.exchange("GET", "http://m.test/f.txt")
        #expect(plain.body == Self.text)
        #expect(plain.field("Content-Encoding") == nil)
    }

    @Test(
        "a compressed SVG says that it is, also from disk, and a rule may say otherwise",
        arguments: [
            ("", "image/svg+xml", "gzip"), (", retain: false", "image/svg+xml", "gzip"),
            (", type: image/svg+xml", "image/svg+xml", "gzip"), (", type: application/gzip", "application/gzip", nil),
            (", headers: { Content-Encoding: null }", "image/svg+xml", nil),
        ])
    func compressedSVG(options: String, type: String, coding: String?) throws {
        let proxy = try TestProxy(
            "substitutions:\n  http://m.test/f: { file: F.SVGZ\(options) }\n  http://m.test/: ./\n",
            files: ["F.SVGZ": Self.text, "plain.svg": "<svg/>"])
        for fields in [[], ["Accept-Encoding: br"], ["Range: bytes=0-1"]] {
            let response = try proxy.exchange("GET", "http://m.test/f", fields: fields)
            #expect(response.field("Content-Type")?.hasPrefix(type) == true)
            #expect(response.field("Content-Encoding") == coding)
            #expect(response.field("Vary") == "Origin")
            #expect(response.body == (fields == ["Range: bytes=0-1"] ? "Th" : Self.text))
        }
        #expect(try proxy.exchange("GET", "http://m.test/plain.svg").field("Content-Encoding") == nil)
    }

    @Test("a sibling is not sent where the rule says what the coding is", arguments: ["null", "br"])
    func ownCoding(_ value: String) throws {
        let proxy = try TestProxy(
            "substitutions:\n  http://m.test/f: { file: f.txt, headers: { Content-Encoding: \(value) } }\n",
            files: ["f.txt": Self.text, "f.txt.gz": "GZ"])
        let response = try proxy.exchange("GET", "http://m.test/f", fields: ["Accept-Encoding: gzip"])
        #expect(response.body == Self.text)
        #expect(response.field("Content-Encoding") == (value == "null" ? nil : value))
    }

    @Test("conditions are compared with the Last-Modified that a rule sets")
    func ownModificationDate() throws {
        let date = "Mon, 01 Jan 2001 00:00:00 GMT"
        let proxy = try TestProxy(
            "substitutions:\n  http://m.test/f: { file: f.txt, headers: { Last-Modified: \"\(date)\" } }\n",
            files: ["f.txt": Self.text])
        for (condition, status) in [
            ("If-Modified-Since: \(date)", 304), ("If-Modified-Since: Sun, 31 Dec 2000 23:59:59 GMT", 200),
            ("If-Unmodified-Since: \(date)", 200), ("If-Unmodified-Since: Sun, 31 Dec 2000 23:59:59 GMT", 412),
        ] {
            // From disk, and from memory.
            for _ in 1...2 {
                #expect(
                    try proxy.exchange("GET", "http://m.test/f", fields: [condition]).status == status, "\(condition)")
            }
        }
    }

    @Test("a cross-origin request may read the answer; a preflight is answered here")
    func cors() throws {
        let proxy = try proxy()
        let response = try proxy.exchange("GET", "http://m.test/f.txt", fields: ["Origin: http://app.test"])
        #expect(response.field("Access-Control-Allow-Origin") == "http://app.test")
        #expect(response.field("Access-Control-Allow-Credentials") == "true")
        #expect(response.field("Vary") == "Origin")
        #expect(response.field("Access-Control-Expose-Headers")?.contains("ETag") == true)
        let preflight = try proxy.exchange(
            "OPTIONS", "http://m.test/f.txt",
            fields: [
                "Origin: http://app.test", "Access-Control-Request-Method: GET",
                "Access-Control-Request-Headers: x-a, x-b",
            ])
        #expect(preflight.status == 204)
        #expect(preflight.field("Access-Control-Allow-Headers") == "x-a, x-b")
        #expect(preflight.field("Access-Control-Allow-Methods") == "GET, HEAD")
        let own = try proxy.exchange("GET", "http://m.test/open", fields: ["Origin: http://app.test"])
        #expect(own.field("Access-Control-Allow-Origin") == "*")
        #expect(own.field("Access-Control-Allow-Credentials") == nil)
        #expect(own.field("ETag") == nil)
        let off = try proxy.exchange("GET", "http://m.test/closed", fields: ["Origin: http://app.test"])
        #expect(off.field("Access-Control-Allow-Origin") == nil)
    }

    @Test("delay and rate hold the answer back without changing it")
    func paced() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://m.test/d: { text: delayed, delay: 150ms }
              http://m.test/r: { text: "0123456789", rate: 40B/s }
            """)
        let clock = ContinuousClock()
        var body = ""
        let delayed = try clock.measure { body = try proxy.exchange("GET", "http://m.test/d").body }
        #expect(body == "delayed")
        #expect(delayed >= .milliseconds(150))
        let slow = try clock.measure { body = try proxy.exchange("GET", "http://m.test/r").body }
        #expect(body == "0123456789")
        #expect(slow >= .milliseconds(150))
    }

    @Test("a streamed file, its ranges, and one cut short while it is sent")
    func streamed() throws {
        let proxy = try TestProxy("substitutions:\n  http://m.test/big: big.bin\n") { $0.retention.file = 1000 }
        let content = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        try Data(content).write(to: URL(filePath: "\(proxy.folder)/big.bin"))
        let whole = try proxy.exchange("GET", "http://m.test/big")
        #expect(whole.status == 200)
        #expect(whole.bytes.suffix(content.count).elementsEqual(content))
        let part = try proxy.exchange("GET", "http://m.test/big", fields: ["Range: bytes=2999990-"])
        #expect(part.status == 206)
        #expect(part.bytes.suffix(10).elementsEqual(content.suffix(10)))
        // More than the buffers of both sides take.
        #expect(truncate("\(proxy.folder)/big.bin", 64 << 20) == 0)
        let socket = try Socket.connect(port: proxy.port, receiveBuffer: 65_536)
        try socket.send("GET http://m.test/big HTTP/1.1\r\nHost: m.test\r\n\r\n")
        let head = String(decoding: try socket.receive(until: "\r\n\r\n"), as: UTF8.self)
        #expect(head.contains("Content-Length: \(64 << 20)\r\n"))
        #expect(truncate("\(proxy.folder)/big.bin", 1500) == 0)
        #expect(try socket.receiveAll().count < 64 << 20)
        #expect(try proxy.exchange("GET", "http://m.test/big").bytes.count < 3000)
    }

    @Test(
        "nothing brings a blocked URL to its origin", arguments: [nil, .origin, .revalidate] as [RuleOptions.Bypass?])
    func blocked(bypass: RuleOptions.Bypass?) throws {
        let origin = try ScriptedOrigin(body: "origin")
        let url = "http://127.0.0.1:\(origin.port)/x"
        for options in [
            "block: true", "block: true, bypass: never", "answers: [{ block: true }, { block: true, status: 403 }]",
            "answers: [{ status: 403, text: a }, { block: true }], bypass: never",
        ] {
            let proxy = try TestProxy("defaults: { bypass: origin }\nsubstitutions:\n  \(url): { \(options) }\n") {
                $0.bypass = bypass
            }
            for fields in [["Cache-Control: no-cache"], ["Pragma: no-cache"], ["Cache-Control: max-age=0"], []] {
                let response = try proxy.exchange("GET", url, fields: fields)
                #expect(response.status == 403)
                #expect(response.field("Cache-Status")?.hasPrefix("subproxy; hit; ") == true)
            }
            #expect(try proxy.exchange("POST", url, fields: ["Cache-Control: no-cache"], body: "x").status == 403)
        }
        #expect(origin.connectionCount == 0)
    }

    @Test("where a file is streamed that goes away while its answer is ready, the rule says what happens")
    func goneWhileReady() throws {
        let origin = try ScriptedOrigin(body: "origin")
        let base = "http://127.0.0.1:\(origin.port)"
        let proxy = try TestProxy(
            """
            substitutions:
              \(base)/404: { file: 404.txt, retain: false, missing: 404 }
              \(base)/forward: { file: forward.txt, retain: false, missing: forward }
              \(base)/error: { file: error.txt, retain: false }
              \(base)/link: { file: link.txt, retain: false }

            """, files: ["404.txt": "f", "forward.txt": "f", "error.txt": "f", "link.txt": "f"])
        for (path, status) in [("404", 404), ("forward", 200), ("error", 502), ("link", 403)] {
            let file = "\(proxy.folder)/\(path).txt"
            // Its answer is ready for a moment; what comes later finds out by looking.
            #expect(try proxy.exchange("GET", "\(base)/\(path)").body == "f")
            #expect(unlink(file) == 0)
            if path == "link" { #expect(symlink("404.txt", file) == 0) }
            for _ in 0..<2 {
                let answer = try proxy.exchange("GET", "\(base)/\(path)", fields: ["Origin: http://app.test"])
                #expect(answer.status == status, "\(path): \(answer.body)")
                #expect(path != "forward" || answer.body == "origin")
            }
        }
    }

    @Test("an answer says that it depends on the fields of conditions that may be looked at for its URL")
    func varyingByConditions() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://m.test/who:
                - { text: alice, request-headers: { X-User: alice }, headers: { Cache-Control: max-age=60, Vary: Accept } }
                - { text: other, headers: { Cache-Control: max-age=60 } }
              http://m.test/page: [{ text: page, navigation: true }, { file: f.txt, retain: false }]
              http://m.test/rest/: { file: ./, cors: off }
              http://m.test/rest/p*: { text: p, request-headers: { X-P: "*" } }
              http://m.test/template: { template: { text: "{{request.headers.accept}}" } }
              http://m.test/: { text: rest }
              http://m.test:81/x: { text: x }
              http://*.any.test/*: { text: any }
              "~^http://r[.]test/$": { text: r }

            """, files: ["f.txt": "f"])
        let navigation = "Sec-Fetch-Mode, Upgrade-Insecure-Requests"
        let all = "x-user, \(navigation), x-p"
        for (url, fields, body, vary) in [
            ("m.test/who", ["X-User: alice"], "alice", "Accept, x-user, Origin"),
            ("m.test/who", [], "other", "x-user, Origin"),
            ("m.test/page", ["Sec-Fetch-Mode: navigate"], "page", "\(navigation), Origin"),
            ("m.test/page", [], "f", "\(navigation), Origin"),
            ("m.test/rest/f.txt", [], "f", "x-p"),
            ("m.test/rest/p", ["X-P: 1"], "p", "x-p, Origin"),
            ("m.test/template", ["Accept: a/b"], "a/b", "accept, Origin"),
            ("m.test/else", [], "rest", "\(all), Origin"),
            ("m.test:81/x", [], "x", "Origin"),
            ("one.any.test/y", [], "any", "\(all), Origin"),
            ("r.test/", [], "r", "\(all), Origin"),
        ] {
            for _ in 0..<2 {
                let answer = try proxy.exchange("GET", "http://\(url)", fields: fields)
                #expect(answer.body == body, "\(url)")
                #expect(answer.field("Vary") == vary, "\(url)")
            }
        }
    }

    @Test("beside many conditions on a host its folders depend on all of them")
    func varyingByMany() throws {
        let rules = (0..<100).map {
            "  http://m.test/\($0)/x: [{ text: a, request-headers: { X-\($0): a } }, { text: b }]\n"
        }
        let proxy = try TestProxy("substitutions:\n  http://m.test/a/: { text: c }\n" + rules.joined())
        #expect(try proxy.exchange("GET", "http://m.test/7/x").field("Vary") == "x-7, Origin")
        let names = (0..<100).map { "x-\($0), " }.joined()
        #expect(try proxy.exchange("GET", "http://m.test/a/b").field("Vary") == names + "Origin")
    }

    @Test("an answer that scripts of some origins may read says so to everybody")
    func varyingByOrigin() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://m.test/f.txt: f.txt
              http://m.test/coded.txt: coded.txt
              http://m.test/json: { json: {}, status: 201 }
              http://m.test/vary: { text: x, headers: { Vary: "Accept, origin" } }
              http://m.test/more: { text: x, headers: { Vary: Accept } }
              http://m.test/any: { text: x, headers: { Vary: "*" } }
              http://m.test/moved: { redirect: "http://other.test/x" }
              http://m.test/open: { text: x, headers: { Access-Control-Allow-Origin: "*" } }
              http://m.test/closed: { text: x, cors: off }

            """, files: ["f.txt": "f", "coded.txt": "coded", "coded.txt.gz": "gz"])
        for (path, vary) in [
            ("f.txt", "Origin"), ("coded.txt", "Accept-Encoding, Origin"), ("json", "Origin"),
            ("vary", "Accept, origin"),
            ("more", "Accept, Origin"), ("any", "*"), ("moved", "Origin"), ("open", nil), ("closed", nil),
        ] as [(String, String?)] {
            for fields in [[], ["Origin: http://app.test"]] {
                for _ in 0..<2 {
                    let response = try proxy.exchange("GET", "http://m.test/\(path)", fields: fields)
                    #expect(response.field("Vary") == vary, "\(path) \(fields)")
                }
            }
        }
        let tag = try #require(try proxy.exchange("GET", "http://m.test/f.txt").field("ETag"))
        let unchanged = try proxy.exchange("GET", "http://m.test/f.txt", fields: ["If-None-Match: \(tag)"])
        #expect(unchanged.status == 304 && unchanged.field("Vary") == "Origin")
    }

    @Test(
        "whatever a rule says of Vary, an answer that has several encodings names Accept-Encoding",
        arguments: [
            ("Cookie", "Cookie, Accept-Encoding, Origin"), ("null", "Accept-Encoding, Origin"),
            ("accept-encoding", "accept-encoding, Origin"), ("\"*\"", "*"),
        ])
    func varyingByEncoding(_ vary: String, _ expected: String) throws {
        let proxy = try TestProxy(
            "substitutions:\n  http://m.test/z: { file: z.txt, headers: { Vary: \(vary) } }\n",
            files: ["z.txt": "z", "z.txt.gz": "gz"])
        for fields in [[], ["Accept-Encoding: gzip"]] {
            let response = try proxy.exchange("GET", "http://m.test/z", fields: fields)
            #expect(response.body == (fields.isEmpty ? "z" : "gz") && response.field("Vary") == expected)
        }
    }

    @Test(
        "a name that is too long for any file is one that does not exist",
        arguments: [
            String(repeating: "n", count: 256), String(repeating: "n/", count: 2_100),
            String(repeating: "n", count: 5_000),
        ])
    func overlongName(_ name: String) throws {
        let origin = try ScriptedOrigin(body: "origin")
        let proxy = try TestProxy(
            """
            substitutions:
              http://127.0.0.1:\(origin.port)/: { file: ./, missing: forward }
              http://m.test/404/: { file: ./, missing: 404 }
              http://m.test/error/: ./

            """)
        #expect(try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/\(name)").body == "origin")
        #expect(try proxy.exchange("GET", "http://m.test/404/\(name)").status == 404)
        let error = try proxy.exchange("GET", "http://m.test/error/\(name)")
        #expect(error.status == 502 && error.body.contains("m.yaml:4"))
    }

    @Test("what the proxy words itself is not to be taken for anything else, and its HTML does nothing")
    func ownWording() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://m.test/blocked: { block: true }
              http://m.test/moved: { redirect: "http://other.test/x" }
              http://m.test/other: { block: true, headers: { X-Content-Type-Options: null } }
              http://m.test/text: { text: <b> }
              http://m.test/missing: nope.txt

            """)
        func options(_ method: String, _ url: String, _ fields: String...) throws -> [String?] {
            let response = try proxy.exchange(method, url, fields: fields)
            return [response.field("X-Content-Type-Options"), response.field("Content-Security-Policy")]
        }
        let policy = "default-src 'none'; style-src 'unsafe-inline'"
        #expect(try options("GET", "http://m.test/blocked") == ["nosniff", nil])
        #expect(try options("GET", "http://m.test/moved") == ["nosniff", nil])
        #expect(try options("GET", "http://m.test/other") == [nil, nil])
        #expect(try options("GET", "http://m.test/text") == [nil, nil])
        #expect(try options("GET", "http://m.test/missing") == ["nosniff", nil])
        #expect(try options("GET", "http://m.test/missing", "Accept: text/html") == ["nosniff", policy])
        #expect(
            try options("OPTIONS", "http://m.test/text", "Origin: http://a.test", "Access-Control-Request-Method: GET")
                == ["nosniff", nil])
        #expect(try options("OPTIONS", "http://unused.test/", "Max-Forwards: 0") == ["nosniff", nil])
        let socket = try proxy.connect()
        try socket.send("GET  / HTTP/1.1\r\n\r\n")
        let malformed = TestResponse(try socket.receiveAll())
        #expect(malformed.status == 400 && malformed.field("X-Content-Type-Options") == "nosniff")
        let own = try proxy.connect()
        try own.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\nConnection: close\r\n\r\n")
        let page = TestResponse(try own.receiveAll())
        #expect(page.field("Content-Security-Policy") == policy && page.field("X-Content-Type-Options") == "nosniff")
    }
}
