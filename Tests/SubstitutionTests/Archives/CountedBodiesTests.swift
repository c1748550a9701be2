import Substitution
import Testing

@Suite("Counts of large bodies")
struct CountedBodiesTests {
    @Test("are known of so many bodies at the most")
    func limit() {
        let bodies = CountedBodies(most: 4)
        for number in 0..<10 {
            bodies.keep([UInt8(number)], CountedBodies.Count(size: number, isRewritten: false))
            bodies.noteLarge([UInt8(number)])
        }
        #expect((0..<10).filter { bodies.count(of: [UInt8($0)]) != nil } == [8, 9])
        #expect((0..<10).filter { bodies.isLarge([UInt8($0)]) } == [8, 9])
    }
}
