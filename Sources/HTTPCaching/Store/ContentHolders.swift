import Synchronization

/// How many are sending a stored content, and what it costs once the store has given it up.
final class ContentHolders: Sendable {
    /// The number, with ``unlinked`` once the store has given the content up.
    private let count = Atomic<Int>(0)
    private static let unlinked = 1 << 62
    /// The bytes of what the store has given up: written once, before the number tells of it.
    private let cost = Atomic<Int>(0)

    var areThere: Bool { count.load(ordering: .relaxed) & ~Self.unlinked != 0 }

    /// - Returns: the bytes that are in memory on, for the first one of a content that the store has given up; else 0.
    func add() -> Int {
        let before = count.add(1, ordering: .acquiringAndReleasing).oldValue
        return before == Self.unlinked ? cost.load(ordering: .relaxed) : 0
    }

    /// - Returns: the bytes that go with the last one of a content that the store has given up; else 0.
    func remove() -> Int {
        let left = count.subtract(1, ordering: .acquiringAndReleasing).newValue
        return left == Self.unlinked ? cost.load(ordering: .relaxed) : 0
    }

    /// Notes that the store gives the content up, which it does once.
    ///
    /// - Returns: whether `bytes` stay in memory, since somebody sends it.
    func unlink(_ bytes: Int) -> Bool {
        cost.store(bytes, ordering: .relaxed)
        return count.add(Self.unlinked, ordering: .acquiringAndReleasing).oldValue != 0
    }
}
