import NIOCore
import ProxyTestKit
import Testing

@testable import HTTPCaching

@Suite("A store of many entries")
struct ResponseStoreScaleTests {
    @Test("A hundred thousand keys are found again, and leave nothing behind")
    func manyKeys() {
        let count = 100_000
        let store = LabelledStore(budget: 1 << 30)
        // One content is enough for all: it is charged to each.
        let content = ByteBuffer(repeating: 1, count: 64)
        for number in 0..<count {
            let key = StoreKey("http://example.com/\(number)")
            let entry = LabelledEntry(key: key, metadata: Label(number: number), segments: [content])
            if !store.insert(entry) { Issue.record("\(number) was refused") }
        }
        #expect(store.statistics.entries == count)
        #expect(store.statistics.evictions == 0)
        // The keys are spread evenly: a shard has some 6250.
        for shard in store.shards { #expect((5500...7000).contains(shard.read { $0.count })) }
        var found = 0
        for number in 0..<count where store.numbers("http://example.com/\(number)") == [number] { found += 1 }
        #expect(found == count)
        for number in 0..<count { store.invalidate(StoreKey("http://example.com/\(number)")) }
        #expect(store.statistics.entries == 0)
        #expect(store.statistics.bytes == 0)
    }

    @Test("The storage of what is stored stays within the budget, whatever the sizes")
    func memoryBound() {
        let budget = 4 << 20
        let store = LabelledStore(budget: budget)
        var random = SeededGenerator(seed: 1)
        for number in 0..<3000 {
            let size = Int.random(in: 0..<1 << Int.random(in: 1..<20, using: &random), using: &random)
            store.insert(LabelledEntry("\(number)", number: number, size: size))
            #expect(store.statistics.bytes <= budget)
        }
        let entries = (0..<3000).flatMap { store.entries(for: StoreKey("\($0)")) }
        let storage = entries.flatMap(\.segments).reduce(0) { $0 + $1.storageCapacity }
        #expect(storage + entries.count * LabelledEntry.overhead <= store.statistics.bytes)
        #expect(store.statistics.bytes <= budget)
        #expect(store.statistics.bytes > budget * 3 / 4)
        #expect(entries.count == store.statistics.entries)
    }
}
