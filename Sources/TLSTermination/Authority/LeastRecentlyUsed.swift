/// A table of bounded size that gives up what was used least recently.
struct LeastRecentlyUsed<Key: Hashable, Value> {
    private struct Slot {
        var key: Key
        var value: Value
        var older: Int?
        var newer: Int?
    }

    private let capacity: Int
    private var slots: [Slot] = []
    private var positions: [Key: Int] = [:]
    private var newest: Int?
    private var oldest: Int?

    /// - Parameter capacity: at least 1 is kept.
    init(capacity: Int) { self.capacity = max(1, capacity) }

    var count: Int { slots.count }

    /// The keys, the most recently used first.
    var keys: [Key] {
        var keys: [Key] = []
        var next = newest
        while let position = next {
            keys.append(slots[position].key)
            next = slots[position].older
        }
        return keys
    }

    /// The value of a key, which counts as a use.
    mutating func use(_ key: Key) -> Value? {
        guard let position = positions[key] else { return nil }
        makeNewest(position)
        return slots[position].value
    }

    /// Sets the value of a key, and returns the one that had to go: the key's own, or another's where the table is
    /// full.
    mutating func insert(_ value: Value, for key: Key) -> Value? {
        if let position = positions[key] {
            let previous = slots[position].value
            slots[position].value = value
            makeNewest(position)
            return previous
        }
        guard slots.count >= capacity, let position = oldest else {
            slots.append(Slot(key: key, value: value))
            positions[key] = slots.count - 1
            link(slots.count - 1)
            return nil
        }
        let previous = slots[position]
        positions[previous.key] = nil
        positions[key] = position
        slots[position].key = key
        slots[position].value = value
        makeNewest(position)
        return previous.value
    }

    private mutating func makeNewest(_ position: Int) {
        guard newest != position else { return }
        let slot = slots[position]
        if let older = slot.older { slots[older].newer = slot.newer }
        if let newer = slot.newer { slots[newer].older = slot.older }
        if oldest == position { oldest = slot.newer }
        link(position)
    }

    /// Puts a slot that is in no order at the new end.
    private mutating func link(_ position: Int) {
        slots[position].older = newest
        slots[position].newer = nil
        if let newest { slots[newest].newer = position }
        newest = position
        if oldest == nil { oldest = position }
    }
}
