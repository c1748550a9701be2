import HTTPCaching
import HTTPSemantics
import Testing

@Suite("Reusing a stored response")
struct ReuseTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var response: [String]
        var request: [String]
        var age: Int64
        var expected: ReuseVerdict
        var isPrivate = false
        var isOffline = false

        init(
            _ response: String, _ request: String, age: Int64, _ expected: ReuseVerdict, isPrivate: Bool = false,
            isOffline: Bool = false
        ) {
            self.response = response.isEmpty ? [] : ["Cache-Control: \(response)"]
            self.request = request.isEmpty ? [] : ["Cache-Control: \(request)"]
            self.age = age
            self.expected = expected
            self.isPrivate = isPrivate
            self.isOffline = isOffline
        }

        var testDescription: String { "\(response) at \(age) s for \(request) → \(expected)" }
    }

    static let cases: [Case] = [
        // Freshness
        Case("max-age=60", "", age: 0, .fresh),
        Case("max-age=60", "", age: 59, .fresh),
        Case("max-age=60", "", age: 60, .validate(.stale)),
        Case("max-age=0", "", age: 0, .validate(.stale)),
        Case("max-age=x", "", age: 0, .validate(.stale)),
        Case("s-maxage=60, max-age=10", "", age: 59, .fresh),
        Case("s-maxage=60, max-age=10", "", age: 59, .validate(.stale), isPrivate: true),
        Case("max-age=60, immutable", "", age: 59, .fresh),
        Case("public", "", age: 0, .validate(.stale)),
        // no-cache in the response
        Case("no-cache", "", age: 0, .validate(.noCache)),
        Case("max-age=60, no-cache", "", age: 0, .validate(.noCache)),
        Case("max-age=60, no-cache", "max-stale", age: 0, .validate(.noCache)),
        Case("max-age=60, no-cache=\"x\"", "", age: 0, .fresh),
        Case("max-age=60, no-cache=\"\"", "", age: 0, .validate(.noCache)),
        Case("max-age=60, no-cache", "", age: 0, .validate(.noCache), isOffline: true),
        // The request's wishes
        Case("max-age=60", "no-cache", age: 0, .unusable(.reload)),
        Case("max-age=60", "no-store", age: 0, .fresh),
        Case("max-age=60", "max-age=10", age: 10, .fresh),
        Case("max-age=60", "max-age=10", age: 11, .validate(.requestMaxAge)),
        Case("max-age=60", "max-age=0", age: 0, .validate(.requestMaxAge)),
        Case("max-age=60, immutable", "max-age=0", age: 0, .validate(.requestMaxAge)),
        Case("max-age=60", "max-age=x", age: 0, .validate(.requestMaxAge)),
        Case("max-age=60", "max-age=100", age: 60, .validate(.stale)),
        Case("max-age=60", "max-age=100, max-stale", age: 60, .stale(.maxStale)),
        Case("max-age=60", "max-age=10, max-stale", age: 60, .validate(.requestMaxAge)),
        Case("max-age=60", "min-fresh=10", age: 50, .fresh),
        Case("max-age=60", "min-fresh=10", age: 51, .validate(.requestMinFresh)),
        Case("max-age=60", "min-fresh=60", age: 0, .fresh),
        Case("max-age=60", "min-fresh=61", age: 0, .validate(.requestMinFresh)),
        Case("max-age=60", "min-fresh=0", age: 59, .fresh),
        // max-stale
        Case("max-age=60", "max-stale", age: 60, .stale(.maxStale)),
        Case("max-age=60", "max-stale", age: 1_000_000, .stale(.maxStale)),
        Case("max-age=60", "max-stale=10", age: 59, .fresh),
        Case("max-age=60", "max-stale=10", age: 70, .stale(.maxStale)),
        Case("max-age=60", "max-stale=10", age: 71, .validate(.stale)),
        Case("max-age=60, must-revalidate", "max-stale", age: 60, .validate(.stale)),
        Case("max-age=60, proxy-revalidate", "max-stale", age: 60, .validate(.stale)),
        Case("max-age=60, proxy-revalidate", "max-stale", age: 60, .stale(.maxStale), isPrivate: true),
        Case("s-maxage=60", "max-stale", age: 60, .validate(.stale)),
        Case("max-age=60, must-revalidate", "", age: 59, .fresh),
        // stale-while-revalidate
        Case("max-age=60, stale-while-revalidate=10", "", age: 59, .fresh),
        Case("max-age=60, stale-while-revalidate=10", "", age: 60, .stale(.whileRevalidate)),
        Case("max-age=60, stale-while-revalidate=10", "", age: 69, .stale(.whileRevalidate)),
        Case("max-age=60, stale-while-revalidate=10", "", age: 70, .validate(.stale)),
        Case("max-age=60, stale-while-revalidate=0", "", age: 60, .validate(.stale)),
        Case("max-age=60, stale-while-revalidate=x", "", age: 60, .validate(.stale)),
        Case("max-age=60, stale-while-revalidate=10, must-revalidate", "", age: 60, .validate(.stale)),
        Case("s-maxage=60, stale-while-revalidate=10", "", age: 60, .validate(.stale)),
        Case("max-age=60, stale-while-revalidate=10", "max-age=100", age: 60, .validate(.stale)),
        Case("max-age=60, stale-while-revalidate=10", "max-age=0", age: 60, .validate(.requestMaxAge)),
        Case("max-age=60, stale-while-revalidate=10", "no-cache", age: 60, .unusable(.reload)),
        // stale-if-error alone allows nothing yet
        Case("max-age=60, stale-if-error=100", "", age: 60, .validate(.stale)),
        // Offline
        Case("max-age=60", "", age: 59, .fresh, isOffline: true),
        Case("max-age=60", "", age: 6_000_000, .stale(.offline), isOffline: true),
        Case("max-age=60", "no-cache", age: 0, .fresh, isOffline: true),
        Case("max-age=60", "max-age=0", age: 0, .fresh, isOffline: true),
        Case("max-age=60", "min-fresh=100", age: 60, .stale(.offline), isOffline: true),
        Case("max-age=60, stale-while-revalidate=10", "", age: 60, .stale(.offline), isOffline: true),
        Case("max-age=60, must-revalidate", "", age: 60, .validate(.stale), isOffline: true),
        Case("s-maxage=60", "", age: 60, .validate(.stale), isOffline: true),
    ]

    @Test("A verdict follows RFC 9111 §4", arguments: cases)
    func verdict(_ example: Case) throws {
        let policy = CachePolicy(mode: example.isPrivate ? .private : .shared)
        let stored = try #require(try stored(example.response, policy: policy))
        let verdict = Reuse.verdict(
            request(example.request), stored, at: at(example.age), policy: policy, isOffline: example.isOffline)
        #expect(verdict == example.expected)
    }

    @Test("Pragma asks for a reload where there is no Cache-Control")
    func pragma() throws {
        let stored = try #require(try stored("Cache-Control: max-age=60"))
        func verdict(_ lines: String...) -> ReuseVerdict {
            Reuse.verdict(request(lines), stored, at: at(0), policy: CachePolicy())
        }
        #expect(verdict("Pragma: no-cache") == .unusable(.reload))
        #expect(verdict("Pragma: no-cache", "Cache-Control: x") == .fresh)
        #expect(verdict("Pragma: foo") == .fresh)
    }

    @Test("GET and HEAD without content are answered, and nothing else")
    func methods() throws {
        let stored = try #require(try stored("Cache-Control: max-age=60"))
        func verdict(_ method: Method, hasContent: Bool = false) -> ReuseVerdict {
            Reuse.verdict(request([], method: method, hasContent: hasContent), stored, at: at(0), policy: CachePolicy())
        }
        #expect(verdict(.get) == .fresh)
        #expect(verdict(.head) == .fresh)
        for method in [Method.post, .put, .delete, .connect, .options, .trace, .patch, .other] {
            #expect(verdict(method) == .unusable(.method))
        }
        #expect(verdict(.get, hasContent: true) == .unusable(.requestContent))
    }

    @Test("Preconditions for the origin go to the origin, those for caches don't")
    func preconditions() throws {
        let stored = try #require(try stored("Cache-Control: max-age=60", "ETag: \"a\""))
        func verdict(_ line: String) -> ReuseVerdict {
            Reuse.verdict(request(line), stored, at: at(0), policy: CachePolicy())
        }
        #expect(verdict("If-Match: \"a\"") == .unusable(.precondition))
        #expect(verdict("If-Unmodified-Since: \(date(0))") == .unusable(.precondition))
        #expect(verdict("If-None-Match: \"a\"") == .fresh)
        #expect(verdict("If-Modified-Since: \(date(0))") == .fresh)
        #expect(verdict("Range: bytes=0-5") == .fresh)
    }

    @Test("A part answers only a range inside it, and not against If-Range")
    func parts() throws {
        let part = try CombinationTests.part(10..<20, of: 100, ["Last-Modified: \(date(-100))"])
        func verdict(_ lines: String..., method: Method = .get) -> ReuseVerdict {
            Reuse.verdict(request(lines, method: method), part, at: at(0), policy: CachePolicy())
        }
        #expect(verdict() == .unusable(.range))
        #expect(verdict(method: .head) == .unusable(.range))
        #expect(verdict("Range: bytes=10-19") == .fresh)
        #expect(verdict("Range: bytes=10-20") == .unusable(.range))
        #expect(verdict("Range: bytes=10-19", "If-Range: \"a\"") == .fresh)
        #expect(verdict("Range: bytes=10-19", "If-Range: \"b\"") == .unusable(.range))
        #expect(verdict("Range: bytes=10-19", "If-Range: \(date(-100))") == .fresh)
        #expect(verdict("Range: bytes=10-19", "If-Range: \(date(-99))") == .unusable(.range))
        #expect(verdict("Range: bytes=10-19", "Cache-Control: max-age=0") == .validate(.requestMaxAge))
    }

    @Test(
        "What a 304 forbids to store is not used any more",
        arguments: [
            ("no-store", CachePolicy.Mode.shared, false), ("no-store", .private, false), ("private", .shared, false),
            ("private, max-age=60", .private, true), ("max-age=60, private=\"x\"", .shared, true),
            ("no-store, must-understand, max-age=60", .shared, true),
        ])
    func withdrawn(_ control: String, _ mode: CachePolicy.Mode, _ isUsable: Bool) throws {
        let policy = CachePolicy(mode: mode)
        let before = try #require(try stored("Cache-Control: max-age=60", "ETag: \"a\"", policy: policy))
        let notModified = response(304, ["Cache-Control: \(control)", "ETag: \"a\""])
        let outcome = Validation.outcome(before, notModified: notModified, request: request(), policy: policy)
        guard case .freshened(let after) = outcome else {
            Issue.record("not freshened")
            return
        }
        let verdict = Reuse.verdict(request(), after, at: at(0), policy: policy)
        #expect(verdict == (isUsable ? .fresh : .unusable(.withdrawn)))
    }

    static let shared: [(String, [String], Int64, Bool)] = [
        ("max-age=60", [], 0, true), ("max-age=60", ["X: b"], 0, false), ("max-age=0", [], 0, false),
        ("no-cache", [], 0, false), ("max-age=60, stale-while-revalidate=10", [], 65, true),
        ("max-age=60", ["Cache-Control: no-cache"], 0, false), ("max-age=60", ["Cache-Control: max-age=0"], 0, false),
        ("max-age=60", ["Cache-Control: max-stale"], 65, true), ("max-age=60", ["If-Match: \"a\""], 0, false),
        ("max-age=60", ["Range: bytes=0-1"], 0, true), ("max-age=60", ["Cache-Control: max-age=5"], 0, true),
    ]

    @Test("A response that is arriving is shared with a request that it suits as it is", arguments: shared)
    func shareable(_ control: String, _ follower: [String], _ age: Int64, _ expected: Bool) throws {
        let leader = try #require(try stored("Cache-Control: \(control)", "Vary: X", request: request("X: a")))
        let lines = follower.contains { $0.hasPrefix("X") } ? follower : follower + ["X: a"]
        let isShareable = Reuse.isShareable(leader, with: request(lines), at: at(age), policy: CachePolicy())
        #expect(isShareable == expected)
        #expect(!Reuse.isShareable(leader, with: request(lines, method: .post), at: at(0), policy: CachePolicy()))
    }

    @Test("Every reason says something short")
    func reasons() {
        let reasons = ValidationReason.allCases.map { "\($0.reason)" } + UnusableReason.allCases.map { "\($0.reason)" }
        #expect(Set(reasons).count == ValidationReason.allCases.count + UnusableReason.allCases.count)
        #expect(reasons.allSatisfy { !$0.isEmpty && !$0.contains("stored") && $0.utf8.count < 40 })
    }
}
