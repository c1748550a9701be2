import Testing

@testable import ForwardProxy

@Suite("What a loop's exchanges add up to")
struct ExchangeTallyTests {
    @Test(
        "each outcome and class of status has a place of its own", arguments: Outcome.allCases,
        [(0, 0), (101, 1), (204, 2), (304, 3), (407, 4), (599, 5), (600, 0), (-1, 0), (Int.max, 0)])
    func places(outcome: Outcome, status: (code: Int, place: Int)) {
        var tally = ExchangeTally()
        tally.add(outcome, status: status.code, bytes: 7, duration: 60_000)
        for other in Outcome.allCases {
            var expected = [UInt64](repeating: 0, count: ExchangeTally.classNames.count)
            if other == outcome { expected[status.place] = 1 }
            #expect(tally.exchanges(other) == expected)
            #expect(tally.durations(other).reduce(0, +) == (other == outcome ? 1 : 0))
            #expect(tally.nanoseconds(other) == (other == outcome ? 60_000 : 0))
            #expect(tally.bodyBytes(other) == (other == outcome ? 7 : 0))
        }
        #expect(tally.durations(outcome)[1] == 1)
    }

    @Test("sums of loops are sums of all their numbers")
    func sum() {
        var first = ExchangeTally()
        first.add(.stored, status: 200, bytes: 3, duration: 1)
        first.receivedBytes = 5
        var second = ExchangeTally()
        second.add(.stored, status: 200, bytes: 4, duration: .max)
        second.add(.failed, status: 0, bytes: 0, duration: 2)
        second.receivedBytes = 6
        first.add(second)
        #expect(first.exchanges(.stored) == [0, 0, 2, 0, 0, 0])
        #expect(first.exchanges(.failed) == [1, 0, 0, 0, 0, 0])
        #expect(first.durations(.stored).first == 1 && first.durations(.stored).last == 1)
        #expect(first.bodyBytes(.stored) == 7)
        #expect(first.receivedBytes == 11)
    }
}
