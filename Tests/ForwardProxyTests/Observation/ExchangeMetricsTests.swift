import Testing

@testable import ForwardProxy

@Suite("What a loop's exchanges add up to")
struct ExchangeMetricsTests {
    @Test(
        "each outcome and class of status has a place of its own", arguments: Outcome.allCases,
        [(0, 0), (101, 1), (204, 2), (304, 3), (407, 4), (599, 5), (600, 0), (-1, 0), (Int.max, 0)])
    func places(outcome: Outcome, status: (code: Int, place: Int)) {
        var metrics = ExchangeMetrics()
        metrics.add(outcome, status: status.code, bytes: 7, duration: 60_000)
        for other in Outcome.allCases {
            var expected = [UInt64](repeating: 0, count: ExchangeMetrics.classNames.count)
            if other == outcome { expected[status.place] = 1 }
            #expect(metrics.byStatus(other) == expected)
            #expect(metrics.durations(other).reduce(0, +) == (other == outcome ? 1 : 0))
            #expect(metrics.nanoseconds(other) == (other == outcome ? 60_000 : 0))
            #expect(metrics.bodyBytes(other) == (other == outcome ? 7 : 0))
        }
        #expect(metrics.durations(outcome)[1] == 1)
    }

    @Test("sums of loops are sums of all their numbers")
    func sum() {
        var first = ExchangeMetrics()
        first.add(.stored, status: 200, bytes: 3, duration: 1)
        first.receivedBytes = 5
        var second = ExchangeMetrics()
        second.add(.stored, status: 200, bytes: 4, duration: .max)
        second.add(.failed, status: 0, bytes: 0, duration: 2)
        second.receivedBytes = 6
        first.add(second)
        #expect(first.byStatus(.stored) == [0, 0, 2, 0, 0, 0])
        #expect(first.byStatus(.failed) == [1, 0, 0, 0, 0, 0])
        #expect(first.durations(.stored).first == 1 && first.durations(.stored).last == 1)
        #expect(first.bodyBytes(.stored) == 7)
        #expect(first.receivedBytes == 11)
    }
}
