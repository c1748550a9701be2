/// Counts invalidations by parts of the keys' hashes.
///
/// One counter for a shard would refuse every long download while some client keeps writing to other URLs; one for each
/// key would grow without bound. With 256 counters in each of 16 shards, an invalidation refuses one foreign response
/// in 4096.
struct InvalidationCounters: Sendable {
    private static var count: Int { 256 }

    private var counters = [UInt64](repeating: 0, count: count)

    func epoch(for key: StoreKey) -> StoreEpoch { StoreEpoch(invalidations: counters[Self.position(of: key)]) }

    mutating func note(_ key: StoreKey) { counters[Self.position(of: key)] &+= 1 }

    private static func position(of key: StoreKey) -> Int {
        Int(truncatingIfNeeded: key.fingerprint % UInt64(count))
    }
}

/// An instant in a store's history of invalidations, taken when a request goes to the origin (RFC 9111 §4.4).
///
/// A response to a request that was sent before an invalidation may be of the state before it, so it is not admitted
/// after it.
public struct StoreEpoch: Sendable, Equatable {
    let invalidations: UInt64
}
