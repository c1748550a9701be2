import HTTPCaching
import Synchronization

/// Room in the store for content on its way, held for as long as somebody may still read it.
///
/// So what slow clients keep in memory of responses that were stored, and evicted since, counts against the budget too;
/// and where too much of it is held that way, further responses are passed on without being stored.
final class StoreReservation: Sendable {
    private let store: ResponseStore<StoredResponse>
    private let bytes = Atomic<Int>(0)

    init(_ store: ResponseStore<StoredResponse>) { self.store = store }

    deinit { release() }

    /// Takes room for so many bytes more; false where there is none.
    func add(_ count: Int) -> Bool {
        guard store.reserve(count) else { return false }
        bytes.add(count, ordering: .relaxed)
        return true
    }

    /// Gives back what was taken beyond so many bytes.
    func keep(_ count: Int) {
        let held = bytes.exchange(0, ordering: .relaxed)
        let kept = min(held, max(0, count))
        bytes.add(kept, ordering: .relaxed)
        if held > kept { store.release(held &- kept) }
    }

    /// Gives back all that was taken.
    func release() {
        let held = bytes.exchange(0, ordering: .relaxed)
        if held > 0 { store.release(held) }
    }
}
