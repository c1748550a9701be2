import NIOPosix
import ProxyTestKit
import Substitution
import Synchronization
import Testing

@testable import ForwardProxy

@Suite("Finding out how long large bodies are")
struct BodyCountingTests {
    /// Counts what happens; one turn at a time.
    private final class Stage: Sendable {
        let turns = PassingTurns(most: 1)
        let counting: BodyCounting
        private let pool = NIOThreadPool(numberOfThreads: 2)
        private let steps = Mutex<[UInt8: Int]>([:])
        private let outcomes = Mutex<[BodyCounting.Outcome]>([])

        init() {
            pool.start()
            counting = BodyCounting(pool, turns)
        }

        deinit { pool.shutdownGracefully { _ in } }

        var ends: [BodyCounting.Outcome] { outcomes.withLock { $0 } }

        /// How many steps a body took so far.
        func steps(_ name: UInt8) -> Int { steps.withLock { $0[name] ?? 0 } }

        /// Waits for how long a body is.
        ///
        /// - Parameter step: what the steps of this one's own counting do, by their number; nil before the end.
        func join(
            _ name: UInt8 = 1, _ step: @escaping @Sendable (Int) -> BodyCounting.Outcome?
        ) -> BodyCounting.Place {
            counting.join(BodyCounting.Body(archive: 1, tag: [name])) {
                let own = OwnSteps()
                return { [self] () throws(EntryFailure) in
                    steps.withLock { $0[name, default: 0] += 1 }
                    return try step(own.next())?.get()
                }
            } whenEnded: { [self] outcome in
                outcomes.withLock { $0.append(outcome) }
            }
        }

        func settle() throws { try Wait.until { turns.underWayCount == 0 && turns.waitingCount == 0 } }
    }

    private final class OwnSteps: Sendable {
        private let count = Mutex(0)
        func next() -> Int {
            count.withLock {
                $0 += 1
                return $0
            }
        }
    }

    private static let count = CountedBodies.Count(size: 7, isRewritten: false)

    @Test("decodes each once, and tells all that wait of its length or its failure")
    func shared() throws {
        for outcome in [BodyCounting.Outcome.failure(.unreadable("damaged", option: nil)), .success(Self.count)] {
            let stage = Stage()
            // None begins before all wait.
            let held = stage.turns.take { _ in }
            for _ in 0..<12 { _ = stage.join { $0 == 3 ? outcome : nil } }
            #expect(stage.counting.waitingCount == 12 && stage.turns.waitingCount == 1)
            stage.turns.end(held.number)
            try Wait.until { stage.ends.count == 12 }
            try stage.settle()
            #expect(stage.ends.allSatisfy { $0 == outcome } && stage.steps(1) == 3)
            #expect(stage.counting.waitingCount == 0)
        }
    }

    @Test("goes on where it is when those leave who asked first")
    func left() throws {
        let stage = Stage()
        let held = stage.turns.take { _ in }
        let places = Mutex<[BodyCounting.Place]>([])
        for _ in 0..<3 {
            let place = stage.join { [unowned stage] number in
                if number < 3 { stage.counting.leave(places.withLock { $0.removeFirst() }) }
                return number == 5 ? .success(Self.count) : nil
            }
            places.withLock { $0.append(place) }
        }
        stage.turns.end(held.number)
        try Wait.until { !stage.ends.isEmpty }
        try stage.settle()
        #expect(stage.ends == [.success(Self.count)] && stage.steps(1) == 5)
    }

    @Test("keeps nothing of those who leave, and ends when all have")
    func abandoned() throws {
        let stage = Stage()
        let held = stage.turns.take { _ in }
        for name in UInt8(1)...3 {
            for place in (0..<50).map({ _ in stage.join(name) { _ in nil } }) { stage.counting.leave(place) }
        }
        #expect(stage.counting.waitingCount == 0 && stage.turns.waitingCount == 0)
        // While it is counted.
        let places = Mutex<[BodyCounting.Place]>([])
        let counts = Mutex<[Int]>([])
        let last = stage.join(4) { [unowned stage] number in
            if number == 2 {
                for _ in 0..<50 { stage.counting.leave(stage.join(4) { _ in nil }) }
                counts.withLock { $0.append(stage.counting.waitingCount) }
                stage.counting.leave(places.withLock { $0.removeFirst() })
                counts.withLock { $0.append(stage.counting.waitingCount) }
            }
            return nil
        }
        places.withLock { $0.append(last) }
        stage.turns.end(held.number)
        try stage.settle()
        #expect(counts.withLock { $0 } == [1, 0] && stage.ends.isEmpty)
        #expect((1...4).map { stage.steps($0) } == [0, 0, 0, 2])
    }
}
