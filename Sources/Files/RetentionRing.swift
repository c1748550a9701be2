/// The files in memory that may be dropped, in the order that the CLOCK algorithm gives them.
///
/// A hit is answered by an event loop's own table and never comes here; only looks at the file tell, some twenty a
/// second for a file in use, and without a lock where the loop looks itself. One bit an entry is enough for so weak a
/// signal, and nothing has to be moved in a list under the lock. A new entry starts without the bit, so that files that are asked for once (a crawl of a folder) push out one
/// another and not those in use. S3-FIFO also remembers the names of files that it has dropped. That pays where each
/// miss is a request; here a miss is a read from the page cache.
struct RetentionRing {
    private struct Slot {
        let key: FileKey
        let file: LoadedFile
        let cost: Int
    }

    private var slots: [Slot?] = []
    private var free: [Int] = []
    private var places: [FileKey: Int] = [:]
    private var hand = 0

    /// The cost of all entries.
    private(set) var cost = 0

    var count: Int { places.count }

    func file(_ key: FileKey) -> LoadedFile? {
        guard let place = places[key] else { return nil }
        return slots[place]?.file
    }

    /// Notes that a file is in use.
    mutating func markUsed(_ key: FileKey) {
        guard let place = places[key] else { return }
        slots[place]?.file.noteUse()
    }

    /// Adds a file whose key is not there.
    mutating func insert(_ file: LoadedFile, _ key: FileKey, cost: Int) {
        remove(key)
        let slot = Slot(key: key, file: file, cost: cost)
        if let place = free.popLast() {
            slots[place] = slot
            places[key] = place
        } else {
            places[key] = slots.count
            slots.append(slot)
        }
        self.cost &+= cost
    }

    @discardableResult
    mutating func remove(_ key: FileKey) -> LoadedFile? {
        guard let place = places.removeValue(forKey: key), let slot = slots[place] else { return nil }
        slots[place] = nil
        free.append(place)
        cost &-= slot.cost
        if places.isEmpty { self = RetentionRing() }
        return slot.file
    }

    /// Drops the next file that was not used since the hand last passed it.
    mutating func evict() -> FileKey? {
        // Two turns at the most: the first takes every bit away.
        while !places.isEmpty {
            if hand >= slots.count { hand = 0 }
            defer { hand &+= 1 }
            guard let slot = slots[hand] else { continue }
            if slot.file.takeUse() { continue }
            remove(slot.key)
            return slot.key
        }
        return nil
    }
}
