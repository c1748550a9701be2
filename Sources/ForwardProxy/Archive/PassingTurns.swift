import Synchronization

/// Lets a few at once decode their way through large bodies; the others wait outside the pool, in order, so that its
/// other work always finds a thread.
final class PassingTurns: Sendable {
    private struct State {
        var underWay: Set<Int> = []
        /// What begins a turn, by its number.
        var waiting: [Int: @Sendable (Int) -> Void] = [:]
        /// The number that was given last.
        var last = 0
        /// None below it waits.
        var next = 1

        /// Takes out the one that has waited longest.
        mutating func popNext() -> (number: Int, begin: @Sendable (Int) -> Void)? {
            while next <= last, !waiting.isEmpty {
                let number = next
                next &+= 1
                guard let begin = waiting.removeValue(forKey: number) else { continue }
                underWay.insert(number)
                return (number, begin)
            }
            return nil
        }
    }

    private let state = Mutex(State())
    private let most: Int

    /// - Parameter most: how many turns are under way at once.
    init(most: Int) { self.most = max(1, most) }

    var underWayCount: Int { state.withLock { $0.underWay.count } }

    /// How many wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Asks for a turn, which ``end(_:)`` has to follow.
    ///
    /// - Parameter begin: called with the number, once and on any thread, when the turn comes, unless it is there at
    ///   once.
    /// - Returns: the turn's number, and whether it is there at once.
    func take(_ begin: @escaping @Sendable (Int) -> Void) -> (number: Int, isNow: Bool) {
        state.withLock { state in
            state.last &+= 1
            let isNow = state.underWay.count < most
            if isNow { state.underWay.insert(state.last) } else { state.waiting[state.last] = begin }
            return (state.last, isNow)
        }
    }

    /// Ends a turn, or gives up waiting for it.
    func end(_ number: Int) {
        let next = state.withLock { state -> (number: Int, begin: @Sendable (Int) -> Void)? in
            guard state.underWay.remove(number) != nil else {
                state.waiting[number] = nil
                return nil
            }
            return state.popNext()
        }
        if let next { next.begin(next.number) }
    }
}
