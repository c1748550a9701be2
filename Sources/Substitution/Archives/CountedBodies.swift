import Synchronization

/// What was found out of large bodies by reading them to their end.
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

    private struct State {
        var counts: [[UInt8]: Count] = [:]
        var large: Set<[UInt8]> = []
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

    /// Keeps the count of a body that was read to its end.
    public func keep(_ name: [UInt8], _ count: Count) {
        state.withLock { state in
            if state.counts.count >= most { state.counts = [:] }
            state.counts[name] = count
        }
    }
}
