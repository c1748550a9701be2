/// The files in memory that may be dropped, in the order that the CLOCK algorithm gives them.
///
/// A hit is answered by an event loop's own table and never comes here; only looks at the file tell, some twenty a
/// second for a file in use, and without a lock where the loop looks itself. One bit an entry is enough for so weak a
/// signal, and nothing has to be moved in a list under the lock. A new entry starts without the bit, so that files that
/// are asked for once (a crawl of a folder) push out one another and not those in use. S3-FIFO also remembers the names
/// of files that it has dropped. That pays where each miss is a request; here a miss is a read from the page cache.
struct RetentionRing {
    private struct Slot {
        let key: FileKey
        let file: LoadedFile
        let cost: Int
        /// The places of its neighbours in the ring.
        var next: Int
        var previous: Int
    }

    /// Entries whose bit one eviction takes away at most: all are looked at under the lock that hits of other files
    /// wait for, and a million of them take tens of milliseconds.
    static let maximumPassedCount = 128

    private var slots: [Slot?] = []
    private var free: [Int] = []
    private var places: [FileKey: Int] = [:]
    /// The place of the entry that is looked at next; it is there unless the ring is empty.
    private var hand = 0
    /// How many entries were left because they were in use, since the ring was last empty.
    private(set) var passedCount = 0

    /// The cost of all entries.
    private(set) var cost = 0

    var count: Int { places.count }

    var keys: [FileKey] { Array(places.keys) }

    func file(_ key: FileKey) -> LoadedFile? {
        guard let place = places[key] else { return nil }
        return slots[place]?.file
    }

    /// Notes that a file is in use.
    mutating func markUsed(_ key: FileKey) {
        guard let place = places[key] else { return }
        slots[place]?.file.noteUse()
    }

    /// Adds a file; one of its key goes.
    ///
    /// It comes to stand behind all others, as seen from the hand.
    mutating func insert(_ file: LoadedFile, _ key: FileKey, cost: Int) {
        remove(key)
        let place = free.popLast() ?? slots.count
        if place == slots.count { slots.append(nil) }
        if places.isEmpty { hand = place }
        let last = slots[hand]?.previous ?? place
        slots[place] = Slot(key: key, file: file, cost: cost, next: hand, previous: last)
        slots[last]?.next = place
        slots[hand]?.previous = place
        places[key] = place
        self.cost &+= cost
    }

    @discardableResult
    mutating func remove(_ key: FileKey) -> LoadedFile? {
        guard let place = places.removeValue(forKey: key), let slot = slots[place] else { return nil }
        slots[place] = nil
        slots[slot.previous]?.next = slot.next
        slots[slot.next]?.previous = slot.previous
        if hand == place { hand = slot.next }
        free.append(place)
        cost &-= slot.cost
        if places.isEmpty { self = RetentionRing() }
        return slot.file
    }

    /// Drops the next file that was not used since the hand last passed it; where all of a stretch were, the one behind
    /// them.
    ///
    /// The next call goes on from there, so that each entry's turn comes, however many are in use.
    mutating func evict() -> FileKey? {
        var passed = 0
        while let slot = slots.isEmpty ? nil : slots[hand] {
            guard passed < RetentionRing.maximumPassedCount, slot.file.takeUse() else {
                remove(slot.key)
                return slot.key
            }
            hand = slot.next
            passed &+= 1
            passedCount &+= 1
        }
        return nil
    }
}
