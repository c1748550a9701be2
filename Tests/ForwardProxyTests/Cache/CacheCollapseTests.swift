import ForwardProxy
import NIOCore
import ProxyTestKit
import Testing

@Suite("One origin exchange for many clients")
struct CacheCollapseTests {
    /// A stage whose first response waits for a gate.
    private func stage(
        _ gate: Gate, configure: @escaping (inout ProxyConfiguration) -> Void = { _ in },
        _ script: @escaping @Sendable (ScriptedOrigin.Request, Int) -> String?
    ) throws -> CacheStage {
        try CacheStage(configure: configure) { request, number in
            if number == 1 { gate.pass() }
            return script(request, number)
        }
    }

    private func answer(_ socket: Socket) throws -> TestResponse { TestResponse(try socket.receiveAll()) }

    @Test("many requests for one slow URL are one origin exchange, and all get its response")
    func collapsed() throws {
        let gate = Gate()
        let stage = try stage(gate) { _, number in
            response("200 OK", "Cache-Control: max-age=60", "X-A: 1", body: "shared \(number)")
        }
        let (leader, followers) = try stage.begin(followers: 20, at: gate)
        gate.open()
        let first = try answer(leader)
        #expect(first.body == "shared 1")
        #expect(first.cacheStatus == "subproxy; fwd=uri-miss; stored")
        for follower in followers {
            let answer = try answer(follower)
            #expect(answer.body == "shared 1")
            #expect(answer.field("X-A") == "1")
            #expect(answer.field("Content-Length") == "8")
            #expect(answer.cacheStatus == "subproxy; fwd=uri-miss; stored; collapsed")
        }
        #expect(stage.count == 1)
        #expect(try stage.get().cacheStatus == "subproxy; hit; ttl=60")
    }

    @Test(
        "a response that is for one client only goes to it alone, and each other one gets its own",
        arguments: [
            ["Cache-Control: private, max-age=60"], ["Set-Cookie: a=b", "Last-Modified: \(httpDate(-100_000))"],
            ["Cache-Control: no-store"], ["Cache-Control: max-age=60", "Vary: *"], [], ["Cache-Control: max-age=0"],
            ["Cache-Control: no-cache, max-age=60"],
        ])
    func notShareable(_ fields: [String]) throws {
        let gate = Gate()
        let stage = try stage(gate) { _, number in response("200 OK", fields, body: "\(number)") }
        let (leader, followers) = try stage.begin(followers: 5, at: gate)
        #expect(stage.count == 1)
        gate.open()
        #expect(try answer(leader).body == "1")
        let bodies = try followers.map { try answer($0).body }
        #expect(Set(bodies) == ["2", "3", "4", "5", "6"])
        #expect(stage.count == 6)
        // Then nobody waits for others any more.
        let again = try stage.begin()
        #expect(try answer(again).body == "7")
    }

    @Test("a response that comes late, and is older by its Date, does not take the place of what came meanwhile")
    func overtaken() throws {
        let gate = Gate()
        let stage = try stage(gate) { _, number in
            let date = httpDate(number == 1 ? -20 : number == 2 ? -10 : -30)
            return response("200 OK", "Cache-Control: max-age=60", "Date: \(date)", body: "\(number)")
        }
        let slow = try stage.begin()
        try gate.awaitArrivals()
        stage.clock.advance(seconds: 1)
        #expect(try stage.get("/", "Cache-Control: no-cache").body == "2")
        gate.open()
        #expect(try answer(slow).body == "1")
        #expect(try stage.get().body == "2")
        stage.clock.advance(seconds: 1)
        // One that is asked for afterwards counts, whatever its Date.
        #expect(try stage.get("/", "Cache-Control: no-cache").body == "3")
        #expect(try stage.get().body == "3")
        #expect(stage.count == 3)
    }

    @Test("errors of the origin are no answer for those who wait", arguments: ["500 X", "dies"])
    func errors(_ status: String) throws {
        let gate = Gate()
        let stage = try stage(gate) { _, number in
            guard number == 1 else { return response("200 OK", "Cache-Control: max-age=60", body: "\(number)") }
            return status == "dies" ? nil : response(status, body: "ill")
        }
        let (leader, followers) = try stage.begin(followers: 3, at: gate)
        gate.open()
        let first = try answer(leader)
        #expect(first.status == (status == "dies" ? 502 : 500))
        var bodies: Set<String> = []
        for follower in followers {
            let answer = try answer(follower)
            #expect(answer.status == 200)
            bodies.insert(answer.body)
        }
        // Each asks for itself then.
        #expect(bodies == ["2", "3", "4"])
        #expect(stage.count == 4)
    }

    @Test("who waits for another variant gets its own")
    func variants() throws {
        let gate = Gate()
        let stage = try stage(gate) { request, _ in
            response("200 OK", "Cache-Control: max-age=60", "Vary: Cookie", body: request.field("Cookie") ?? "none")
        }
        let leader = try stage.begin("/", "Cookie: a=1")
        try gate.awaitArrivals()
        let same = try stage.begin("/", "Cookie: a=1")
        let other = try stage.begin("/", "Cookie: a=2")
        let without = try stage.begin("/")
        try stage.settle()
        gate.open()
        #expect(try answer(leader).body == "a=1")
        let shared = try answer(same)
        #expect(shared.body == "a=1")
        #expect(shared.cacheStatus?.hasSuffix("; stored; collapsed") == true)
        #expect(try answer(other).body == "a=2")
        #expect(try answer(without).body == "none")
        #expect(stage.count == 3)
    }

    @Test(
        "requests that ask for something of their own wait for nobody",
        arguments: [
            "Authorization: Basic eDp5", "Cache-Control: no-cache", "Cache-Control: no-store", "Range: bytes=0-0",
            "If-None-Match: \"a\"", "Pragma: no-cache",
        ])
    func alone(_ field: String) throws {
        let gate = Gate()
        defer { gate.open() }
        let stage = try stage(gate) { _, number in response("200 OK", "Cache-Control: max-age=60", body: "\(number)") }
        let leader = try stage.begin()
        try gate.awaitArrivals()
        #expect(try stage.get("/", field).body == "2")
        gate.open()
        #expect(try answer(leader).body == "1")
    }

    @Test("a leader that leaves before the head leaves the exchange to those who wait")
    func leaderLeavesEarly() throws {
        let gate = Gate()
        let stage = try stage(gate) { _, number in
            response("200 OK", "Cache-Control: max-age=60", body: "\(number)")
        }
        let (leader, followers) = try stage.begin(followers: 3, at: gate)
        leader.reset()
        try stage.settle()
        gate.open()
        for follower in followers { #expect(try answer(follower).body == "1") }
        #expect(stage.count == 1)
        #expect(try stage.get().cacheStatus?.hasPrefix("subproxy; hit") == true)
    }

    @Test("an exchange that all have left is cancelled")
    func allLeave() throws {
        let gate = Gate()
        defer { gate.open() }
        let stage = try stage(gate) { _, number in
            response("200 OK", "Cache-Control: max-age=60", body: "\(number)")
        }
        let clients = try (0..<3).map { _ in try stage.begin() }
        try gate.awaitArrivals()
        try stage.settle()
        #expect(stage.origin.openConnectionCount == 1)
        for client in clients { client.reset() }
        try stage.settle()
        #expect(try stage.get().body == "2")
        #expect(stage.count == 2)
    }

    /// An origin that sends the first half of each body, waits for a gate, and sends the rest, in chunks where told so.
    private func halves(_ gate: Gate, cuts: Bool = false) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.socket.send(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\n01234")
            gate.pass()
            if cuts { return false }
            try connection.socket.send("56789")
            return true
        }
    }

    @Test("a leader that leaves inside the body takes nothing from those who read beside it, nor from the store")
    func leaderLeavesLate() throws {
        let gate = Gate()
        let origin = try halves(gate)
        let proxy = try TestProxy()
        let url = "http://127.0.0.1:\(origin.port)/"
        let clients = try (0..<3).map { _ in
            let client = try proxy.connect()
            try client.sendRequest("GET", url, fields: ["Connection: close"])
            _ = try client.receiveResponseHead()
            #expect(try client.receive(exactly: 5) == Array("01234".utf8))
            return client
        }
        clients[0].reset()
        _ = try proxy.exchange("GET", "http://unused.test/")
        gate.open()
        for client in clients.dropFirst() { #expect(try client.receiveAll() == Array("56789".utf8)) }
        #expect(origin.requests.count == 1)
        let hit = try proxy.exchange("GET", url)
        #expect(hit.body == "0123456789")
        #expect(hit.cacheStatus?.hasPrefix("subproxy; hit") == true)
    }

    @Test("a body goes on being stored for a while after its only client has left")
    func onlyClientLeaves() throws {
        let gate = Gate()
        let origin = try halves(gate)
        let proxy = try TestProxy()
        let url = "http://127.0.0.1:\(origin.port)/"
        let client = try proxy.connect()
        try client.sendRequest("GET", url)
        _ = try client.receiveResponseHead()
        client.reset()
        _ = try proxy.exchange("GET", "http://unused.test/")
        gate.open()
        let next = try proxy.exchange("GET", url)
        #expect(next.body == "0123456789")
        #expect(origin.requests.count == 1)
    }

    @Test("where the origin cuts the body off, all who read it see that, and nothing is stored")
    func cut() throws {
        let gate = Gate()
        let origin = try halves(gate, cuts: true)
        let proxy = try TestProxy()
        let url = "http://127.0.0.1:\(origin.port)/"
        let clients = try (0..<3).map { _ in
            let client = try proxy.connect()
            try client.sendRequest("GET", url)
            #expect(try client.receiveResponseHead().field("Content-Length") == "10")
            return client
        }
        gate.open()
        for client in clients { #expect(try client.receiveAll() == Array("01234".utf8)) }
        #expect(origin.requests.count == 1)
        let next = try proxy.connect()
        try next.sendRequest("GET", url)
        #expect(try !next.receiveResponse().isComplete)
        #expect(origin.requests.count == 2)
    }

    @Test("who waits too long for another's response goes to the origin by itself")
    func timeout() throws {
        let gate = Gate()
        defer { gate.open() }
        let stage = try stage(gate, configure: { $0.limits.collapseTimeout = .milliseconds(100) }) { _, number in
            response("200 OK", "Cache-Control: max-age=60", body: "\(number)")
        }
        let leader = try stage.begin()
        try gate.awaitArrivals()
        let followers = try (0..<3).map { _ in try stage.begin() }
        let bodies = try followers.map { try answer($0).body }
        // The first is still on its way, so none of them waited for it; what one got may be there for the next.
        #expect(bodies.allSatisfy { ["2", "3", "4"].contains($0) })
        gate.open()
        #expect(try answer(leader).body == "1")
    }

    @Test("a slow reader holds up nobody who reads the same response, and gets all of it")
    func slowReader() throws {
        let size = 8 << 20
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.socket.send(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: \(size)\r\n\r\n")
            let block = [UInt8](repeating: 0x61, count: 65536)
            for _ in 0..<(size / block.count) { try connection.socket.send(block) }
            return true
        }
        let proxy = try TestProxy()
        let url = "http://127.0.0.1:\(origin.port)/"
        let slow = try Socket.connect(port: proxy.port, receiveBuffer: 8192)
        try slow.sendRequest("GET", url, fields: ["Connection: close"])
        _ = try slow.receiveResponseHead()
        let fast = try proxy.exchange("GET", url)
        #expect(fast.bytes.count > size)
        #expect(try proxy.exchange("GET", url).cacheStatus?.hasPrefix("subproxy; hit") == true)
        #expect(try slow.receiveAll().count == size)
        #expect(origin.requests.count == 1)
    }

    @Test("a validation that fails is made once too, where what is stored may stand in", arguments: ["503 X", "dies"])
    func failedValidation(_ status: String) throws {
        let gate = Gate()
        let stage = try CacheStage { request, number in
            guard number > 1 else {
                return response("200 OK", "Cache-Control: max-age=5, stale-if-error=60", "ETag: \"v1\"", body: "1")
            }
            gate.pass()
            return status == "dies" ? nil : response(status)
        }
        _ = try stage.get()
        stage.clock.advance(seconds: 6)
        let (leader, followers) = try stage.begin(followers: 5, at: gate)
        let before = stage.count
        gate.open()
        for socket in [leader] + followers {
            let answer = try answer(socket)
            #expect(answer.body == "1")
            #expect(answer.cacheStatus?.contains("stale-if-error") == true)
        }
        // A kept connection that dies is no answer yet: the request is sent once more.
        #expect(stage.count - before <= (status == "dies" ? 1 : 0))
    }

    @Test("a validation is made once for all who ask for the stale response meanwhile")
    func validation() throws {
        let gate = Gate()
        let stage = try CacheStage { request, number in
            guard number > 1 else {
                return response("200 OK", "Cache-Control: max-age=5", "ETag: \"v1\"", body: "1")
            }
            gate.pass()
            return response("304 X", "ETag: \"v1\"", "Cache-Control: max-age=5")
        }
        _ = try stage.get()
        stage.clock.advance(seconds: 6)
        let (leader, followers) = try stage.begin(followers: 5, at: gate)
        gate.open()
        #expect(try answer(leader).cacheStatus == "subproxy; fwd=stale; fwd-status=304")
        for follower in followers {
            let answer = try answer(follower)
            #expect(answer.body == "1")
            #expect(answer.cacheStatus == "subproxy; hit; ttl=5")
        }
        #expect(stage.count == 2)
    }
}
