import Substitution
import Synchronization
import Testing

@Suite("Counts of large bodies")
struct CountedBodiesTests {
    private final class Calls: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        func add() { count.withLock { $0 += 1 } }
    }

    @Test("are made by one of those who ask, and the others are called when it has ended")
    func claims() {
        let bodies = CountedBodies()
        let count = CountedBodies.Count(size: 7, isRewritten: false)
        let calls = Calls()
        #expect(bodies.claim([1]) { calls.add() } == .mine)
        #expect(bodies.claim([2]) { calls.add() } == .mine)
        #expect(bodies.claim([1]) { calls.add() } == .others)
        #expect(bodies.claim([1]) { calls.add() } == .others)
        #expect(bodies.count(of: [1]) == nil && calls.value == 0)
        // The one that gives up leaves it to the others.
        bodies.end([1], nil)
        #expect(calls.value == 2)
        #expect(bodies.claim([1]) { calls.add() } == .mine)
        #expect(bodies.claim([1]) { calls.add() } == .others)
        bodies.end([1], count)
        #expect(calls.value == 3 && bodies.count(of: [1]) == count)
        #expect(bodies.claim([1]) { calls.add() } == .done(count))
        bodies.end([1], count)
        #expect(calls.value == 3)
    }

    @Test("are known of so many bodies at the most")
    func limit() {
        let bodies = CountedBodies(most: 4)
        for number in 0..<10 {
            bodies.keep([UInt8(number)], CountedBodies.Count(size: number, isRewritten: false))
            bodies.noteLarge([UInt8(number)])
        }
        #expect((0..<10).filter { bodies.count(of: [UInt8($0)]) != nil } == [8, 9])
        #expect((0..<10).filter { bodies.isLarge([UInt8($0)]) } == [8, 9])
    }
}
