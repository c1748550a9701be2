import ProxyTestKit
import Testing

@Suite("Delay and rate of what is forwarded")
struct PacedForwardTests {
    private let clock = ContinuousClock()

    @Test(
        "the request waits before it goes out, and the body takes its time, also when the origin's own answer is asked for",
        arguments: [[], ["Cache-Control: no-cache"]])
    func paced(_ fields: [String]) throws {
        let origin = try ScriptedOrigin(body: "0123456789")
        let base = "http://127.0.0.1:\(origin.port)"
        let proxy = try TestProxy(
            """
            substitutions:
              \(base)/delay: { forward: true, delay: 150ms }
              \(base)/rate: { forward: true, rate: 40B/s }
              http://other.test/: { forward: "\(base)/", delay: 100ms, rate: 80B/s }
            """)
        for (url, least) in [("\(base)/delay", 150), ("\(base)/rate", 150), ("http://other.test/x", 150)] {
            var answer = TestResponse([])
            let time = try clock.measure { answer = try proxy.exchange("GET", url, fields: fields) }
            #expect(answer.body == "0123456789", "\(url)")
            #expect(time >= .milliseconds(least), "\(url)")
            #expect(answer.field("Cache-Status")?.contains("m.yaml:") == true)
        }
        #expect(origin.requests.count == 3)
    }

    @Test("a request's body that comes during the delay goes out behind it, whole")
    func upload() throws {
        let origin = try ScriptedOrigin(body: "ok")
        let proxy = try TestProxy(
            "substitutions:\n  http://127.0.0.1:\(origin.port)/: { forward: true, delay: 100ms }\n")
        let body = String(repeating: "0123456789", count: 100_000)
        let answer = try proxy.exchange("POST", "http://127.0.0.1:\(origin.port)/x", body: body)
        #expect(answer.status == 200 && answer.body == "ok")
        #expect(origin.requests.first?.body.count == body.utf8.count)
    }

    @Test("a client that leaves during the delay leaves no request behind")
    func leaving() throws {
        // On a busy machine the delay may be over before it is seen that the client has gone.
        for seconds in [1, 5, 25] {
            let origin = try ScriptedOrigin(body: "ok")
            let proxy = try TestProxy(
                """
                substitutions:
                  http://127.0.0.1:\(origin.port)/slow: { forward: true, delay: \(seconds)s }
                """)
            let watch = proxy.watch()
            let socket = try proxy.connect()
            let clock = ContinuousClock()
            let start = clock.now
            try socket.send("GET http://127.0.0.1:\(origin.port)/slow HTTP/1.1\r\nHost: x\r\n\r\n")
            socket.close()
            _ = try watch.ended(1)
            guard clock.now - start < .seconds(seconds) else { continue }
            #expect(Wait.keeps(for: Double(seconds) + 0.3) { origin.requests.isEmpty })
            #expect(try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/fast").body == "ok")
            return
        }
        Issue.record("the client's end was seen too late each time")
    }

    @Test("a body that ends too early is cut off behind what has come of it; an empty one ends at once")
    func ends() throws {
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            let isCut = request.target == "/cut"
            try connection.socket.send(
                "HTTP/1.1 200 OK\r\nContent-Length: \(isCut ? 100 : 0)\r\n\r\n\(isCut ? "0123456789" : "")")
            return !isCut
        }
        let proxy = try TestProxy(
            "substitutions:\n  http://127.0.0.1:\(origin.port)/: { forward: true, rate: 100B/s }\n")
        let cut = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/cut")
        #expect(cut.field("Content-Length") == "100" && cut.body == "0123456789")
        let empty = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/empty")
        #expect(empty.status == 200 && empty.body.isEmpty)
        let head = try proxy.exchange("HEAD", "http://127.0.0.1:\(origin.port)/cut")
        #expect(head.status == 200 && head.body.isEmpty)
    }

    @Test("an origin that sends much is stopped meanwhile, and all of it comes")
    func large() throws {
        let count = 3_000_000
        let origin = try ScriptedOrigin(body: String(repeating: "x", count: count))
        let proxy = try TestProxy(
            "substitutions:\n  http://127.0.0.1:\(origin.port)/: { forward: true, rate: 10MiB/s }\n")
        var answer = TestResponse([])
        let time = try clock.measure { answer = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/x") }
        #expect(answer.body.utf8.count == count)
        #expect(time >= .milliseconds(150))
    }
}
