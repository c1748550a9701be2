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

    @Test("Once a 304 takes the permission back, a shared cache uses them for nobody, and asks for a whole response")
    func withdrawal() throws {
        for policy in [CachePolicy(), privatePolicy] {
            let before = try #require(
                try stored("Cache-Control: public, max-age=60", "ETag: \"a\"", request: Self.authorized, policy: policy)
            )
            #expect(Reuse.verdict(request(), before, at: at(0), policy: policy) == .fresh)
            for (line, isPublic) in [
                ("Cache-Control: max-age=60", false), ("Cache-Control: public", true), ("X: 1", true),
            ] {
                for request in [Self.authorized, request()] {
                    let outcome = Validation.outcome(
                        before, notModified: response(304, [line, "ETag: \"a\""]), request: request, policy: policy)
                    switch outcome {
                    case .freshened: #expect(isPublic || !(policy.mode == .shared), "\(line)")
                    case .withdrawn: #expect(!isPublic && (policy.mode == .shared), "\(line)")
                    case .forClient, .mismatch: Issue.record("\(line) is about what is held")
                    }
                }
            }
        }
    }

    @Test("What a 304 to one of them brings stays stored only with leave to share it", arguments: [true, false])
    func mayBeKept(_ isShared: Bool) throws {
        let before = try #require(try stored("Cache-Control: max-age=60", "ETag: \"a\""))
        let outcome = Validation.outcome(
            before, notModified: response(304, ["Cache-Control: \(isShared ? "public" : "max-age=5")", "ETag: \"a\""]),
            request: Self.authorized, policy: CachePolicy())
        guard case .freshened(let after) = outcome else {
            Issue.record("not freshened")
            return
        }
        #expect(after.mayBeKept(by: CachePolicy()) == isShared && after.mayBeKept(by: privatePolicy))
    }

    @Test("HEAD with Authorization makes a stored response one of them")
    func afterHead() throws {
        let before = try #require(try stored("Cache-Control: max-age=60", "ETag: \"a\""))
        let outcome = Validation.outcome(
            before, size: 7, byHead: response(200, ["Cache-Control: public, max-age=0", "X-User: bob"]),
            request: request("Authorization: Basic x", method: .head), policy: CachePolicy())
        guard case .freshened(let bobs) = outcome else {
            Issue.record("not freshened")
            return
        }
        let end = Validation.outcome(
            bobs, notModified: response(304, ["Cache-Control: max-age=50", "ETag: \"a\""]), request: request(),
            policy: CachePolicy())
        guard case .withdrawn = end else {
            Issue.record("what bob got is for others")
            return
        }
    }
}
