import HTTPSemantics
import Testing

@testable import HTTPCaching

@Suite("Dates that freshness is calculated from")
struct CacheDateTests {
    static let cases: [(String, Int64?)] = [
        ("Sun, 06 Nov 1994 08:49:37 GMT", epoch),
        ("Sunday, 06-Nov-94 08:49:37 GMT", epoch),
        ("Sun Nov  6 08:49:37 1994", epoch),
        ("sun, 06 nov 1994 08:49:37 gmt", epoch),
        ("SUN, 06 NOV 1994 08:49:37 Gmt", epoch),
        ("sunday, 06-NOV-94 08:49:37 gmt", epoch),
        ("SUN NOV  6 08:49:37 1994", epoch),
        (" Sun, 06 Nov 1994 08:49:37 GMT\t", epoch),
        ("Sun, 06 Nov 1994 08:49:37 UTC", nil),
        ("Sun, 06 Nov 1994 08:49:37 EST", nil),
        ("Sun, 06 Nov 1994 08:49:37 +0000", nil),
        ("Sun, 06 Nov 1994 08:49:37", nil),
        ("Sun, 6 Nov 1994 08:49:37 GMT", nil),
        ("Sun, 06 Nov 94 08:49:37 GMT", nil),
        ("Sun, 06-Nov-1994 08:49:37 GMT", nil),
        ("06 Nov 1994 08:49:37 GMT", nil),
        ("Sun, 31 Feb 1994 08:49:37 GMT", nil),
        ("Sun, 06 Nov 1994 25:49:37 GMT", nil),
        ("1994-11-06T08:49:37Z", nil),
        ("784111777", nil), ("0", nil), ("-1", nil), ("", nil),
    ]

    @Test("The three forms are read in any case of letters, in GMT only", arguments: cases)
    func parse(_ value: String, _ expected: Int64?) {
        #expect(withBytes(value) { CacheDate.parse($0, now: epoch) } == expected)
    }

    @Test("Of several lines the first counts")
    func first() {
        let section = fields(["Expires: 0", "Expires: \(date(0))"])
        #expect(CacheDate.first(.expires, in: section, now: epoch) == nil)
        #expect(CacheDate.first(.date, in: section, now: epoch) == nil)
    }
}
