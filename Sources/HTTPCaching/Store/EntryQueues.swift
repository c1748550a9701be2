/// The entries of a shard, each in a slot of one of two queues, first in, first out.
///
/// The queues are linked through the numbers of the slots. So an entry leaves the middle of its queue in O(1), there
/// are no dead members that would have to be swept, and an entry takes no allocation of its own; slots that were left
/// are used again.
struct EntryQueues<Metadata: StoreMetadata>: Sendable {
    private struct Slot: Sendable {
        var entry: StoreEntry<Metadata>?
        var previous: Int
        var next: Int
        var turn: UInt64
        var queue: StoreQueue
    }

    private struct Ends: Sendable {
        var first = none
        var last = none
    }

    private static var none: Int { -1 }

    private var slots: [Slot] = []
    private var vacant = none
    private var small = Ends()
    private var main = Ends()
    private(set) var count = 0

    /// Slots that are there, vacant ones included: never more than there were entries at once.
    var capacity: Int { slots.count }

    func first(of queue: StoreQueue) -> StoreEntry<Metadata>? {
        let number = self[queue].first
        return number == Self.none ? nil : slots[number].entry
    }

    /// The turn of the first in a queue; `UInt64.max` where it is empty.
    func turn(ofFirstIn queue: StoreQueue) -> UInt64 {
        let number = self[queue].first
        return number == Self.none ? .max : slots[number].turn
    }

    /// The queue that an entry is in; nil where it isn't one of these.
    func queue(of entry: StoreEntry<Metadata>) -> StoreQueue? {
        holds(entry) ? slots[entry.slot].queue : nil
    }

    /// Puts an entry at the end of a queue.
    mutating func append(_ entry: StoreEntry<Metadata>, to queue: StoreQueue, turn: UInt64) {
        let slot = Slot(entry: entry, previous: Self.none, next: Self.none, turn: turn, queue: queue)
        var number = vacant
        if number == Self.none {
            number = slots.count
            slots.append(slot)
        } else {
            vacant = slots[number].next
            slots[number] = slot
        }
        entry.slot = number
        count += 1
        link(number)
    }

    /// Takes an entry out; returns the queue that it was in, nil where it isn't one of these.
    mutating func remove(_ entry: StoreEntry<Metadata>) -> StoreQueue? {
        guard holds(entry) else { return nil }
        let number = entry.slot
        unlink(number)
        slots[number].entry = nil
        slots[number].next = vacant
        vacant = number
        count -= 1
        return slots[number].queue
    }

    /// Puts an entry that is here already at the end of a queue.
    mutating func move(_ entry: StoreEntry<Metadata>, to queue: StoreQueue, turn: UInt64) {
        guard holds(entry) else { return }
        let number = entry.slot
        unlink(number)
        slots[number].queue = queue
        slots[number].turn = turn
        link(number)
    }

    /// Puts an entry in the place of another, which leaves; false where the other isn't here.
    mutating func replace(_ entry: StoreEntry<Metadata>, by successor: StoreEntry<Metadata>) -> Bool {
        guard holds(entry) else { return false }
        slots[entry.slot].entry = successor
        successor.slot = entry.slot
        return true
    }

    private func holds(_ entry: StoreEntry<Metadata>) -> Bool {
        slots.indices.contains(entry.slot) && slots[entry.slot].entry === entry
    }

    private subscript(queue: StoreQueue) -> Ends {
        get { queue == .small ? small : main }
        set { if queue == .small { small = newValue } else { main = newValue } }
    }

    private mutating func link(_ number: Int) {
        let queue = slots[number].queue
        let last = self[queue].last
        slots[number].previous = last
        slots[number].next = Self.none
        if last == Self.none { self[queue].first = number } else { slots[last].next = number }
        self[queue].last = number
    }

    private mutating func unlink(_ number: Int) {
        let slot = slots[number]
        if slot.previous == Self.none {
            self[slot.queue].first = slot.next
        } else {
            slots[slot.previous].next = slot.next
        }
        if slot.next == Self.none {
            self[slot.queue].last = slot.previous
        } else {
            slots[slot.next].previous = slot.previous
        }
    }
}

/// The two queues of S3-FIFO.
enum StoreQueue: UInt8, Sendable, CaseIterable {
    /// On probation: new entries.
    case small
    /// Entries that were asked for again.
    case main
}
