import Foundation
import ProxyTestKit
import Testing

@Suite("Targets that are asked for again")
struct KnownTargetsTests {
    /// What the requests are answered with, one behind the other on one connection.
    private func answers(_ proxy: TestProxy, _ requests: [String]) throws -> String {
        let socket = try proxy.connect()
        try socket.send(
            requests.map { "\($0)\r\nHost: m.test\r\n" }.joined(separator: "\r\n") + "Connection: close\r\n\r\n")
        return String(decoding: try socket.receiveAll(), as: UTF8.self)
    }

    private func words(_ text: String) -> [Substring] {
        text.matches(of: /(common|special|read|posted)/).map(\.output.0)
    }

    @Test("a rule's conditions on fields are looked at each time")
    func fields() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://m.test/c:
                - { text: special, request-headers: { X-Kind: special-kind } }
                - { text: common }
            """)
        let plain = "GET http://m.test/c HTTP/1.1"
        let all = try answers(proxy, [plain, plain, plain, "\(plain)\r\nX-Kind: special-kind", plain])
        #expect(words(all) == ["common", "common", "common", "special", "common"])
    }

    @Test("a rule's methods are looked at each time")
    func methods() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://m.test/p:
                - { text: read, methods: [GET] }
                - { text: posted, methods: [POST] }
            """)
        let get = "GET http://m.test/p HTTP/1.1"
        let post = "POST http://m.test/p HTTP/1.1"
        let all = try answers(proxy, [get, get, get, post, "HEAD http://m.test/p HTTP/1.1", get])
        #expect(words(all) == ["read", "read", "read", "posted", "read"])
    }

    @Test("the log shows the URL in normal form each time, and a tag that is sent back is a 304")
    func log() throws {
        let proxy = try TestProxy("substitutions:\n  http://m.test/t: { text: common }\n")
        let get = "GET http://M.TEST/./t?#part HTTP/1.1"
        let first = try answers(proxy, [get, get, get, get])
        let tag = try #require(first.firstMatch(of: /ETag: (.*)\r\n/)?.output.1)
        let second = try answers(
            proxy, [get, "\(get)\r\nIf-None-Match: \(tag)", "\(get)\r\nIf-None-Match: \"other\", \(tag)", get])
        #expect(second.components(separatedBy: "HTTP/1.1 304 ").count == 3)
        let lines = try proxy.stopAndReadLog().split(separator: "\n")
        #expect(lines.count == 8)
        #expect(lines.allSatisfy { $0.contains(" GET http://m.test/t? ") && $0.hasSuffix(" substituted m.yaml:2") })
    }
}
