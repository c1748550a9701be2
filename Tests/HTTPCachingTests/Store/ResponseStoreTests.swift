import Synchronization
import Testing

@testable import HTTPCaching

@Suite("The store of responses")
struct ResponseStoreTests {
    private let store = LabelledStore(budget: 1 << 20, variantLimit: 4)

    @Test("Variants of a key are handed out newest first, and of other keys none")
    func variants() {
        let entries = (0..<3).map { LabelledEntry("a", number: $0) }
        for entry in entries { #expect(store.insert(entry)) }
        store.insert(LabelledEntry("b", number: 9))
        #expect(store.numbers("a") == [2, 1, 0])
        #expect(store.numbers("b") == [9])
        #expect(store.numbers("c") == [])
        #expect(entries.map(\.isCurrent) == [true, true, true])
        #expect(store.statistics.entries == 4)
        #expect(store.statistics.bytes == 4 * LabelledEntry.cost(keyLength: 1))
        #expect(store.statistics.admitted == 4)
    }

    @Test("Of more variants than the limit the oldest go")
    func variantLimit() {
        let entries = (0..<7).map { LabelledEntry("a", number: $0) }
        for entry in entries { #expect(store.insert(entry)) }
        #expect(store.numbers("a") == [6, 5, 4, 3])
        #expect(entries.map(\.isCurrent) == [false, false, false, true, true, true, true])
        #expect(store.statistics.bytes == 4 * LabelledEntry.cost(keyLength: 1))
        #expect(store.statistics.evictions == 3)
    }

    @Test("An entry takes the place of those that it replaces, and of them only")
    func replacing() {
        let entries = (0..<3).map { LabelledEntry("a", number: $0) }
        for entry in entries { store.insert(entry) }
        let next = LabelledEntry("a", number: 3)
        #expect(store.insert(next, replacing: [entries[0], entries[2], LabelledEntry("a")]))
        #expect(store.numbers("a") == [3, 1])
        #expect(entries.map(\.isCurrent) == [false, true, false])
        #expect(store.statistics.entries == 2)
        #expect(store.statistics.evictions == 0)
    }

    @Test("What is to be replaced goes also where it has another key or the entry is not admitted")
    func replacingFails() {
        let old = LabelledEntry("a", number: 0)
        let foreign = LabelledEntry("b", number: 1)
        store.insert(old)
        store.insert(foreign)
        #expect(store.insert(LabelledEntry("a", number: 2), replacing: [foreign]))
        #expect(!foreign.isCurrent)
        #expect(!store.insert(LabelledEntry("a", number: 3, size: 1 << 17), replacing: [old]))
        #expect(!old.isCurrent)
        #expect(store.numbers("a") == [2])
        #expect(store.statistics.refused == 1)
    }

    @Test("An entry above the largest size is refused, one of just that size is not")
    func maximumEntry() {
        let entry = LabelledEntry("a")
        #expect(LabelledStore(budget: 1 << 20, maximumEntry: entry.cost).insert(entry))
        #expect(!LabelledStore(budget: 1 << 20, maximumEntry: entry.cost - 1).insert(LabelledEntry("a")))
        #expect(LabelledStore(budget: 8 * entry.cost).maximumEntry == entry.cost)
        #expect(LabelledStore(budget: 100, maximumEntry: 200).maximumEntry == 100)
    }

    @Test("A store without a budget stores nothing", arguments: [0, -1, .min])
    func noBudget(budget: Int) {
        let store = LabelledStore(budget: budget)
        #expect(!store.insert(LabelledEntry("a", size: 0)))
        #expect(!store.reserve(1))
        #expect(store.statistics.bytes == 0)
    }

    @Test("An entry that a store holds is in no second place")
    func twice() {
        let entry = LabelledEntry("a")
        #expect(store.insert(entry))
        #expect(!store.insert(entry, replacing: [entry]))
        #expect(store.entries(for: entry.key).count == 1)
        let other = LabelledStore(budget: 1 << 20)
        #expect(!other.insert(entry))
        other.remove(entry)
        #expect(entry.isCurrent)
        store.remove(entry)
        #expect(other.insert(entry))
    }

    @Test("An invalidation takes all variants and what was requested before it, and nothing else")
    func invalidation() {
        let key = StoreKey("a")
        let before = store.epoch(for: key)
        store.insert(LabelledEntry("a", number: 1))
        store.insert(LabelledEntry("a", number: 2))
        store.insert(LabelledEntry("b", number: 3))
        store.invalidate(key)
        #expect(store.numbers("a") == [])
        #expect(store.numbers("b") == [3])
        #expect(store.statistics.entries == 1)
        #expect(!store.insert(LabelledEntry("a", number: 4), epoch: before))
        #expect(store.insert(LabelledEntry("a", number: 5), epoch: store.epoch(for: key)))
        #expect(store.numbers("a") == [5])
    }

    @Test("Invalidating one key keeps few responses of other keys from being stored")
    func foreignInvalidation() {
        let keys = (0..<2000).map { StoreKey("http://example.com/\($0)") }
        let epochs = keys.map { store.epoch(for: $0) }
        store.invalidate(keys[0])
        let overtaken = zip(keys, epochs).filter { store.epoch(for: $0) != $1 }
        #expect(overtaken.count >= 1)
        #expect(overtaken.count < 40)
    }

    @Test("An update keeps content, place and uses, and there is one entry as before")
    func update() throws {
        let entries = (0..<3).map { LabelledEntry("a", number: $0, size: 100) }
        for entry in entries { store.insert(entry) }
        entries[1].noteUse()
        entries[1].noteUse()
        let updated = try #require(store.update(entries[1], metadata: Label(number: 7, memoryCost: 500)))
        #expect(store.numbers("a") == [2, 7, 0])
        #expect(updated.segments == entries[1].segments)
        #expect(updated.cost == entries[1].cost + 500)
        #expect(updated.residence.uses == 2)
        #expect(updated.isCurrent)
        #expect(!entries[1].isCurrent)
        #expect(store.statistics.bytes == entries[0].cost * 3 + 500)
        #expect(store.update(entries[1], metadata: Label(number: 8)) == nil)
        store.invalidate(updated.key)
        #expect(store.update(updated, metadata: Label(number: 8)) == nil)
        #expect(store.statistics.bytes == 0)
    }

    @Test("An update that makes an entry too large gives it up")
    func updateTooLarge() {
        let entry = LabelledEntry("a")
        store.insert(entry)
        #expect(store.update(entry, metadata: Label(number: 1, memoryCost: 1 << 20)) == nil)
        #expect(!entry.isCurrent)
        #expect(store.statistics.entries == 0)
        #expect(store.statistics.bytes == 0)
    }

    @Test("A removed entry is gone, and removing it again does nothing")
    func remove() {
        let entry = LabelledEntry("a", number: 1)
        store.insert(entry)
        store.insert(LabelledEntry("a", number: 2))
        store.remove(entry)
        store.remove(entry)
        #expect(store.numbers("a") == [2])
        #expect(store.statistics.bytes == entry.cost)
    }

    @Test("The eviction handler hears of marked entries, however they were given up, and of no others")
    func handler() {
        let heard = Mutex<[Int]>([])
        let store = store
        store.setEvictionHandler { entries in
            // A step of the store's is possible here: no lock is held.
            for entry in entries { _ = store.entries(for: entry.key) }
            heard.withLock { $0 += entries.map(\.metadata.number) }
        }
        let entries = (0..<7).map { LabelledEntry("a", number: $0) }
        for entry in entries.prefix(4) { store.insert(entry) }
        for entry in entries.prefix(3) { #expect(entry.markReady()) }
        store.insert(entries[4])
        #expect(heard.withLock { $0 } == [0])
        store.insert(entries[5], replacing: [entries[1]])
        #expect(heard.withLock { $0 } == [0, 1])
        #expect(store.update(entries[2], metadata: Label(number: 20))?.isCurrent == true)
        #expect(heard.withLock { $0 } == [0, 1, 2])
        entries[4].markReady()
        store.remove(entries[4])
        entries[5].markReady()
        store.invalidate(StoreKey("a"))
        #expect(heard.withLock { $0 } == [0, 1, 2, 4, 5])
        #expect(!entries[5].markReady())
    }

    @Test("The eviction handler is called the two-thousandth time as directly as the first time")
    func handlerStaysDirect() {
        let depths = Mutex<[UInt]>([])
        store.setEvictionHandler { _ in
            // How far the stack reaches down to here tells how many calls are in between.
            withUnsafeTemporaryAllocation(byteCount: 8, alignment: 8) { here in
                let address = UInt(bitPattern: here.baseAddress)
                depths.withLock { if $0.count < 2 { $0.append(address) } else { $0[1] = address } }
            }
        }
        for number in 0..<2000 {
            let entry = LabelledEntry("a", number: number, size: 0)
            store.insert(entry)
            entry.markReady()
            store.remove(entry)
        }
        let seen = depths.withLock { $0 }
        #expect(seen.count == 2)
        #expect(seen.first == seen.last)
    }
}
