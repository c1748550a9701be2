import ProxyTestKit
import Testing

@testable import HTTPSemantics

@Suite("Dates")
struct HTTPDateTests {
    /// 2025-06-15T12:00:00Z
    static let now: Int64 = 1_749_988_800

    @Test(
        "The three forms of RFC 9110 §5.6.7 are read",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Sun Nov 16 08:49:37 1994", 784_975_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800), ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
            ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648), ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            ("Wednesday, 09-Nov-94 08:49:37 GMT", 784_370_977),
            // The day's name is not compared with the date.
            ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ] as [(String, Int64)])
    func valid(date: String, expected: Int64) {
        #expect(withBytes(date) { HTTPDate.parse($0, now: Self.now) } == expected)
    }

    @Test(
        "Anything else is no date",
        arguments: [
            "", "0", "-1", "784111777", "now", "sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 gmt", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +00",
            "Sun, 06 Nov 1994 08:49:37", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun,  06 Nov 1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 2023 00:00:00 GMT",
            "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Foo, 06 Nov 1994 08:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
            "Sun Nov 06 08:49:37 94", "Sun Nov  6 08:49:37 19941", "Sun Nov   6 08:49:37 199",
            "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sun, 06-Nov-94 08:49:37 GMT", "sunday, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 EST",
            "Sunday, 31-Feb-94 08:49:37 GMT", "Someday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z",
            "Sun, 06 Nov 1994 08:49:37 GM\0", "\u{FF10}\u{FF10}\u{FF10}\u{FF10}\u{FF10}\u{FF10}\u{FF10}\u{FF10}",
            String(repeating: "Sun, 06 Nov 1994 08:49:37 GMT", count: 2000),
        ])
    func invalid(date: String) {
        #expect(withBytes(date) { HTTPDate.parse($0, now: Self.now) } == nil)
    }

    @Test(
        "A year of two digits more than 50 years ahead is of the century before",
        arguments: [
            ("Sunday, 15-Jun-25 12:00:00 GMT", "Sun, 15 Jun 2025 12:00:00 GMT"),
            ("Saturday, 01-Jan-26 00:00:00 GMT", "Thu, 01 Jan 2026 00:00:00 GMT"),
            ("Saturday, 15-Jun-75 12:00:00 GMT", "Sat, 15 Jun 2075 12:00:00 GMT"),
            ("Saturday, 15-Jun-75 12:00:01 GMT", "Sun, 15 Jun 1975 12:00:01 GMT"),
            ("Saturday, 31-Dec-75 00:00:00 GMT", "Wed, 31 Dec 1975 00:00:00 GMT"),
            ("Thursday, 01-Jan-76 00:00:00 GMT", "Thu, 01 Jan 1976 00:00:00 GMT"),
            ("Friday, 31-Dec-99 23:59:59 GMT", "Fri, 31 Dec 1999 23:59:59 GMT"),
            ("Saturday, 01-Jan-00 00:00:00 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"),
        ])
    func century(date: String, expected: String) {
        #expect(withBytes(date) { HTTPDate.parse($0, now: Self.now) }.map { text(HTTPDate.bytes($0)) } == expected)
    }

    @Test("No time now traps", arguments: [Int64.min, -62_167_219_201, 0, 253_402_300_800, .max])
    func extremeNow(now: Int64) {
        let year = withBytes("Sunday, 06-Nov-94 08:49:37 GMT") { HTTPDate.parse($0, now: now) }
        #expect(year == nil || year.map { text(HTTPDate.bytes($0)).contains("94 08:49:37") } == true)
    }

    @Test("What is written is read as the same second")
    func roundTrip() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<5000 {
            let seconds = Int64.random(in: -62_167_219_200...253_402_300_799, using: &generator)
            let bytes = HTTPDate.bytes(seconds)
            #expect(bytes.withUnsafeBytes { HTTPDate.parse($0, now: 0) } == seconds)
        }
    }

    @Test("Every day of four centuries follows the one before it")
    func calendar() {
        var previous = CivilDate(daysSinceEpoch: -135_141)
        #expect((previous.year, previous.month, previous.day) == (1599, 12, 31))
        for days in Int64(-135_140)...11_000 {
            let date = CivilDate(daysSinceEpoch: days)
            let follows = date.day == previous.day + 1 && date.month == previous.month && date.year == previous.year
            let begins = date.day == 1 && previous.day == previous.daysInMonth
            if !(follows || begins) || date.daysSinceEpoch != days {
                Issue.record("day \(days) is \(date)")
                return
            }
            previous = date
        }
    }

    @Test("Seconds outside of four-digit years are written as the nearest inside", arguments: [Int64.min, .max])
    func clamped(seconds: Int64) {
        let expected = seconds < 0 ? "Sat, 01 Jan 0000 00:00:00 GMT" : "Fri, 31 Dec 9999 23:59:59 GMT"
        #expect(text(HTTPDate.bytes(seconds)) == expected)
    }

    @Test("A buffer that is too short is left alone")
    func shortBuffer() {
        var bytes = [UInt8](repeating: 7, count: 28)
        bytes.withUnsafeMutableBytes { HTTPDate.write(0, into: $0) }
        #expect(bytes.allSatisfy { $0 == 7 })
    }
}
