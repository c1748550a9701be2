import Basics
import Testing

@Suite("A moment of the wall clock")
struct WallTimeTests {
    @Test(
        "is written in UTC, with milliseconds that are cut",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_770_127_331_123_999_999, "2026-02-03T14:02:11.123Z"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00.000Z"), (1_999_999, "1970-01-01T00:00:00.001Z"),
        ] as [(UInt64, String)])
    func text(nanoseconds: UInt64, text: String) {
        #expect(WallTime(nanoseconds: nanoseconds).internetText == text)
    }

    @Test(
        "has a day, before 1970 and in a far year too",
        arguments: [
            (0, "1970-01-01"), (-1, "1969-12-31"), (1_763_683_200, "2025-11-21"), (253_402_300_799, "9999-12-31"),
            (.max, "9223372036854775807"),
        ] as [(Int64, String)])
    func day(seconds: Int64, text: String) {
        #expect(WallTime(seconds: seconds).day == text)
    }
}
