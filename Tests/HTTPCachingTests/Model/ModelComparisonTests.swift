import HTTPCaching
import Testing

@Suite("The rules against a slow and obvious model of RFC 9111")
struct ModelComparisonTests {
    /// What must have happened at least once for each seed, so that the comparison can't go blind.
    static let needed: [String] =
        StoreRefusal.allCases.map { "refuse.\($0)" } + ValidationReason.allCases.map { "validate.\($0)" }
        + UnusableReason.allCases.map { "unusable.\($0)" } + [
            "store.sMaxAge", "store.maxAge", "store.expires", "store.heuristic", "store.none", "store.part",
            "store.targeted", "select.one", "select.uri-miss", "select.vary-miss", "fresh", "stale.maxStale",
            "stale.whileRevalidate", "stale.offline", "mayStandIn.true", "mayStandIn.false", "disconnected.true",
            "disconnected.false", "isShareable.true",
            "isShareable.false",
            "outcome.freshened", "outcome.forClient", "outcome.mismatch", "outcome.withdrawn", "head.freshened",
            "head.invalidated",
            "head.unchanged",
            "invalidate.0", "invalidate.1", "invalidate.2", "combine.no", "combine.part", "combine.whole",
            "preconditions.tag", "preconditions.noTag", "preconditions.date",
        ]

    @Test(
        "random sequences of requests, responses and clock steps get the verdicts of the model",
        arguments: [1, 2, 3, 4] as [UInt64])
    func sequences(seed: UInt64) throws {
        var coverage: [String: Int] = [:]
        for sequence in 0..<84 {
            var comparison = ModelComparison(seed: seed << 32 | UInt64(sequence))
            for _ in 0..<60 { try comparison.step() }
            coverage.merge(comparison.coverage, uniquingKeysWith: +)
        }
        for name in ModelComparisonTests.needed {
            #expect(coverage[name, default: 0] > 0, "\(name) never happened")
        }
    }
}
