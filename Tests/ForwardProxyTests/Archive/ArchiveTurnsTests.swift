import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite("Which of an archive's entries a client gets, and from which archive")
struct ArchiveTurnsTests {
    private static func entry(_ url: String, _ text: String, method: String = "GET", asked: String? = nil) -> String {
        let type = #"{"name":"Content-Type","value":"text/plain"}"#
        let body = asked.map { #","postData":{"mimeType":"text/plain","text":"\#($0)"}"# } ?? ""
        return """
            {"startedDateTime":"2026-01-01T00:00:00Z","time":1,\
            "request":{"method":"\(method)","url":"\(url)","headers":[\(asked == nil ? "" : type)]\(body)},\
            "response":{"status":200,"statusText":"","redirectURL":"","headers":[],\
            "content":{"size":1,"mimeType":"text/plain","text":"\(text)"}}}
            """
    }

    private static func har(_ entries: String...) -> String {
        "{\"log\":{\"version\":\"1.2\",\"entries\":[\(entries.joined(separator: ",\n"))]}}"
    }

    private func bodies(_ proxy: TestProxy, _ urls: [String]) throws -> [String] {
        try urls.map { try proxy.exchange("GET", $0).body }
    }

    @Test("an answer that was had at its own URL does not come again where a cache buster is added")
    func cacheBusters() throws {
        let proxy = try TestProxy(
            "archives: [a.har]\n",
            files: [
                "a.har": Self.har(
                    Self.entry("http://a.test/a", "1"), Self.entry("http://a.test/a?_=2", "2"),
                    Self.entry("http://a.test/a?_=3", "3"), Self.entry("http://a.test/a?id=4", "4"))
            ])
        let urls = ["a", "a?_=9", "a?_=8", "a?_=7", "a?id=4"].map { "http://a.test/" + $0 }
        #expect(try bodies(proxy, urls) == ["1", "2", "3", "3", "4"])
    }

    @Test(
        "what 'urls' leaves out divides nothing",
        arguments: [("", ["1", "1", "1"]), ("http://a.test/a", ["1", "2", "2"])])
    func uncountedChange(urls: String, expected: [String]) throws {
        let item = urls.isEmpty ? "a.har" : "{ file: a.har, urls: [\"\(urls)\"] }"
        let proxy = try TestProxy(
            "archives: [\(item)]\n",
            files: [
                "a.har": Self.har(
                    Self.entry("http://a.test/a", "1"), Self.entry("http://a.test/a/p", "p", method: "POST"),
                    Self.entry("http://a.test/a", "2"))
            ])
        #expect(try bodies(proxy, ["http://a.test/a", "http://a.test/a", "http://a.test/a"]) == expected)
    }

    @Test("an archive that answers only where the origin fails leaves a body that it has not to the next one")
    func laterBody() throws {
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.respond(body: "origin")
            return true
        }
        let url = "http://127.0.0.1:\(origin.port)/echo"
        let proxy = try TestProxy(
            "archives: [{ file: a.har, when: origin-fails }, b.har]\n",
            files: [
                "a.har": Self.har(
                    Self.entry(url, "a", method: "POST", asked: "one"),
                    Self.entry(url + "/later", "a", method: "POST", asked: "one")),
                "b.har": Self.har(Self.entry(url, "b", method: "POST", asked: "two")),
            ])
        let type = ["Content-Type: text/plain"]
        // The third has a body that no archive has: it goes where the first one sends it.
        let answers = try ["one", "two", "three"].map { try proxy.exchange("POST", url, fields: type, body: $0).body }
        #expect(answers == ["origin", "b", "origin"])
        #expect(origin.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["one", "three"])
        // An archive that can't be read any more keeps nobody from the origin.
        try proxy.write("{", to: "a.har")
        #expect(try proxy.exchange("POST", url + "/later", fields: type, body: "one").body == "origin")
    }
}
