import ForwardProxy
import NIOCore
import ProxyTestKit
import Testing

@Suite("What changes a resource makes what is stored of it invalid")
struct CacheInvalidationTests {
    /// An origin that counts its GETs, and answers all else with this.
    private func stage(_ answer: String) throws -> CacheStage {
        try CacheStage { request, number in
            request.method == "GET" ? response("200 OK", "Cache-Control: max-age=60", body: "\(number)") : answer
        }
    }

    @Test(
        "an unsafe method that succeeds invalidates its target",
        arguments: ["POST", "PUT", "DELETE", "PATCH", "FROBNICATE"])
    func methods(_ method: String) throws {
        for status in ["200 OK", "201 Created", "204 No Content", "303 See Other"] {
            let stage = try stage(response(status))
            #expect(try stage.get("/x").body == "1")
            #expect(try stage.get("/x?y").body == "2")
            #expect(try stage.get("/x", method: method, body: "b").cacheStatus == "subproxy; fwd=method")
            #expect(try stage.get("/x").body == "4")
            #expect(try stage.get("/x?y").body == "2")
        }
    }

    @Test("one that a rule forwards elsewhere invalidates the URL that was asked for")
    func elsewhere() throws {
        let origin = try ScriptedOrigin(fields: "Cache-Control: max-age=60\r\n", body: "x")
        let other = try ScriptedOrigin(body: "changed")
        let base = "http://127.0.0.1:\(origin.port)"
        let proxy = try TestProxy(
            """
            substitutions:
              \(base)/: { forward: "http://127.0.0.1:\(other.port)/", methods: [POST] }
            """)
        for _ in 0..<2 { _ = try proxy.exchange("GET", "\(base)/items") }
        #expect(origin.requests.count == 1)
        #expect(try proxy.exchange("POST", "\(base)/items", body: "b").body == "changed")
        _ = try proxy.exchange("GET", "\(base)/items")
        #expect(origin.requests.count == 2)
    }

    @Test("one that fails does not, nor a safe method")
    func failures() throws {
        for (method, status) in [
            ("POST", "400 X"), ("PUT", "404 X"), ("DELETE", "500 X"), ("POST", "503 X"), ("FROBNICATE", "403 X"),
            ("OPTIONS", "200 OK"), ("TRACE", "200 OK"), ("HEAD", "500 X"),
        ] {
            let stage = try stage(response(status))
            #expect(try stage.get("/x").body == "1")
            _ = try stage.get("/x", method: method)
            let hit = try stage.get("/x")
            #expect(hit.body == "1", "\(method) \(status)")
        }
    }

    @Test("Location and Content-Location of the same origin are invalid too, of another origin they are not")
    func locations() throws {
        for name in ["Location", "Content-Location"] {
            let other = try ScriptedOrigin(fields: "Cache-Control: max-age=60\r\n", body: "other")
            let target = Target()
            let stage = try CacheStage { request, number in
                request.method == "GET"
                    ? response("200 OK", "Cache-Control: max-age=60", body: "\(number)")
                    : response("201 Created", "\(name): \(target.text)")
            }
            let cases = [
                ("/y", true), ("y", true), ("../y", true), (stage.url("/y"), true),
                ("http://127.0.0.1:\(other.port)/y", false), ("https://127.0.0.1:\(stage.origin.port)/y", false),
                ("http://localhost:\(stage.origin.port)/y", false), ("//evil.test/y", false), ("/z", false),
            ]
            let otherURL = "http://127.0.0.1:\(other.port)/y"
            _ = try stage.proxy.exchange("GET", otherURL)
            for (location, isInvalid) in cases {
                target.text = location
                let before = try stage.get("/y").body
                _ = try stage.get("/x", method: "POST", body: "b")
                #expect((try stage.get("/y").body != before) == isInvalid, "\(location)")
            }
            #expect(try stage.proxy.exchange("GET", otherURL).cacheStatus?.hasPrefix("subproxy; hit") == true)
            #expect(other.requests.count == 1)
        }
    }

    @Test("all variants of the target go")
    func variants() throws {
        let stage = try CacheStage { request, number in
            response("200 OK", "Cache-Control: max-age=60", "Vary: X-A", body: "\(number)")
        }
        _ = try stage.get("/", "X-A: 1")
        _ = try stage.get("/", "X-A: 2")
        _ = try stage.get("/", method: "PUT", body: "b")
        #expect(try stage.get("/", "X-A: 1").body == "4")
        #expect(try stage.get("/", "X-A: 2").body == "5")
    }

    @Test("what was asked for before a change and comes after it is neither stored nor given to who asks after it")
    func race() throws {
        let gate = Gate()
        let stage = try CacheStage {
            $0.limits.collapseTimeout = .minutes(1)
        } _: { request, number in
            if number == 1 { gate.pass() }
            return response("200 OK", "Cache-Control: max-age=60", body: request.method == "GET" ? "\(number)" : "")
        }
        let early = try stage.begin("/x")
        try gate.awaitArrivals()
        _ = try stage.get("/x", method: "PUT", body: "b")
        let late = try stage.get("/x")
        #expect(late.body == "3")
        gate.open()
        #expect(TestResponse(try early.receiveAll()).body == "1")
        #expect(try stage.get("/x").body == "3")
    }

    /// Where the origin points to.
    private final class Target: @unchecked Sendable {
        // Unchecked: it is changed only between exchanges.
        var text = ""
    }
}
