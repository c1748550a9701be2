import ProxyTestKit
import Testing

@testable import HTTPCaching

/// The store against a dictionary that forgets nothing: the store may have less, never something else.
@Suite("The store against a model")
struct ResponseStoreModelTests {
    private struct Model {
        /// Newest first.
        var variants: [Int: [Int]] = [:]
        var costs: [Int: Int] = [:]
    }

    @Test(
        "What it returns was inserted last, not replaced and not invalidated", arguments: 1...8 as ClosedRange<UInt64>)
    func contents(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let budget = 200_000
        let store = LabelledStore(budget: budget, shards: 1 << Int.random(in: 0..<5, using: &random), variantLimit: 5)
        var model = Model()
        var reserved = 0
        var epochs: [(key: Int, epoch: StoreEpoch, isOvertaken: Bool)] = []
        var hits = 0

        for number in 1...2500 {
            // Few keys are asked for often.
            let index = Int.random(in: 0..<Int.random(in: 1...200, using: &random), using: &random)
            let key = StoreKey("http://example.com/\(index)")
            let held = store.entries(for: key)
            let expected = model.variants[index] ?? []
            #expect(expected.filter { held.map(\.metadata.number).contains($0) } == held.map(\.metadata.number))
            #expect(held.count <= 5)
            #expect(held.map(\.isCurrent) == held.map { _ in true })
            for entry in held { #expect(entry.cost == model.costs[entry.metadata.number]) }
            if !held.isEmpty { hits += 1 }
            held.randomElement(using: &random)?.noteUse()

            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                store.invalidate(key)
                model.variants[index] = nil
                for position in epochs.indices where epochs[position].key == index {
                    epochs[position].isOvertaken = true
                }
            case 1:
                epochs.append((index, store.epoch(for: key), false))
            case 2:
                guard let (old, epoch, isOvertaken) = epochs.popLast() else { break }
                let entry = LabelledEntry("http://example.com/\(old)", number: number)
                let isAdmitted = store.insert(entry, epoch: epoch)
                #expect(!(isAdmitted && isOvertaken))
                guard isAdmitted else { break }
                model.variants[old, default: []].insert(number, at: 0)
                model.costs[number] = entry.cost
            case 3:
                guard let entry = held.randomElement(using: &random) else { break }
                store.remove(entry)
                #expect(!entry.isCurrent)
                model.variants[index]?.removeAll { $0 == entry.metadata.number }
            case 4:
                guard let entry = held.randomElement(using: &random) else { break }
                let label = Label(number: number, memoryCost: Int.random(in: 0..<3000, using: &random))
                let updated = store.update(entry, metadata: label)
                #expect(!entry.isCurrent)
                guard let position = expected.firstIndex(of: entry.metadata.number) else {
                    Issue.record("The model lacks \(entry.metadata.number)")
                    break
                }
                model.variants[index]?[position] = number
                model.costs[number] = updated?.cost
            case 5:
                let bytes = Int.random(in: 0..<20_000, using: &random)
                if store.reserve(bytes) { reserved += bytes }
            case 6, 7:
                let bytes = min(reserved, Int.random(in: 0..<40_000, using: &random))
                store.release(bytes)
                reserved -= bytes
            default:
                let size = 1 << Int.random(in: 0..<14, using: &random)
                let entry = LabelledEntry("http://example.com/\(index)", number: number, size: size)
                let replaced = held.filter { _ in Bool.random(using: &random) }
                #expect(store.insert(entry, replacing: replaced))
                model.variants[index]?.removeAll { number in replaced.contains { $0.metadata.number == number } }
                model.variants[index, default: []].insert(number, at: 0)
                model.costs[number] = entry.cost
                #expect(store.numbers("http://example.com/\(index)").first == number)
            }

            let statistics = store.statistics
            #expect(statistics.reserved == reserved)
            #expect(statistics.bytes + statistics.reserved <= budget)
            if number % 50 == 0 { store.expectConsistency() }
        }
        #expect(hits > 300)
        #expect(store.statistics.evictions > 100)
        for index in 0..<200 { store.invalidate(StoreKey("http://example.com/\(index)")) }
        store.release(reserved)
        #expect(store.statistics.entries == 0)
        #expect(store.statistics.bytes == 0)
        #expect(store.ledger.smallBytes == 0)
    }
}

extension ResponseStore {
    /// Expects that the accounts are what is there, while nobody changes the store.
    func expectConsistency(sourceLocation: SourceLocation = #_sourceLocation) {
        let shards = shards.map { shard in shard.read { (listed: $0.listed, queued: $0.count) } }
        #expect(shards.reduce(0) { $0 + $1.listed.cost } == statistics.bytes, sourceLocation: sourceLocation)
        #expect(shards.reduce(0) { $0 + $1.listed.count } == statistics.entries, sourceLocation: sourceLocation)
        #expect(shards.map(\.listed.count) == shards.map(\.queued), sourceLocation: sourceLocation)
    }
}
