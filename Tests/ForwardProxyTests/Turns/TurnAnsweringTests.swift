import Authentication
import ForwardProxy
import Foundation
import NIOCore
import ProxyTestKit
import Substitution
import Testing

@Suite("Answers in turn")
struct TurnAnsweringTests {
    private static let polling =
        "{ answers: [{ json: { state: queued }, status: 202, times: 2 }, { json: { state: done } }] }"

    private func proxy(
        _ rule: String = polling, files: [String: String] = [:],
        configure: (inout ProxyConfiguration) -> Void = { _ in }
    ) throws -> TestProxy {
        try TestProxy("substitutions:\n  http://a.test/j: \(rule)\n", files: files, configure: configure)
    }

    private func statuses(_ proxy: TestProxy, _ count: Int, _ method: String = "GET", fields: [String] = []) throws
        -> [Int]
    {
        try (0..<count).map { _ in try proxy.exchange(method, "http://a.test/j", fields: fields).status }
    }

    /// Proxy-Authorization of a name without a password.
    private func name(_ name: String) -> String {
        "Proxy-Authorization: Basic \(Data("\(name):".utf8).base64EncodedString())"
    }

    private func reset(_ proxy: TestProxy, _ target: String = "/reset", fields: [String] = []) throws -> Int {
        let socket = try proxy.connect()
        let lines = ["POST \(target) HTTP/1.1", "Host: 127.0.0.1:\(proxy.port)", "Connection: close"] + fields
        try socket.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
        return TestResponse(try socket.receiveAll()).status
    }

    @Test("A client gets one after the other, and the last one again; nobody keeps them")
    func inTurn() throws {
        let proxy = try proxy()
        let responses = try (0..<4).map { _ in try proxy.exchange("GET", "http://a.test/j") }
        #expect(responses.map(\.status) == [202, 202, 200, 200])
        #expect(responses.map(\.body).map { $0.contains("done") } == [false, false, true, true])
        #expect(responses.allSatisfy { $0.field("Cache-Control") == "no-store" })
        #expect(responses.allSatisfy { $0.field("Cache-Status") == "subproxy; hit; detail=\"m.yaml:2\"" })
        let log = try proxy.stopAndReadLog().split(separator: "\n")
        #expect(log.map { $0.hasSuffix("substituted m.yaml:2 (answer 1 of 2)") } == [true, true, false, false])
        #expect(log.map { $0.hasSuffix("substituted m.yaml:2 (answer 2 of 2)") } == [false, false, true, true])
    }

    @Test("With 'cycle' the first one comes behind the last one")
    func cycle() throws {
        let proxy = try proxy("{ answers: [{ text: a, status: 503 }, { text: b }], repeat: cycle }")
        #expect(try statuses(proxy, 5) == [503, 200, 503, 200, 503])
    }

    @Test("HEAD and preflights take no turn, other methods do")
    func methods() throws {
        let proxy = try proxy()
        #expect(try statuses(proxy, 3, "HEAD") == [202, 202, 202])
        let preflight = ["Origin: http://o.test", "Access-Control-Request-Method: GET"]
        #expect(try statuses(proxy, 2, "OPTIONS", fields: preflight) == [204, 204])
        #expect(try statuses(proxy, 1) == [202])
        #expect(try statuses(proxy, 1, "POST") == [202])
        #expect(try statuses(proxy, 2, "HEAD") == [200, 200])
        #expect(try statuses(proxy, 1, "OPTIONS") == [200])
        let cross = try proxy.exchange("GET", "http://a.test/j", fields: ["Origin: http://o.test"])
        #expect(cross.field("Access-Control-Allow-Origin") == "http://o.test")
    }

    @Test("Each name and each address has turns of its own, whatever the connection")
    func clients() throws {
        let proxy = try proxy()
        #expect(try statuses(proxy, 3) == [202, 202, 200])
        #expect(try statuses(proxy, 3, fields: [name("worker-1")]) == [202, 202, 200])
        #expect(try statuses(proxy, 1, fields: [name("worker-2")]) == [202])
        let socket = try Socket.connect(port: proxy.port, from: "127.0.0.2")
        for expected in [202, 202, 200] {
            try socket.sendRequest("GET", "http://a.test/j")
            #expect(try socket.receiveResponse().status == expected)
        }
        let other = try Socket.connect(port: proxy.port, from: "127.0.0.2")
        try other.sendRequest("GET", "http://a.test/j")
        #expect(try other.receiveResponse().status == 200)
    }

    @Test("A reset begins all turns anew, with ?mine the asking client's")
    func reset() throws {
        let proxy = try proxy()
        let worker = [name("worker")]
        func take(_ count: Int) throws {
            _ = try statuses(proxy, count)
            _ = try statuses(proxy, count, fields: worker)
        }
        func next() throws -> [Int] {
            try statuses(proxy, 1, "HEAD") + statuses(proxy, 1, "HEAD", fields: worker)
        }
        try take(2)
        #expect(try next() == [200, 200])
        #expect(try reset(proxy, "/reset?mine") == 204)
        #expect(try next() == [202, 200])
        try take(2)
        #expect(try reset(proxy, "/reset?mine", fields: worker) == 204)
        #expect(try next() == [200, 202])
        try take(2)
        let direct = worker.map { $0.replacing("Proxy-", with: "") }
        #expect(try reset(proxy, "/reset?mine", fields: direct) == 204)
        #expect(try next() == [200, 202])
        try take(2)
        #expect(try reset(proxy, "http://127.0.0.1:\(proxy.port)/reset?mine", fields: worker) == 204)
        #expect(try next() == [200, 202])
        try take(2)
        #expect(try reset(proxy, "/reset?mine", fields: ["Origin: http://evil.test"]) == 403)
        #expect(try next() == [200, 200])
        #expect(try reset(proxy) == 204)
        #expect(try next() == [202, 202])
    }

    @Test(
        "A reset with a parameter that there isn't drops nothing", arguments: ["Mine", "foo", "mine&foo=1", "foo&mine"])
    func unknownParameter(query: String) throws {
        let proxy = try proxy()
        #expect(try statuses(proxy, 2) == [202, 202])
        #expect(try reset(proxy, "/reset?\(query)") == 400)
        #expect(try statuses(proxy, 1) == [200])
        #expect(try reset(proxy, "/reset?") == 204)
        #expect(try statuses(proxy, 1) == [202])
    }

    @Test("A reload keeps the turns of a rule that is the same, and begins those of a changed one anew")
    func reload() throws {
        let proxy = try proxy()
        #expect(try statuses(proxy, 3) == [202, 202, 200])
        func adopt(_ text: String) throws {
            try proxy.write(text, to: "m.yaml")
            proxy.server.adopt(try #require(SubstitutionMap.load(files: ["\(proxy.folder)/m.yaml"]).map))
        }
        try adopt("substitutions:\n  http://b.test/: { text: b }\n  http://a.test/j: \(Self.polling)\n")
        #expect(try statuses(proxy, 1) == [200])
        try adopt("substitutions:\n  http://a.test/j: \(Self.polling.replacing("done", with: "over"))\n")
        #expect(try statuses(proxy, 3) == [202, 202, 200])
        try adopt("substitutions:\n  http://a.test/j: { text: a }\n")
        try adopt("substitutions:\n  http://a.test/j: \(Self.polling)\n")
        #expect(try statuses(proxy, 3) == [202, 202, 200])
    }

    @Test("An answer has what its source and its options say")
    func sources() throws {
        let proxy = try proxy(
            "{ answers: [{ file: f.txt, headers: { X-A: a } }, { file: none.txt, missing: 404 }, none.txt, "
                + "{ redirect: /k }, { block: true }, { base64: SGk=, type: image/x-own, status: 299 }, "
                + "{ template: { text: \"<{{request.method}}>\" } }, { text: slow, delay: 1ms, rate: 1MiB/s }, f.txt] }",
            files: ["f.txt": "from a file"])
        let responses = try (0..<9).map { _ in try proxy.exchange("GET", "http://a.test/j") }
        #expect(responses.map(\.status) == [200, 404, 502, 302, 403, 299, 200, 200, 200])
        #expect(responses.allSatisfy { $0.field("Cache-Control") == "no-store" }, "\(responses.map(\.head))")
        #expect(responses[0].body == "from a file" && responses[0].field("X-A") == "a")
        #expect(responses[3].field("Location") == "/k")
        #expect(responses[5].body == "Hi" && responses[5].field("Content-Type") == "image/x-own")
        #expect(responses[6].body == "<GET>")
        #expect(responses[7].body == "slow")
        #expect(responses[8].body == "from a file" && responses[8].field("X-A") == nil)
        try proxy.write("another content", to: "f.txt")
        var tag = ""
        try Wait.until {
            let response = try proxy.exchange("GET", "http://a.test/j")
            tag = response.field("ETag") ?? ""
            return response.body == "another content"
        }
        #expect(try statuses(proxy, 1, fields: ["If-None-Match: \(tag)"]) == [304])
        #expect(try statuses(proxy, 1, fields: ["Range: bytes=0-3"]) == [206])
    }

    @Test("An answer of the origin is the origin's, which nobody keeps either")
    func forwarding() throws {
        let origin = try ScriptedOrigin(body: "from the origin")
        let url = "http://127.0.0.1:\(origin.port)/x"
        let proxy = try TestProxy(
            "substitutions:\n  \(url): { answers: [{ text: busy, status: 503 }, { forward: true }], repeat: cycle }\n")
        #expect(try proxy.exchange("GET", url).status == 503)
        #expect(origin.requests.isEmpty)
        let response = try proxy.exchange("GET", url)
        #expect(response.status == 200 && response.body == "from the origin")
        #expect(response.field("Cache-Control") == "no-store")
        #expect(response.field("Cache-Status")?.hasPrefix("subproxy; fwd=bypass; detail=\"m.yaml:2\"") == true)
        #expect(try proxy.exchange("POST", url, body: "abc").status == 503)
        #expect(try proxy.exchange("POST", url, body: "abc").body == "from the origin")
        #expect(try proxy.exchange("GET", url, fields: ["Cache-Control: no-cache"]).body == "from the origin")
        #expect(try proxy.exchange("GET", url).status == 503)
        let offline = try TestProxy("substitutions:\n  \(url): { answers: [{ forward: true }] }\n") {
            $0.isOffline = true
        }
        #expect(try offline.exchange("GET", url).status == 504)
    }

    @Test("Where the origin is asked first, its failure takes a turn, and its answer none")
    func originFirst() throws {
        let origin = try ScriptedOrigin { request, connection in
            let body = try connection.readBody(of: request).body
            let status = request.target == "/up" ? "200 OK" : "503 No"
            try connection.socket.send("HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\n\r\n")
            try connection.socket.send(body)
            return true
        }
        let base = "http://127.0.0.1:\(origin.port)"
        let proxy = try TestProxy(
            "substitutions:\n  \(base)/*: { answers: [{ text: one }, { template: { text: \"two {{request.body}}\" } }, "
                + "{ forward: true }, { text: four }], when: origin-fails }\n")
        #expect(try proxy.exchange("GET", "\(base)/up").status == 200)
        #expect(try proxy.exchange("GET", "\(base)/down").body == "one")
        #expect(try proxy.exchange("POST", "\(base)/down", body: "abc").body == "two abc")
        #expect(try proxy.exchange("POST", "\(base)/up", body: "abc").body == "abc")
        #expect(try proxy.exchange("POST", "\(base)/down", body: "abc").status == 502)
        #expect(try proxy.exchange("POST", "\(base)/down", body: "abc").body == "four")
    }

    @Test("Requests of one client at once get each turn once, over all event loops", arguments: [1, 4])
    func atOnce(threads: Int) throws {
        let texts = (0..<40).map { "{ text: \"\($0)\", times: 5 }" }.joined(separator: ", ")
        let proxy = try proxy("{ answers: [\(texts), { text: end }] }") { $0.threads = threads }
        let sockets = try (0..<20).map { _ in try proxy.connect() }
        let request = "GET http://a.test/j HTTP/1.1\r\nHost: a.test\r\n\r\n"
        for socket in sockets { try socket.send(String(repeating: request, count: 11)) }
        var counts: [String: Int] = [:]
        for socket in sockets {
            for _ in 0..<11 { counts[try socket.receiveResponse().text, default: 0] += 1 }
        }
        #expect(counts == Dictionary(uniqueKeysWithValues: (0..<40).map { ("\($0)", 5) } + [("end", 20)]))
    }

    @Test("With --auth each user has turns of their own")
    func users() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "users-\(UUID().uuidString)").path
        try "\(TestUsers.ann)\n\(TestUsers.bob)\n".write(toFile: path, atomically: true, encoding: .utf8)
        let passwords = try Passwords(file: path)
        let proxy = try proxy { $0.passwords = passwords }
        func basic(_ text: String) -> String { "Basic \(Data(text.utf8).base64EncodedString())" }
        let ann = ["Proxy-Authorization: \(basic("ann:secret"))"]
        let bob = ["Proxy-Authorization: \(basic("bob:other"))"]
        #expect(try statuses(proxy, 3, fields: ann) == [202, 202, 200])
        #expect(try statuses(proxy, 3, fields: bob) == [202, 202, 200])
        #expect(try statuses(proxy, 1) == [407])
        // The proxy's own pages ask for Authorization; the other field is not looked at there.
        #expect(try reset(proxy, "/reset?mine", fields: bob) == 204)
        #expect(try statuses(proxy, 1, fields: bob) == [200])
        #expect(try reset(proxy, "/reset?mine", fields: bob.map { $0.replacing("Proxy-", with: "") }) == 204)
        #expect(try statuses(proxy, 1, fields: bob) == [202])
        #expect(try reset(proxy, "http://127.0.0.1:\(proxy.port)/reset?mine", fields: ann) == 204)
        #expect(try statuses(proxy, 1, fields: ann) == [202])
        #expect(try statuses(proxy, 2, fields: bob) == [202, 200])
    }

    @Test("Another rule's answers are as they were")
    func others() throws {
        let proxy = try TestProxy(
            "substitutions:\n  http://a.test/j: [{ answers: [{ text: p }], methods: [POST] }, { text: g }]\n")
        #expect(try proxy.exchange("POST", "http://a.test/j").field("Cache-Control") == "no-store")
        let response = try proxy.exchange("GET", "http://a.test/j")
        #expect(response.body == "g" && response.field("Cache-Control") == "no-cache")
    }

    private func failing() throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            let fails = String(decoding: request.head, as: UTF8.self).contains("X-Fail")
            try connection.socket.send(
                "HTTP/1.1 \(fails ? "503 No" : "200 OK")\r\nContent-Length: \(request.body.count)\r\n\r\n"
                    + String(decoding: request.body, as: UTF8.self))
            return true
        }
    }

    @Test(
        "With 'when: origin-fails' an answer that uses the request's body has it",
        arguments: [
            ("sqlite: a.db, seed: a.sql, writes: memory, resource: t", #"{"id":1,"b":1}"#),
            (
                "sqlite: a.db, seed: a.sql, writes: memory, sql: \"INSERT INTO t(b) VALUES (@b) RETURNING b\"",
                #"[{"b":1}]"#
            ),
            ("template: { text: \"[{{{request.body}}}]\" }", #"[{"b":1}]"#),
            ("template: f.txt", #"[{"b":1}]"#), ("text: none", "none"), ("template: n.txt", "n"),
        ])
    func heldBody(answer: String, expected: String) throws {
        let origin = try failing()
        let url = "http://127.0.0.1:\(origin.port)/j"
        let proxy = try TestProxy(
            "substitutions:\n  \(url): { answers: [{ \(answer) }], when: origin-fails, methods: [POST] }\n",
            files: [
                "a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY, b);", "f.txt": "[{{{request.body}}}]", "n.txt": "n",
            ])
        let type = ["Content-Type: application/json"]
        let body = #"{"b":1}"#
        #expect(try proxy.exchange("POST", url, fields: type, body: body).body == body)
        let made = try proxy.exchange("POST", url, fields: type + ["X-Fail: 1"], body: body)
        #expect(made.body == expected, "\(made.head) \(made.body)")
        let long = String(repeating: "x", count: 3_000_000)
        let forwarded = try proxy.exchange("POST", url, fields: type, body: long)
        // What no answer uses may be as long as it likes.
        let isUsed = !["none", "n"].contains(expected)
        #expect(isUsed ? forwarded.status == 413 : forwarded.status == 200 && forwarded.body == long)
        origin.stop()
        #expect(try proxy.exchange("POST", url, fields: type, body: body).status == made.status)
        let log = try proxy.stopAndReadLog().split(separator: "\n")
        #expect(log.count { $0.contains(" substituted ") } >= 2)
    }

    @Test("With 'when: origin-fails' a body that is too long for the turn's own answer is refused there")
    func ownLimit() throws {
        let origin = try failing()
        let url = "http://127.0.0.1:\(origin.port)/j"
        let proxy = try TestProxy(
            """
            substitutions:
              \(url):
                when: origin-fails
                answers:
                  - { template: { text: "{{request.body}}" }, limits: { body: 3B } }
                  - { template: { text: "{{request.body}}" }, limits: { body: 100B } }
            """)
        #expect(try proxy.exchange("POST", url, fields: ["X-Fail: 1"], body: "12345").status == 413)
        #expect(try proxy.exchange("POST", url, fields: ["X-Fail: 1"], body: "12345").body == "12345")
        let chunked = try proxy.connect()
        try chunked.send(
            "POST \(url) HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nX-Fail: 1\r\n\r\n"
                + "2\r\n12\r\n3\r\n345\r\n0\r\n\r\n")
        #expect(TestResponse(try chunked.receiveAll()).body == "12345")
    }
}
