import HTTPCaching
import HTTPSemantics
import NIOCore
import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite("What a request gets from the store")
struct StoredDecisionTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let stored: [[String]]
        let age: Int64
        let method: Method
        let fields: [String]
        let hasContent: Bool
        let isOffline: Bool
        let expected: String

        /// - Parameters:
        ///   - stored: the fields of each response that is stored.
        ///   - age: of all of them: seconds.
        init(
            _ stored: [[String]], age: Int64 = 10, _ method: Method = .get, _ fields: String..., content: Bool = false,
            isOffline: Bool = false, is expected: String
        ) {
            self.stored = stored
            self.age = age
            self.method = method
            self.fields = fields
            hasContent = content
            self.isOffline = isOffline
            self.expected = expected
        }

        var testDescription: String {
            "\(stored) at \(age) s: \(method) \(fields)\(isOffline ? ", offline" : "") → \(expected)"
        }
    }

    private static let minute = [["Cache-Control: max-age=60"]]
    private static let swr = [["Cache-Control: max-age=60, stale-while-revalidate=100"]]
    private static let varied = [["Cache-Control: max-age=60", "Vary: Accept"]]
    private static let reload = "Cache-Control: no-cache"
    private static let onlyIfCached = "Cache-Control: only-if-cached"

    static let cases: [Case] = [
        // Nothing that could answer.
        Case([], is: "fetch uri-miss"), Case([], .head, is: "fetch uri-miss"),
        Case([], .get, onlyIfCached, is: "refuse 504"), Case([], isOffline: true, is: "refuse 504"),
        Case(minute, .post, is: "fetch method"), Case(minute, .put, is: "fetch method"),
        Case(minute, .post, isOffline: true, is: "refuse 504"), Case(minute, .post, onlyIfCached, is: "refuse 504"),
        Case(minute, content: true, is: "fetch bypass"),
        Case(varied, .get, "Accept: b", is: "fetch vary-miss"),
        Case(varied, .get, "Accept: b", onlyIfCached, is: "refuse 504"),
        // What is fresh.
        Case(minute, is: "serve"), Case(minute, .head, is: "serve"), Case(minute, .get, onlyIfCached, is: "serve"),
        Case(minute, age: 59, is: "serve"), Case(varied, .get, "Accept: a", is: "serve"),
        Case(minute, isOffline: true, is: "serve"), Case(minute, .get, "Range: bytes=0-1", is: "serve"),
        // What the request asks for.
        Case(minute, .get, reload, is: "fetch request"), Case(minute, .get, "Pragma: no-cache", is: "fetch request"),
        Case(minute, .get, reload, isOffline: true, is: "serve"),
        Case(minute, .get, "Cache-Control: max-age=5", is: "validate"),
        Case(minute, .get, "If-Match: \"other\"", is: "fetch request"),
        // What is stale.
        Case(minute, age: 60, is: "validate"), Case(minute, age: 60, .get, onlyIfCached, is: "refuse 504"),
        Case(minute, age: 90, .get, "Cache-Control: max-stale=60", is: "serve max-stale"),
        Case(minute, age: 130, .get, "Cache-Control: max-stale=60", is: "validate"),
        Case(swr, age: 90, is: "serve stale-while-revalidate"), Case(swr, age: 170, is: "validate"),
        Case(minute, age: 90, isOffline: true, is: "serve offline"),
        Case([["Cache-Control: no-cache"]], is: "validate"),
        Case([["Cache-Control: no-cache"]], isOffline: true, is: "serve offline"),
        // The newest of those that suit it.
        Case(varied + minute, .get, "Accept: a", is: "serve"), Case(minute + varied, .get, "Accept: b", is: "serve"),
    ]

    @Test("depends on what is stored, its age and the request", arguments: cases)
    func decision(_ row: Case) throws {
        let received = CacheInstant(wall: 1_000_000, steady: 0)
        let entries = try row.stored.map { fields in
            let lines = fields + ["ETag: \"tag\"", "Date: Mon, 12 Jan 1970 13:46:40 GMT"]
            let response = OriginResponse(
                status: 200, reason: ByteBuffer(string: "OK"), fields: FieldSection(lines: lines),
                requestedAt: received, receivedAt: received)
            let asked = CacheRequest(method: .get, fields: FieldSection(lines: ["Accept: a"]), hasContent: false)
            let uri = try TargetURI("http://o.test/")
            let verdict = Storing.verdict(asked, target: uri, response, policy: CachePolicy())
            guard case .store(let stored) = verdict else { throw TestFailure("\(fields) is not stored") }
            return StoredEntry(key: CacheKey(uri), metadata: stored, segments: [ByteBuffer(string: "content")])
        }
        let request = CacheRequest(
            method: row.method, fields: FieldSection(lines: row.fields), hasContent: row.hasContent)
        let now = CacheInstant(wall: 1_000_000 + row.age, steady: UInt64(row.age) * 1_000_000_000)
        let decision = StoredDecision.make(
            request, entries: entries, at: now, policy: CachePolicy(), isOffline: row.isOffline)
        let found =
            switch decision {
            case .serve(_, let permission): "serve" + (permission.map { " \($0.reason)" } ?? "")
            case .validate: "validate"
            case .fetch(let reason): "fetch \(reason.parameter)"
            case .refuse(let error): "refuse \(error.status)"
            }
        #expect(found == row.expected)
    }
}

@Suite("Origins that may not be reached")
struct RefusedOriginTests {
    @Test(
        "what is stored does not stand in for an origin whose address has become one that may not be reached",
        arguments: ["stale-if-error=600", "public", "must-revalidate", "no-cache"])
    func refused(_ directive: String) throws {
        let origin = try ScriptedOrigin(fields: "", body: "from the origin")
        let clock = TestClock()
        let proxy = try TestProxy {
            $0.allowsPrivateForLocal = false
            $0.cache.clock = clock.read
        }
        let url = "http://127.0.0.1:\(origin.port)/"
        try store("stored", "max-age=5, \(directive)", for: url, in: proxy)
        if directive != "no-cache" { #expect(try proxy.exchange("GET", url).body == "stored") }
        clock.advance(seconds: 6)
        let response = try proxy.exchange("GET", url)
        #expect(response.status == 403)
        #expect(response.field("Proxy-Status")?.hasPrefix("subproxy; error=destination_ip_prohibited") == true)
        #expect(origin.requests.isEmpty)
    }

    /// Stores a response as if the origin had given it.
    private func store(_ body: String, _ directives: String, for url: String, in proxy: TestProxy) throws {
        let uri = try TargetURI(url)
        proxy.server.onEachLoop { loop in
            guard let cache = loop.proxy.cache else { return }
            var fields = FieldSection()
            fields.append(name: "Cache-Control".utf8, value: directives.utf8)
            fields.append(name: "ETag".utf8, value: #""1""#.utf8)
            let now = loop.cacheInstant()
            let request = CacheRequest(method: .get, fields: FieldSection(), hasContent: false)
            let verdict = Storing.verdict(
                request, target: uri,
                OriginResponse(status: 200, reason: ByteBuffer(), fields: fields, requestedAt: now, receivedAt: now),
                policy: cache.policy)
            guard case .store(let stored) = verdict else { return }
            let key = CacheKey(uri)
            cache.insert(
                stored, [ByteBuffer(string: body)], key: key, for: request, requestedAt: now,
                epoch: cache.store.epoch(for: key))
        }
    }
}
