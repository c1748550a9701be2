import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite("Bodies of requests that an archive answers")
struct AskedBodyTests {
    private static func entry(
        _ url: String, _ text: String, method: String = "GET", sent: String? = nil
    ) -> String {
        let data = sent.map { ",\"postData\":{\"mimeType\":\"text/plain\",\"text\":\"\($0)\"}" } ?? ""
        return """
            {"startedDateTime":"2026-01-01T00:00:00Z","time":1,\
            "request":{"method":"\(method)","url":"\(url)","headers":[]\(data)},\
            "response":{"status":200,"statusText":"","redirectURL":"","headers":[],\
            "content":{"size":\(text.utf8.count),"mimeType":"text/plain","text":"\(text)"}}}
            """
    }

    private static func har(_ entries: String...) -> String {
        "{\"log\":{\"version\":\"1.2\",\"entries\":[\(entries.joined(separator: ",\n"))]}}"
    }

    @Test("Where the first archive has other bodies of a URL, the options of the next one count")
    func nextOptions() throws {
        let field = #"{"name":"Access-Control-Allow-Origin","value":"http://r.test"}"#
        let files = [
            "a.har": Self.har(Self.entry("http://a.test/p", "one", method: "POST", sent: "x")),
            "b.har": Self.har(Self.entry("http://a.test/p", "two", method: "POST", sent: "y"))
                .replacing(#""redirectURL":"","headers":["#, with: #""redirectURL":"","headers":["# + field),
        ]
        for (maps, values) in [
            ("[{ file: a.har, cors: off }, b.har]", ["http://o.test"]),
            ("[a.har, { file: b.har, cors: off }]", ["http://r.test"]),
        ] {
            let proxy = try TestProxy("archives: \(maps)\n", files: files)
            let answer = try proxy.exchange("POST", "http://a.test/p", fields: ["Origin: http://o.test"], body: "y")
            #expect(answer.body == "two")
            let lines = answer.head.split(separator: "\r\n").filter { $0.hasPrefix("Access-Control-Allow-Origin: ") }
            #expect(lines.map { String($0.split(separator: " ")[1]) } == values, "\(answer.head)")
        }
    }

    @Test("Where the next archive is for an origin that fails, the origin is asked before it")
    func nextAtOrigin() throws {
        let origin = try ScriptedOrigin.echoing()
        let url = "http://127.0.0.1:\(origin.port)/p"
        let proxy = try TestProxy(
            "archives: [{ file: a.har, missing: 404 }, { file: b.har, when: origin-fails }]\n",
            files: [
                "a.har": Self.har(Self.entry(url, "one", method: "POST", sent: "x")),
                "b.har": Self.har(Self.entry(url, "two", method: "POST", sent: "y")),
            ])
        #expect(try proxy.exchange("POST", url, body: "y").body == "y")
        #expect(try proxy.exchange("POST", url, body: "x").body == "one")
        origin.stop()
        #expect(try proxy.exchange("POST", url, body: "y").body == "two")
        #expect(try proxy.exchange("POST", url, body: "z").status == 404)
    }

    @Test("The request's body is asked for where entries are told apart by it, and only there")
    func continued() throws {
        let one = Self.entry("http://a.test/one", "one", method: "POST")
        let proxy = try TestProxy(
            "archives: [a.har, { file: n.har, match: nearest }]\n",
            files: [
                "a.har": Self.har(
                    one, Self.entry("http://a.test/two", "first", method: "PUT"),
                    Self.entry("http://a.test/two", "second", method: "PUT"),
                    Self.entry("http://a.test/told", "told", method: "POST", sent: "b"),
                    Self.entry("http://a.test/both", "any", method: "POST"),
                    Self.entry("http://a.test/both", "b", method: "POST", sent: "b"),
                    Self.entry("http://a.test/state", "before"), Self.entry("http://a.test/state", "", method: "PATCH"),
                    Self.entry("http://a.test/state", "after")),
                "n.har": Self.har(Self.entry("http://n.test/", "near", method: "POST", sent: "b")),
            ])
        func ask(_ method: String, _ url: String) throws -> String {
            let socket = try proxy.connect()
            let lines = [
                "\(method) \(url) HTTP/1.1", "Host: a.test", "Expect: 100-continue", "Content-Length: 1",
                "Connection: close", "", "",
            ]
            try socket.send(lines.joined(separator: "\r\n"))
            let first = String(decoding: try socket.receive(until: "\r\n\r\n"), as: UTF8.self)
            guard first.contains(" 100 ") else {
                return "at once " + TestResponse(Array(first.utf8) + (try socket.receiveAll())).body
            }
            try socket.send("b")
            return "asked " + TestResponse(try socket.receiveAll()).body
        }
        #expect(try ask("POST", "http://a.test/one") == "at once one")
        #expect(try ask("PUT", "http://a.test/two") == "at once first")
        #expect(try ask("POST", "http://a.test/told") == "asked told")
        #expect(try ask("POST", "http://a.test/both") == "asked b")
        #expect(try ask("POST", "http://n.test/") == "at once near")
        // What changes something is noted all the same.
        #expect(try proxy.exchange("GET", "http://a.test/state").body == "before")
        #expect(try ask("PATCH", "http://a.test/state") == "at once ")
        #expect(try proxy.exchange("GET", "http://a.test/state").body == "after")
    }

    @Test("Query values of a URL that an archive has no entry for are not logged")
    func missedQuery() throws {
        let proxy = try TestProxy(
            "archives: [{ file: a.har, missing: 404 }]\n",
            files: [
                "a.har": Self.har(
                    Self.entry("http://a.test/one", "one"),
                    Self.entry("http://a.test/p", "p", method: "POST", sent: "b"))
            ])
        #expect(try proxy.exchange("GET", "http://a.test/none?token=secret").status == 404)
        #expect(try proxy.exchange("POST", "http://a.test/p?token=secret", body: "c").status == 404)
        #expect(try proxy.exchange("GET", "http://a.test/one?utm_source=told").status == 200)
        let log = try proxy.stopAndReadLog()
        #expect(log.contains("/none?token=*") && !log.contains("secret") && log.contains("told"), "\(log)")
    }
}
