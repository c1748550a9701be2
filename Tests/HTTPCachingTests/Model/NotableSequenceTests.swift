import HTTPCaching
import HTTPSemantics
import Testing

/// Sequences in which caches have gone wrong, worked out by hand.
@Suite("Notable sequences")
struct NotableSequenceTests {
    private static let start = ModelInstant(wall: 1_800_000_000, steady: 5_000_000_000)

    private static func later(_ seconds: Int64, clockSetBy jump: Int64 = 0) -> ModelInstant {
        ModelInstant(wall: start.wall + seconds + jump, steady: start.steady + UInt64(seconds) * 1_000_000_000)
    }

    private static func fields(_ lines: [String]) -> [ModelField] {
        lines.map { line in
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            return ModelField(parts[0], ModelText.trimmed(parts[1]))
        }
    }

    private static func request(_ lines: String...) -> CacheRequest {
        ModelBridge.request(ModelRequest(fields: fields(lines)))
    }

    private static func response(_ status: Int, at instant: ModelInstant = start, _ lines: [String]) -> OriginResponse {
        ModelBridge.response(
            ModelResponse(status: status, fields: fields(lines), requestedAt: instant, receivedAt: instant))
    }

    private static func stored(
        _ lines: String..., status: Int = 200, to request: CacheRequest = request(), at instant: ModelInstant = start
    ) throws -> StoredResponse {
        let verdict = Storing.verdict(
            request, target: try TargetURI("http://a.example/"), response(status, at: instant, lines),
            policy: CachePolicy())
        guard case .store(let stored) = verdict else { throw Disagreement(description: "\(verdict)") }
        return stored
    }

    private static func freshened(
        _ stored: StoredResponse, for request: CacheRequest = request(), _ lines: String...
    ) throws -> StoredResponse {
        let outcome = Validation.outcome(
            stored, notModified: response(304, at: later(20), lines), request: request, policy: CachePolicy())
        guard case .freshened(let freshened) = outcome else { throw Disagreement(description: "\(outcome)") }
        return freshened
    }

    private static func verdict(
        _ request: CacheRequest, _ stored: StoredResponse, at instant: ModelInstant
    ) -> ReuseVerdict {
        Reuse.verdict(request, stored, at: ModelBridge.instant(instant), policy: CachePolicy())
    }

    private static func value(_ name: String, of stored: StoredResponse) -> String? {
        ModelBridge.fields(stored.fields).first(name)
    }

    @Test(
        "setting the wall clock makes nothing fresh or stale",
        arguments: [-400 * 86_400, -1, 1, 400 * 86_400] as [Int64])
    func wallClock(jump: Int64) throws {
        let stored = try Self.stored("Cache-Control: max-age=60", "ETag: \"a\"")
        #expect(Self.verdict(Self.request(), stored, at: Self.later(59, clockSetBy: jump)) == .fresh)
        #expect(Self.verdict(Self.request(), stored, at: Self.later(60, clockSetBy: jump)) == .validate(.stale))
    }

    @Test("a field that no-cache names stays out when a 304 without directives brings it")
    func namedFieldInNotModified() throws {
        let stored = try Self.stored("Cache-Control: no-cache=\"x-a\", max-age=5", "ETag: \"a\"", "X-A: 1")
        #expect(Self.value("x-a", of: stored) == nil)
        let freshened = try Self.freshened(stored, "ETag: \"a\"", "X-A: 2")
        #expect(Self.value("x-a", of: freshened) == nil)
    }

    @Test("the Connection of a 304 speaks of the 304's own fields")
    func connectionOfNotModified() throws {
        let stored = try Self.stored("Cache-Control: max-age=5", "ETag: \"a\"", "X-B: kept")
        let freshened = try Self.freshened(stored, "ETag: \"a\"", "Connection: close, X-B", "X-B: hop")
        #expect(Self.value("x-b", of: freshened) == "kept")
    }

    @Test("a 304 without Date is of the time of its receipt, not of the stored Date")
    func notModifiedWithoutDate() throws {
        let stored = try Self.stored("Cache-Control: max-age=5", "ETag: \"a\"", "Date: Fri, 15 Jan 2027 07:59:00 GMT")
        #expect(stored.correctedInitialAge == 60)
        let freshened = try Self.freshened(stored, "ETag: \"a\"")
        #expect(freshened.correctedInitialAge == 0)
        #expect(Self.verdict(Self.request(), freshened, at: Self.later(24)) == .fresh)
    }

    @Test("what a 304 to an authorized request brings is not shared without leave")
    func authorizedValidation() throws {
        let stored = try Self.stored("Cache-Control: max-age=5", "ETag: \"a\"")
        let freshened = try Self.freshened(
            stored, for: Self.request("Authorization: Basic eDp5"), "ETag: \"a\"", "Cache-Control: max-age=60",
            "Set-Cookie: session=1")
        #expect(freshened.isAuthorized)
        #expect(Self.verdict(Self.request(), freshened, at: Self.later(21)) == .unusable(.withdrawn))
    }

    @Test("a 304 that forbids storing ends the reuse", arguments: ["no-store", "private"])
    func withdrawal(directive: String) throws {
        let stored = try Self.stored("Cache-Control: max-age=5", "ETag: \"a\"")
        let freshened = try Self.freshened(stored, "ETag: \"a\"", "Cache-Control: \(directive), max-age=60")
        #expect(Self.verdict(Self.request(), freshened, at: Self.later(21)) == .unusable(.withdrawn))
    }

    @Test("a 304 with another Vary is selected by the values of the request that it answered")
    func newVary() throws {
        let stored = try Self.stored("Cache-Control: max-age=5", "ETag: \"a\"")
        let german = Self.request("Accept-Language: de")
        let freshened = try Self.freshened(stored, for: german, "ETag: \"a\"", "Vary: Accept-Language")
        #expect(freshened.selection.matches(german))
        #expect(!freshened.selection.matches(Self.request("Accept-Language: en")))
        let never = try Self.freshened(stored, for: german, "ETag: \"a\"", "Vary: *")
        #expect(!never.selection.matches(german))
    }

    @Test("a newer part's directives take a held field out of the combination")
    func combinationOfNamedFields() throws {
        let range = Self.request("Range: bytes=0-9")
        let held = try Self.stored(
            "Cache-Control: max-age=60", "ETag: \"a\"", "Set-Cookie: id=1", "Content-Range: bytes 0-9/20", status: 206,
            to: range)
        let newer = try Self.stored(
            "Cache-Control: max-age=60, no-cache=\"set-cookie\"", "ETag: \"a\"", "Content-Range: bytes 10-19/20",
            status: 206, to: Self.request("Range: bytes=10-19"))
        let combined = try #require(Combination.combine(held, with: newer, policy: CachePolicy()))
        #expect(combined.part == nil)
        #expect(Self.value("set-cookie", of: combined) == nil)
    }

    @Test(
        "a newer part that is validated each time, or not fresh, takes a held cookie out of the combination",
        arguments: ["max-age=60, no-cache", "max-age=0", "public"])
    func combinationWithCookie(directives: String) throws {
        let held = try Self.stored(
            "Cache-Control: max-age=60", "ETag: \"a\"", "Set-Cookie: id=1", "Content-Range: bytes 0-9/20", status: 206,
            to: Self.request("Range: bytes=0-9"))
        let newer = try Self.stored(
            "Cache-Control: \(directives)", "ETag: \"a\"", "Content-Range: bytes 10-19/20", status: 206,
            to: Self.request("Range: bytes=10-19"))
        let combined = try #require(Combination.combine(held, with: newer, policy: CachePolicy()))
        #expect(Self.value("set-cookie", of: combined) == nil)
        var own = CachePolicy()
        own.mode = .private
        let ownOne = try #require(Combination.combine(held, with: newer, policy: own))
        #expect(Self.value("set-cookie", of: ownOne) == "id=1")
    }

    @Test("a follower that accepts stale responses shares no less than one that doesn't")
    func sharingWithMaxStale() throws {
        let stored = try Self.stored("Cache-Control: max-age=0, stale-while-revalidate=60")
        for follower in [Self.request(), Self.request("Cache-Control: max-stale")] {
            let isShareable = Reuse.isShareable(
                stored, with: follower, at: ModelBridge.instant(Self.later(1)), policy: CachePolicy())
            #expect(isShareable)
        }
    }

    @Test(
        "URLs that differ on their way to the origin have different keys",
        arguments: ["/a/b", "/a%2Fb", "/a%2fb", "/A/b", "//a/b", "/a/b?", "/a/b?x", "/a/./b", "/%61/b"])
    func keys(path: String) throws {
        let paths = ["/a/b", "/a%2Fb", "/a%2fb", "/A/b", "//a/b", "/a/b?", "/a/b?x", "/a/./b", "/%61/b"]
        let key = CacheKey(try TargetURI("http://a.example\(path)"))
        for other in paths {
            #expect((CacheKey(try TargetURI("HTTP://A.example:80\(other)")) == key) == (other == path))
            #expect(CacheKey(try TargetURI("https://a.example\(other)")) != key)
            #expect(CacheKey(try TargetURI("http://a.example:81\(other)")) != key)
        }
    }
}
