import NIOPosix
import Substitution
import Synchronization

/// Finds out how long large bodies are by decoding them on the pool: each once for all that wait for it, from the
/// beginning to the end, as long as anybody waits.
final class BodyCounting: Sendable {
    typealias Outcome = Result<CountedBodies.Count, EntryFailure>
    /// Reads on for a while; what there was at the end, and nil before it.
    typealias Step = @Sendable () throws(EntryFailure) -> CountedBodies.Count?

    /// A body in one of its states.
    struct Body: Hashable, Sendable {
        /// The archive's ``MapArchive/generation``.
        let archive: UInt64
        let tag: [UInt8]
    }

    /// A place among those that wait.
    struct Place: Sendable {
        fileprivate let body: Body
        fileprivate let number: Int
    }

    private struct Counting {
        let step: Step
        let turn: Int
        /// Whether its turn has come: then the next step ends it where nobody waits any more.
        var hasBegun: Bool
        var waiting: [Int: @Sendable (Outcome) -> Void] = [:]
    }

    private struct State {
        var countings: [Body: Counting] = [:]
        var last = 0
    }

    private let state = Mutex(State())
    private let pool: NIOThreadPool
    private let turns: PassingTurns

    init(_ pool: NIOThreadPool, _ turns: PassingTurns) {
        self.pool = pool
        self.turns = turns
    }

    /// How many wait, for whatever body.
    var waitingCount: Int { state.withLock { $0.countings.values.reduce(0) { $0 + $1.waiting.count } } }

    /// Waits for how long a body is.
    ///
    /// - Parameters:
    ///   - makeStep: called where nobody waits yet.
    ///   - whenEnded: called once on any thread, unless ``leave(_:)`` comes before.
    func join(
        _ body: Body, _ makeStep: () -> Step, whenEnded: @escaping @Sendable (Outcome) -> Void
    ) -> Place {
        let (place, isNow) = state.withLock { state -> (Place, Bool) in
            state.last &+= 1
            let place = Place(body: body, number: state.last)
            if state.countings[body] != nil {
                state.countings[body]?.waiting[place.number] = whenEnded
                return (place, false)
            }
            let turn = turns.take { [weak self] in self?.begin(body, turn: $0) }
            var counting = Counting(step: makeStep(), turn: turn.number, hasBegun: turn.isNow)
            counting.waiting[place.number] = whenEnded
            state.countings[body] = counting
            return (place, turn.isNow)
        }
        if isNow { goOn(body) }
        return place
    }

    /// Waits no longer. The counting goes on for the others.
    func leave(_ place: Place) {
        let turn = state.withLock { state -> Int? in
            guard state.countings[place.body]?.waiting.removeValue(forKey: place.number) != nil,
                let counting = state.countings[place.body], counting.waiting.isEmpty, !counting.hasBegun
            else { return nil }
            state.countings[place.body] = nil
            return counting.turn
        }
        if let turn { turns.end(turn) }
    }

    private func begin(_ body: Body, turn: Int) {
        let isWanted = state.withLock { state in
            guard state.countings[body]?.turn == turn else { return false }
            state.countings[body]?.hasBegun = true
            return true
        }
        if isWanted { goOn(body) }
    }

    private func goOn(_ body: Body) {
        pool.submit { [self] poolState in
            // No thread is there any more at the program's end.
            guard case .active = poolState else { return }
            step(body)
        }
    }

    private func step(_ body: Body) {
        let (step, abandoned) = state.withLock { state -> (Step?, Int?) in
            guard let counting = state.countings[body] else { return (nil, nil) }
            guard counting.waiting.isEmpty else { return (counting.step, nil) }
            state.countings[body] = nil
            return (nil, counting.turn)
        }
        if let abandoned { turns.end(abandoned) }
        guard let step else { return }
        do throws(EntryFailure) {
            guard let count = try step() else { return goOn(body) }
            end(body, .success(count))
        } catch {
            end(body, .failure(error))
        }
    }

    private func end(_ body: Body, _ outcome: Outcome) {
        guard let counting = state.withLock({ $0.countings.removeValue(forKey: body) }) else { return }
        turns.end(counting.turn)
        for call in counting.waiting.values { call(outcome) }
    }
}
