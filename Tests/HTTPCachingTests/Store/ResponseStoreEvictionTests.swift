import ProxyTestKit
import Testing

@testable import HTTPCaching

@Suite("Eviction from the store")
struct ResponseStoreEvictionTests {
    private static let cost = LabelledEntry.cost(keyLength: 6)

    /// A key of six bytes.
    private func name(_ number: Int) -> String { String(100_000 + number) }

    /// Looks a key up like a proxy: a hit is a use, after a miss the response is stored.
    private func request(_ number: Int, from store: LabelledStore) -> Bool {
        let key = StoreKey(name(number))
        if let entry = store.entries(for: key).first {
            entry.noteUse()
            return true
        }
        store.insert(LabelledEntry(name(number), number: number))
        return false
    }

    private func stored(in store: LabelledStore, of numbers: some Sequence<Int>) -> [Int] {
        numbers.filter { !store.numbers(name($0)).isEmpty }
    }

    @Test("What was never used leaves in the order of its coming", arguments: [1, 2, 16, 256])
    func order(shards: Int) {
        let store = LabelledStore(budget: 100 * Self.cost, shards: shards)
        #expect(store.shards.count == shards)
        for number in 0..<250 {
            #expect(store.insert(LabelledEntry(name(number), number: number)))
            #expect(stored(in: store, of: 0...number) == Array(max(0, number - 99)...number))
        }
        #expect(store.statistics.bytes == 100 * Self.cost)
        #expect(store.statistics.evictions == 150)
    }

    @Test("The number of shards makes no difference to what is kept", arguments: 1...2 as ClosedRange<UInt64>)
    func shardsAreOne(seed: UInt64) {
        var kept: [[Int]] = []
        for shards in [1, 8, 64] {
            var random = SeededGenerator(seed: seed)
            let store = LabelledStore(budget: 300 * Self.cost, shards: shards)
            for number in 0..<2000 {
                store.insert(LabelledEntry(name(number), size: 1 << Int.random(in: 0..<12, using: &random)))
                for _ in 0..<3 {
                    let used = number - Int.random(in: 0..<400, using: &random)
                    store.entries(for: StoreKey(name(used))).first?.noteUse()
                }
            }
            kept.append(stored(in: store, of: 0..<2000))
        }
        #expect(kept[0].count > 50)
        #expect(kept[1] == kept[0])
        #expect(kept[2] == kept[0])
    }

    @Test(
        "A working set survives a scan of things that are asked for once",
        arguments: [(1, 250), (16, 250), (256, 1000)])
    func scanResistance(shards: Int, capacity: Int) {
        let store = LabelledStore(budget: capacity * Self.cost, shards: shards)
        for _ in 0..<3 { for number in 0..<200 { _ = request(number, from: store) } }
        var hits = 0
        for step in 0..<10_000 {
            _ = request(1000 + step, from: store)
            if request(step % 200, from: store) { hits += 1 }
        }
        #expect(hits >= 9900)
        #expect(store.statistics.evictions >= 10_200 - capacity)
    }

    @Test("A scan of things as large as they may be leaves the most of the working set too")
    func scanOfLargeThings() {
        let store = LabelledStore(budget: 1000 * Self.cost)
        for _ in 0..<3 { for number in 0..<700 { _ = request(number, from: store) } }
        for number in 0..<200 {
            #expect(store.insert(LabelledEntry(name(2000 + number), size: 1 << 16)))
        }
        #expect(stored(in: store, of: 0..<700).count >= 650)
    }

    @Test("A key that returns soon after its eviction is kept through the next scan")
    func ghosts() {
        let store = LabelledStore(budget: 100 * Self.cost)
        for number in 0..<100 { _ = request(number, from: store) }
        for number in 100..<105 { _ = request(number, from: store) }
        #expect(stored(in: store, of: 0..<5) == [])
        for number in 0..<5 { #expect(!request(number, from: store)) }
        for number in 200..<1000 { _ = request(number, from: store) }
        #expect(stored(in: store, of: 0..<5) == [0, 1, 2, 3, 4])
    }

    @Test("The ghosts are never more than their bound")
    func ghostBound() {
        let store = LabelledStore(budget: 2000 * Self.cost, shards: 2)
        for number in 0..<8000 { _ = request(number, from: store) }
        let counts = store.shards.map { shard in shard.read { ($0.ghostCount, $0.ghostLimit) } }
        for (count, limit) in counts {
            #expect(limit == 2000 * Self.cost / 4096 / 2)
            #expect(count == limit)
        }
    }

    @Test("Uses and queue pass from an entry to the one that replaces it")
    func inheritance() {
        let store = LabelledStore(budget: 100 * Self.cost)
        for _ in 0..<2 { for number in 0..<10 { _ = request(number, from: store) } }
        for number in 0..<10 {
            let old = store.entries(for: StoreKey(name(number)))
            #expect(store.insert(LabelledEntry(name(number), number: 5000 + number), replacing: old))
        }
        for number in 100..<1000 { _ = request(number, from: store) }
        // In the main queue by now: replaced there, they stay without having been used again.
        for number in 0..<10 {
            let old = store.entries(for: StoreKey(name(number)))
            #expect(old.map(\.metadata.number) == [5000 + number])
            #expect(store.insert(LabelledEntry(name(number), number: 6000 + number), replacing: old))
        }
        for number in 1000..<2000 { _ = request(number, from: store) }
        for number in 0..<10 { #expect(store.numbers(name(number)) == [6000 + number]) }
    }

    @Test("Where all entries are used all the time, room is made all the same")
    func allUsed() {
        let store = LabelledStore(budget: 400 * Self.cost)
        for number in 0..<1000 {
            #expect(store.insert(LabelledEntry(name(number))))
            for used in stride(from: number % 7, through: number, by: 7) {
                store.entries(for: StoreKey(name(used))).first?.noteUse()
            }
        }
        #expect(store.statistics.entries == 400)
        #expect(store.statistics.evictions == 600)
    }

    @Test("One eviction spares 128 used entries and no more")
    func spareLimit() {
        let store = LabelledStore(budget: 200 * Self.cost)
        for _ in 0..<2 { for number in 0..<200 { _ = request(number, from: store) } }
        store.insert(LabelledEntry(name(200)))
        #expect(stored(in: store, of: 0...200) == Array(0..<128) + Array(129...200))
        #expect(store.statistics.evictions == 1)
    }

    @Test("What is reserved counts like what is stored, up to its own limit")
    func reservation() {
        let store = LabelledStore(budget: 100 * Self.cost)
        for number in 0..<100 { _ = request(number, from: store) }
        #expect(store.reserve(0))
        #expect(store.reserve(-5))
        #expect(store.reserve(20 * Self.cost))
        #expect(store.statistics.entries == 80)
        #expect(store.statistics.reserved == 20 * Self.cost)
        #expect(store.statistics.bytes == 80 * Self.cost)
        #expect(!store.reserve(30 * Self.cost + 1))
        #expect(!store.reserve(.max))
        #expect(store.statistics.entries == 80)
        #expect(store.reserve(30 * Self.cost))
        for number in 100..<200 { _ = request(number, from: store) }
        #expect(store.statistics.entries == 50)
        store.release(50 * Self.cost)
        store.release(50 * Self.cost)
        #expect(store.statistics.reserved == 0)
        for number in 200..<300 { _ = request(number, from: store) }
        #expect(store.statistics.entries == 100)
    }

    @Test("An insertion takes over what was reserved for it, also where it is refused")
    func takingOver() {
        let store = LabelledStore(budget: 100 * Self.cost)
        #expect(store.reserve(10 * Self.cost))
        let entry = LabelledEntry(name(0))
        let epoch = store.epoch(for: entry.key)
        #expect(store.insert(entry, epoch: epoch, reserved: 4 * Self.cost))
        #expect(store.statistics.bytes == Self.cost)
        #expect(store.statistics.reserved == 6 * Self.cost)
        store.invalidate(entry.key)
        #expect(!store.insert(LabelledEntry(name(0)), epoch: epoch, reserved: 6 * Self.cost))
        #expect(store.statistics.bytes == 0)
        #expect(store.statistics.reserved == 0)
    }

    @Test("Nothing is evicted for what would not fit into an empty store")
    func hopeless() {
        let store = LabelledStore(
            budget: 100 * Self.cost, maximumEntry: 100 * Self.cost, reservationLimit: 90 * Self.cost)
        #expect(store.reserve(90 * Self.cost))
        for number in 0..<10 { _ = request(number, from: store) }
        #expect(!store.insert(LabelledEntry(name(50), size: 16 * Self.cost)))
        #expect(store.statistics.entries == 10)
        #expect(store.statistics.refused == 1)
    }

    @Test("An update that needs room makes it, and loses at most itself")
    func updateUnderPressure() {
        let store = LabelledStore(budget: 100 * Self.cost)
        for number in 0..<100 { _ = request(number, from: store) }
        for number in 0..<100 {
            guard let entry = store.entries(for: StoreKey(name(number))).first else { continue }
            let updated = store.update(entry, metadata: Label(number: number, memoryCost: 3 * Self.cost))
            #expect(!entry.isCurrent)
            #expect(updated?.isCurrent != false)
            #expect(store.statistics.bytes <= 100 * Self.cost)
        }
        #expect(store.statistics.entries == 25)
    }
}
