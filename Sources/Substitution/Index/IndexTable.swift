/// An open-addressing hash table of 32-bit numbers, which name entries that the caller keeps.
///
/// One byte of each entry's hash stands in an array of its own, so that a look-up that finds nothing ends after one
/// read of memory in most cases, and never looks at a key.
struct IndexTable: Sendable {
    private var tags: [UInt8] = []
    private var slots: [UInt32] = []
    private var mask = 0
    private(set) var count = 0

    /// A table without entries.
    init() {}

    /// Whether nothing is in it.
    @inline(__always)
    var isEmpty: Bool { count == 0 }

    /// The bytes that the table occupies.
    var byteCount: Int { tags.count &* 5 }

    /// The first entry of this hash that `isMatch` recognises.
    @inline(__always)
    func first(_ hash: UInt64, where isMatch: (UInt32) -> Bool) -> UInt32? {
        guard count > 0 else { return nil }
        let wanted = IndexTable.tag(hash)
        var index = Int(truncatingIfNeeded: hash) & mask
        return tags.withUnsafeBufferPointer { tags -> UInt32? in
            while true {
                let tag = tags[index]
                if tag == 0 { return nil }
                if tag == wanted {
                    let entry = slots[index]
                    if isMatch(entry) { return entry }
                }
                index = (index &+ 1) & mask
            }
        }
    }

    /// Adds an entry, whether or not one like it is there.
    ///
    /// - Parameter hashOf: The hash of an entry added before, for when the table grows.
    mutating func insert(_ entry: UInt32, hash: UInt64, hashOf: (UInt32) -> UInt64) {
        reserve(count &+ 1, hashOf: hashOf)
        place(entry, hash)
        count &+= 1
    }

    /// Puts another entry of the same hash in an entry's place.
    mutating func replace(_ entry: UInt32, by other: UInt32, hash: UInt64) {
        guard count > 0 else { return }
        var index = Int(truncatingIfNeeded: hash) & mask
        while tags[index] != 0 {
            if slots[index] == entry {
                slots[index] = other
                return
            }
            index = (index &+ 1) & mask
        }
    }

    /// Makes room for a number of entries in all.
    mutating func reserve(_ total: Int, hashOf: (UInt32) -> UInt64) {
        // At most three quarters full.
        guard total &* 4 > tags.count &* 3 else { return }
        var capacity = max(16, tags.count)
        while total &* 4 > capacity &* 3 { capacity &*= 2 }
        let old = zip(tags, slots)
        tags = [UInt8](repeating: 0, count: capacity)
        slots = [UInt32](repeating: 0, count: capacity)
        mask = capacity &- 1
        for (tag, entry) in old where tag != 0 { place(entry, hashOf(entry)) }
    }

    private mutating func place(_ entry: UInt32, _ hash: UInt64) {
        var index = Int(truncatingIfNeeded: hash) & mask
        while tags[index] != 0 { index = (index &+ 1) & mask }
        tags[index] = IndexTable.tag(hash)
        slots[index] = entry
    }

    /// The upper byte of the hash, which the slot's number has nothing of; 0 stands for an empty slot.
    @inline(__always)
    private static func tag(_ hash: UInt64) -> UInt8 {
        max(1, UInt8(truncatingIfNeeded: hash &>> 56))
    }
}
