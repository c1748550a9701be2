import Synchronization
import Testing

@testable import ForwardProxy

@Suite("Turns for decoding what is before a part")
struct PassingTurnsTests {
    @Test("come to so many at once, to the others in order, and not to those that have left")
    func order() {
        let turns = PassingTurns(most: 2)
        let begun = Mutex<[Int]>([])
        let taken = (1...8).map { _ in turns.take { number in begun.withLock { $0.append(number) } } }
        #expect(taken.map(\.number) == Array(1...8))
        #expect(taken.filter(\.isNow).map(\.number) == [1, 2])
        #expect(turns.underWayCount == 2 && turns.waitingCount == 6)
        turns.end(4)
        turns.end(3)
        turns.end(8)
        #expect(begun.withLock { $0 } == [] && turns.waitingCount == 3)
        turns.end(2)
        turns.end(2)
        #expect(begun.withLock { $0 } == [5] && turns.underWayCount == 2)
        turns.end(1)
        turns.end(5)
        #expect(begun.withLock { $0 } == [5, 6, 7] && turns.underWayCount == 2 && turns.waitingCount == 0)
        turns.end(6)
        turns.end(7)
        #expect(turns.underWayCount == 0)
        #expect(turns.take { _ in }.isNow)
    }
}
