import ForwardProxy
import Foundation
import ProxyTestKit
import Synchronization
import Testing

@Suite("What a second client gets of a first one's response")
struct CacheSharingTests {
    private func answer(_ socket: Socket) throws -> TestResponse { TestResponse(try socket.receiveAll()) }

    @Test(
        "Those who wait for another's response get no field that the origin names as the first one's",
        arguments: ["private=\"set-cookie, X-User\"", "no-cache=\"Set-Cookie,x-user\""])
    func named(_ directive: String) throws {
        let gate = Gate()
        let stage = try CacheStage { _, number in
            if number == 1 { gate.pass() }
            return response(
                "200 OK", "Cache-Control: max-age=60, \(directive)", "Set-Cookie: id=\(number)", "X-User: \(number)",
                "Connection: X-Hop", "X-Hop: 1", "X-A: a", "Age: 7", body: "shared")
        }
        let (leader, followers) = try stage.begin(followers: 3, at: gate)
        gate.open()
        let first = try answer(leader)
        #expect(first.field("Set-Cookie") == "id=1")
        #expect(first.field("X-User") == "1")
        for follower in followers {
            let answer = try answer(follower)
            #expect(answer.cacheStatus == "subproxy; fwd=uri-miss; stored; collapsed")
            #expect(answer.body == "shared")
            #expect(answer.field("Content-Length") == "6")
            #expect(answer.field("X-A") == "a")
            #expect(answer.field("Age") == "7")
            for name in ["Set-Cookie", "X-User", "X-Hop"] {
                #expect(answer.field(name) == nil)
            }
        }
        #expect(try stage.get().field("Set-Cookie") == nil)
        #expect(stage.count == 1)
    }

    @Test("Those who wait for another's response get none of its trailers, which are not stored either")
    func trailers() throws {
        let gate = Gate()
        let stage = try CacheStage { _, _ in
            gate.pass()
            return
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\nTrailer: X-User\r\n\r\n"
                + "6\r\nshared\r\n0\r\nX-User: first\r\n\r\n"
        }
        let leader = try stage.begin()
        try gate.awaitArrivals()
        let follower = try stage.begin()
        try stage.settle()
        gate.open()
        #expect(try answer(leader).body.contains("X-User: first"))
        let second = try answer(follower)
        #expect(second.cacheStatus?.hasSuffix("collapsed") == true)
        #expect(second.dechunked == "shared")
        #expect(!second.body.contains("X-User"))
    }

    @Test("A HEAD or a validation with Authorization puts none of its fields into what others get")
    func authorized() throws {
        let stage = try CacheStage { request, number in
            let user = request.field("Authorization") ?? "nobody"
            let fields = ["Cache-Control: max-age=60", "ETag: \"a\"", "Set-Cookie: id=\(user)", "X-User: \(user)"]
            return number > 1 && !request.isHead
                ? response("304 Not Modified", fields) : response("200 OK", fields, body: "same")
        }
        #expect(try stage.get().field("X-User") == "nobody")
        #expect(
            try stage.get("/", "Authorization: alice", "Cache-Control: no-cache", method: "HEAD").field("X-User")
                == "alice")
        let after = try stage.get()
        #expect(after.cacheStatus == "subproxy; hit; ttl=60")
        #expect(after.field("X-User") == "nobody")
        #expect(after.field("Set-Cookie") == "id=nobody")

        stage.clock.advance(seconds: 61)
        let own = try stage.get("/", "Authorization: alice")
        #expect(own.cacheStatus == "subproxy; fwd=stale; fwd-status=304")
        #expect(own.field("X-User") == "alice")
        // It is as stale as before for everybody else.
        let others = try stage.get()
        #expect(others.cacheStatus == "subproxy; fwd=stale; fwd-status=304")
        #expect(others.field("X-User") == "nobody")
        #expect(stage.count == 4)
    }

    @Test(
        "One user's response, which may not be stored, leaves what is stored for all",
        arguments: [
            "max-age=60", "private", "no-store", "private, max-age=60", "private, max-age=0, must-revalidate",
            "no-cache, no-store, must-revalidate",
        ])
    func personal(_ directives: String) throws {
        let stage = try CacheStage { request, number in
            let isKnown = request.field("Authorization") != nil
            return response(
                "200 OK", ["Cache-Control: \(isKnown ? directives : "public, max-age=60")"],
                body: "\(number)")
        }
        #expect(try stage.get().body == "1")
        #expect(try stage.get("/", "Authorization: alice", "Cache-Control: no-cache").body == "2")
        #expect(try stage.get().body == "1")
        #expect(stage.count == 2)
    }

    @Test("A field that Connection takes from the request chooses no variant")
    func nominated() throws {
        let stage = try CacheStage { request, _ in
            response(
                "200 OK", "Cache-Control: max-age=60", "Vary: X-Tenant", body: request.field("X-Tenant") ?? "default")
        }
        #expect(try stage.get("/", "Connection: close, X-Tenant", "X-Tenant: b").body == "default")
        #expect(try stage.get("/", "X-Tenant: b").body == "b")
        #expect(try stage.get("/").cacheStatus == "subproxy; hit; ttl=60; key=\"x-tenant\"")
        let hidden = try stage.get("/", "Connection: X-Tenant", "X-Tenant: b")
        #expect(hidden.body == "default")
        #expect(stage.count == 2)
    }

    @Test(
        "Two lines of a field are not the line that joins them",
        arguments: [
            ("Cookie", "a=1", "b=2", "a=1; b=2"), ("Accept-Language", "de", "", "de"), ("X-Tenant", "a", "b", "a, b"),
        ])
    func lines(_ name: String, _ first: String, _ second: String, _ joined: String) throws {
        let stage = try CacheStage { request, _ in
            let count = request.text.components(separatedBy: "\r\n\(name):").count - 1
            return response("200 OK", "Cache-Control: max-age=60", "Vary: \(name)", body: "\(count) lines")
        }
        #expect(try stage.get("/", "\(name): \(first)", "\(name): \(second)").body == "2 lines")
        #expect(try stage.get("/", "\(name): \(joined)").body == "1 lines")
        #expect(try stage.get("/", "\(name): \(first)", "\(name): \(second)").body == "2 lines")
        #expect(stage.count == 2)
    }

    @Test("A response whose Connection names what it needs is stored with it")
    func needed() throws {
        let stage = try CacheStage { _, _ in
            response(
                "200 OK", "Cache-Control: max-age=60", "Connection: Content-Type, Vary, X-Hop", "Vary: X-Tenant",
                "Content-Type: text/css", "X-Hop: 1", body: "a")
        }
        #expect(try stage.get("/", "X-Tenant: a").field("Content-Type") == "text/css")
        let stored = try stage.get("/", "X-Tenant: a")
        #expect(stored.cacheStatus?.hasPrefix("subproxy; hit") == true)
        #expect(stored.field("Content-Type") == "text/css")
        #expect(stored.field("X-Hop") == nil)
        #expect(try stage.get("/", "X-Tenant: b").cacheStatus?.hasPrefix("subproxy; hit") == false)
    }

    @Test(
        "What an origin sends behind its response is nobody's response, and is stored nowhere",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nCache-Control: max-age=60\r\n\r\nwrong",
            "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n", "\r\n", "wrong",
        ])
    func unsolicited(_ bytes: String) throws {
        let mayFollow = Gate()
        let hasFollowed = Mutex(0)
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.socket.send(
                response("200 OK", "Cache-Control: max-age=60", body: request.target))
            guard request.target == "/first" else { return true }
            mayFollow.pass()
            try connection.socket.send(bytes)
            hasFollowed.withLock { $0 += 1 }
            return true
        }
        let proxy = try TestProxy()
        func get(_ path: String) throws -> TestResponse {
            try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)\(path)")
        }
        #expect(try get("/first").body == "/first")
        mayFollow.open()
        try Wait.until(seconds: 30) { hasFollowed.withLock { $0 } == 1 }
        for path in ["/second", "/third", "/second", "/third"] { #expect(try get(path).body == path) }
    }
}
