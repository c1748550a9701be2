import Testing

@testable import HTTPCaching

@Suite("Where an entry stands")
struct ResidenceTests {
    @Test("Uses are counted up to three, and taken away down to none")
    func uses() {
        let residence = Residence()
        #expect(residence.uses == 0)
        #expect(residence.spendUse() == false)
        for expected: UInt8 in [1, 2, 3, 3, 3] {
            residence.noteUse()
            #expect(residence.uses == expected)
        }
        #expect(residence.spendUse() == true)
        #expect(residence.uses == 2)
        residence.clearUses()
        #expect(residence.uses == 0)
        #expect(residence.spendUse() == false)
    }

    @Test(
        "Beginning keeps the larger count of uses",
        arguments: [(0, 0, 0), (2, 0, 2), (0, 2, 2), (1, 3, 3), (3, 1, 3), (0, 9, 3)] as [(UInt8, UInt8, UInt8)])
    func inheritance(own: UInt8, inherited: UInt8, expected: UInt8) {
        let residence = Residence()
        for _ in 0..<own { residence.noteUse() }
        residence.begin(uses: inherited)
        #expect(residence.uses == expected)
        #expect(residence.isCurrent == true)
        #expect(residence.isReady == false)
    }

    @Test("Uses, being current and the mark don't touch each other")
    func independence() {
        let residence = Residence()
        #expect(residence.markReady() == false)
        #expect(residence.isReady == true)
        #expect(residence.isCurrent == false)
        residence.begin(uses: 3)
        #expect(residence.markReady() == true)
        residence.noteUse()
        #expect(residence.isCurrent == true)
        residence.end()
        #expect(residence.isCurrent == false)
        #expect(residence.isReady == true)
        #expect(residence.uses == 3)
        #expect(residence.markReady() == false)
    }
}
