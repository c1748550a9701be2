import HTTPCaching
import HTTPSemantics

/// The stored responses that one event loop has ready to send, by cache key.
///
/// A hit needs no lock: the entry itself tells whether the store still holds it.
final class StoredTable {
    /// Bytes of ready heads and copies of small bodies kept at the most; beyond it the table starts afresh. They are
    /// not the store's, so they come on top of its budget.
    private let limit: Int
    private var bytes = 0

    /// - Parameter budget: the store's.
    init(budget: Int) { limit = min(8 << 20, max(1 << 20, budget / 16)) }

    /// By the fingerprint of the key; two keys with the same one take each other's place.
    private var byKey: [UInt64: [ReadyStored]] = [:]

    /// The response that a request gets of those which are ready; nil where that is not certain.
    @inline(__always)
    func find(_ target: TargetURI, _ request: FieldSection) -> ReadyStored? {
        CacheKey.withBytes(of: target) { bytes -> ReadyStored? in
            guard let ready = byKey[CacheKey.fingerprint(of: bytes)] else { return nil }
            if ready.count == 1 { return ready[0].answers(bytes, request) ? ready[0] : nil }
            var found: ReadyStored?
            for candidate in ready where candidate.answers(bytes, request) {
                // Which of two is the newer one is for the rules to say.
                guard found == nil else { return nil }
                found = candidate
            }
            return found
        } ?? nil
    }

    /// What is ready of a stored response, made where it is not.
    ///
    /// - Parameter siblings: what the store holds for the key.
    func ready(
        _ entry: StoredEntry, _ key: CacheKey, identity: ProxyIdentity, policy: CachePolicy,
        siblings: () -> [StoredEntry]
    ) -> ReadyStored {
        if let ready = byKey[key.fingerprint]?.first(where: { $0.entry === entry }) { return ready }
        // Where all were selected by the same fields, a request suits one of them at the most.
        let names = entry.metadata.selection.names
        let isUnambiguous = siblings().allSatisfy { $0.metadata.selection.names == names }
        let made = ReadyStored(entry, identity: identity, policy: policy, isUnambiguous: isUnambiguous)
        guard entry.isCurrent, entry.metadata.part == nil, made.cost <= limit else { return made }
        if bytes &+ made.cost > limit {
            byKey.removeAll(keepingCapacity: true)
            bytes = 0
        }
        entry.markReady()
        var bucket = byKey[key.fingerprint] ?? []
        bucket.removeAll { other in
            guard other.entry.isCurrent, other.entry.key == key else {
                bytes &-= other.cost
                return true
            }
            return false
        }
        bucket.insert(made, at: 0)
        byKey[key.fingerprint] = bucket
        bytes &+= made.cost
        // Evicted between the two: then nobody will say so any more.
        if !entry.isCurrent { remove(key) }
        return made
    }

    /// Forgets what is ready for a key, because the store has given it up or holds more for it now.
    func remove(_ key: CacheKey) {
        guard let bucket = byKey.removeValue(forKey: key.fingerprint) else { return }
        for ready in bucket { bytes &-= ready.cost }
    }
}
