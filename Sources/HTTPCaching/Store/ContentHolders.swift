import Synchronization

/// How many are sending a stored content, and what it costs once the store has given it up.
final class ContentHolders: Sendable {
    /// The number, with ``unlinked`` once the store has given the content up.
    private let count = Atomic<Int>(0)
    private static let unlinked = 1 << 62
    /// The bytes that are held on for those who send what was given up.
    private let lingering = Atomic<Int>(0)

    var areThere: Bool { count.load(ordering: .relaxed) & ~Self.unlinked != 0 }

    /// - Returns: `cost` for the first one of a content that the store has given up, else 0.
    func add(cost: Int) -> Int {
        guard count.add(1, ordering: .acquiringAndReleasing).oldValue == Self.unlinked else { return 0 }
        lingering.store(cost, ordering: .releasing)
        return cost
    }

    /// - Returns: the bytes held on for the last one of a content that the store has given up, else 0.
    func remove() -> Int {
        // Before the number: the next one that begins may change it.
        let cost = lingering.load(ordering: .acquiring)
        return count.subtract(1, ordering: .acquiringAndReleasing).newValue == Self.unlinked ? cost : 0
    }

    /// Notes that the store gives the content up.
    ///
    /// - Returns: whether `cost` is held on, since somebody sends it.
    func unlink(cost: Int) -> Bool {
        // Nobody needs it where nobody sends it.
        lingering.store(cost, ordering: .releasing)
        return count.add(Self.unlinked, ordering: .acquiringAndReleasing).oldValue & ~Self.unlinked != 0
    }
}
