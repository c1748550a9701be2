import ForwardProxy
import Glibc
import HTTPSemantics
import ProxyTestKit
import Synchronization
import Testing

/// A clock for ages that goes on only when a test says so.
final class TestClock: Sendable {
    private let now = Mutex<UInt64>(1_000_000_000_000)

    func advance(seconds: UInt64) { now.withLock { $0 += seconds * 1_000_000_000 } }

    var read: @Sendable () -> UInt64 { { self.now.withLock { $0 } } }
}

/// An origin whose responses count its requests, with the fields that a test gives, and a proxy before it.
struct CacheBench {
    let origin: ScriptedOrigin
    let proxy: TestProxy
    let clock = TestClock()

    /// - Parameters:
    ///   - fields: field lines of every response, each with its CRLF.
    ///   - etag: where given, requests whose If-None-Match is just this get a 304 with `fields304`.
    init(
        status: String = "200 OK", _ fields: String, etag: String? = nil, fields304: String = "",
        configure: (inout ProxyConfiguration) -> Void = { _ in }
    ) throws {
        let counter = Mutex(0)
        origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            let number = counter.withLock { count -> Int in
                count += 1
                return count
            }
            if let etag, request.field("If-None-Match") == etag {
                try connection.socket.send("HTTP/1.1 304 Not Modified\r\nETag: \(etag)\r\n\(fields304)\r\n")
                return true
            }
            let tag = etag.map { "ETag: \($0)\r\n" } ?? ""
            let body = "\(number)"
            let isHead = request.text.hasPrefix("HEAD ")
            try connection.socket.send(
                "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(tag)\(fields)\r\n\(isHead ? "" : body)")
            return true
        }
        let clock = clock
        proxy = try TestProxy { configuration in
            configuration.cache.clock = clock.read
            configure(&configuration)
        }
    }

    /// Gets a path of the origin through the proxy.
    func get(_ path: String = "/", _ fields: String..., method: String = "GET") throws -> TestResponse {
        try proxy.exchange(method, "http://127.0.0.1:\(origin.port)\(path)", fields: fields)
    }
}

@Suite("Stored responses")
struct StoredExchangeTests {
    @Test("a fresh stored response answers with Age, its own Date and the time to live")
    func hit() throws {
        let date = String(decoding: HTTPDate.bytes(Int64(time(nil)) - 1), as: UTF8.self)
        let bench = try CacheBench("Cache-Control: max-age=60\r\nX-A: 1\r\nDate: \(date)\r\n")
        let first = try bench.get()
        #expect(first.field("Cache-Status") == "subproxy; fwd=uri-miss; stored")
        #expect(first.field("Age") == nil)
        bench.clock.advance(seconds: 7)
        let second = try bench.get()
        #expect(second.body == "1")
        #expect(second.field("X-A") == "1")
        #expect(second.field("Date") == date)
        let head = try bench.get(method: "HEAD")
        #expect(head.field("Content-Length") == "1")
        #expect(head.body.isEmpty)
        #expect(bench.origin.requests.count == 1)
    }

    @Test("the time to live in Cache-Status goes down as Age goes up, and ends in a forward")
    func expiry() throws {
        let bench = try CacheBench("Cache-Control: max-age=10\r\n")
        _ = try bench.get()
        bench.clock.advance(seconds: 3)
        let hit = try bench.get()
        #expect(hit.field("Cache-Status") == "subproxy; hit; ttl=7")
        #expect(hit.field("Age") == "3")
        let again = try bench.get()
        #expect(again.field("Cache-Status") == "subproxy; hit; ttl=7")
        bench.clock.advance(seconds: 7)
        let forwarded = try bench.get()
        #expect(forwarded.body == "2")
        #expect(forwarded.field("Cache-Status") == "subproxy; fwd=stale; stored")
        #expect(forwarded.field("Age") == nil)
    }

    @Test("a stale response is validated, and served where the origin says that it holds")
    func validation() throws {
        let bench = try CacheBench(
            "Cache-Control: max-age=5\r\nX-Version: a\r\n", etag: "\"v1\"",
            fields304: "X-Version: b\r\nCache-Control: max-age=9\r\n")
        _ = try bench.get()
        bench.clock.advance(seconds: 6)
        let validated = try bench.get()
        #expect(validated.status == 200)
        #expect(validated.body == "1")
        #expect(validated.field("Cache-Status") == "subproxy; fwd=stale; fwd-status=304")
        #expect(validated.field("X-Version") == "b")
        let hit = try bench.get()
        #expect(hit.field("Cache-Status")?.hasPrefix("subproxy; hit; ttl=") == true)
        #expect(bench.origin.requests.count == 2)
        #expect(bench.origin.requests.last?.field("If-None-Match") == "\"v1\"")
    }

    @Test("the client's own preconditions are answered from the store")
    func preconditions() throws {
        let bench = try CacheBench("Cache-Control: max-age=60\r\n", etag: "\"v1\"")
        _ = try bench.get()
        let same = try bench.get("/", "If-None-Match: \"v1\"")
        #expect(same.status == 304)
        #expect(same.body.isEmpty)
        let other = try bench.get("/", "If-None-Match: \"v0\"")
        #expect(other.status == 200)
        #expect(bench.origin.requests.count == 1)
    }

    @Test("a reload asks the origin and replaces what is stored; a request's no-store does neither")
    func reload() throws {
        let bench = try CacheBench("Cache-Control: max-age=60\r\n")
        _ = try bench.get()
        let reloaded = try bench.get("/", "Cache-Control: no-cache")
        #expect(reloaded.body == "2")
        #expect(reloaded.field("Cache-Status") == "subproxy; fwd=request; stored")
        #expect(try bench.get().body == "2")
        #expect(try bench.get("/", "Cache-Control: no-store").body == "2")
        let unstored = try bench.get("/other", "Cache-Control: no-store")
        #expect(unstored.field("Cache-Status")?.contains("; stored") == false)
        #expect(try bench.get("/other").field("Cache-Status") == "subproxy; fwd=uri-miss; stored")
    }

    @Test("max-age=0 validates, only-if-cached gets what is stored or 504, max-stale takes a stale one")
    func directives() throws {
        let bench = try CacheBench("Cache-Control: max-age=5\r\n", etag: "\"v1\"")
        #expect(try bench.get("/", "Cache-Control: only-if-cached").status == 504)
        _ = try bench.get()
        #expect(try bench.get("/", "Cache-Control: only-if-cached").body == "1")
        let validated = try bench.get("/", "Cache-Control: max-age=0")
        #expect(validated.field("Cache-Status") == "subproxy; fwd=stale; fwd-status=304")
        bench.clock.advance(seconds: 20)
        let stale = try bench.get("/", "Cache-Control: max-stale")
        #expect(stale.field("Cache-Status") == "subproxy; hit; ttl=-15")
        let refused = try bench.get("/", "Cache-Control: only-if-cached")
        #expect(refused.status == 504 && refused.body.contains("max-stale"))
        #expect(try bench.get("/", "Cache-Control: max-stale, only-if-cached").body == "1")
    }
}
