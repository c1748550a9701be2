import Basics
import HTTPCaching

/// URLs whose last response could not be shared: requests for them don't wait for each other, for a minute.
///
/// A table of fixed size, by hash: a URL that meets another's place takes it, and one that is mistaken for another
/// merely is not collapsed for a while.
struct UncollapsibleKeys {
    private static let capacity = 4096
    private static let lifetime: UInt64 = 60_000_000_000

    private var slots: [(hash: Int, until: UInt64)] = []

    mutating func insert(_ key: CacheKey, now: UInt64 = monotonicNanoseconds()) {
        if slots.isEmpty { slots = Array(repeating: (0, 0), count: UncollapsibleKeys.capacity) }
        let hash = key.hashValue
        slots[hash & (UncollapsibleKeys.capacity &- 1)] = (hash, now &+ UncollapsibleKeys.lifetime)
    }

    mutating func remove(_ key: CacheKey) {
        guard !slots.isEmpty else { return }
        let hash = key.hashValue
        let index = hash & (UncollapsibleKeys.capacity &- 1)
        if slots[index].hash == hash { slots[index].until = 0 }
    }

    func contains(_ key: CacheKey, now: UInt64) -> Bool {
        guard !slots.isEmpty else { return false }
        let hash = key.hashValue
        let slot = slots[hash & (UncollapsibleKeys.capacity &- 1)]
        return slot.hash == hash && slot.until > now
    }
}
