import HTTPCaching
import HTTPSemantics

/// The stored responses that one event loop has ready to send, by cache key.
///
/// A hit needs no lock: the entry itself tells whether the store still holds it.
final class StoredTable {
    private struct Bucket {
        var ready: [ReadyStored]
        /// Where its fingerprint stands in `fingerprints`.
        var place: Int
    }

    /// Bytes of ready heads kept at the most; beyond it any go for one that comes. They are not the store's, so they
    /// come on top of its budget.
    private let limit: Int
    private(set) var bytes = 0

    /// - Parameters:
    ///   - budget: the store's.
    ///   - loops: how many event loops have a table.
    init(budget: Int, loops: Int) { limit = max(1 << 20, budget / 4 / max(1, loops)) }

    /// By the fingerprint of the key; two keys with the same one take each other's place.
    private var byKey: [UInt64: Bucket] = [:]
    /// Those of all buckets, so that any of them is found.
    private var fingerprints: ContiguousArray<UInt64> = []

    /// The response that a request gets of those which are ready; nil where that is not certain.
    @inline(__always)
    func find(_ target: TargetURI, _ request: FieldSection, _ version: HTTPVersion) -> ReadyStored? {
        guard CacheKey.consists(ofBytesOf: target) else { return nil }
        return target.withBytes { bytes -> ReadyStored? in
            guard let ready = byKey[CacheKey.fingerprint(of: bytes)]?.ready else { return nil }
            if ready.count == 1 { return ready[0].answers(bytes, request, version) ? ready[0] : nil }
            var found: ReadyStored?
            for candidate in ready where candidate.answers(bytes, request, version) {
                // Which of two is the newer one is for the rules to say.
                guard found == nil else { return nil }
                found = candidate
            }
            return found
        }
    }

    /// What is ready of a stored response, made where it is not.
    ///
    /// - Parameter siblings: what the store holds for the key.
    func ready(
        _ entry: StoredEntry, _ key: CacheKey, identity: ProxyIdentity, policy: CachePolicy,
        siblings: () -> [StoredEntry]
    ) -> ReadyStored {
        if let ready = byKey[key.fingerprint]?.ready.first(where: { $0.entry === entry }) { return ready }
        // Where all were selected by the same fields, a request suits one of them at the most.
        let names = entry.metadata.selection.names
        let isUnambiguous = siblings().allSatisfy { $0.metadata.selection.names == names }
        let made = ReadyStored(entry, identity: identity, policy: policy, isUnambiguous: isUnambiguous)
        guard entry.isCurrent, entry.metadata.part == nil, made.cost <= limit else { return made }
        while bytes &+ made.cost > limit, let any = fingerprints.randomElement() { remove(any) }
        entry.markReady()
        var bucket = byKey[key.fingerprint] ?? newBucket(key.fingerprint)
        bucket.ready.removeAll { other in
            guard other.entry.isCurrent, other.entry.key == key else {
                bytes &-= other.cost
                return true
            }
            return false
        }
        bucket.ready.insert(made, at: 0)
        byKey[key.fingerprint] = bucket
        bytes &+= made.cost
        // Evicted between the two: then nobody will say so any more.
        if !entry.isCurrent { remove(key) }
        return made
    }

    /// Forgets what is ready for a key, because the store has given it up or holds more for it now.
    func remove(_ key: CacheKey) { remove(key.fingerprint) }

    private func newBucket(_ fingerprint: UInt64) -> Bucket {
        fingerprints.append(fingerprint)
        return Bucket(ready: [], place: fingerprints.count &- 1)
    }

    private func remove(_ fingerprint: UInt64) {
        guard let bucket = byKey.removeValue(forKey: fingerprint), let last = fingerprints.popLast() else { return }
        if bucket.place < fingerprints.count {
            fingerprints[bucket.place] = last
            byKey[last]?.place = bucket.place
        }
        for ready in bucket.ready { bytes &-= ready.cost }
    }
}
