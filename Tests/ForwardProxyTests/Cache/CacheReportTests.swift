import ForwardProxy
import ProxyTestKit
import Testing

@Suite("What is said of stored responses: Cache-Status, Age, and the access log")
struct CacheReportTests {
    @Test("the log names the outcome and the reason of each exchange")
    func log() throws {
        let stage = try CacheStage { request, number in
            switch request.target {
            case "/private": response("200 OK", "Cache-Control: private", body: "p")
            case "/cookie": response("200 OK", "Set-Cookie: a=b", "Last-Modified: \(httpDate(-100_000))", body: "c")
            case "/error" where number > 6: response("503 X", body: "e")
            case "/error":
                response("200 OK", "Cache-Control: max-age=5, stale-if-error=60", "ETag: \"v1\"", body: "ok")
            default:
                request.field("If-None-Match") == nil
                    ? response("200 OK", "Cache-Control: max-age=5", "ETag: \"v1\"", body: "ab")
                    : response("304 X", "ETag: \"v1\"")
            }
        }
        _ = try stage.get("/a")
        _ = try stage.get("/a")
        _ = try stage.get("/a", method: "HEAD")
        _ = try stage.get("/private")
        _ = try stage.get("/cookie")
        _ = try stage.get("/error")
        _ = try stage.get("/none", "Cache-Control: only-if-cached")
        stage.clock.advance(seconds: 6)
        _ = try stage.get("/a", "Cache-Control: max-stale")
        _ = try stage.get("/a")
        _ = try stage.get("/a", method: "POST")
        _ = try stage.get("/b", "Cache-Control: no-cache")
        _ = try stage.get("/error")
        let lines = try stage.proxy.stopAndReadLog().split(separator: "\n")
        let expected: [(String, String, String)] = [
            ("GET", "/a 200 2B", "forwarded"), ("GET", "/a 200 2B", "stored"), ("HEAD", "/a 200 0B", "stored"),
            ("GET", "/private 200 1B", "forwarded"), ("GET", "/cookie 200 1B", "forwarded"),
            ("GET", "/error 200 2B", "forwarded"), ("GET", "/none 504", "failed"), ("GET", "/a 200 2B", "stored"),
            ("GET", "/a 200 2B", "validated"), ("POST", "/a 200 2B", "forwarded"), ("GET", "/b 200 2B", "forwarded"),
            ("GET", "/error 200 2B", "stored"),
        ]
        #expect(lines.count == expected.count)
        for (line, (method, middle, outcome)) in zip(lines, expected) {
            #expect(line.contains(" \(method) "), "\(line)")
            #expect(line.contains(middle), "\(line)")
            #expect(line.contains(" \(outcome)"), "\(line)")
        }
        for (index, reason) in [
            (3, "private"), (4, "Set-Cookie"), (7, "max-stale"), (8, "stale"), (11, "stale-if-error"),
        ] {
            #expect(lines.count > index && lines[index].contains(reason), "\(lines[index])")
        }
    }

    @Test("every form of Cache-Status that is documented")
    func cacheStatus() throws {
        let stage = try CacheStage { request, _ in
            if request.field("If-None-Match") != nil { return response("304 X", "ETag: \"v1\"") }
            switch request.target {
            case "/unsaid": return response("200 OK", body: "b")
            case "/vary":
                return response("200 OK", "Cache-Control: max-age=400", "Vary: Accept", body: "b")
            default: return response("200 OK", "Cache-Control: max-age=400", "ETag: \"v1\"", body: "b")
            }
        }
        #expect(try stage.get("/unsaid").cacheStatus == "subproxy; fwd=uri-miss")
        #expect(try stage.get("/a").cacheStatus == "subproxy; fwd=uri-miss; stored")
        stage.clock.advance(seconds: 24)
        #expect(try stage.get("/a").cacheStatus == "subproxy; hit; ttl=376")
        #expect(try stage.get("/a", "Cache-Control: max-age=0").cacheStatus == "subproxy; fwd=stale; fwd-status=304")
        #expect(try stage.get("/a", "Cache-Control: no-cache").cacheStatus == "subproxy; fwd=request; stored")
        #expect(try stage.get("/a", "Pragma: no-cache").cacheStatus == "subproxy; fwd=request; stored")
        #expect(try stage.get("/a", "If-Match: \"v1\"").cacheStatus == "subproxy; fwd=request; stored")
        #expect(try stage.get("/a", method: "POST").cacheStatus == "subproxy; fwd=method")
        #expect(try stage.get("/a", method: "DELETE").cacheStatus == "subproxy; fwd=method")
        _ = try stage.get("/vary", "Accept: a")
        #expect(try stage.get("/vary", "Accept: b").cacheStatus == "subproxy; fwd=vary-miss; stored")
    }

    @Test(
        "Age goes on from the origin's, the origin's Date is kept, and Cache-Status of other caches stays before ours")
    func ageAndDate() throws {
        let date = httpDate(-20)
        let stage = try CacheStage { _, _ in
            response(
                "200 OK", "Cache-Control: max-age=100", "Age: 10", "Date: \(date)", "Cache-Status: Edge; hit", body: "b"
            )
        }
        let first = try stage.get()
        #expect(first.field("Age") == "10")
        #expect(first.cacheStatus == "Edge; hit, subproxy; fwd=uri-miss; stored")
        stage.clock.advance(seconds: 5)
        let hit = try stage.get()
        let age = try #require(hit.field("Age").flatMap { Int($0) })
        #expect((25...27).contains(age))
        #expect(hit.field("Date") == date)
        #expect(hit.cacheStatus == "Edge; hit, subproxy; hit; ttl=\(100 - age)")
        #expect(hit.head.components(of: "Date").count == 1)
    }

    @Test("Via is on what is stored, once, and names this proxy", arguments: [1, 2, 3])
    func via(_ requests: Int) throws {
        let stage = try CacheStage { _, _ in
            response("200 OK", "Cache-Control: max-age=60", "Via: 1.1 other", body: "b")
        }
        var answer = try stage.get()
        for _ in 1..<requests { answer = try stage.get() }
        let via = try #require(answer.field("Via"))
        #expect(via.hasPrefix("1.1 other, 1.1 subproxy-"))
        #expect(via.split(separator: ",").count == 2)
    }

    @Test("only-if-cached gets what may be served without the origin, else 504")
    func onlyIfCached() throws {
        let stage = try CacheStage { _, number in
            response("200 OK", "Cache-Control: max-age=5", "ETag: \"v1\"", "Vary: X-A", body: "\(number)")
        }
        let miss = try stage.get("/", "Cache-Control: only-if-cached")
        #expect(miss.status == 504)
        #expect(miss.cacheStatus == nil)
        _ = try stage.get()
        #expect(try stage.get("/", "Cache-Control: only-if-cached").body == "1")
        #expect(try stage.get("/", "Cache-Control: only-if-cached", "X-A: 1").status == 504)
        #expect(try stage.get("/", "Cache-Control: only-if-cached, max-age=0").status == 504)
        #expect(try stage.get("/", "Cache-Control: only-if-cached, no-cache").status == 504)
        stage.clock.advance(seconds: 6)
        #expect(try stage.get("/", "Cache-Control: only-if-cached").status == 504)
        #expect(try stage.get("/", "Cache-Control: only-if-cached", method: "POST").status == 504)
        #expect(stage.count == 1)
    }

    @Test("two thousand URLs are looked up as quickly as two hundred")
    func manyURLs() throws {
        let stage = try CacheStage { _, _ in response("200 OK", "Cache-Control: max-age=600", body: "b") }
        let client = try stage.proxy.connect()
        func ask(_ numbers: Range<Int>) throws -> Double {
            let start = Clock.seconds
            for batch in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 50) {
                let requests = (batch..<batch + 50).map { "GET \(stage.url("/\($0)")) HTTP/1.1\r\nHost: x\r\n\r\n" }
                try client.send(requests.joined())
                for _ in 0..<50 { #expect(try client.receiveResponse().text == "b") }
            }
            return Clock.seconds - start
        }
        /// The quickest of some, as the machine may be busy with other things meanwhile.
        func quickest() throws -> Double { try (0..<5).map { _ in try ask(0..<200) }.min() ?? 0 }
        _ = try ask(0..<200)
        let few = try quickest()
        _ = try ask(200..<2000)
        #expect(stage.count == 2000)
        // A machine that is busy at the moment is asked again; a look-up that takes longer takes so each time.
        #expect(try Wait.holds { try quickest() < few * 5 + 0.5 })
    }
}

extension String {
    /// The lines of a head that begin with a field name.
    fileprivate func components(of name: String) -> [Substring] {
        split(separator: "\r\n").filter { $0.lowercased().hasPrefix(name.lowercased() + ":") }
    }
}
