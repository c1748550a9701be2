import ForwardProxy
import ProxyTestKit
import Testing

@Suite("Validating what is stored")
struct CacheValidationTests {
    /// A stage that stores a response for five seconds, and gets this to every conditional request afterwards.
    private func stage(_ fields: [String], then answer: String) throws -> CacheStage {
        let stage = try CacheStage { request, number in
            let isConditional = request.field("If-None-Match") != nil || request.field("If-Modified-Since") != nil
            return isConditional ? answer : response("200 OK", fields, body: "body\(number)")
        }
        _ = try stage.get()
        stage.clock.advance(seconds: 6)
        return stage
    }

    private static let stored = ["Cache-Control: max-age=5", "ETag: \"v1\"", "Content-Type: text/plain"]

    @Test("a 304 updates the fields that it has, but none of the message")
    func merging() throws {
        let stage = try stage(
            CacheValidationTests.stored + ["Content-Encoding: identity", "X-Old: 1", "X-Kept: 1"],
            then: response(
                "304 Not Modified", "ETag: \"v1\"", "Cache-Control: max-age=7", "X-Old: 2", "X-New: 3",
                "Content-Type: text/html", "Content-Encoding: gzip", "Content-Length: 99", "Content-Range: bytes 0-1/2",
                "Connection: X-Hop", "X-Hop: 1"))
        let validated = try stage.get()
        #expect(validated.cacheStatus == "subproxy; fwd=stale; fwd-status=304")
        let hit = try stage.get()
        #expect(hit.cacheStatus == "subproxy; hit; ttl=7")
        for answer in [validated, hit] {
            #expect(answer.status == 200)
            #expect(answer.body == "body1")
            #expect(answer.field("Content-Length") == "5")
            #expect(answer.field("Content-Type") == "text/html")
            #expect(answer.field("Content-Encoding") == "gzip")
            #expect(answer.field("X-Old") == "2")
            #expect(answer.field("X-New") == "3")
            #expect(answer.field("X-Kept") == "1")
            for name in ["Content-Range", "X-Hop"] { #expect(answer.field(name) == nil) }
        }
        #expect(stage.count == 2)
    }

    @Test("Set-Cookie of a 304 is kept only where the 304 gives freshness itself")
    func cookies() throws {
        let implicit = try stage(
            CacheValidationTests.stored, then: response("304 X", "ETag: \"v1\"", "Set-Cookie: a=b"))
        // The client whose request was validated gets it; the next one does not.
        #expect(try implicit.get().field("Set-Cookie") == "a=b")
        #expect(try implicit.get().field("Set-Cookie") == nil)
        let explicit = try stage(
            CacheValidationTests.stored,
            then: response("304 X", "ETag: \"v1\"", "Set-Cookie: a=b", "Cache-Control: max-age=9"))
        #expect(try explicit.get().field("Set-Cookie") == "a=b")
    }

    @Test(
        "the client whose request was validated gets the 304's Set-Cookie, and not the stored one of another client",
        arguments: ["X: y", "Cache-Control: no-cache, max-age=60", "Cache-Control: max-age=0"])
    func cookiesOfOthers(_ line: String) throws {
        let stage = try stage(
            CacheValidationTests.stored + ["Set-Cookie: id=A"],
            then: response("304 X", "ETag: \"v1\"", "Set-Cookie: id=B", line))
        #expect(try stage.get().field("Set-Cookie") == "id=B")
    }

    @Test("a 304 with another ETag is not believed: the origin is asked for a whole response")
    func otherTag() throws {
        let stage = try stage(CacheValidationTests.stored, then: response("304 X", "ETag: \"v2\""))
        let answer = try stage.get()
        #expect(answer.status == 200)
        #expect(answer.body == "body3")
        #expect(answer.cacheStatus == "subproxy; fwd=stale; stored")
        #expect(stage.count == 3)
        #expect(stage.origin.requests.last?.field("If-None-Match") == nil)
        #expect(try stage.get().body == "body3")
    }

    @Test("a 304 never reaches a client that has not asked for one")
    func leak() throws {
        let always = try CacheStage { _, _ in response("304 Not Modified", "ETag: \"v1\"") }
        let answer = try always.get()
        #expect(answer.status == 502)
        #expect(answer.body.contains("304"))
        #expect(try always.get(method: "HEAD").status == 502)
        #expect(try always.get("/", "If-None-Match: \"v1\"").status == 304)
        #expect(try always.get("/", "If-Modified-Since: \(httpDate(0))").status == 304)
        // Also where it comes twice to a validation.
        let stage = try CacheStage { _, number in
            number == 1
                ? response("200 OK", CacheValidationTests.stored, body: "1") : response("304 X", "ETag: \"v2\"")
        }
        _ = try stage.get()
        stage.clock.advance(seconds: 6)
        #expect(try stage.get().status == 502)
        #expect(stage.count == 3)
    }

    @Test("a 304 about what the client has and the store has not goes to the client")
    func forClient() throws {
        let stage = try stage(CacheValidationTests.stored, then: response("304 X", "ETag: \"v2\""))
        let answer = try stage.get("/", "If-None-Match: \"v2\"")
        #expect(answer.status == 304)
        #expect(answer.field("ETag") == "\"v2\"")
        #expect(stage.origin.requests.last?.field("If-None-Match") == "\"v2\", \"v1\"")
        // Uncached too.
        #expect(try stage.get("/other", "If-None-Match: \"v2\"").status == 304)
    }

    @Test("a client's own precondition that holds gets a 304 from what a validation has freshened")
    func clientPrecondition() throws {
        let stage = try stage(CacheValidationTests.stored, then: response("304 X", "ETag: \"v1\"", "X-A: 1"))
        let answer = try stage.get("/", "If-None-Match: \"v1\"")
        #expect(answer.status == 304)
        #expect(answer.field("X-A") == "1")
        #expect(answer.cacheStatus == "subproxy; fwd=stale; fwd-status=304")
        stage.clock.advance(seconds: 6)
        #expect(try stage.get("/", "If-None-Match: \"v0\"").body == "body1")
    }

    @Test("Last-Modified validates where there is no ETag")
    func lastModified() throws {
        let date = httpDate(-100_000)
        let stage = try stage(
            ["Cache-Control: max-age=5", "Last-Modified: \(date)"],
            then: response("304 X", "Last-Modified: \(date)", "Cache-Control: max-age=9"))
        #expect(try stage.get().cacheStatus == "subproxy; fwd=stale; fwd-status=304")
        #expect(stage.origin.requests.last?.field("If-Modified-Since") == date)
        #expect(stage.origin.requests.last?.field("If-None-Match") == nil)
        #expect(try stage.get().cacheStatus == "subproxy; hit; ttl=9")
    }

    @Test("a new response to a validation takes the stored one's place, also one that may not be stored")
    func replaced() throws {
        let stage = try stage(
            CacheValidationTests.stored,
            then: response("200 OK", "Cache-Control: max-age=5", "ETag: \"v2\"", body: "new"))
        #expect(try stage.get().cacheStatus == "subproxy; fwd=stale; fwd-status=200; stored")
        #expect(try stage.get().body == "new")
        let unstored = try self.stage(
            CacheValidationTests.stored, then: response("200 OK", "Cache-Control: no-store", body: "new"))
        let answer = try unstored.get()
        #expect(answer.cacheStatus == "subproxy; fwd=stale; fwd-status=200; detail=\"no-store\"")
        #expect(answer.body == "new")
        #expect(try unstored.get().cacheStatus == "subproxy; fwd=uri-miss; stored")
    }

    @Test("an error in the place of a validation is passed on and leaves what is stored")
    func error() throws {
        let stage = try CacheStage { _, number in
            number == 2
                ? response("500 X", body: "ill")
                : number == 3
                    ? response("304 X", "ETag: \"v1\"") : response("200 OK", CacheValidationTests.stored, body: "1")
        }
        _ = try stage.get()
        stage.clock.advance(seconds: 6)
        let answer = try stage.get()
        #expect(answer.status == 500)
        #expect(answer.cacheStatus == "subproxy; fwd=stale; fwd-status=500")
        #expect(try stage.get().body == "1")
    }

    @Test(
        "what a 304 forbids to keep is given up, and served no more",
        arguments: ["no-store", "private", "no-store, max-age=60"])
    func withdrawn(_ directives: String) throws {
        let stage = try stage(
            ["Cache-Control: max-age=60, no-cache", "ETag: \"v1\""],
            then: response("304 X", "ETag: \"v1\"", "Cache-Control: \(directives)"))
        #expect(try stage.get().body == "body1")
        let next = try stage.get()
        #expect(next.body == "body3")
        #expect(next.cacheStatus?.hasPrefix("subproxy; fwd=uri-miss") == true)
    }

    @Test("nothing of a 304 to a request with no-store is kept")
    func noStore() throws {
        let stage = try stage(
            CacheValidationTests.stored, then: response("304 X", "ETag: \"v1\"", "X-A: 1", "Cache-Control: max-age=60"))
        let answer = try stage.get("/", "Cache-Control: no-store")
        #expect(answer.body == "body1")
        #expect(answer.field("X-A") == "1")
        #expect(try stage.get().cacheStatus == "subproxy; fwd=stale; fwd-status=304")
        #expect(stage.count == 3)
    }

    @Test("no-cache in a response lets it be stored and validated each time")
    func noCache() throws {
        let stage = try stage(
            ["Cache-Control: no-cache, max-age=60", "ETag: \"v1\""], then: response("304 X", "ETag: \"v1\""))
        for number in 2...4 {
            #expect(try stage.get().cacheStatus == "subproxy; fwd=stale; fwd-status=304")
            #expect(stage.count == number)
        }
    }

    @Test("a response to HEAD freshens the stored one that it agrees with, and gives up any other (RFC 9111 §4.3.5)")
    func head() throws {
        for (fields, isKept) in [
            (["ETag: \"v1\"", "Cache-Control: max-age=9", "X-A: 1"], true), (["ETag: \"v2\""], false),
            (["ETag: \"v1\"", "Content-Length: 77"], false), (["Cache-Control: no-store"], false),
        ] {
            for reload in [[], ["Cache-Control: no-cache"]] {
                let stage = try CacheStage { request, number in
                    request.isHead
                        ? (["HTTP/1.1 200 OK"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
                        : response("200 OK", CacheValidationTests.stored, body: "body\(number)")
                }
                _ = try stage.get()
                stage.clock.advance(seconds: reload.isEmpty ? 6 : 1)
                _ = try stage.proxy.exchange("HEAD", stage.url(), fields: reload)
                #expect(stage.count == 2)
                let next = try stage.get()
                #expect(next.body == (isKept ? "body1" : "body3"))
                #expect(next.field("X-A") == (isKept ? "1" : nil))
            }
        }
    }

    @Test("what was sent first and ends last does not take the place of what is newer")
    func overtaken() throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            guard request.field("X-Slow") != nil else {
                try connection.respond(fields: "Cache-Control: max-age=60\r\n", body: "new")
                return true
            }
            try connection.socket.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 6\r\n\r\nold")
            gate.pass()
            try connection.socket.send("end")
            return true
        }
        let clock = TestClock()
        let proxy = try TestProxy { $0.cache.clock = clock.read }
        let url = "http://127.0.0.1:\(origin.port)/"
        let slow = try proxy.connect()
        try slow.sendRequest("GET", url, fields: ["X-Slow: 1", "Connection: close"])
        _ = try slow.receiveResponseHead()
        clock.advance(seconds: 1)
        #expect(try proxy.exchange("GET", url, fields: ["Cache-Control: no-cache"]).body == "new")
        gate.open()
        #expect(try slow.receiveAll() == Array("oldend".utf8))
        #expect(try proxy.exchange("GET", url).body == "new")
        #expect(origin.requests.count == 2)
    }
}
