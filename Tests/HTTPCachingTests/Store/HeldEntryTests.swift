import Testing

@testable import HTTPCaching

@Suite("Content of the store that is being sent")
struct HeldEntryTests {
    private let store = LabelledStore(budget: 64 << 10, shards: 1, maximumEntry: 64 << 10)

    @Test("What was given up while it is being sent counts until it is let go", arguments: [1, 3])
    func lingering(holders: Int) {
        let entry = LabelledEntry("a", size: 16 << 10)
        #expect(store.insert(entry))
        for _ in 0..<holders { store.hold(entry) }
        store.remove(entry)
        #expect(!entry.isCurrent)
        for _ in 0..<holders {
            #expect(store.statistics.bytes == entry.cost)
            store.letGo(entry)
        }
        #expect(store.statistics.bytes == 0)
    }

    @Test("Letting go of what is stored still, or never was, changes nothing")
    func current() {
        let entry = LabelledEntry("a", size: 16 << 10)
        let other = LabelledEntry("b", size: 16 << 10)
        #expect(store.insert(entry))
        for held in [entry, other] {
            store.hold(held)
            store.letGo(held)
        }
        #expect(store.statistics.bytes == entry.cost)
        store.remove(entry)
        #expect(store.statistics.bytes == 0)
    }

    @Test("What is being sent leaves less room, and does not drive everything else out")
    func room() {
        let held = (0..<2).map { LabelledEntry("held\($0)", size: 16 << 10) }
        for entry in held {
            #expect(store.insert(entry))
            store.hold(entry)
            store.remove(entry)
        }
        #expect(store.insert(LabelledEntry("kept", size: 8 << 10)))
        #expect(!store.insert(LabelledEntry("large", size: 32 << 10)))
        #expect(store.numbers("kept") == [0])
        #expect(store.statistics.bytes <= store.budget)
        for entry in held { store.letGo(entry) }
        #expect(store.insert(LabelledEntry("large", size: 32 << 10)))
    }

    @Test("What was given up before it is sent counts while it is, and once", arguments: [false, true])
    func late(isHeldBefore: Bool) {
        let entry = LabelledEntry("a", size: 16 << 10)
        #expect(store.insert(entry))
        if isHeldBefore { store.hold(entry) }
        store.remove(entry)
        for _ in 0..<3 {
            store.hold(entry)
            store.hold(entry)
            #expect(store.statistics.bytes == entry.cost)
            store.letGo(entry)
            store.letGo(entry)
            #expect(store.statistics.bytes == (isHeldBefore ? entry.cost : 0))
        }
        if isHeldBefore { store.letGo(entry) }
        #expect(store.statistics.bytes == 0)
        // Nothing was given back twice: not more fits than before.
        #expect(store.insert(LabelledEntry("b", size: 32 << 10)))
        #expect(store.insert(LabelledEntry("c", size: 32 << 10)))
        #expect(store.statistics.bytes <= store.budget && store.numbers("b").isEmpty)
    }

    @Test("An entry with other metadata in its place has its content's clients too", arguments: [true, false])
    func updated(isGivenUpFirst: Bool) throws {
        let entry = LabelledEntry("a", number: 1, size: 16 << 10)
        #expect(store.insert(entry))
        store.hold(entry)
        let updated = try #require(store.update(entry, metadata: entry.metadata))
        #expect(updated.isHeld)
        if isGivenUpFirst { store.remove(updated) }
        #expect(store.statistics.bytes == updated.cost)
        store.letGo(entry)
        #expect(store.statistics.bytes == (isGivenUpFirst ? 0 : updated.cost))
        store.remove(updated)
        #expect(store.statistics.bytes == 0)
    }

    @Test("A replaced entry that is being sent counts beside its successor")
    func replaced() {
        let first = LabelledEntry("a", number: 1, size: 8 << 10)
        let second = LabelledEntry("a", number: 2, size: 8 << 10)
        #expect(store.insert(first))
        store.hold(first)
        #expect(store.insert(second, replacing: [first]))
        #expect(store.statistics.bytes == first.cost + second.cost)
        store.letGo(first)
        #expect(store.statistics.bytes == second.cost)
    }
}
