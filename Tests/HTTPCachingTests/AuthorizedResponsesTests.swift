import HTTPCaching
import HTTPSemantics
import Testing

@Suite("Responses to requests with Authorization")
struct AuthorizedResponsesTests {
    static let authorized = request("Authorization: Basic x")

    @Test("They are marked, and others not")
    func mark() throws {
        #expect(try stored("Cache-Control: public, max-age=60", request: Self.authorized)?.isAuthorized == true)
        #expect(try stored("Cache-Control: public, max-age=60")?.isAuthorized == false)
    }

    @Test("Once a 304 takes the permission back, a shared cache doesn't use them any more")
    func withdrawal() throws {
        for (policy, expected) in [(CachePolicy(), ReuseVerdict.unusable(.withdrawn)), (privatePolicy, .fresh)] {
            let before = try #require(
                try stored("Cache-Control: public, max-age=60", "ETag: \"a\"", request: Self.authorized, policy: policy)
            )
            #expect(Reuse.verdict(request(), before, at: at(0), policy: policy) == .fresh)
            let outcome = Validation.outcome(
                before, notModified: response(304, ["Cache-Control: max-age=60", "ETag: \"a\""]),
                request: Self.authorized,
                policy: policy)
            guard case .freshened(let after) = outcome else {
                Issue.record("not freshened")
                return
            }
            #expect(Reuse.verdict(request(), after, at: at(0), policy: policy) == expected)
        }
    }
}
