import Testing

@testable import HTTPCaching

@Suite("Instants")
struct CacheInstantTests {
    static let cases: [(UInt64, UInt64, Int64)] = [
        (0, 0, 0), (0, 999_999_999, 0), (0, 1_000_000_000, 1), (5, 1_000_000_004, 0), (1_000_000_000, 0, 0),
        (0, .max, 18_446_744_073),
    ]

    @Test("Time passes in whole seconds, and never backwards", arguments: cases)
    func seconds(_ earlier: UInt64, _ later: UInt64, _ expected: Int64) {
        let instant = CacheInstant(wall: 0, steady: later)
        #expect(instant.seconds(since: CacheInstant(wall: 9, steady: earlier)) == expected)
    }

    @Test("A wall clock of any value can be subtracted from a date", arguments: [Int64.min, -1, 0, 1, .max])
    func wall(_ wall: Int64) {
        let bounded = CacheInstant(wall: wall, steady: 0).boundedWall
        #expect(!bounded.subtractingReportingOverflow(253_402_300_799).overflow)
    }
}
