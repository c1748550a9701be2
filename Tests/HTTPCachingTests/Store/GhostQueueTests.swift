import Testing

@testable import HTTPCaching

@Suite("The ghost queue")
struct GhostQueueTests {
    /// Takes hashes out of a copy; returns those that were there.
    private func members(of ghosts: GhostQueue, among hashes: ClosedRange<UInt64>) -> [UInt64] {
        var ghosts = ghosts
        return hashes.filter { ghosts.remove($0) }
    }

    @Test("The oldest leave where there are more than the limit")
    func limit() {
        var ghosts = GhostQueue()
        for hash in 1...10 as ClosedRange<UInt64> { ghosts.append(hash, limit: 4) }
        #expect(ghosts.count == 4)
        #expect(members(of: ghosts, among: 1...10) == [7, 8, 9, 10])
        ghosts.append(11, limit: 2)
        #expect(ghosts.count == 2)
        #expect(members(of: ghosts, among: 1...11) == [10, 11])
    }

    @Test("A hash that was taken out and came again has the age of its last coming")
    func again() {
        var ghosts = GhostQueue()
        ghosts.append(1, limit: 3)
        ghosts.append(2, limit: 3)
        let wasThere = ghosts.remove(1)
        let isStillThere = ghosts.remove(1)
        #expect(wasThere)
        #expect(!isStillThere)
        ghosts.append(1, limit: 3)
        ghosts.append(3, limit: 3)
        #expect(members(of: ghosts, among: 1...3) == [1, 2, 3])
        ghosts.append(4, limit: 3)
        #expect(members(of: ghosts, among: 1...4) == [1, 3, 4])
    }

    @Test("With a limit of none nothing is kept")
    func none() {
        var ghosts = GhostQueue()
        ghosts.append(1, limit: 0)
        #expect(ghosts.count == 0)
        #expect(members(of: ghosts, among: 1...1).isEmpty)
    }
}
