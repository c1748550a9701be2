import Synchronization

/// Whether a store holds an entry, how often the entry was used, and whether anybody wants to hear of its end: one
/// atomic byte, so that all of it is read without a lock.
struct Residence: ~Copyable, Sendable {
    private static let useMask: UInt8 = 0b0011
    private static let current: UInt8 = 0b0100
    private static let ready: UInt8 = 0b1000
    /// Uses are counted up to this.
    static let useCap: UInt8 = 3

    private let state = Atomic<UInt8>(0)

    var isCurrent: Bool { state.load(ordering: .acquiring) & Self.current != 0 }
    var isReady: Bool { state.load(ordering: .acquiring) & Self.ready != 0 }
    var uses: UInt8 { state.load(ordering: .relaxed) & Self.useMask }

    /// Counts a use; a mere read where the count is at its cap.
    func noteUse() {
        let seen = state.load(ordering: .relaxed)
        guard seen & Self.useMask < Self.useCap else { return }
        // Fails where another thread changed the state just now: one use more or less doesn't matter, a second try
        // would.
        _ = state.compareExchange(expected: seen, desired: seen &+ 1, ordering: .relaxed)
    }

    /// Takes a use away; false where there is none.
    func spendUse() -> Bool {
        change { $0 & Self.useMask == 0 ? $0 : $0 &- 1 } & Self.useMask != 0
    }

    func clearUses() { _ = change { $0 & ~Self.useMask } }

    /// Makes it current, with at least so many uses.
    func begin(uses: UInt8) {
        _ = change { ($0 & ~Self.useMask) | max($0 & Self.useMask, min(uses, Self.useCap)) | Self.current }
    }

    func end() { _ = change { $0 & ~Self.current } }

    /// Asks for an announcement of the end; false where it isn't current.
    func markReady() -> Bool { change { $0 | Self.ready } & Self.current != 0 }

    /// Returns the state before the change.
    private func change(_ next: (UInt8) -> UInt8) -> UInt8 {
        var seen = state.load(ordering: .relaxed)
        while true {
            let (exchanged, original) = state.weakCompareExchange(
                expected: seen, desired: next(seen), successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
            if exchanged { return original }
            seen = original
        }
    }
}
