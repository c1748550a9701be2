import NIOCore
import ProxyTestKit
import Synchronization
import Testing

@testable import HTTPCaching

@Suite("The store shared by threads")
struct ResponseStoreThreadTests {
    @Test("Steps of several threads at once keep the budget, the accounts and the contents")
    func stress() async {
        let budget = 300_000
        let store = LabelledStore(budget: budget, shards: 4, variantLimit: 4)
        let announced = Counter()
        store.setEvictionHandler { entries in
            announced.add(entries.count)
            for entry in entries where entry.isCurrent { Issue.record("An entry was announced that is current") }
        }
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    var random = SeededGenerator(seed: UInt64(worker))
                    for step in 0..<5000 { Self.takeStep(step, worker: worker, store: store, random: &random) }
                }
            }
        }
        let statistics = store.statistics
        #expect(statistics.reserved == 0)
        #expect(statistics.entries > 10)
        #expect(statistics.evictions > 100)
        #expect(announced.value > 100)
        store.expectConsistency()
        for index in 0..<150 { store.invalidate(StoreKey("key \(index)")) }
        #expect(store.statistics.bytes == 0)
        #expect(store.ledger.smallBytes == 0)
    }

    private static func takeStep(_ step: Int, worker: Int, store: LabelledStore, random: inout SeededGenerator) {
        let index = Int.random(in: 0..<150, using: &random)
        let key = StoreKey("key \(index)")
        let held = store.entries(for: key)
        if held.count > 4 || held.contains(where: { $0.key != key }) { Issue.record("Wrong variants of \(index)") }
        if let entry = held.randomElement(using: &random) {
            entry.noteUse()
            if entry.segments.first?.readableBytes != entry.size { Issue.record("An entry changed its content") }
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            store.invalidate(key)
        case 1:
            if let entry = held.first { store.remove(entry) }
        case 2, 3:
            guard let entry = held.last else { break }
            let label = Label(number: step, memoryCost: Int.random(in: 0..<2000, using: &random))
            if let updated = store.update(entry, metadata: label), updated.key != key {
                Issue.record("An update changed the key")
            }
        default:
            let size = 1 + Int.random(in: 0..<8000, using: &random)
            let epoch = store.epoch(for: key)
            guard store.reserve(size) else { break }
            let entry = LabelledEntry("key \(index)", number: worker, size: size)
            if store.insert(entry, replacing: held, epoch: epoch, reserved: size) { entry.markReady() }
        }
        let statistics = store.statistics
        if statistics.bytes + statistics.reserved > store.budget { Issue.record("The budget was exceeded") }
    }

    @Test("No response is admitted that an invalidation on another thread has overtaken")
    func invalidationRace() async {
        let store = LabelledStore(budget: 1 << 20, variantLimit: 1000)
        let key = StoreKey("key")
        // The version of the resource at the origin: a request sees the one of its time, a write makes the next one.
        // What is older than the last write that was made known to the store may not be stored.
        let version = Counter()
        let floor = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<3000 {
                        let epoch = store.epoch(for: key)
                        let number = version.value
                        // The request is on its way; and there may be fewer threads than tasks.
                        await Task.yield()
                        let entry = LabelledEntry("key", number: number)
                        store.insert(entry, replacing: store.entries(for: key), epoch: epoch)
                        Self.expectNothing(before: floor.value, in: store, key: key)
                    }
                }
            }
            group.addTask {
                for _ in 0..<3000 {
                    await Task.yield()
                    version.add(1)
                    store.invalidate(key)
                    floor.add(1)
                    Self.expectNothing(before: floor.value, in: store, key: key)
                }
            }
        }
        #expect(store.statistics.admitted > 0)
        store.expectConsistency()
    }

    private static func expectNothing(before floor: Int, in store: LabelledStore, key: StoreKey) {
        for entry in store.entries(for: key) where entry.metadata.number < floor {
            Issue.record("Version \(entry.metadata.number) is stored after \(floor) was written")
        }
    }

    @Test("Entries are freed outside of the locks")
    func freeing() {
        let store = ResponseStore<Probe>(budget: 40_000, shards: 1, variantLimit: 2)
        let freed = Counter()
        func probe() -> Probe {
            Probe(
                guardian: Guardian { [weak store] in
                    // Would not return, or trap, under the lock of the only shard.
                    _ = store?.entries(for: StoreKey("a"))
                    freed.add(1)
                })
        }
        func insert(_ key: String, replacing: [StoreEntry<Probe>] = []) {
            let entry = StoreEntry(key: StoreKey(key), metadata: probe(), segments: [])
            #expect(store.insert(entry, replacing: replacing, epoch: store.epoch(for: entry.key)))
        }
        for _ in 0..<5 { insert("a") }
        #expect(freed.value == 3)
        insert("a", replacing: store.entries(for: StoreKey("a")))
        #expect(freed.value == 5)
        if let entry = store.entries(for: StoreKey("a")).first {
            #expect(store.update(entry, metadata: probe()) != nil)
        }
        #expect(freed.value == 6)
        store.invalidate(StoreKey("a"))
        #expect(freed.value == 7)
        for number in 0..<200 { insert("b\(number)") }
        #expect(freed.value == 207 - store.statistics.entries)
        #expect(store.reserve(20_000))
        #expect(freed.value == 207 - store.statistics.entries)
        for number in 0..<200 {
            for entry in store.entries(for: StoreKey("b\(number)")) { store.remove(entry) }
        }
        #expect(freed.value == 207)
    }
}

private final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .sequentiallyConsistent) }

    @discardableResult
    func add(_ amount: Int) -> Int { count.add(amount, ordering: .sequentiallyConsistent).newValue }
}

/// Metadata that tells when it is freed.
private struct Probe: StoreMetadata {
    var guardian: Guardian
    var memoryCost: Int { 0 }
}

private final class Guardian: Sendable {
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
