import Synchronization

/// The stored responses of a proxy in memory, shared by all of its event loops and bounded in bytes (RFC 9111 §2).
///
/// ## Threads
/// Keys are spread over shards by their hash; each shard has a lock, held for one step on its tables. No operation
/// holds two locks, and neither content is freed nor the eviction handler called under one. A hit takes the lock of its
/// key's shard for one look-up in a dictionary, or none at all where the event loop kept an entry that is still
/// current.
///
/// ## Budget
/// What is stored and what is reserved never exceed the budget together. One atomic number counts both for all shards:
/// it is raised before an entry is linked, where it can be, and lowered when an entry is unlinked. So the shards have
/// no shares of the budget that one could exhaust while another has room. Content that was given up and is still being
/// sent, for which ``hold(_:)`` was called, is counted until its last reader has it; that alone may exceed the budget.
///
/// ## Eviction
/// S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023), counted in bytes since
/// responses differ a millionfold in size. New entries go through a small queue of a tenth of what is stored. At its
/// end those that were used go to the main queue, the others leave, and their keys' hashes are remembered in a ghost
/// queue: a key that returns from there goes to the main queue straight away. The first of the main queue leaves unless
/// it was used; each use, of up to three, gives it one more round.
///
/// This was chosen for three reasons. A scan, which asks for many things once, passes through the small queue and
/// leaves the main one alone. A hit moves nothing: it counts up to three in the entry's own atomic byte and then writes
/// nothing more, where a list of the least recently used would need the lock and four writes to shared memory. And
/// queues in order of arrival need no work at all until room is needed.
///
/// Each shard has its own queues; together they act as one. Every place in a queue has a number from one counter, every
/// shard publishes the number of its first, and room is made where the lowest is: what goes is the oldest of the whole
/// store, however the keys and sizes are spread, and no shard starves. For one eviction no more than 128 used entries
/// are spared, after which the first goes in spite of its uses: an event loop doesn't wait until the uses of a whole
/// store have been counted down.
public final class ResponseStore<Metadata: StoreMetadata>: Sendable {
    public typealias Entry = StoreEntry<Metadata>
    public typealias Epoch = StoreEpoch

    /// Called with entries that were given up.
    public typealias EvictionHandler = @Sendable ([Entry]) -> Void

    /// A function by itself in a generic container is wrapped once more whenever it is taken out and put back, which
    /// the `inout` of a lock does each time; in a structure it isn't.
    private struct Listener: Sendable {
        var handler: EvictionHandler?
    }

    /// How often an insertion or a reservation makes room again that other threads have taken before it is given up.
    private static var attempts: Int { 64 }

    /// The largest cost of an entry, in bytes.
    public let maximumEntry: Int
    let shards: [StoreShard<Metadata>]
    let ledger: StoreLedger
    private let shardShift: UInt64
    private let listener = Mutex(Listener(handler: nil))

    /// An empty store.
    ///
    /// - Parameters:
    ///   - budget: bytes for entries (by their cost) and reservations; with 0 or less nothing is ever stored.
    ///   - shards: rounded up to a power of two, at most 256. The default is 16.
    ///   - variantLimit: entries of one key; the oldest goes. The default is 32.
    ///   - maximumEntry: the largest cost of an entry. The default is an eighth of the budget.
    ///   - reservationLimit: bytes that may be reserved at once, so that many slow downloads can't empty the store. The
    ///     default is half of the budget.
    public init(
        budget: Int, shards: Int = 16, variantLimit: Int = 32, maximumEntry: Int? = nil, reservationLimit: Int? = nil
    ) {
        let budget = max(0, budget)
        self.maximumEntry = max(0, min(maximumEntry ?? budget / 8, budget))
        let ledger = StoreLedger(limit: budget, reservationLimit: max(0, min(reservationLimit ?? budget / 2, budget)))
        self.ledger = ledger
        var bits = 0
        while 1 << bits < min(shards, 256) { bits += 1 }
        shardShift = UInt64(64 - bits)
        // A ghost for every 4 KiB: few of the resources of the web are smaller, and 32 bytes for it are 1 % of the
        // budget.
        let ghostLimit = max(16, min(65_536, budget / 4096) >> bits)
        let variantLimit = max(1, variantLimit)
        self.shards = (0..<1 << bits).map { _ in
            StoreShard(ShardContents(ledger: ledger, variantLimit: variantLimit, ghostLimit: ghostLimit))
        }
    }

    /// Bytes that entries and reservations may take together.
    public var budget: Int { ledger.limit }

    /// How much is stored, and what has happened so far.
    public var statistics: StoreStatistics { ledger.statistics }

    /// All entries of a key, its variants, newest first. One short lock, however much is stored.
    public func entries(for key: StoreKey) -> [Entry] { shard(of: key).read { $0.entries(for: key) } }

    /// The instant to be taken when a request is sent to the origin, for `insert`.
    public func epoch(for key: StoreKey) -> Epoch { shard(of: key).read { $0.epoch(for: key) } }

    /// Adds an entry in the place of others, and evicts what the budget asks for.
    ///
    /// The entries replaced are given up in the same step, so that no look-up finds neither, and pass on their uses and
    /// the queue they are in. They are given up too where the entry isn't admitted: a newer response has overtaken
    /// them.
    ///
    /// - Parameters:
    ///   - epoch: when the request was sent.
    ///   - reserved: bytes of earlier reservations, which are the entry's from now on and are released in any case.
    /// - Returns: false where the entry isn't admitted: it is larger than `maximumEntry`, its key was invalidated since
    ///   `epoch`, there is no room that isn't reserved, or it is in a store already.
    @discardableResult
    public func insert(_ entry: Entry, replacing: [Entry] = [], epoch: Epoch, reserved: Int = 0) -> Bool {
        let credit = ledger.takeReserved(reserved)
        let isAdmitted = entry.cost <= maximumEntry && link(entry, replacing: replacing, epoch: epoch, credit: credit)
        if isAdmitted {
            ledger.noteAdmission()
        } else {
            ledger.giveBack(credit)
            ledger.noteRefusal()
        }
        for other in replacing where other !== entry { remove(other) }
        return isAdmitted
    }

    /// Replaces an entry's metadata (RFC 9111 §3.2, §4.3.4): an entry with the same content takes its places and its
    /// uses.
    ///
    /// Returns nil where the entry is no longer current, or is too large with the new metadata; then it is given up.
    public func update(_ entry: Entry, metadata: Metadata) -> Entry? {
        let updated = entry.with(metadata)
        if updated.cost <= maximumEntry {
            let isDone = makingRoom { self.shard(of: entry.key).change { $0.update(entry, to: updated) } }
            if isDone { return updated }
        }
        remove(entry)
        return nil
    }

    /// Notes that the content of an entry is being sent, so that it counts against the budget until ``letGo(_:)`` also
    /// where the entry is given up meanwhile. For content that takes a client some time; the rest is not worth it.
    /// One that was given up already counts from here on.
    public func hold(_ entry: Entry) {
        let bytes = entry.beginHold()
        guard bytes > 0 else { return }
        ledger.holdInAnyCase(bytes)
        ledger.noteLingering(bytes)
    }

    /// The content was sent, or is not wanted any more: once for each ``hold(_:)``.
    public func letGo(_ entry: Entry) {
        let bytes = entry.endHold()
        if bytes > 0 { ledger.giveBackLingering(bytes) }
    }

    /// Gives up an entry; nothing happens where it isn't current.
    public func remove(_ entry: Entry) {
        guard entry.isCurrent, shard(of: entry.key).change({ $0.remove(entry) }) else { return }
        announce([entry])
    }

    /// Gives up all entries of a key (RFC 9111 §4.4), whether there are any or not; responses requested before this are
    /// not admitted.
    public func invalidate(_ key: StoreKey) { announce(shard(of: key).change { $0.invalidate(key) }) }

    /// Reserves room for content that is being received, within the budget, and evicts as needed.
    ///
    /// Returns false where there is no room: then the response is passed on without being stored. What was reserved is
    /// given back by `release` or handed to `insert`.
    public func reserve(_ bytes: Int) -> Bool {
        guard bytes > 0 else { return true }
        if ledger.claim(bytes) {
            let isHeld = makingRoom { self.ledger.hold(bytes) ? .done([]) : .lacksRoom(bytes) }
            if isHeld { return true }
            _ = ledger.takeReserved(bytes)
        }
        ledger.noteRefusal()
        return false
    }

    /// Gives back reserved bytes.
    public func release(_ bytes: Int) { ledger.giveBack(ledger.takeReserved(bytes)) }

    /// Has `handler` called with entries that were given up and had been marked by `markReady()`, so that event loops
    /// drop what they made of them. It is called outside of locks, on the thread that gave them up.
    public func setEvictionHandler(_ handler: @escaping EvictionHandler) {
        listener.withLock { $0 = Listener(handler: handler) }
    }

    func announce(_ entries: [Entry]) {
        let ready = entries.filter { $0.residence.isReady }
        guard !ready.isEmpty, let handler = listener.withLock({ $0 }).handler else { return }
        handler(ready)
    }

    func shard(of key: StoreKey) -> StoreShard<Metadata> {
        shards[Int(truncatingIfNeeded: key.fingerprint >> shardShift)]
    }

    private func link(_ entry: Entry, replacing: [Entry], epoch: Epoch, credit: Int) -> Bool {
        let shard = shard(of: entry.key)
        return makingRoom {
            shard.change { $0.insert(entry, replacing: replacing, epoch: epoch, credit: credit) }
        }
    }

    /// Tries a step until there is room for it; false where it came too late or no room can be made.
    private func makingRoom(for step: () -> ShardContents<Metadata>.Outcome) -> Bool {
        for _ in 0..<Self.attempts {
            switch step() {
            case .done(let givenUp):
                announce(givenUp)
                return true
            case .overtaken:
                return false
            case .lacksRoom(let bytes):
                guard makeRoom(for: bytes) else { return false }
            }
        }
        return false
    }
}

/// What a store holds and did, for the status page and metrics.
///
/// `entries` and `bytes` are stored now, `reserved` bytes are for contents being received; `evictions` were for want of
/// room or of room among a key's variants; `refused` counts insertions and reservations that failed.
public typealias StoreStatistics = (
    entries: Int, bytes: Int, reserved: Int, evictions: Int, admitted: Int, refused: Int
)
