import HTTPCaching
import HTTPSemantics
import Testing

@Suite("Storing responses")
struct StoringTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var lines: [String]
        var expected: StoreRefusal?
        var status = 200
        var request: [String] = []
        var method = Method.get
        var hasContent = false
        var isPrivate = false

        init(
            _ lines: [String], _ expected: StoreRefusal?, status: Int = 200, request: [String] = [],
            method: Method = .get, hasContent: Bool = false, isPrivate: Bool = false
        ) {
            self.lines = lines
            self.expected = expected
            self.status = status
            self.request = request
            self.method = method
            self.hasContent = hasContent
            self.isPrivate = isPrivate
        }

        var testDescription: String {
            let verdict = expected.map { "refused: \($0)" } ?? "stored"
            return "\(isPrivate ? "private " : "")\(method) \(request) \(status) \(lines) → \(verdict)"
        }
    }

    static let fresh = "Cache-Control: max-age=60"
    static let modified = "Last-Modified: \(date(-1000))"

    static let cases: [Case] = [
        // Explicit freshness
        Case([fresh], nil),
        Case(["Cache-Control: s-maxage=60"], nil),
        Case(["Expires: \(date(60))"], nil),
        Case(["Expires: 0"], nil),
        Case(["Cache-Control: max-age=0"], nil),
        Case(["Cache-Control: max-age=nonsense"], nil),
        Case([fresh], nil, status: 299),
        Case([fresh], nil, status: 599),
        Case([fresh], nil, status: 404),
        Case([fresh], nil, status: 302),
        Case([fresh], nil, status: 500),
        // Directives for caches
        Case(["Cache-Control: no-cache"], nil),
        Case(["Cache-Control: must-revalidate"], nil),
        Case(["Cache-Control: public"], nil),
        Case(["Cache-Control: public"], nil, status: 302),
        Case(["Cache-Control: stale-while-revalidate=5"], nil),
        Case(["Cache-Control: no-cache"], .notExplicit, status: 302),
        // Heuristics
        Case([modified], nil),
        Case([modified], nil, status: 404),
        Case([modified], nil, status: 410),
        Case([modified], .notExplicit, status: 302),
        Case([modified], .notExplicit, status: 500),
        Case(["Last-Modified: \(date(0))"], .notExplicit),
        Case(["Last-Modified: \(date(-9))"], .notExplicit),
        Case(["Last-Modified: \(date(-10))"], nil),
        Case(["Last-Modified: yesterday"], .notExplicit),
        Case(["ETag: \"a\""], .notExplicit),
        Case([], .notExplicit),
        Case(["Cache-Control: unknown, \u{e4}"], .notExplicit),
        Case(["Pragma: no-cache", fresh], nil),
        // A private cache stores what the RFC allows
        Case([], nil, isPrivate: true),
        Case(["ETag: \"a\""], nil, isPrivate: true),
        Case([], .notExplicit, status: 302, isPrivate: true),
        Case(["Cache-Control: private"], nil, status: 302, isPrivate: true),
        Case(["Cache-Control: private"], nil, isPrivate: true),
        Case(["Cache-Control: s-maxage=60"], .notExplicit, status: 302, isPrivate: true),
        // Methods and content
        Case([fresh], .method, method: .head),
        Case([fresh], .method, method: .put),
        Case([fresh], .method, method: .options),
        Case([fresh], .method, method: .other),
        Case([fresh], .requestContent, hasContent: true),
        Case([fresh], .method, method: .post, hasContent: true),
        Case([fresh, "Content-Location: /a"], nil, method: .post, hasContent: true),
        Case([fresh, "Content-Location: http://example.com/a"], nil, method: .post, hasContent: true),
        Case([fresh, "Content-Location: http://example.com:80/a"], nil, method: .post, hasContent: true),
        Case([fresh, "Content-Location: /b"], .method, method: .post, hasContent: true),
        Case([fresh, "Content-Location: http://example.org/a"], .method, method: .post, hasContent: true),
        Case([fresh, "Content-Location: /a", "Content-Location: /a"], .method, method: .post, hasContent: true),
        Case([fresh, "Content-Location: /a"], .method, status: 201, method: .post, hasContent: true),
        Case([modified, "Content-Location: /a"], .notExplicit, method: .post, hasContent: true),
        Case(["Cache-Control: no-cache", "Content-Location: /a"], .notExplicit, method: .post),
        // no-store
        Case([fresh], .requestNoStore, request: ["Cache-Control: no-store"]),
        Case([fresh], nil, request: ["Cache-Control: no-cache"]),
        Case(["Cache-Control: no-store"], .noStore),
        Case(["Cache-Control: max-age=60, No-Store"], .noStore),
        Case(["Cache-Control: no-store=x", fresh], .noStore),
        Case(["Cache-Control: no-store, no-store, public"], .noStore),
        Case(["Cache-Control: no-store", fresh], .noStore, isPrivate: true),
        Case(["Cache-Control: x=\"no-store\"", fresh], nil),
        // must-understand
        Case(["Cache-Control: no-store, must-understand, max-age=60"], nil),
        Case(["Cache-Control: no-store, must-understand, max-age=60"], .notUnderstood, status: 299),
        Case(["Cache-Control: must-understand, max-age=60"], .notUnderstood, status: 599),
        Case(["Cache-Control: must-understand, max-age=60"], nil, status: 404),
        // private
        Case(["Cache-Control: private", fresh], .isPrivate),
        Case(["Cache-Control: private=\"\"", fresh], .isPrivate),
        Case(["Cache-Control: private=\"x, y", fresh], .isPrivate),
        Case(["Cache-Control: private=\"set-cookie\"", fresh], nil),
        // Authorization
        Case([fresh], .authorization, request: ["Authorization: Basic x"]),
        Case([fresh], nil, request: ["Authorization: Basic x"], isPrivate: true),
        Case(["Cache-Control: public", fresh], nil, request: ["Authorization: Basic x"]),
        Case(["Cache-Control: must-revalidate", fresh], nil, request: ["Authorization: Basic x"]),
        Case(["Cache-Control: s-maxage=1"], nil, request: ["Authorization: Basic x"]),
        Case(["Cache-Control: s-maxage=x"], .authorization, request: ["Authorization: Basic x"]),
        Case(["Cache-Control: proxy-revalidate", fresh], .authorization, request: ["Authorization: Basic x"]),
        Case(["Cache-Control: no-cache", fresh], .authorization, request: ["Authorization: Basic x"]),
        // Set-Cookie
        Case(["Set-Cookie: a=1", fresh], nil),
        Case(["Set-Cookie: a=1", "Expires: \(date(60))"], nil),
        Case(["Set-Cookie: a=1", modified], .setCookie),
        Case(["Set-Cookie: a=1", "Cache-Control: max-age=0", "ETag: \"a\""], .setCookie),
        Case(["Set-Cookie: a=1", "Cache-Control: no-cache, s-maxage=0"], .setCookie),
        Case(["Set-Cookie: a=1", "Cache-Control: max-age=bogus"], .setCookie),
        Case(["Set-Cookie: a=1", "Expires: 0"], .setCookie),
        Case(["Set-Cookie: a=1", "Expires: \(date(-60))"], .setCookie),
        Case(["Set-Cookie: a=1", "Cache-Control: max-age=0"], nil, isPrivate: true),
        Case(["Set-Cookie: a=1", "Cache-Control: public"], .setCookie),
        Case(["Set-Cookie: a=1", "Cache-Control: no-cache"], .setCookie),
        Case(["Set-Cookie: a=1", "Cache-Control: no-cache, max-age=60", "ETag: \"a\""], .setCookie),
        Case(["Set-Cookie: a=1", "Cache-Control: no-cache, s-maxage=60"], .setCookie),
        Case(["Set-Cookie: a=1", "Cache-Control: no-cache=\"x-a\", max-age=60"], nil),
        Case(["Set-Cookie: a=1", "Cache-Control: no-cache, max-age=60"], nil, isPrivate: true),
        Case(["Set-Cookie: a=1", "Cache-Control: no-cache=\"set-cookie\"", modified], nil),
        Case(["Set-Cookie: a=1", modified], nil, isPrivate: true),
        // Vary
        Case([fresh, "Vary: *"], .varyAny),
        Case([fresh, "Vary: Accept", "Vary: Cookie, *"], .varyAny),
        Case([fresh, "Vary: a b"], .varyAny),
        Case([fresh, "Vary: \"a\""], .varyAny),
        Case([fresh, "Vary:"], nil),
        Case([fresh, "Vary: , ,"], nil),
        Case([fresh, "Vary: Accept-Encoding"], nil),
        // Statuses
        Case([fresh], .status, status: 100),
        Case([fresh], .status, status: 101),
        Case([fresh], .status, status: 103),
        Case([fresh], .status, status: 304),
        Case([fresh], .status, status: 401),
        Case([fresh], .status, status: 407),
        Case([fresh], .status, status: 412),
        Case([fresh], .status, status: 416),
        Case([fresh], .status, status: 429),
        Case([fresh], .status, status: 511),
        Case([fresh], .status, status: 600),
        Case([fresh], .status, status: 0),
    ]

    @Test("A response is stored or refused by RFC 9111 §3", arguments: cases)
    func verdict(_ example: Case) throws {
        let refusal = try refusal(
            example.lines, status: example.status,
            request: request(example.request, method: example.method, hasContent: example.hasContent),
            policy: CachePolicy(mode: example.isPrivate ? .private : .shared))
        #expect(refusal == example.expected)
    }

    @Test(
        "No reason for refusing has the word that Cache-Status gives to what is kept", arguments: StoreRefusal.allCases)
    func reasons(_ refusal: StoreRefusal) {
        #expect(!"\(refusal.reason)".contains("stored"))
        #expect(refusal.reason.utf8CodeUnitCount > 0)
    }
}
