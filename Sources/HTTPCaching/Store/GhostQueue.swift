import NIOCore

/// The hashes of keys whose entries were evicted before anybody asked for them again, oldest first.
///
/// A key that returns while it is here was given up too early: its next entry skips the probation. Bounded by a count;
/// two keys with one hash are not told apart, which costs at most one entry that is kept too long.
struct GhostQueue: Sendable {
    private struct Ghost: Sendable {
        var fingerprint: UInt64
        var number: UInt64
    }

    private var order = CircularBuffer<Ghost>()
    /// The number of the latest ghost of a hash; older ones in `order` are void.
    private var numbers: [UInt64: UInt64] = [:]
    private var nextNumber: UInt64 = 0

    /// Members of the queue, void ones included.
    var count: Int { order.count }

    /// Adds a hash; the oldest go until there are at most `limit`.
    mutating func append(_ fingerprint: UInt64, limit: Int) {
        nextNumber &+= 1
        order.append(Ghost(fingerprint: fingerprint, number: nextNumber))
        numbers[fingerprint] = nextNumber
        while order.count > limit, let oldest = order.popFirst() {
            if numbers[oldest.fingerprint] == oldest.number { numbers[oldest.fingerprint] = nil }
        }
    }

    /// Takes a hash out; false where it isn't here.
    mutating func remove(_ fingerprint: UInt64) -> Bool { numbers.removeValue(forKey: fingerprint) != nil }
}
