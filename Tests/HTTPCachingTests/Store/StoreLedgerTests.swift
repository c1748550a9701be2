import Testing

@testable import HTTPCaching

@Suite("The ledger of the store")
struct StoreLedgerTests {
    @Test(
        "Bytes are held up to the limit and not one more",
        arguments: [
            ([100], [true]), ([101], [false]), ([60, 41, 40, 1], [true, false, true, false]),
            ([.max, 100, .max], [false, true, false]), ([50, -20, 70, 1], [true, true, true, false]),
        ] as [([Int], [Bool])])
    func holding(amounts: [Int], expected: [Bool]) {
        let ledger = StoreLedger(limit: 100, reservationLimit: 50)
        #expect(amounts.map { ledger.hold($0) } == expected)
    }

    @Test("What is reserved has its own limit, and no more is taken out than is in")
    func reserving() {
        let ledger = StoreLedger(limit: 100, reservationLimit: 50)
        #expect(!ledger.claim(51))
        #expect(ledger.claim(30))
        #expect(!ledger.claim(21))
        #expect(ledger.hold(30))
        #expect(ledger.statistics.reserved == 30)
        #expect(ledger.statistics.bytes == 0)
        #expect(ledger.takeReserved(-1) == 0)
        #expect(ledger.takeReserved(10) == 10)
        #expect(ledger.statistics.reserved == 20)
        #expect(ledger.statistics.bytes == 10)
        #expect(ledger.takeReserved(.max) == 20)
        #expect(ledger.takeReserved(1) == 0)
    }

    @Test(
        "Room is made in the small queue while it is over a tenth of what is stored",
        arguments: [
            (1000, 101, 0, true), (1000, 100, 0, false), (1000, 50, 50, false), (1000, 51, 50, true),
            (1000, 1, 200, true), (1000, 0, 200, false), (1000, 1, .max, true), (0, 0, 0, false),
        ] as [(Int, Int, Int, Bool)])
    func preference(stored: Int, small: Int, incoming: Int, expected: Bool) {
        let ledger = StoreLedger(limit: 1000, reservationLimit: 0)
        #expect(ledger.hold(stored))
        ledger.noteQueued(small, in: .small)
        ledger.noteQueued(stored - small, in: .main)
        #expect(ledger.prefersSmall(for: incoming) == expected)
    }
}
