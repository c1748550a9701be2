extension ResponseStore {
    /// How many used entries are spared at most for one eviction.
    private static var spareLimit: Int { 128 }

    /// Evicts until so many bytes more could be held; false where evicting doesn't help.
    func makeRoom(for bytes: Int) -> Bool {
        guard ledger.couldHaveRoom(for: bytes) else { return false }
        var evicted: [Entry] = []
        // Their contents are freed when this returns, and so before the room is used.
        defer { announce(evicted) }
        var spared = 0
        while !ledger.hasRoom(for: bytes) {
            guard let (shard, queue) = oldest(for: bytes) else { return false }
            let mayStay = spared < Self.spareLimit
            switch shard.change({ $0.evictFirst(of: queue, mayStay: mayStay) }) {
            case .evicted(let entry):
                evicted.append(entry)
                spared = 0
            case .spared:
                spared += 1
            case .queueIsEmpty:
                break  // Another thread was here in between; the shard has published that by now.
            }
        }
        return true
    }

    /// The shard and the queue whose first entry is the next to leave; nil where nothing is stored.
    private func oldest(for bytes: Int) -> (StoreShard<Metadata>, StoreQueue)? {
        let queue = ledger.prefersSmall(for: bytes) ? StoreQueue.small : .main
        if let shard = shard(withOldestIn: queue) { return (shard, queue) }
        let other = queue == .small ? StoreQueue.main : .small
        return shard(withOldestIn: other).map { ($0, other) }
    }

    private func shard(withOldestIn queue: StoreQueue) -> StoreShard<Metadata>? {
        var oldest: StoreShard<Metadata>?
        var lowest = UInt64.max
        for shard in shards {
            let turn = shard.turn(ofFirstIn: queue)
            if turn < lowest { (oldest, lowest) = (shard, turn) }
        }
        return oldest
    }
}
