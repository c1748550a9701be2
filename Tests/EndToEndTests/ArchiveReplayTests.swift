import Foundation
import Glibc
import ProxyTestKit
import Testing

/// The built program with archives, and curl as the client.
@Suite("Replaying archives", .onThreads)
struct ArchiveReplayTests {
    private static func entry(
        _ url: String, _ text: String?, method: String = "GET", status: Int = 200, type: String = "text/plain",
        fields: [(String, String)] = [], sent: String? = nil
    ) -> String {
        func json(_ value: Any) -> String {
            String(decoding: (try? JSONSerialization.data(withJSONObject: value)) ?? Data(), as: UTF8.self)
        }
        var request: [String: Any] = ["method": method, "url": url, "headers": [[String: String]]()]
        if let sent { request["postData"] = ["mimeType": "application/json", "text": sent] }
        var content: [String: Any] = ["size": text?.utf8.count ?? 10, "mimeType": type]
        if let text { content["text"] = text }
        return json([
            "startedDateTime": "2026-01-01T00:00:00Z", "time": 1, "request": request,
            "response": [
                "status": status, "statusText": "", "redirectURL": "", "content": content,
                "headers": fields.map { ["name": $0.0, "value": $0.1] },
            ],
        ])
    }

    private static func har(_ entries: [String]) -> String {
        "{\"log\":{\"version\":\"1.2\",\"pages\":[],\"entries\":[\(entries.joined(separator: ",\n"))]}}"
    }

    /// An archive beside which maps can be written, and the program that serves it.
    private final class Served {
        let folder = TemporaryFolder()
        let path: String
        let binary: RunningBinary

        init(_ entries: [String], map: String? = nil, options: [String] = ["--offline"]) throws {
            path = try folder.write("a.har", ArchiveReplayTests.har(entries))
            let folder = folder
            let served = try map.map { try folder.write("m.yaml", $0) } ?? path
            binary = try RunningBinary(map: served, options)
        }

        func get(_ url: String, _ fields: [String] = []) throws -> ProxyResponse { try binary.get(url, fields: fields) }
    }

    @Test("An entry is answered with its status, fields and body, and says which it is")
    func fields() throws {
        let served = try Served([
            Self.entry(
                "http://a.test/", "<p>hi", status: 203, type: "text/html",
                fields: [
                    ("X-A", "1"), ("Set-Cookie", "a=1\nb=2"), ("x-a", "2"), ("Strict-Transport-Security", "max-age=9"),
                    ("Date", "Thu, 01 Jan 2026 00:00:00 GMT"), ("Cache-Control", "max-age=99"), ("Expires", "0"),
                    ("Transfer-Encoding", "chunked"), ("Content-Encoding", "br"),
                ])
        ])
        let response = try served.get("http://a.test/")
        #expect(response.status == 203 && response.text == "<p>hi")
        let head = response.head.lowercased()
        #expect(head.contains("x-a: 1\r\n") && head.contains("x-a: 2\r\n"))
        #expect(head.contains("set-cookie: a=1\r\n") && head.contains("set-cookie: b=2\r\n"))
        #expect(head.contains("cache-control: no-cache\r\n") && head.contains(#"detail="a.har#1""#))
        for absent in ["strict-transport", "2026 00:00:00", "max-age", "expires", "chunked", "content-encoding"] {
            #expect(!head.contains(absent), "\(absent)")
        }
        #expect(try served.get("http://a.test/?utm_source=x").head.contains(#"detail="a.har#1 without utm_source""#))
    }

    @Test("Fields go out in the order in which they were recorded, with the proxy's own behind them")
    func order() throws {
        let served = try Served([
            Self.entry(
                "http://a.test/", "hi", type: "text/html",
                fields: [
                    ("Server", "s"), ("Date", "Thu, 01 Jan 2026 00:00:00 GMT"), ("X-A", "1"),
                    ("Content-Type", "text/html; charset=utf-8"), ("Content-Length", "2"), ("X-B", "2"),
                ])
        ])
        let known = ["Server", "X-A", "Content-Type", "X-B", "Cache-Control"]
        for fields in [[], ["Origin: http://b.test"], ["Accept-Encoding: gzip"]] {
            let lines = try served.get("http://a.test/", fields).head.split(separator: "\r\n").dropFirst()
            let names = lines.map { String($0.prefix { $0 != ":" }) }
            #expect(Array(names.prefix(known.count)) == known, "\(names)")
            #expect(names.filter { $0 == "Content-Length" }.count == 1)
            #expect(Set(names).count == names.count, "\(names)")
            let shown = try SubproxyProcess.run(["archive", "cat", "-i", served.path, "1"]).output
            let head = shown.split(separator: "\r\n\r\n").first ?? ""
            for line in head.split(separator: "\r\n").dropFirst() { #expect(lines.contains(line), "\(line)") }
        }
        let part = try served.get("http://a.test/", ["Range: bytes=0-0"])
        #expect(part.status == 206 && part.head.contains("Content-Range: bytes 0-0/2\r\n") && part.text == "h")
    }

    @Test("Ranges, conditions and HEAD hold as for files")
    func conditions() throws {
        let served = try Served([Self.entry("http://a.test/x", "0123456789", fields: [("ETag", "\"v\"")])])
        #expect(try served.get("http://a.test/x", ["Range: bytes=2-4"]).text == "234")
        #expect(try served.get("http://a.test/x", ["If-None-Match: \"v\""]).status == 304)
        let head = try served.binary.exchange("HEAD", "http://a.test/x")
        #expect(head.status == 200 && head.head.contains("Content-Length: 10\r\n") && head.body.isEmpty)
    }

    @Test("Repeated requests get the recorded responses in turn, each client for itself, until a reset")
    func turns() throws {
        let served = try Served(["one", "two", "three"].map { Self.entry("http://a.test/poll", $0) })
        func poll(_ fields: [String] = []) throws -> String { try served.get("http://a.test/poll", fields).text }
        #expect(
            try [poll(), poll(["Range: bytes=0-1"]), poll(), poll(), poll()] == ["one", "on", "two", "three", "three"])
        let worker = ["Proxy-Authorization: Basic \(Data("w:".utf8).base64EncodedString())"]
        #expect(try poll(worker) == "one")
        #expect(try served.binary.exchange("POST", "http://127.0.0.1:\(served.binary.port)/reset").status == 204)
        #expect(try poll() == "one")
    }

    @Test("A poll sees what was recorded behind a POST only after it has sent it")
    func state() throws {
        let served = try Served([
            Self.entry("http://a.test/cart", "empty"), Self.entry("http://a.test/cart", "still empty"),
            Self.entry("http://a.test/cart/items", "added", method: "POST", status: 201, sent: #"{"id":1}"#),
            Self.entry("http://a.test/cart", "one item"),
        ])
        func poll() throws -> String { try served.get("http://a.test/cart").text }
        #expect(try [poll(), poll(), poll(), poll()] == ["empty", "still empty", "still empty", "still empty"])
        let added = try served.binary.exchange(
            "POST", "http://a.test/cart/items", fields: ["Content-Type: application/json"], body: #"{ "id": 1 }"#)
        #expect(added.status == 201)
        #expect(try [poll(), poll()] == ["one item", "one item"])
    }

    @Test(
        "Equal requests that change something get the recorded responses in turn, and GETs what was recorded behind each"
    )
    func equalChanges() throws {
        let url = "http://a.test/count"
        let served = try Served([
            Self.entry(url, "posted 1", method: "POST", sent: "x"), Self.entry(url, "seen 1"),
            Self.entry(url, "posted 2", method: "POST", sent: "x"), Self.entry(url, "seen 2"),
        ])
        func post() throws -> String { try served.binary.exchange("POST", url, body: "x").text }
        func get() throws -> String { try served.get(url).text }
        #expect(try [post(), get(), get()] == ["posted 1", "seen 1", "seen 1"])
        #expect(try [post(), get(), post()] == ["posted 2", "seen 2", "posted 2"])
    }

    @Test("With when: origin-fails what is missing is asked of the origin, and missing once that has failed")
    func missingFallback() throws {
        let origin = try ScriptedOrigin(body: "live")
        let (live, dead) = ("http://127.0.0.1:\(origin.port)", "http://127.0.0.1:1")
        let served = try Served(
            [Self.entry("\(live)/x", "old"), Self.entry("\(dead)/x", "old")],
            map: "archives: [{ file: a.har, when: origin-fails, missing: 404 }]\n", options: [])
        #expect(try served.get("\(live)/y").text == "live")
        #expect(try served.binary.exchange("POST", "\(live)/y", body: "b").text == "live")
        let missed = try served.get("\(dead)/y")
        #expect(missed.status == 404 && missed.text.contains("a.har has no entry"))
        let explained = try SubproxyProcess.run(["explain", "--map", "\(served.folder.path)/m.yaml", "\(live)/y"])
        #expect(explained.output.contains("outcome: forwarded: the origin is asked first"), "\(explained.output)")
        // The archive has no such URL, so its query is not logged.
        #expect(try served.get("\(live)/y?token=SECRET").text == "live")
        try Wait.until { served.binary.log.contains("/y?token=*") }
        #expect(!served.binary.log.contains("SECRET"))
    }

    @Test("The log names the entry that a hard reload passes by")
    func passedBy() throws {
        let origin = try ScriptedOrigin(body: "live")
        let url = "http://127.0.0.1:\(origin.port)/x"
        let served = try Served(
            [Self.entry(url, "old")], map: "archives: [{ file: a.har, bypass: origin }]\n", options: [])
        #expect(try served.get(url, ["Cache-Control: no-cache"]).text == "live")
        try Wait.until { served.binary.log.contains("bypassed a.har#1 (no-cache)") }
    }

    @Test("Location keeps its fragment where entries are moved, and its form where it isn't")
    func movedLocations() throws {
        func redirect(_ path: String, _ location: String) -> String {
            Self.entry("http://a.test/p/\(path)", "", status: 302, fields: [("Location", location)])
        }
        let served = try Served(
            [
                redirect("1", "http://a.test/p/x#frag"), redirect("2", "x?y#frag"),
                redirect("3", "HTTP://B.test/q/../x#frag"), redirect("4", "/q/x#frag"),
            ], map: "archives: [{ file: a.har, as: { http://a.test/p/: http://n.test/pp/ } }]\n")
        func location(_ number: Int) throws -> String? {
            try served.get("http://n.test/pp/\(number)").field("Location")
        }
        #expect(try location(1) == "http://n.test/pp/x#frag")
        #expect(try location(2) == "http://n.test/pp/x?y#frag")
        #expect(try location(3) == "HTTP://B.test/q/../x#frag")
        #expect(try location(4) == "http://a.test/q/x#frag")
    }

    @Test("A file of a body that is a link is an error, and what an archive says reaches no terminal as it is")
    func untrustedBytes() throws {
        let folder = TemporaryFolder()
        try folder.write("there.txt", "text")
        symlink("there.txt", folder.path + "/link.txt")
        func archive(_ name: String, _ content: String, method: String = "GET") throws -> String {
            let entry = """
                {"request":{"method":"\(method)","url":"http://a.test/","headers":[]},
                "response":{"status":200,"headers":[],"content":{"mimeType":"text/plain",\(content)}}}
                """
            return try folder.write(name, Self.har([entry]))
        }
        let linked = try SubproxyProcess.run(["check", archive("l.har", #""_file":"link.txt""#)])
        #expect(linked.status == 1 && linked.error.contains("the _file 'link.txt' is a symbolic link"), "\(linked)")
        let odd = try archive("o.har", #""_file":"no\u001b[31mpe""#, method: #"G\u001b[31m"#)
        for command in [["check", odd], ["archive", "list", odd]] {
            let finished = try SubproxyProcess.run(command)
            #expect(!finished.output.contains("\u{1B}") && !finished.error.contains("\u{1B}"))
            #expect((finished.output + finished.error).contains("no<U+001B>[31mpe"), "\(finished)")
        }
    }

    @Test("A rule comes before every archive, and leaves it what its conditions don't hold for")
    func rank() throws {
        let served = try Served(
            [Self.entry("http://a.test/x", "archive"), Self.entry("http://a.test/x", "posted", method: "POST")],
            map: "archives: [a.har]\nsubstitutions: { http://a.test/x: { text: rule, methods: [GET] } }\n")
        #expect(try served.get("http://a.test/x").text == "rule")
        #expect(try served.binary.exchange("POST", "http://a.test/x").text == "posted")
    }

    @Test("What is missing is answered as the map says", arguments: ["404", "504", "204"])
    func missing(_ status: String) throws {
        let served = try Served(
            [Self.entry("http://a.test/items?page=1", "x")],
            map: "archives: [{ file: a.har, missing: \(status) }]\n", options: [])
        let response = try served.get("http://a.test/items?page=2", ["Origin: http://b.test"])
        #expect(response.status == Int(status))
        #expect(response.head.contains("Access-Control-Allow-Origin: http://b.test"))
        if status != "204" { #expect(response.text.contains("a.har#1 http://a.test/items?page=1")) }
        try Wait.until { served.binary.log.contains("refused (not in a.har; nearest a.har#1)") }
    }

    @Test("An archive is the fallback of a live site with when: origin-fails, bodies included")
    func fallback() throws {
        let origin = try ScriptedOrigin(body: "live")
        let url = "http://127.0.0.1:\(origin.port)/x"
        let dead = "http://127.0.0.1:1/x"
        let served = try Served(
            [
                Self.entry(url, "old"), Self.entry(dead, "fallback"),
                Self.entry(dead, "posted a", method: "POST", sent: "a"),
                Self.entry(dead, "posted b", method: "POST", sent: "b"),
            ], map: "archives: [{ file: a.har, when: origin-fails }]\n", options: [])
        #expect(try served.get(url).text == "live")
        #expect(try served.get(dead).text == "fallback")
        #expect(try served.binary.exchange("POST", dead, body: "b").text == "posted b")
    }

    @Test("An archive that is replaced is read anew; one with errors leaves the old one in force")
    func reload() throws {
        let served = try Served([Self.entry("http://a.test/x", "first")])
        #expect(try served.get("http://a.test/x").text == "first")
        func replace(_ text: String) throws {
            let other = try served.folder.write("b.har", text)
            try #require(rename(other, served.path) == 0)
        }
        try replace("{")
        try Wait.until {
            try served.get("http://127.0.0.1:\(served.binary.port)/metrics").text.contains(
                #"subproxy_reloads_total{subject="map",result="failure"} 1"#)
        }
        #expect(try served.get("http://a.test/x").text == "first")
        try replace(Self.har([Self.entry("http://a.test/x", "second")]))
        try Wait.until { try served.get("http://a.test/x").text == "second" }
    }

    @Test("A body that is not retained is streamed; one changed in place is 503, never other bytes")
    func streaming() throws {
        let large = String(repeating: "0123456789abcdef", count: 20_000)
        let served = try Served(
            [Self.entry("http://a.test/large", large), Self.entry("http://a.test/small", "small")],
            options: ["--offline", "--retain-file", "64KiB"])
        #expect(try served.get("http://a.test/large").text == large)
        // Changed in place, and not yet in force: the other bytes are as many.
        served.binary.process.send(SIGSTOP)
        let text = try String(contentsOfFile: served.path, encoding: .utf8)
        let handle = try #require(FileHandle(forWritingAtPath: served.path))
        try handle.write(contentsOf: Data(text.replacing("0123", with: "9999").utf8))
        try handle.close()
        served.binary.process.send(SIGCONT)
        let response = try served.get("http://a.test/large")
        #expect(response.status == 503 || response.text == large.replacing("0123", with: "9999"))
    }

    @Test("Of a body that stands as it is in a file, parts are sent and tags made though it is not in memory")
    func parts() throws {
        let folder = TemporaryFolder()
        let text = (0..<20_000).map { "\($0 % 10)" }.joined()
        let har = try folder.write("a.har", Self.har([Self.entry("http://a.test/large", text)]))
        let warc = "\(folder.path)/a.warc"
        #expect(try SubproxyProcess.run(["archive", "convert", har, warc]).status == 0)
        let binary = try RunningBinary(map: warc, ["--offline", "--retain-file", "1KiB"])
        let whole = try binary.get("http://a.test/large")
        #expect(whole.text == text)
        let tag = try #require(whole.field("ETag"))
        #expect(tag.hasPrefix("\"") && whole.field("Accept-Ranges") == "bytes")
        #expect(try binary.get("http://a.test/large", fields: ["If-None-Match: \(tag)"]).status == 304)
        for (range, part) in [("15001-15003", "123"), ("-2", "89"), ("19999-", "9")] {
            let response = try binary.get(
                "http://a.test/large", fields: ["Range: bytes=\(range)", "If-Range: \(tag)"])
            #expect(response.status == 206 && response.text == part, "\(response.head)")
        }
        let several = try binary.get("http://a.test/large", fields: ["Range: bytes=1-2,10003-10004"])
        #expect(several.status == 206 && several.text.contains("\r\n\r\n12\r\n--"), "\(several)")
        #expect(several.text.contains("\r\n\r\n34\r\n--"))
        #expect(try binary.get("http://a.test/large", fields: ["Range: bytes=20000-"]).status == 416)
        // Another file has another tag, though it is as long.
        #expect(try SubproxyProcess.run(["archive", "convert", har, warc, "--force"]).status == 0)
        try Wait.until { try binary.get("http://a.test/large").field("ETag") != tag }
    }

    @Test("A part of a coded body is one of what it is decoded to")
    func partOfCoded() throws {
        let folder = TemporaryFolder()
        try folder.write("text", "0123456789")
        #expect(try ChildProcess.run(["gzip", "-kn", folder.at("text")]).status == 0)
        let body = try Data(contentsOf: URL(filePath: folder.at("text.gz")))
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n"
        let record =
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\n"
            + "Content-Type: application/http\r\nContent-Length: \(head.utf8.count + body.count)\r\n\r\n"
        let warc = folder.at("a.warc")
        try (Data((record + head).utf8) + body + Data("\r\n\r\n".utf8)).write(to: URL(filePath: warc))
        let binary = try RunningBinary(map: warc, ["--offline"])
        let coded = try binary.get("http://a.test/", fields: ["Accept-Encoding: gzip"])
        #expect(coded.field("Content-Encoding") == "gzip")
        let part = try binary.get("http://a.test/", fields: ["Accept-Encoding: gzip", "Range: bytes=2-4"])
        #expect(part.status == 206 && part.text == "234" && part.field("Content-Encoding") == nil, "\(part.head)")
        #expect(part.field("Content-Range") == "bytes 2-4/10")
    }

    @Test("A body that can't be decoded goes to clients that accept its coding, and to no others, whoever came first")
    func undecodable() throws {
        let folder = TemporaryFolder()
        try folder.write("text", String(repeating: "0123456789", count: 100))
        #expect(try ChildProcess.run(["gzip", "-kn", folder.at("text")]).status == 0)
        let part = try Data(contentsOf: URL(filePath: folder.at("text.gz"))).dropLast(12)
        let block =
            Data("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n".utf8) + part
        let head =
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Target-URI: http://a.test/\r\n"
            + "Content-Type: application/http\r\nContent-Length: \(block.count)\r\n\r\n"
        let warc = folder.at("a.warc")
        try (Data(head.utf8) + block + Data("\r\n\r\n".utf8)).write(to: URL(filePath: warc))
        let binary = try RunningBinary(map: warc, ["--offline"])
        for _ in 1...2 {
            let coded = try binary.get("http://a.test/", fields: ["Accept-Encoding: gzip"])
            #expect(coded.status == 200 && coded.body == Array(part) && coded.field("Content-Encoding") == "gzip")
            #expect(coded.field("Vary")?.contains("Accept-Encoding") == true)
            for fields in [[], ["Accept-Encoding: identity"], ["Accept-Encoding: gzip;q=0"]] {
                #expect(try binary.get("http://a.test/", fields: fields).status == 502, "\(fields)")
            }
        }
    }

    @Test(
        "A recorded part of a coded body is one of what it is coded to, and is not decoded",
        arguments: [0, 5], ["16MiB", "5B"])
    func recordedPart(_ start: Int, retained: String) throws {
        let folder = TemporaryFolder()
        try folder.write("text", "0123456789")
        #expect(try ChildProcess.run(["gzip", "-kn", folder.at("text")]).status == 0)
        let body = try Data(contentsOf: URL(filePath: folder.at("text.gz")))
        // What lacks the checksum and the length alone would do as a whole.
        let part = body.dropLast(8).dropFirst(start)
        func record(_ type: String, _ id: Int, _ fields: String, _ block: Data) -> Data {
            let head =
                "WARC/1.1\r\nWARC-Type: \(type)\r\nWARC-Record-ID: <urn:x:\(id)>\r\nWARC-Target-URI: http://a.test/\r\n"
                + "Content-Type: application/http\r\n\(fields)Content-Length: \(block.count)\r\n\r\n"
            return Data(head.utf8) + block + Data("\r\n\r\n".utf8)
        }
        let last = start + part.count - 1
        let range = "bytes=\(start)-\(last)"
        let fields =
            "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n"
            + "Content-Range: bytes \(start)-\(last)/\(body.count)\r\n"
        let request = Data("GET / HTTP/1.1\r\nHost: a.test\r\nRange: \(range)\r\n\r\n".utf8)
        let response = Data("HTTP/1.1 206 Partial Content\r\n\(fields)\r\n".utf8) + part
        let warc = folder.at("a.warc")
        let records =
            record("response", 1, "", response) + record("request", 2, "WARC-Concurrent-To: <urn:x:1>\r\n", request)
        try records.write(to: URL(filePath: warc))
        let check = try SubproxyProcess.run(["check", "--strict", warc])
        #expect(check.status == 0 && check.output.contains("1 usable"), "\(check)")
        let list = try SubproxyProcess.run(["archive", "list", warc])
        #expect(list.output.contains(" 206 text/plain \(part.count) ") && list.error.isEmpty, "\(list)")
        let binary = try RunningBinary(map: warc, ["--offline", "--retain-file", retained])
        let coded = try binary.get("http://a.test/", fields: ["Accept-Encoding: gzip", "Range: \(range)"])
        #expect(coded.status == 206 && coded.body == Array(part), "\(coded)")
        #expect(coded.field("Content-Encoding") == "gzip")
        #expect(coded.field("Content-Range") == "bytes \(start)-\(last)/\(body.count)")
        #expect(try binary.get("http://a.test/", fields: ["Range: \(range)"]).status == 502)
    }

    @Test("An archive that stays over a reload answers with its own entries, whatever the one before it has become")
    func numbers() throws {
        let folder = TemporaryFolder()
        let first = try folder.write("first.har", Self.har([Self.entry("http://a.test/", "a")]))
        try folder.write("second.har", Self.har((0..<4).map { Self.entry("http://b.test/\($0)", "b\($0)") }))
        let map = try folder.write("m.yaml", "archives: [first.har, second.har]\n")
        let binary = try RunningBinary(map: map, ["--offline"])
        func texts() throws -> [String] { try (0..<4).map { try binary.get("http://b.test/\($0)").text } }
        let right = ["b0", "b1", "b2", "b3"]
        #expect(try texts() == right)
        #expect(try texts() == right)
        try folder.write("new.har", Self.har((0..<3).map { Self.entry("http://a.test/\($0)", "a\($0)") }))
        try #require(rename("\(folder.path)/new.har", first) == 0)
        // A map that is not put in force must not change the one that is.
        try folder.write("new.yaml", "archives: [first.har, second.har, none.har]\n")
        try #require(rename(folder.at("new.yaml"), folder.at("m.yaml")) == 0)
        try Wait.until {
            try binary.get("http://127.0.0.1:\(binary.port)/metrics").text.contains(
                #"subproxy_reloads_total{subject="map",result="failure"} 1"#)
        }
        #expect(try texts() == right)
        try folder.write("m.yaml", "archives: [first.har, second.har]\n")
        try Wait.until { try binary.get("http://a.test/2").text == "a2" }
        #expect(try texts() == right)
    }

    @Test("A DELETE without a body divides what GETs see")
    func withoutBody() throws {
        let served = try Served([
            Self.entry("http://a.test/1", "there"), Self.entry("http://a.test/1", "", method: "DELETE", status: 204),
            Self.entry("http://a.test/1", "gone", status: 404),
        ])
        #expect(try served.get("http://a.test/1").status == 200)
        #expect(try served.get("http://a.test/1").status == 200)
        #expect(try served.binary.exchange("DELETE", "http://a.test/1").status == 204)
        #expect(try served.get("http://a.test/1").status == 404)
    }

    @Test("A redirect to the very URL that is asked for is passed over, however often it was recorded")
    func redirects() throws {
        let folder = TemporaryFolder()
        let redirect = Self.entry("http://a.test/", "", status: 301, fields: [("Location", "https://a.test/")])
        let archive = try folder.write(
            "a.har", Self.har([redirect, redirect, Self.entry("https://a.test/x", "x")]))
        let finished = try SubproxyProcess.run([
            "replay", archive, "--ca-dir", "\(folder.path)/ca", "--", "curl", "--silent", "--output", "/dev/null",
            "--write-out", "%{http_code}", "https://a.test/",
        ])
        #expect(finished.output == "504", "\(finished.error)")
    }

    @Test("An upload that is too large to be compared goes to the origin that is asked first")
    func largeUploads() throws {
        let origin = try ScriptedOrigin(body: "taken")
        let url = "http://127.0.0.1:\(origin.port)/x"
        let served = try Served(
            [Self.entry(url, "archive", method: "POST", sent: "a")],
            map: "archives: [{ file: a.har, when: origin-fails }]\n", options: [])
        let body = String(repeating: "x", count: (1 << 20) + 70_000)
        #expect(try served.binary.exchange("POST", url, body: body).text == "taken")
    }

    @Test("The exact URL is found among thousands with other cache busters")
    func manyBusters() throws {
        let served = try Served(
            (0..<12_000).map { Self.entry("http://a.test/poll?t=\(1_700_000_000_000 + $0)", "\($0)") })
        #expect(try served.get("http://a.test/poll?t=1700000011999").text == "11999")
    }

    @Test("replay runs a command offline, https included, and its report says what was answered and missed")
    func command() throws {
        let folder = TemporaryFolder()
        let archive = try folder.write(
            "shop.har",
            Self.har([
                Self.entry("https://shop.test/", "home", type: "text/html"), Self.entry("https://shop.test/a?p=1", "a"),
                Self.entry("https://shop.test/never", "never"),
            ]))
        let common = ["replay", archive, "--ca-dir", "\(folder.path)/ca", "--report", "\(folder.path)/r.json"]
        let fetch =
            "for u in https://shop.test/ https://shop.test/a?p=1\\&_=1 https://shop.test/a?p=2 https://b.test/; "
            + "do curl --silent --output /dev/null --write-out '%{http_code} ' \"$u\"; done"
        let finished = try SubproxyProcess.run(common + ["--fail-on-miss", "--", "sh", "-c", fetch + "; true"])
        #expect(finished.output == "200 200 504 000 " && finished.status == 1, "\(finished.error)")
        let report = try #require(
            JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: "\(folder.path)/r.json")))
                as? [String: Any])
        let archives = try #require(report["archives"] as? [[String: Any]])
        #expect(archives[0]["answered"] as? Int == 2 && archives[0]["unused"] as? [String] == ["shop.har#3"])
        #expect((report["answers"] as? [String: Int]) == ["exact": 1, "tolerant": 1, "nearest": 0])
        let misses = try #require(report["misses"] as? [[String: Any]])
        #expect(misses.map { $0["url"] as? String } == ["https://shop.test/a?p=2", "b.test:443"])
        #expect(misses.map { $0["reason"] as? String } == ["query", "host"])
        var state = stat()
        #expect(stat("\(folder.path)/r.json", &state) == 0 && state.st_mode & 0o777 == 0o600)
        let ignored = try SubproxyProcess.run(
            common + ["--fail-on-miss", "--ignore", "*.test", "--", "sh", "-c", fetch + "; true"])
        #expect(ignored.status == 0)
        let told = try SubproxyProcess.run(
            ["replay", archive, "--ca-dir", "\(folder.path)/ca", "--report", "-", "--", "sh", "-c", fetch])
        #expect(told.error.contains("  GET https://shop.test/a?p=2 (query)\n"), "\(told.error)")
        #expect(told.error.contains("\n(query) Name parameters that change nothing in 'ignore-query'"), "\(told.error)")
        #expect(try SubproxyProcess.run(["replay", "\(folder.path)/none.har"]).status == 66)
        #expect(try SubproxyProcess.run(["replay", try folder.write("bad.har", "{")]).status == 65)
    }

    @Test("replay reads an archive from a pipe, named or not")
    func pipes() throws {
        let folder = TemporaryFolder()
        try folder.write("a.har", Self.har([Self.entry("http://a.test/1", "one")]))
        #expect(mkfifo(folder.at("p.har"), 0o600) == 0)
        let replay = "\(SubproxyProcess.path) replay"
        let client = "-- curl --disable -sS http://a.test/1"
        for script in ["cat a.har | \(replay) /dev/stdin \(client)", "cat a.har >p.har & \(replay) p.har \(client)"] {
            let ended = try SubproxyProcess.run(["-c", script], program: "sh", folder: folder.path)
            #expect(ended.status == 0 && ended.output == "one", "\(script): \(ended)")
        }
    }

    @Test("replay and record say when no connection came from their command; with one they don't")
    func unusedProxy() throws {
        let folder = TemporaryFolder()
        let archive = try folder.write("a.har", Self.har([Self.entry("http://a.test/1", "one")]))
        func error(_ arguments: [String]) throws -> String {
            let ended = try SubproxyProcess.run(arguments)
            #expect(ended.status == 0, "\(ended.error)")
            return ended.error
        }
        let warning = "subproxy: warning: no connection came to the proxy; "
        #expect(try error(["replay", archive, "--", "true"]).hasPrefix(warning))
        #expect(try error(["replay", archive, "--", "curl", "--disable", "-sS", "http://a.test/1"]).isEmpty)
        let record = ["record", "-o", "\(folder.path)/b.har", "--ca-dir", "\(folder.path)/ca", "--", "true"]
        #expect(try error(record).contains(warning))
    }

    @Test("replay says when most of an archive can't answer, and a miss names the entry that can't")
    func withoutBodies() throws {
        let folder = TemporaryFolder()
        let archive = try folder.write(
            "a.har",
            Self.har([
                Self.entry("http://a.test/", nil), Self.entry("http://a.test/b", nil),
                Self.entry("http://a.test/c", "c"),
            ]))
        let proxy = try SubproxyProcess(
            ["replay", archive, "--listen", "127.0.0.1:0"], environment: ["HOME": folder.path], folder: folder.path)
        let line = try #require(try proxy.errorLine(containing: "listening on"))
        let port = try #require(
            line.split(separator: " ").first { $0.hasPrefix("http://") }?.split(separator: ":").last)
        let told = try #require(try proxy.errorLine(containing: "can't answer"))
        #expect(
            told == "subproxy: 2 of the 3 entries of \(archive) can't answer, mostly since the body was not recorded; "
                + "'subproxy archive list' says why of each")
        let page = try ChildProcess.run(["curl", "-s", "-x", "http://127.0.0.1:\(port)", "http://a.test/b"]).output
        #expect(page.contains("(not recorded): a.har#2: the body was not recorded."), "\(page)")
        #expect(page.contains("Record it anew, with the bodies of responses"), "\(page)")
        proxy.send(SIGTERM)
        #expect(try proxy.finish().status == 0)
    }

    @Test("A HAR without entries is none; of a recording without any replay says so")
    func withoutEntries() throws {
        let folder = TemporaryFolder()
        let har = try folder.write("empty.har", Self.har([]))
        let empty = try folder.write("recording.yaml", "")
        let one = try folder.write("one.har", Self.har([Self.entry("http://a.test/", "home")]))
        let authority = ["--ca-dir", "\(folder.path)/ca"]
        let finished = try SubproxyProcess.run(
            ["replay", empty, one] + authority + ["--", "curl", "--disable", "-sS", "http://a.test/"])
        #expect(finished.status == 0 && finished.error == "subproxy: warning: \(empty) has no entries\n")
        for command in [["replay", har] + authority + ["--", "true"], ["archive", "list", har], ["check", har]] {
            let refused = try SubproxyProcess.run(command)
            #expect(refused.status == (command[0] == "check" ? 1 : 65), "\(refused)")
            #expect(refused.error.contains("empty.har:1:1: error: it has no entries"), "\(refused)")
        }
    }

    @Test(
        "A host that no archive has is missed as the command line says, with the entries of its path",
        arguments: ["404", "504", "204"])
    func missingHost(_ status: String) throws {
        let folder = TemporaryFolder()
        let archive = try folder.write("a.har", Self.har([Self.entry("http://a.test/items", "x")]))
        let fetch =
            "curl --silent --dump-header - http://b.test/items; "
            + "curl --silent --output /dev/null --write-out '%{http_connect} ' https://b.test/; "
            + "curl --silent --output /dev/null --write-out '%{http_connect}' https://b.test:4/"
        let finished = try SubproxyProcess.run([
            "replay", archive, "--missing", status, "--report", "-", "--ca-dir", "\(folder.path)/ca", "--", "sh", "-c",
            fetch,
        ])
        #expect(finished.output.hasPrefix("HTTP/1.1 \(status) "), "\(finished)")
        // A tunnel is none of the URLs that may be missing, and with 204 it would be open.
        #expect(finished.output.hasSuffix("504 403"), "\(finished)")
        #expect(finished.output.contains("a.har#1 http://a.test/items (differs: host)") == (status != "204"))
        let isOurs = finished.output.contains("Proxy-Status: subproxy; error=destination_unavailable")
        #expect(isOurs == (status == "504"), "\(finished)")
        #expect(finished.error.contains("GET http://b.test/items (host)"), "\(finished)")
        // That the port is none for tunnels does not make the tunnel less of a miss.
        #expect(finished.error.contains("CONNECT b.test:4 (host)"), "\(finished)")
    }

    @Test("https is answered from what was recorded over http, and its pages ask for https")
    func scheme() throws {
        let folder = TemporaryFolder()
        let archive = try folder.write(
            "a.har", Self.har([Self.entry("http://a.test/", "<img src=http://a.test/i.png>", type: "text/html")]))
        let finished = try SubproxyProcess.run([
            "replay", archive, "--ca-dir", "\(folder.path)/ca", "--", "curl", "--silent", "--include",
            "https://a.test/",
        ])
        #expect(finished.output.lowercased().contains("content-security-policy: upgrade-insecure-requests"))
        #expect(finished.output.contains(#"detail="a.har#1 scheme""#), "\(finished.output) \(finished.error)")
        // So it is where the map moves it there.
        let map = try folder.write("m.yaml", "archives: [{ file: a.har, as: { http://a.test/: https://b.test/ } }]\n")
        let moved = try SubproxyProcess.run([
            "replay", map, "--ca-dir", "\(folder.path)/ca", "--", "curl", "--silent", "--include", "https://b.test/",
        ])
        #expect(moved.output.lowercased().contains("content-security-policy: upgrade-insecure-requests"))
        #expect(moved.output.contains(#"detail="a.har#1""#), "\(moved.output) \(moved.error)")
    }

    @Test("A preflight is answered for the URLs and methods that the archive has")
    func preflights() throws {
        let served = try Served([Self.entry("http://a.test/x", "x", method: "PUT", sent: "y")])
        func preflight(_ method: String) throws -> ProxyResponse {
            try served.binary.exchange(
                "OPTIONS", "http://a.test/x",
                fields: ["Origin: http://b.test", "Access-Control-Request-Method: \(method)"])
        }
        #expect(try preflight("PUT").status == 204)
        for (method, status) in [("PUT", 204), ("DELETE", 504)] {
            let explained = try SubproxyProcess.run([
                "explain", "--map", served.path, "--offline", "--json", "-X", "OPTIONS", "-H", "Origin: http://b.test",
                "-H",
                "Access-Control-Request-Method: \(method)", "http://a.test/x",
            ])
            #expect(explained.output.contains("\"answered\":\(status == 204)"), "\(explained.output)")
            #expect(explained.output.contains("\"status\":\(status)"), "\(explained.output)")
        }
        #expect(try preflight("DELETE").status == 504)
        let recorded = try Served([Self.entry("http://a.test/x", "x", method: "OPTIONS")])
        #expect(try recorded.binary.exchange("OPTIONS", "http://a.test/x").status == 504)
    }

    @Test("check counts entries and reads every body; explain names the entry, and what comes nearest")
    func commands() throws {
        let folder = TemporaryFolder()
        let archive = try folder.write(
            "a.har", Self.har([Self.entry("http://a.test/?p=1", "x"), Self.entry("http://a.test/lost", nil)]))
        let check = try SubproxyProcess.run(["check", archive])
        #expect(check.output == "\(archive): 1 archive (2 entries, 1 usable), no errors\n", "\(check.error)")
        let found = try SubproxyProcess.run(["explain", "--map", archive, "--json", "http://a.test/?p=1&_=2"])
        #expect(found.output.contains(#""answered":true"#) && found.output.contains(#""position":"a.har#1""#))
        let missed = try SubproxyProcess.run(["explain", "--map", archive, "--json", "http://a.test/?p=2"])
        #expect(missed.output.contains(#""answered":false"#) && missed.output.contains(#""differs":["p"]"#))
    }

    @Test("An archive on standard input is read as one in a file is")
    func standardInput() throws {
        let folder = TemporaryFolder()
        let archive = try folder.write("a.har", Self.har([Self.entry("http://a.test/?p=1", "x")]))
        try folder.write("body.txt", "beside")
        let entry = Self.entry("http://a.test/f", "body.txt").replacing("\"text\":", with: "\"_file\":")
        try folder.write("f.har", Self.har([entry]))
        func run(_ script: String) throws -> SubproxyProcess.Finished {
            try SubproxyProcess.run(["-c", script, SubproxyProcess.path], program: "sh", folder: folder.path)
        }
        let check = try run("cat a.har | \"$0\" check -")
        #expect(check.output == "<stdin>: 1 archive (1 entry, 1 usable), no errors\n", "\(check.error)")
        let explained = try run("cat a.har | \"$0\" explain --map - --json 'http://a.test/?p=1&_=2'")
        #expect(
            explained.output.contains(#""answered":true"#) && explained.output.contains(##""position":"<stdin>#1""##))
        let replayed = try run(
            "cat a.har | \"$0\" replay - --ca-dir ca -- curl --silent --fail 'http://a.test/?p=1'")
        #expect(replayed.output == "x", "\(replayed.error)")
        let beside = try run("cat f.har | \"$0\" replay - --ca-dir ca -- curl --silent --fail http://a.test/f")
        #expect(beside.output == "beside", "\(beside.error)")
        let damaged = try run("head -c 60 a.har | \"$0\" check -")
        #expect(damaged.status == 1 && damaged.error.hasPrefix("<stdin>:"), "\(damaged.error)")
        // A map goes on to be one.
        let map = try run("echo 'archives: [a.har]' | \"$0\" check -")
        #expect(map.output == "<stdin>: 1 map, 0 rules, 1 archive (1 entry, 1 usable), no errors\n", "\(map.error)")
        // It is kept over a reload, as nothing of it is left to be read.
        let binary = try SubproxyProcess(
            ["-c", "exec \"$0\" --map - --offline --listen 127.0.0.1:0 < \"$1\"", SubproxyProcess.path, archive],
            program: "sh")
        let started = try #require(try binary.errorLine(containing: "listening on"))
        let port = try #require(started.firstMatch(of: /127\.0\.0\.1:(\d+)/)?.1)
        try folder.write("a.har", "gone")
        binary.send(SIGHUP)
        let reloaded = try #require(try binary.errorLine(containing: "loaded anew"))
        #expect(reloaded.contains("<stdin> can be read only once and stays as it was"), "\(reloaded)")
        let served = try SubproxyProcess.run(
            ["--silent", "--fail", "--proxy", "http://127.0.0.1:\(port)", "http://a.test/?p=1"], program: "curl")
        #expect(served.output == "x")
        binary.send(SIGTERM)
        _ = try binary.finish()
    }
}
