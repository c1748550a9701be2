import ForwardProxy
import NIOCore
import ProxyTestKit
import Synchronization
import Testing

@Suite("Stale responses")
struct CacheStaleTests {
    /// How an origin that was well becomes ill.
    enum Illness: String, CaseIterable {
        case status500, status502, status503, status504, refused, reset, silent
    }

    /// A stage whose first response is stored for five seconds, and whose origin then fails.
    private func stage(
        _ directives: String, _ illness: Illness, staleIfUnreachable: TimeAmount = .zero
    ) throws -> CacheStage {
        let isIll = Atomic(false)
        let stage = try CacheStage {
            if illness == .silent { $0.limits.silenceTimeout = .milliseconds(700) }
            $0.cache.staleIfUnreachable = staleIfUnreachable
        } _: { _, _ in
            guard isIll.load(ordering: .sequentiallyConsistent) else {
                return response("200 OK", "Cache-Control: max-age=5, \(directives)", "ETag: \"v1\"", body: "1")
            }
            switch illness {
            case .refused, .reset: return nil
            case .silent:
                // Long beyond that.
                _ = Wait.keeps(for: 20) { true }
                return nil
            default: return response("\(illness.rawValue.suffix(3)) Ill", body: "ill")
            }
        }
        // On a busy machine the first answers may be late for the one that falls silent.
        try Wait.until { try stage.get().body == "1" }
        isIll.store(true, ordering: .sequentiallyConsistent)
        stage.clock.advance(seconds: 6)
        if illness == .refused { stage.origin.stop() }
        return stage
    }

    @Test(
        "stale-if-error serves what is stored where the origin fails, within its seconds", arguments: Illness.allCases)
    func staleIfError(_ illness: Illness) throws {
        let stage = try stage("stale-if-error=10", illness)
        let answer = try stage.get()
        #expect(answer.status == 200)
        #expect(answer.body == "1")
        #expect(answer.field("Age") == "6")
        let status = illness.rawValue.hasPrefix("status") ? "; fwd-status=\(illness.rawValue.suffix(3))" : ""
        #expect(answer.cacheStatus == "subproxy; fwd=stale\(status); detail=\"stale-if-error\"")
        stage.clock.advance(seconds: 10)
        #expect(try stage.get().status >= 500)
    }

    @Test(
        "without stale-if-error an origin that fails is no reason to serve what is stale", arguments: Illness.allCases)
    func noStaleIfError(_ illness: Illness) throws {
        let stage = try stage("public", illness)
        let answer = try stage.get()
        switch illness {
        case .refused, .reset: #expect(answer.status == 502)
        case .silent: #expect(answer.status == 504)
        default: #expect(answer.status == Int(illness.rawValue.suffix(3)))
        }
        #expect(answer.body != "1")
    }

    @Test(
        "an origin that can't be reached, or that closes without a response, leaves what is stored, however stale",
        arguments: Illness.allCases)
    func unreachable(_ illness: Illness) throws {
        let stage = try stage("public", illness, staleIfUnreachable: .hours(1))
        stage.clock.advance(seconds: 3000)
        let isUnreachable = illness == .refused || illness == .reset
        let wishes = ["X-Wish: none", "Cache-Control: max-age=0", "Cache-Control: max-age=0, stale-if-error=1"]
        for wish in wishes {
            let answer = try stage.get("/", wish)
            #expect((answer.status == 200) == isUnreachable)
            guard isUnreachable else { continue }
            #expect(answer.body == "1")
            #expect(answer.field("Age") == "3006")
            #expect(answer.cacheStatus == "subproxy; fwd=stale; detail=\"unreachable\"")
        }
        #expect(try stage.get("/", "Cache-Control: no-cache").status >= 500)
        stage.clock.advance(seconds: 595)
        #expect((try stage.get().status == 200) == isUnreachable)
        // An hour after it became stale it is too old.
        stage.clock.advance(seconds: 4)
        #expect(try stage.get().status >= 500)
        let log = try stage.proxy.stopAndReadLog()
        #expect(log.contains(" stored (origin not reached)") == isUnreachable)
    }

    @Test("the request's own stale-if-error counts too")
    func requestStaleIfError() throws {
        let stage = try stage("public", .status503)
        #expect(try stage.get("/", "Cache-Control: stale-if-error=10").body == "1")
        #expect(try stage.get("/", "Cache-Control: stale-if-error=1").status == 503)
        #expect(try stage.get().status == 503)
    }

    @Test(
        "what must be validated and can't be is answered with 504, never with what is stale",
        arguments: ["must-revalidate", "proxy-revalidate", "s-maxage=5"])
    func mustRevalidate(_ directive: String) throws {
        for illness in [Illness.refused, .reset, .silent] {
            let stage = try stage("\(directive), stale-if-error=100, stale-while-revalidate=100", illness)
            let answer = try stage.get("/", "Cache-Control: max-stale")
            #expect(answer.status == 504)
            #expect(answer.field("Proxy-Status")?.hasPrefix("subproxy; error=") == true)
        }
        #expect(try stage("\(directive), stale-if-error=100", .status503).get().status == 503)
    }

    @Test(
        "a response that is none is told as that, also where what is stored must be validated",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", "what is this?\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
        ])
    func malformed(_ answer: String) throws {
        for directive in ["must-revalidate", "proxy-revalidate", "no-cache", "s-maxage=5", "stale-if-error=100"] {
            let stage = try CacheStage { _, number in
                number > 1
                    ? answer
                    : response("200 OK", "Cache-Control: max-age=5, \(directive)", "ETag: \"v1\"", body: "1")
            }
            #expect(try stage.get().body == "1")
            stage.clock.advance(seconds: 6)
            let second = try stage.get()
            guard directive != "stale-if-error=100" else {
                #expect(second.cacheStatus == "subproxy; fwd=stale; detail=\"stale-if-error\"")
                continue
            }
            #expect(second.status == 502)
            #expect(second.field("Proxy-Status")?.hasPrefix("subproxy; error=http_protocol_error") == true)
        }
    }

    @Test("nothing stands in that was made invalid, or replaced, while the origin was asked", arguments: [true, false])
    func overtaken(isReplaced: Bool) throws {
        let gate = Gate()
        let stage = try CacheStage { request, number in
            if request.method == "POST" { return response("200 OK", body: "changed") }
            if request.field("X-Wish") == "wait" {
                gate.pass()
                return response("503 Ill", body: "ill")
            }
            return response(
                "200 OK", "Cache-Control: max-age=5, stale-if-error=100", "ETag: \"v\(number)\"", body: "\(number)")
        }
        #expect(try stage.get().body == "1")
        stage.clock.advance(seconds: 6)
        let waiting = try stage.begin("/", "X-Wish: wait", "Cache-Control: max-age=0")
        try gate.awaitArrivals()
        if isReplaced {
            #expect(try stage.get("/", "Cache-Control: no-cache").body == "3")
        } else {
            #expect(try stage.get("/", method: "POST", body: "x").body == "changed")
        }
        gate.open()
        let answer = TestResponse(try waiting.receiveAll())
        #expect(answer.status == (isReplaced ? 200 : 503) && answer.body == (isReplaced ? "3" : "ill"))
    }

    @Test(
        "once a 304 ends the leave to share what a user got, nobody gets it, also where the origin fails then",
        arguments: ["Accept: */*", "Authorization: Basic eDp5", "Cache-Control: no-store"])
    func endedLeave(_ field: String) throws {
        let stage = try CacheStage { request, number in
            switch number {
            case 1: response("200 OK", "Cache-Control: public, max-age=5", "ETag: \"v1\"", "X-User: alice", body: "1")
            case 2: response("304 Not Modified", "Cache-Control: max-age=60", "ETag: \"v1\"", body: "")
            case 3, 4: nil
            default: response("200 OK", "Cache-Control: max-age=60", body: "\(number)")
            }
        }
        #expect(try stage.get("/", "Authorization: Basic eDp5").body == "1")
        let shared = try stage.get()
        #expect(shared.body == "1" && shared.field("X-User") == "alice")
        stage.clock.advance(seconds: 6)
        let failed = try stage.get("/", field)
        #expect(failed.status == 502 && failed.field("X-User") == nil)
        #expect(stage.origin.requests.dropFirst().map { $0.field("If-None-Match") }.prefix(2) == ["\"v1\"", nil])
        let whole = try stage.get()
        #expect(whole.status == 200 && whole.body != "1" && whole.field("X-User") == nil)
        #expect(whole.cacheStatus == "subproxy; fwd=uri-miss; stored")
    }

    @Test("a stale response has no Set-Cookie, whatever allows it, but in a private cache", arguments: [true, false])
    func staleCookies(_ isShared: Bool) throws {
        let stage = try CacheStage {
            $0.cache.mode = isShared ? .shared : .private
        } _: { _, _ in
            response(
                "200 OK", "Cache-Control: max-age=5, stale-while-revalidate=9", "ETag: \"v1\"",
                "Set-Cookie: user=first", body: "1")
        }
        for _ in 0..<2 { #expect(try stage.get().field("Set-Cookie") == "user=first") }
        stage.clock.advance(seconds: 6)
        stage.origin.stop()
        for field in [
            "Accept: */*", "Cache-Control: max-stale", "Cache-Control: max-age=0", "Range: bytes=0-0",
            "If-None-Match: \"v1\"",
        ] {
            let stale = try stage.get("/", field)
            #expect([200, 206, 304].contains(stale.status) && stale.field("ETag") == "\"v1\"", "\(field)")
            #expect(stale.field("Set-Cookie") == (isShared ? nil : "user=first"), "\(field)")
        }
        #expect(stage.count == 1)
    }

    @Test("an origin that closes in the middle of its head has closed without a response")
    func partOfHead() throws {
        let origin = try ScriptedOrigin { request, connection in
            let isFirst = request.target == "/" && request.field("If-None-Match") == nil
            try connection.socket.send(
                isFirst
                    ? response("200 OK", "Cache-Control: max-age=0", "ETag: \"v1\"", "Connection: close", body: "1")
                    : "HTTP/1.1 200 OK\r\nContent-Le")
            return false
        }
        let proxy = try TestProxy()
        #expect(try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/").body == "1")
        let standIn = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/")
        #expect(standIn.body == "1")
        #expect(standIn.cacheStatus == "subproxy; fwd=stale; detail=\"unreachable\"")
        let failed = try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/other")
        #expect(failed.status == 502)
        #expect(failed.field("Proxy-Status")?.hasPrefix("subproxy; error=connection_terminated") == true)
        #expect(failed.body.contains("broke the connection off: its header section is incomplete"))
    }

    @Test("stale-while-revalidate serves the stale one at once and validates it once, in the background")
    func staleWhileRevalidate() throws {
        let gate = Gate()
        let stage = try CacheStage { request, number in
            if number == 2 { gate.pass() }
            return response(
                "200 OK", "Cache-Control: max-age=5, stale-while-revalidate=30", "ETag: \"v\(number)\"",
                body: "\(number)")
        }
        #expect(try stage.get().body == "1")
        stage.clock.advance(seconds: 10)
        for _ in 0..<5 {
            let stale = try stage.get()
            #expect(stale.body == "1")
            #expect(stale.cacheStatus == "subproxy; hit; ttl=-5")
            #expect(stale.field("Age") == "10")
        }
        try gate.awaitArrivals()
        #expect(stage.count == 2)
        let validation = try #require(stage.origin.requests.last)
        #expect(validation.field("If-None-Match") == "\"v1\"")
        gate.open()
        try Wait.until { try stage.get().body == "2" }
        #expect(try stage.get().cacheStatus == "subproxy; hit; ttl=5")
        #expect(stage.count == 2)
    }

    @Test(
        "what is asked of the store alone, or may not be stored, is no reason to validate in the background",
        arguments: ["only-if-cached", "no-store"])
    func noRevalidation(directive: String) throws {
        let stage = try CacheStage { _, number in
            response("200 OK", "Cache-Control: max-age=5, stale-while-revalidate=300", body: "\(number)")
        }
        #expect(try stage.get().body == "1")
        stage.clock.advance(seconds: 10)
        #expect(try stage.get("/", "Cache-Control: \(directive)").body == "1")
        #expect(Wait.keeps(for: 0.3) { stage.count == 1 })
        // The next one finds it as it was, and is the first to have it validated.
        #expect(try stage.get().cacheStatus == "subproxy; hit; ttl=-5")
        try Wait.until { try stage.get().body == "2" }
        #expect(stage.count == 2)
    }

    @Test("so many are validated in the background at a time, and the others when they are asked for again")
    func manyInBackground() throws {
        let gate = Gate()
        defer { gate.open() }
        let stage = try CacheStage { request, number in
            if number > 100 { gate.pass() }
            return response(
                "200 OK", "Cache-Control: max-age=5, stale-while-revalidate=3000", body: "\(request.target)")
        }
        for index in 0..<100 { #expect(try stage.get("/\(index)").status == 200) }
        stage.clock.advance(seconds: 10)
        for _ in 0..<2 {
            for index in 0..<100 { #expect(try stage.get("/\(index)").cacheStatus == "subproxy; hit; ttl=-5") }
        }
        #expect(Wait.holds { stage.count == 164 })
        gate.open()
        // Each that is validated makes room for another.
        #expect(
            try Wait.holds {
                // All are asked for each time, since that has them validated.
                try (0..<100).map { try stage.get("/\($0)").cacheStatus == "subproxy; hit; ttl=5" }.allSatisfy { $0 }
            })
        #expect(stage.count == 200)
    }

    @Test("a validation in the background asks for the whole, without the client's preconditions and ranges")
    func backgroundRequest() throws {
        let stage = try CacheStage { request, number in
            response(
                "200 OK", "Cache-Control: max-age=5, stale-while-revalidate=30", "ETag: \"v\(number)\"",
                body: "body\(number)")
        }
        _ = try stage.get()
        stage.clock.advance(seconds: 10)
        let part = try stage.get("/", "Range: bytes=0-3", "If-None-Match: \"x\"", "If-Range: \"v1\"")
        #expect(part.status == 206)
        #expect(part.body == "body")
        try Wait.until { stage.count == 2 }
        let validation = try #require(stage.origin.requests.last)
        for name in ["Range", "If-Range"] { #expect(validation.field(name) == nil) }
        #expect(validation.field("If-None-Match")?.contains("\"v1\"") == true)
        try Wait.until { try stage.get().body == "body2" }
        #expect(stage.count == 2)
    }

    @Test("a validation in the background that fails leaves what is stored, and the next request tries again")
    func backgroundFailure() throws {
        let stage = try CacheStage { _, number in
            number == 2
                ? nil
                : response(
                    "200 OK", "Cache-Control: max-age=5, stale-while-revalidate=30", "ETag: \"v\(number)\"",
                    body: "\(number)")
        }
        _ = try stage.get()
        stage.clock.advance(seconds: 10)
        #expect(try stage.get().body == "1")
        try Wait.until { try stage.get().body != "1" }
        #expect(stage.count == 3)
    }

    @Test("beyond its seconds stale-while-revalidate allows nothing, nor against the request's max-age")
    func staleWhileRevalidateEnds() throws {
        let stage = try CacheStage { _, number in
            response("200 OK", "Cache-Control: max-age=5, stale-while-revalidate=10", body: "\(number)")
        }
        _ = try stage.get()
        stage.clock.advance(seconds: 10)
        #expect(try stage.get("/", "Cache-Control: max-age=100").body == "2")
        stage.clock.advance(seconds: 16)
        #expect(try stage.get().body == "3")
    }

    @Test("a stop does not wait for a validation in the background")
    func stop() throws {
        let gate = Gate()
        let stage = try CacheStage {
            $0.limits.shutdownGrace = .hours(1)
        } _: { _, number in
            if number == 2 { gate.pass() }
            return response("200 OK", "Cache-Control: max-age=5, stale-while-revalidate=30", body: "\(number)")
        }
        defer { gate.open() }
        _ = try stage.get()
        stage.clock.advance(seconds: 10)
        _ = try stage.get()
        try gate.awaitArrivals()
        let hasStopped = Gate()
        let server = stage.proxy.server
        Threads.start {
            server.stop()
            hasStopped.open()
        }
        #expect(Wait.holds { hasStopped.hasOpened })
    }

    @Test("max-stale takes what is stale by up to its seconds, unless the response forbids it")
    func maxStale() throws {
        let stage = try CacheStage { request, number in
            response(
                "200 OK", "Cache-Control: max-age=5" + (request.target == "/must" ? ", must-revalidate" : ""),
                body: "\(number)")
        }
        _ = try stage.get("/a")
        _ = try stage.get("/must")
        stage.clock.advance(seconds: 15)
        #expect(try stage.get("/a", "Cache-Control: max-stale=10").cacheStatus == "subproxy; hit; ttl=-10")
        #expect(try stage.get("/a", "Cache-Control: max-stale").body == "1")
        #expect(try stage.get("/a", "Cache-Control: max-stale=9").body == "3")
        #expect(try stage.get("/must", "Cache-Control: max-stale").body == "4")
    }

    @Test("min-fresh and max-age in a request ask for what is fresh enough")
    func freshness() throws {
        let stage = try CacheStage { _, number in
            response("200 OK", "Cache-Control: max-age=60", body: "\(number)")
        }
        _ = try stage.get()
        stage.clock.advance(seconds: 10)
        #expect(try stage.get("/", "Cache-Control: max-age=10").body == "1")
        #expect(try stage.get("/", "Cache-Control: min-fresh=50").body == "1")
        #expect(try stage.get("/", "Cache-Control: min-fresh=51").body == "2")
        stage.clock.advance(seconds: 10)
        #expect(try stage.get("/", "Cache-Control: max-age=9").body == "3")
    }
}
