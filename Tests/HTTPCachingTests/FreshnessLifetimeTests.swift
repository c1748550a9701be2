import HTTPCaching
import HTTPSemantics
import Testing

@Suite("The freshness lifetime")
struct FreshnessLifetimeTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var lines: [String]
        var seconds: Int64
        var source: FreshnessLifetime.Source
        var isPrivate = false
        var status = 200

        var testDescription: String { "\(lines) → \(seconds) s by \(source)" }
    }

    static let cases: [Case] = [
        Case(lines: ["Cache-Control: max-age=60"], seconds: 60, source: .maxAge),
        Case(lines: ["Cache-Control: max-age=60, s-maxage=30"], seconds: 30, source: .sMaxAge),
        Case(lines: ["Cache-Control: s-maxage=90, max-age=60"], seconds: 90, source: .sMaxAge),
        Case(lines: ["Cache-Control: s-maxage=x, max-age=60"], seconds: 0, source: .sMaxAge),
        Case(lines: ["Cache-Control: s-maxage=90, max-age=60"], seconds: 60, source: .maxAge, isPrivate: true),
        Case(lines: ["Cache-Control: s-maxage=90"], seconds: 0, source: .none, isPrivate: true),
        Case(lines: ["Cache-Control: max-age=99999999999"], seconds: 1 << 31, source: .maxAge),
        Case(lines: ["Expires: \(date(60))", "Cache-Control: max-age=30"], seconds: 30, source: .maxAge),
        Case(lines: ["Expires: \(date(60))", "Cache-Control: max-age=x"], seconds: 0, source: .maxAge),
        Case(lines: ["Expires: \(date(60))", "Cache-Control: public"], seconds: 60, source: .expires),
        Case(lines: ["Expires: \(date(60))", "Date: \(date(-40))"], seconds: 100, source: .expires),
        Case(lines: ["Expires: \(date(60))", "Date: \(date(40))"], seconds: 20, source: .expires),
        Case(lines: ["Expires: \(date(60))", "Date"], seconds: 60, source: .expires),
        Case(lines: ["Expires: \(date(60))", "Date: nonsense"], seconds: 60, source: .expires),
        Case(lines: ["Expires: \(date(60))", "Expires: \(date(90))"], seconds: 60, source: .expires),
        Case(lines: ["Expires: \(date(60)), \(date(90))"], seconds: 0, source: .expires),
        Case(lines: ["Expires: 0", "Expires: \(date(90))"], seconds: 0, source: .expires),
        Case(lines: ["Expires: \(date(0))"], seconds: 0, source: .expires),
        Case(lines: ["Expires: \(date(-60))"], seconds: 0, source: .expires),
        Case(lines: ["Expires: 0"], seconds: 0, source: .expires),
        Case(lines: ["Expires: -1"], seconds: 0, source: .expires),
        Case(lines: ["Expires: 3600"], seconds: 0, source: .expires),
        Case(lines: ["Expires:"], seconds: 0, source: .expires),
        Case(lines: ["Expires: Sunday, 06-Nov-94 08:50:37 GMT"], seconds: 60, source: .expires),
        Case(lines: ["Expires: Sun Nov  6 08:50:37 1994"], seconds: 60, source: .expires),
        Case(lines: ["Expires: sun, 06 NOV 1994 08:50:37 gmt"], seconds: 60, source: .expires),
        Case(lines: ["Expires: Sun, 06 Nov 1994 08:50:37 PST"], seconds: 0, source: .expires),
        Case(lines: ["Expires: Fri, 31 Dec 9999 23:59:59 GMT"], seconds: 1 << 31, source: .expires),
        Case(lines: ["Expires: 0", "Last-Modified: \(date(-1000))"], seconds: 0, source: .expires),
        Case(
            lines: ["Cache-Control: max-age=x", "Last-Modified: \(date(-1000))"], seconds: 0, source: .maxAge),
        Case(lines: ["Last-Modified: \(date(-1000))"], seconds: 100, source: .heuristic),
        Case(
            lines: ["Last-Modified: \(date(-1000))", "Cache-Control: public"], seconds: 100, source: .heuristic,
            status: 302),
        Case(lines: ["Cache-Control: public"], seconds: 0, source: .none),
    ]

    @Test("It is the first of s-maxage, max-age, Expires less Date, and a heuristic", arguments: cases)
    func lifetime(_ example: Case) throws {
        let stored = try #require(
            try stored(
                example.lines, status: example.status,
                policy: CachePolicy(mode: example.isPrivate ? .private : .shared)))
        #expect(stored.lifetime == FreshnessLifetime(seconds: example.seconds, source: example.source))
    }

    @Test("It is explicit where the origin gave it")
    func explicitness() {
        #expect([.sMaxAge, .maxAge, .expires].allSatisfy { FreshnessLifetime(seconds: 0, source: $0).isExplicit })
        #expect([.heuristic, .none].allSatisfy { !FreshnessLifetime(seconds: 9, source: $0).isExplicit })
    }
}
