import Testing

@testable import ForwardProxy

@Suite("The lag of an event loop")
struct LoopLagTests {
    private let second: UInt64 = 1_000_000_000

    @Test("the largest lag is shown for 15 seconds at least and 30 at most")
    func window() {
        var lag = LoopLag()
        let start = 1000 * second
        lag.note(5, now: start)
        lag.note(3, now: start + 1)
        #expect(lag.largest(now: start + 14 * second) == 5)
        lag.note(2, now: start + 16 * second)
        #expect(lag.largest(now: start + 17 * second) == 5)
        #expect(lag.largest(now: start + 31 * second) == 2)
    }

    @Test("after a time in which nothing was noted nothing is left")
    func forgotten() {
        var lag = LoopLag()
        lag.note(5, now: 1000 * second)
        #expect(lag.largest(now: 1030 * second) == 0)
    }

    @Test("a clock that stands still or goes back keeps what there is")
    func strangeClock() {
        var lag = LoopLag()
        lag.note(5, now: 1000 * second)
        #expect(lag.largest(now: 1000 * second) == 5)
        #expect(lag.largest(now: 0) == 5)
    }
}
