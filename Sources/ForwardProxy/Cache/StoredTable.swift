import HTTPCaching
import HTTPSemantics

/// The stored responses that one event loop has ready to send, by cache key.
///
/// A hit needs no lock: the entry itself tells whether the store still holds it.
final class StoredTable {
    /// Keys kept at the most; beyond it the table starts afresh. Contents are the store's, so an entry is small.
    static let capacity = 16_384

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
    func ready(_ entry: StoredEntry, _ key: CacheKey, identity: ProxyIdentity, policy: CachePolicy) -> ReadyStored {
        if let ready = byKey[key.fingerprint]?.first(where: { $0.entry === entry }) { return ready }
        let made = ReadyStored(entry, identity: identity, policy: policy)
        guard entry.isCurrent, entry.metadata.part == nil else { return made }
        if byKey.count >= StoredTable.capacity { byKey.removeAll(keepingCapacity: true) }
        entry.markReady()
        byKey[key.fingerprint, default: []].removeAll { !$0.entry.isCurrent || $0.entry.key != key }
        byKey[key.fingerprint, default: []].insert(made, at: 0)
        // Evicted between the two: then nobody will say so any more.
        if !entry.isCurrent { remove(key) }
        return made
    }

    /// Forgets what is ready for a key, because the store has given it up or holds more for it now.
    func remove(_ key: CacheKey) { byKey[key.fingerprint] = nil }
}
