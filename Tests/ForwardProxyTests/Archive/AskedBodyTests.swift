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
