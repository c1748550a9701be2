import ForwardProxy
import ProxyTestKit
import Testing

@Suite("Serving what is stored")
struct CacheServingTests {
    @Test("a large stored body comes whole to a client that takes it in small pieces, and ranges of it too")
    func large() throws {
        let body = String((0..<(3 << 20)).map { Character(UnicodeScalar(UInt8(97 + $0 % 23))) })
        let stage = try CacheStage { _, _ in
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        }
        #expect(try stage.get().body == body)
        let socket = try stage.begin()
        var received: [UInt8] = []
        while true {
            let piece = try socket.receive(50_000)
            if piece.isEmpty { break }
            received += piece
        }
        let response = TestResponse(received)
        #expect(response.field("Cache-Status")?.hasPrefix("subproxy; hit; ttl=") == true)
        #expect(response.body == body)
        let range = try stage.get("/", "Range: bytes=100-1200000")
        #expect(range.status == 206)
        #expect(range.body == String(body.utf8.dropFirst(100).prefix(1_199_901).map { Character(UnicodeScalar($0)) }))
        #expect(stage.count == 1)
    }

    @Test("clients that go as soon as they have asked hold nothing of the store")
    func goneAtOnce() throws {
        let body = String(repeating: "0123456789abcdef", count: 1 << 16)
        let stage = try CacheStage {
            $0.cache.memory = 16 << 20
        } _: { _, _ in
            response("200 OK", "Cache-Control: max-age=60", body: body)
        }
        // More than there is room for: what is held of one that was given up leaves none for others.
        for index in 0..<40 {
            #expect(try stage.get("/\(index)").body == body)
            for _ in 0..<3 { try stage.begin("/\(index)").close() }
        }
        try stage.settle()
        #expect(try stage.get("/last").cacheStatus == "subproxy; fwd=uri-miss; stored")
        #expect(try Wait.holds { try stage.get("/last").cacheStatus?.hasPrefix("subproxy; hit") == true })
    }

    @Test("of two variants that suit a request the rules' choice is served, whichever is ready")
    func variants() throws {
        let stage = try CacheStage { request, number in
            let vary = request.field("X-A") == nil ? "Vary: X-A\r\n" : "Vary: X-B\r\n"
            return "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\(vary)Content-Length: 1\r\n\r\n\(number)"
        }
        #expect(try stage.get().body == "1")
        #expect(try stage.get().body == "1")
        // Stored for X-A: 1 and no X-B: a request without either suits both, and the newer one is meant.
        #expect(try stage.get("/", "X-A: 1").body == "2")
        let chosen = try stage.get().body
        for _ in 0..<3 { #expect(try stage.get().body == chosen) }
        #expect(chosen == "2")
    }

    @Test("a validated response has what the 304 says to this client alone, and the Age that it tells")
    func extra() throws {
        let stage = try CacheStage { request, _ in
            request.field("If-None-Match") == nil
                ? "HTTP/1.1 200 OK\r\nCache-Control: no-cache\r\nETag: \"a\"\r\nContent-Length: 1\r\n\r\nx"
                : "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nAge: 30\r\nSet-Cookie: id=1\r\n"
                    + "Cache-Control: no-cache, private=\"x-user\"\r\nX-User: me\r\n\r\n"
        }
        _ = try stage.get()
        let validated = try stage.get()
        #expect(validated.body == "x")
        #expect(validated.field("Set-Cookie") == "id=1")
        #expect(validated.field("X-User") == "me")
        #expect(validated.field("Age") == "30")
        #expect(validated.field("ETag") == "\"a\"")
    }
}
