import ForwardProxy
import ProxyTestKit
import Testing

@Suite("What is stored, and for whom")
struct CacheStoringTests {
    /// Whether a second request is answered from the store after a first one to an origin that answers so.
    private func isReused(
        _ fields: [String], status: String = "200 OK", request: [String] = [], second: [String] = [],
        mode: CacheConfiguration.Mode = .shared, targets: [String] = [], after seconds: UInt64 = 0
    ) throws -> Bool {
        let stage = try CacheStage { configuration in
            configuration.cache.mode = mode
            configuration.cache.targetedFields = targets.map { Array($0.lowercased().utf8) }
        } _: { _, number in
            response(status, fields, body: "\(number)")
        }
        let first = try stage.proxy.exchange("GET", stage.url(), fields: request)
        stage.clock.advance(seconds: seconds)
        let again = try stage.proxy.exchange("GET", stage.url(), fields: second)
        #expect((again.cacheStatus?.hasPrefix("subproxy; hit; ttl=") == true) == (stage.count == 1))
        // What is reused was said to be stored.
        if stage.count == 1 {
            #expect(first.cacheStatus == "subproxy; fwd=uri-miss; stored")
            #expect(again.body == first.body)
        }
        return stage.count == 1
    }

    private static let week = httpDate(-700_000)

    @Test(
        "Set-Cookie is stored only with explicit freshness",
        arguments: [
            (["Cache-Control: max-age=60"], true), (["Cache-Control: s-maxage=60"], true),
            (["Expires: \(httpDate(6000))"], true), (["Last-Modified: \(week)"], false),
            (["Last-Modified: \(week)", "Cache-Control: public"], false),
            (["Cache-Control: private, max-age=60"], false),
        ])
    func setCookie(_ fields: [String], _ isStored: Bool) throws {
        #expect(try isReused(["Set-Cookie: a=b"] + fields) == isStored)
    }

    @Test(
        "a response to a request with Authorization is stored only where the origin allows it",
        arguments: [
            ("max-age=60", false), ("max-age=60, public", true), ("s-maxage=60", true),
            ("max-age=60, must-revalidate", true), ("max-age=60, proxy-revalidate", false),
        ])
    func authorization(_ directives: String, _ isStored: Bool) throws {
        let fields = ["Cache-Control: \(directives)"]
        let credentials = ["Authorization: Basic eDp5"]
        #expect(try isReused(fields, request: credentials) == isStored)
        #expect(try isReused(fields, request: credentials, second: credentials) == isStored)
        // What is stored without credentials answers with them.
        #expect(try isReused(fields, second: credentials))
    }

    @Test("no-store on either side leaves nothing behind, and its own answer is no other one's")
    func noStore() throws {
        #expect(try !isReused(["Cache-Control: no-store, max-age=60"]))
        #expect(try !isReused(["Cache-Control: max-age=60"], request: ["Cache-Control: no-store"]))
        #expect(try !isReused(["Cache-Control: NO-STORE", "Expires: \(httpDate(6000))"]))
        #expect(try isReused(["Cache-Control: max-age=60"], second: ["Cache-Control: no-store"]))
    }

    @Test(
        "directives are read as the list that they are, and doubt makes stale",
        arguments: [
            ("private, max-age=60", false), ("private=\"set-cookie\", max-age=60", true), ("max-age=-1", false),
            ("max-age=1e3", false), ("max-age=\"60\"", true), ("max-age=99999999999999999999", true),
            ("max-age=60, max-age=60", true), ("max-age=0, max-age=60", false), ("max-age=", false),
            ("max-age=60s", false), ("MAX-AGE=60", true), ("  ,, max-age=60 ,", true),
            ("s-maxage=0, max-age=60", false),
            ("max-age=60, no-cache", false), ("no-cache=\"x-a\", max-age=60", true), ("\"max-age=60\"", false),
            ("x=\"max-age=60\"", false), ("max-age=60, x=\"no-store\"", true), ("max-age = 60", false),
        ])
    func directives(_ value: String, _ isStored: Bool) throws {
        #expect(try isReused(["Cache-Control: \(value)", "X-A: 1"]) == isStored)
    }

    @Test(
        "broken and contradicting dates never make a response fresh that is not",
        arguments: [
            (["Expires: 0"], false), (["Expires: \(httpDate(6000))"], true), (["Expires: \(httpDate(-60))"], false),
            (["Expires: never", "Cache-Control: public"], false),
            (["Expires: 0", "Cache-Control: max-age=60"], true),
            (["Cache-Control: max-age=60", "Date: \(httpDate(1_000_000))"], true),
            (["Cache-Control: max-age=60", "Date: \(httpDate(-100))"], false),
            (["Cache-Control: max-age=60", "Date: yesterday"], true),
            (["Cache-Control: max-age=60", "Age: 2147483648"], false),
            (["Cache-Control: max-age=60", "Age: 18446744073709551616"], false),
            (["Cache-Control: max-age=60", "Age: -1"], true), (["Cache-Control: max-age=60", "Age: 59, 1"], true),
            (["Cache-Control: max-age=60", "Age: 60"], false),
            (["Cache-Control: max-age=99999999999999999999", "Age: 99999999999999999999"], false),
        ])
    func dates(_ fields: [String], _ isStored: Bool) throws {
        #expect(try isReused(fields) == isStored)
    }

    @Test("a field that private or no-cache names is not in what is stored")
    func namedFields() throws {
        let stage = try CacheStage { _, number in
            response(
                "200 OK", "Cache-Control: max-age=60, private=\"set-cookie, x-a\", no-cache=\"x-b\"", "Set-Cookie: a=b",
                "X-A: 1", "X-B: 2", "X-C: 3", body: "\(number)")
        }
        let first = try stage.get()
        #expect(first.field("Set-Cookie") == "a=b")
        #expect(first.field("X-A") == "1")
        let hit = try stage.get()
        #expect(stage.count == 1)
        #expect(hit.field("Set-Cookie") == nil)
        #expect(hit.field("X-A") == nil)
        #expect(hit.field("X-B") == nil)
        #expect(hit.field("X-C") == "3")
    }

    @Test(
        "statuses are stored by heuristics, by explicit freshness only, or never",
        arguments: [
            ("200 OK", true, true), ("203 X", true, true), ("204 No Content", true, true), ("300 X", true, true),
            ("301 Moved", true, true), ("308 X", true, true), ("404 Not Found", true, true), ("405 X", true, true),
            ("410 Gone", true, true), ("414 X", true, true), ("501 X", true, true), ("302 Found", false, true),
            ("307 X", false, true), ("400 X", false, true), ("403 Forbidden", false, true), ("500 X", false, true),
            ("502 X", false, true), ("503 X", false, true), ("504 X", false, true), ("206 X", false, false),
            ("401 X", false, false), ("407 X", false, false), ("416 X", false, false), ("421 X", false, false),
            ("429 Too Many", false, false),
        ])
    func statuses(_ status: String, _ byHeuristics: Bool, _ byFreshness: Bool) throws {
        #expect(try isReused(["Last-Modified: \(CacheStoringTests.week)"], status: status) == byHeuristics)
        #expect(try isReused(["Cache-Control: max-age=60"], status: status) == byFreshness)
        #expect(try !isReused(["Cache-Control: max-age=60"], status: status, after: 61))
    }

    @Test("a private cache stores what is marked private and what an authorized request got; off stores nothing")
    func modes() throws {
        let credentials = ["Authorization: Basic eDp5"]
        for fields in [["Cache-Control: private, max-age=60"], ["Cache-Control: max-age=60, s-maxage=0"]] {
            #expect(try !isReused(fields, mode: .shared))
            #expect(try isReused(fields, mode: .private))
        }
        #expect(try isReused(["Cache-Control: max-age=60"], request: credentials, mode: .private))
        let stage = try CacheStage {
            $0.cache.mode = .off
        } _: { _, number in
            response("200 OK", "Cache-Control: max-age=60", body: "\(number)")
        }
        #expect(try stage.get().cacheStatus == "subproxy; fwd=uri-miss")
        #expect(try stage.get().body == "2")
        #expect(try stage.get("/", "Cache-Control: only-if-cached").status == 504)
    }

    @Test(
        "what is said to be stored is stored, also close to the largest size", arguments: [1, 64],
        [10, 60_000, 115_000, 120_000, 126_000, 128_000, 130_000, 131_072, 131_073])
    func largest(_ divisor: Int, _ size: Int) throws {
        let stage = try CacheStage {
            $0.cache.memory = (1 << 20) / divisor
        } _: { _, _ in
            response("200 OK", "Cache-Control: max-age=60", body: String(repeating: "x", count: size / divisor))
        }
        let first = try stage.get()
        let isStored = first.cacheStatus == "subproxy; fwd=uri-miss; stored"
        #expect(isStored || first.cacheStatus == "subproxy; fwd=uri-miss; detail=\"too large\"")
        #expect((try stage.get().cacheStatus?.hasPrefix("subproxy; hit") == true) == isStored)
        if divisor == 1 { #expect(isStored == (size <= 128_000), "\(size)") }
    }

    @Test("with --cache-memory 0 nothing is stored")
    func noMemory() throws {
        let stage = try CacheStage {
            $0.cache.memory = 0
        } _: { _, number in
            response("200 OK", "Cache-Control: max-age=60", body: "\(number)")
        }
        for number in 1...3 {
            let answer = try stage.get()
            #expect(answer.cacheStatus == "subproxy; fwd=uri-miss")
            #expect(answer.body == "\(number)")
        }
    }

    @Test("a targeted field stands in the place of Cache-Control and Expires where it is named and parses")
    func targets() throws {
        let targeted = ["CDN-Cache-Control: max-age=60", "Cache-Control: no-store", "Expires: 0"]
        #expect(try !isReused(targeted))
        #expect(try isReused(targeted, targets: ["CDN-Cache-Control"]))
        let forbidding = ["CDN-Cache-Control: no-store", "Cache-Control: max-age=60"]
        #expect(try isReused(forbidding))
        #expect(try !isReused(forbidding, targets: ["cdn-cache-control"]))
        let malformed = ["CDN-Cache-Control: max-age=;;", "Cache-Control: max-age=60"]
        #expect(try isReused(malformed, targets: ["cdn-cache-control"]))
        let two = ["A-Cache-Control: max-age=60", "B-Cache-Control: no-store"]
        #expect(try isReused(two, targets: ["a-cache-control", "b-cache-control"]))
        #expect(try !isReused(two, targets: ["b-cache-control", "a-cache-control"]))
    }

    @Test("what goes to one connection, or is made anew, is not stored")
    func connectionFields() throws {
        let stage = try CacheStage { _, _ in
            response(
                "200 OK", "Cache-Control: max-age=60", "Connection: X-One", "X-One: 1", "Keep-Alive: timeout=5",
                "Proxy-Authenticate: Basic", "Age: 3", "X-Two: 2", body: "b")
        }
        _ = try stage.get()
        let hit = try stage.get()
        #expect(stage.count == 1)
        for name in ["X-One", "Keep-Alive", "Proxy-Authenticate"] { #expect(hit.field(name) == nil) }
        #expect(hit.field("X-Two") == "2")
        #expect(hit.field("Age") == "3")
        #expect(hit.cacheStatus == "subproxy; hit; ttl=57")
        #expect(hit.field("Content-Length") == "1")
    }
}
