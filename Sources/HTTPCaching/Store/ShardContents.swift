import Synchronization

/// What a shard of the store holds, and each change of it as one step under the shard's lock.
///
/// A step returns the entries that it gave up; whoever took the lock lets go of them after it, so that no content is
/// freed while other threads wait.
struct ShardContents<Metadata: StoreMetadata>: Sendable {
    typealias Entry = StoreEntry<Metadata>

    /// How an insertion or an update ended.
    enum Outcome: Sendable {
        /// The entries were given up for it.
        case done([Entry])
        /// Nothing was changed: the budget lacks room for so many bytes more.
        case lacksRoom(Int)
        /// Nothing was changed: it came too late.
        case overtaken
    }

    /// What happened to the first entry of a queue.
    enum Eviction: Sendable {
        case evicted(Entry)
        /// It was used since it was queued, and so gets another turn.
        case spared
        case queueIsEmpty
    }

    let ledger: StoreLedger
    let variantLimit: Int
    let ghostLimit: Int

    /// The variants of each key, newest first, as they are handed out: a look-up makes nothing.
    private var variants: [StoreKey: [Entry]] = [:]
    private var queues = EntryQueues<Metadata>()
    private var ghosts = GhostQueue()
    private var invalidations = InvalidationCounters()

    init(ledger: StoreLedger, variantLimit: Int, ghostLimit: Int) {
        self.ledger = ledger
        self.variantLimit = variantLimit
        self.ghostLimit = ghostLimit
    }

    var ghostCount: Int { ghosts.count }
    var count: Int { queues.count }
    /// Entries and their cost, counted over the keys.
    var listed: (count: Int, cost: Int) {
        variants.values.joined().reduce(into: (0, 0)) { $0 = ($0.0 + 1, $0.1 + $1.cost) }
    }

    func entries(for key: StoreKey) -> [Entry] { variants[key] ?? [] }
    func epoch(for key: StoreKey) -> StoreEpoch { invalidations.epoch(for: key) }
    func turn(ofFirstIn queue: StoreQueue) -> UInt64 { queues.turn(ofFirstIn: queue) }

    /// Adds an entry. `credit` bytes are held for it already.
    mutating func insert(_ entry: Entry, replacing: [Entry], epoch: StoreEpoch, credit: Int) -> Outcome {
        guard epoch == self.epoch(for: entry.key), !entry.isCurrent else { return .overtaken }
        let predecessors = (variants[entry.key] ?? []).filter { held in replacing.contains { $0 === held } }
        let change = entry.cost - credit - predecessors.reduce(0) { $0 + $1.cost }
        guard ledger.hold(change) else { return .lacksRoom(change) }

        // The popularity is the resource's, not that of its state.
        var uses: UInt8 = 0
        var queue = ghosts.remove(entry.key.fingerprint) ? StoreQueue.main : .small
        for predecessor in predecessors {
            uses = max(uses, predecessor.residence.uses)
            if unlink(predecessor) == .main { queue = .main }
            if predecessor.unlinkHeld() {
                ledger.holdInAnyCase(predecessor.cost)
                ledger.noteLingering(predecessor.cost)
            }
        }
        var givenUp = predecessors
        queues.append(entry, to: queue, turn: ledger.nextTurn())
        variants[entry.key, default: []].insert(entry, at: 0)
        ledger.noteQueued(entry.cost, in: queue)
        entry.residence.begin(uses: uses)

        while let all = variants[entry.key], all.count > variantLimit, let oldest = all.last, oldest !== entry {
            drop(oldest)
            ledger.noteEviction()
            givenUp.append(oldest)
        }
        return .done(givenUp)
    }

    /// Puts an entry with the same content in the place of another.
    mutating func update(_ entry: Entry, to updated: Entry) -> Outcome {
        guard let queue = queues.queue(of: entry), let position = position(of: entry) else { return .overtaken }
        let change = updated.cost - entry.cost
        guard ledger.hold(change) else { return .lacksRoom(change) }
        guard queues.replace(entry, by: updated) else { return .overtaken }
        variants[entry.key]?[position] = updated
        if queue == .small { ledger.noteSmall(changedBy: change) }
        updated.residence.begin(uses: entry.residence.uses)
        entry.residence.end()
        return .done([entry])
    }

    /// Gives up an entry; false where it isn't here.
    mutating func remove(_ entry: Entry) -> Bool { drop(entry) }

    /// Gives up all entries of a key, and what is on its way.
    mutating func invalidate(_ key: StoreKey) -> [Entry] {
        invalidations.note(key)
        let all = variants[key] ?? []
        for entry in all { drop(entry) }
        return all
    }

    /// Evicts the first of a queue, or spares it: once for all its uses in the small queue, once for each in the main
    /// one.
    mutating func evictFirst(of queue: StoreQueue, mayStay: Bool) -> Eviction {
        guard let entry = queues.first(of: queue) else { return .queueIsEmpty }
        // What somebody is sending is in memory anyway.
        if mayStay, entry.isHeld || entry.residence.spendUse() {
            if queue == .small {
                entry.residence.clearUses()
                ledger.noteSmall(changedBy: -entry.cost)
            }
            queues.move(entry, to: .main, turn: ledger.nextTurn())
            return .spared
        }
        drop(entry)
        ledger.noteEviction()
        if queue == .small { ghosts.append(entry.key.fingerprint, limit: min(ghostLimit, max(16, count))) }
        return .evicted(entry)
    }

    @discardableResult
    private mutating func drop(_ entry: Entry) -> Bool {
        guard unlink(entry) != nil else { return false }
        if entry.unlinkHeld() { ledger.noteLingering(entry.cost) } else { ledger.giveBack(entry.cost) }
        return true
    }

    /// Takes an entry out of everything but what is held of the budget.
    private mutating func unlink(_ entry: Entry) -> StoreQueue? {
        guard let position = position(of: entry), let queue = queues.remove(entry) else { return nil }
        if variants[entry.key]?.count == 1 {
            variants[entry.key] = nil
        } else {
            variants[entry.key]?.remove(at: position)
        }
        ledger.noteUnqueued(entry.cost, from: queue)
        entry.residence.end()
        return queue
    }

    private func position(of entry: Entry) -> Int? { variants[entry.key]?.firstIndex { $0 === entry } }
}

/// One shard of the store: its contents behind a lock, and the ages of its queues' first entries before it.
final class StoreShard<Metadata: StoreMetadata>: Sendable {
    private let contents: Mutex<ShardContents<Metadata>>
    private let smallTurn = Atomic<UInt64>(.max)
    private let mainTurn = Atomic<UInt64>(.max)

    init(_ contents: ShardContents<Metadata>) { self.contents = Mutex(contents) }

    /// When the first of a queue was queued; `UInt64.max` where it is empty. Read without the lock, so it may be out of
    /// date.
    func turn(ofFirstIn queue: StoreQueue) -> UInt64 {
        queue == .small ? smallTurn.load(ordering: .relaxed) : mainTurn.load(ordering: .relaxed)
    }

    func read<Result: Sendable>(_ body: (ShardContents<Metadata>) -> Result) -> Result {
        contents.withLock { body($0) }
    }

    func change<Result: Sendable>(_ body: (inout ShardContents<Metadata>) -> Result) -> Result {
        contents.withLock {
            let result = body(&$0)
            smallTurn.store($0.turn(ofFirstIn: .small), ordering: .relaxed)
            mainTurn.store($0.turn(ofFirstIn: .main), ordering: .relaxed)
            return result
        }
    }
}
