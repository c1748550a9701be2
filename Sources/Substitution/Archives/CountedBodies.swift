import Synchronization

/// What was found out of large bodies by reading them to their end. Each is counted by one client, for which the others wait
/// that want the same, so that it is decoded once.
///
/// A body is named by the tag of its state, so that nothing is said of one whose file has changed.
public final class CountedBodies: Sendable {
    public struct Count: Sendable, Equatable {
        /// In bytes, decoded.
        public var size: Int
        /// Whether any of them are not as they were recorded.
        public var isRewritten: Bool

        public init(size: Int, isRewritten: Bool) {
            self.size = size
            self.isRewritten = isRewritten
        }
    }

    /// Who counts a body.
    public enum Claim: Sendable, Equatable {
        case done(Count)
        /// The one who asks: ``end(_:_:)`` has to follow.
        case mine
        /// Another one.
        case others
    }

    private struct State {
        var counts: [[UInt8]: Count] = [:]
        var large: Set<[UInt8]> = []
        /// What is called when the counting of a body has ended.
        var waiting: [[UInt8]: [@Sendable () -> Void]] = [:]

        mutating func keep(_ name: [UInt8], _ count: Count, _ most: Int) {
            if counts.count >= most { counts = [:] }
            counts[name] = count
        }
    }

    private let state = Mutex(State())
    /// How many are known at the most; then it begins anew.
    private let most: Int

    public init(most: Int = 4096) { self.most = most }

    /// The count of a body; nil where it is not known.
    public func count(of name: [UInt8]) -> Count? { state.withLock { $0.counts[name] } }

    /// Whether a body is known to be too large to be in memory.
    public func isLarge(_ name: [UInt8]) -> Bool { state.withLock { $0.large.contains(name) } }

    /// Notes that a body is too large to be in memory.
    public func noteLarge(_ name: [UInt8]) {
        state.withLock { state in
            if state.large.count >= most { state.large = [] }
            state.large.insert(name)
        }
    }

    /// Asks for the count of a body.
    ///
    /// - Parameter whenEnded: called once, on any thread, when another one has ended counting, with a count or without.
    public func claim(_ name: [UInt8], whenEnded: @escaping @Sendable () -> Void) -> Claim {
        state.withLock { state in
            if let count = state.counts[name] { return .done(count) }
            guard state.waiting[name] != nil else {
                state.waiting[name] = []
                return .mine
            }
            state.waiting[name]?.append(whenEnded)
            return .others
        }
    }

    /// Says that a body was counted, or that its counting was given up.
    public func end(_ name: [UInt8], _ count: Count?) {
        let waiting = state.withLock { state in
            if let count { state.keep(name, count, most) }
            return state.waiting.removeValue(forKey: name) ?? []
        }
        for call in waiting { call() }
    }

    /// Keeps the count of a body that was read to its end for something else.
    public func keep(_ name: [UInt8], _ count: Count) {
        state.withLock { $0.keep(name, count, most) }
    }
}
