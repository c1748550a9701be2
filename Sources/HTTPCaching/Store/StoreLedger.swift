import Synchronization

/// The accounts of a store, shared by its shards: what is held against the budget, and what happened.
///
/// `held` is the only number that decides. It is raised by compare-and-exchange and never above the limit, before the
/// bytes are linked into a shard; and lowered when they are unlinked. Neither needs a lock.
final class StoreLedger: Sendable {
    /// Bytes that may be held, and how many of them may be reserved.
    let limit: Int
    let reservationLimit: Int

    private let held = Atomic<Int>(0)
    private let reserved = Atomic<Int>(0)
    private let lingering = Atomic<Int>(0)
    private let small = Atomic<Int>(0)
    private let turns = Atomic<UInt64>(0)
    private let entries = Atomic<Int>(0)
    private let evictions = Atomic<Int>(0)
    private let admitted = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)

    init(limit: Int, reservationLimit: Int) {
        self.limit = limit
        self.reservationLimit = reservationLimit
    }

    func hasRoom(for bytes: Int) -> Bool { bytes <= limit - held.load(ordering: .relaxed) }

    /// Whether there would be room if nothing were stored.
    func couldHaveRoom(for bytes: Int) -> Bool {
        bytes <= limit - reserved.load(ordering: .relaxed) - lingering.load(ordering: .relaxed)
    }

    /// Holds so many bytes more (or less, where negative); false, and nothing done, where they would exceed the limit.
    func hold(_ bytes: Int) -> Bool { Self.raise(held, by: bytes, upTo: limit) }

    /// An entry was given up while its content is being sent: it is held on.
    func noteLingering(_ bytes: Int) { lingering.add(bytes, ordering: .relaxed) }

    /// The content of an entry that was given up has been sent.
    func giveBackLingering(_ bytes: Int) {
        lingering.subtract(bytes, ordering: .relaxed)
        giveBack(bytes)
    }

    /// Holds bytes that are in memory whether there is room for them or not.
    func holdInAnyCase(_ bytes: Int) { held.add(bytes, ordering: .relaxed) }

    func giveBack(_ bytes: Int) { held.subtract(bytes, ordering: .relaxed) }

    /// The first half of a reservation: so many bytes of what may be reserved. They aren't held yet.
    func claim(_ bytes: Int) -> Bool { Self.raise(reserved, by: bytes, upTo: reservationLimit) }

    /// Takes bytes out of what is reserved, at most what there is; returns how many. They are still held.
    func takeReserved(_ bytes: Int) -> Int {
        var seen = reserved.load(ordering: .relaxed)
        while true {
            let taken = max(0, min(bytes, seen))
            let (exchanged, original) = reserved.weakCompareExchange(
                expected: seen, desired: seen - taken, ordering: .relaxed)
            if exchanged { return taken }
            seen = original
        }
    }

    /// Whether room for so many bytes is to be made in the small queue: while it has, with them, more than a tenth of
    /// what is stored.
    func prefersSmall(for bytes: Int) -> Bool {
        let stored = held.load(ordering: .relaxed) - reserved.load(ordering: .relaxed)
        return small.load(ordering: .relaxed) > max(0, stored / 10 - bytes)
    }

    func noteQueued(_ cost: Int, in queue: StoreQueue) {
        if queue == .small { small.add(cost, ordering: .relaxed) }
        entries.add(1, ordering: .relaxed)
    }

    func noteUnqueued(_ cost: Int, from queue: StoreQueue) {
        if queue == .small { small.subtract(cost, ordering: .relaxed) }
        entries.subtract(1, ordering: .relaxed)
    }

    /// The small queue's bytes changed otherwise: an entry was updated there, or went to the main queue.
    func noteSmall(changedBy bytes: Int) { small.add(bytes, ordering: .relaxed) }

    func noteEviction() { evictions.add(1, ordering: .relaxed) }
    func noteAdmission() { admitted.add(1, ordering: .relaxed) }
    func noteRefusal() { refused.add(1, ordering: .relaxed) }

    /// A number for a place in a queue: lower ones came earlier, whatever the shard.
    func nextTurn() -> UInt64 { turns.add(1, ordering: .relaxed).newValue }

    var smallBytes: Int { small.load(ordering: .relaxed) }

    /// Bytes stored and bytes reserved: together above the limit only for what is being sent and was given up.
    var statistics: StoreStatistics {
        let held = held.load(ordering: .relaxed)
        let reserved = reserved.load(ordering: .relaxed)
        return (
            entries: entries.load(ordering: .relaxed), bytes: max(0, held - reserved), reserved: reserved,
            evictions: evictions.load(ordering: .relaxed), admitted: admitted.load(ordering: .relaxed),
            refused: refused.load(ordering: .relaxed)
        )
    }

    private static func raise(_ account: borrowing Atomic<Int>, by bytes: Int, upTo limit: Int) -> Bool {
        var seen = account.load(ordering: .relaxed)
        while true {
            guard bytes <= limit - seen else { return false }
            let (exchanged, original) = account.weakCompareExchange(
                expected: seen, desired: seen + bytes, ordering: .relaxed)
            if exchanged { return true }
            seen = original
        }
    }
}
