import Testing

@testable import Patterns

struct CandidateSetTests {
    @Test("numbers come back in ascending order, each once")
    func order() {
        var set = CandidateSet()
        set.reset(count: 200)
        for number in [199, 0, 63, 64, 0, 130] as [UInt32] { set.insert(number) }
        set.insert(0b101, at: 1)
        var found: [Int] = []
        while let next = set.next(from: (found.last ?? -1) + 1) { found.append(next) }
        #expect(found == [0, 63, 64, 66, 130, 199])
        #expect(set.next(from: 200) == nil)
        #expect(set.next(from: 10_000) == nil)
    }

    @Test("a copy has what the other has, and a reset takes all out")
    func assign() {
        var first = CandidateSet()
        first.reset(count: 70)
        first.insert(69)
        var second = CandidateSet()
        second.assign(first)
        #expect(second.next(from: 0) == 69)
        second.reset(count: 70)
        #expect(second.next(from: 0) == nil)
        #expect(first.next(from: 0) == 69)
    }
}
