import NIOCore
import Testing

@testable import ForwardProxy

@Suite("The table of targets that were asked for last")
struct KnownTargetsTableTests {
    private func path(_ number: Int) -> String { "http://many.test/folder/\(number).js" }

    private func isKnown(_ targets: KnownTargets, _ target: String) -> Bool {
        Array(target.utf8).withUnsafeBytes { targets.find($0) != nil }
    }

    private func note(_ target: String, in targets: inout KnownTargets, place: Int = 0) {
        Array(target.utf8).withUnsafeBytes {
            targets.note($0, url: ByteBuffer(string: target), place: place, number: 1)
        }
    }

    /// Asks for targets in a random order, as a proxy does: what is not known is noted. How many were known.
    private func ask(
        _ targets: inout KnownTargets, of count: Int, times: Int, _ generator: inout some RandomNumberGenerator
    ) -> Int {
        (0..<times).count { _ in
            let target = path(Int.random(in: 0..<count, using: &generator))
            if isKnown(targets, target) { return true }
            note(target, in: &targets)
            return false
        }
    }

    @Test("a target is kept when it comes for the second time, and found by all of its bytes")
    func second() {
        var targets = KnownTargets(limit: 1 << 20)
        note("http://a.test/x", in: &targets, place: 7)
        #expect(!isKnown(targets, "http://a.test/x"))
        note("http://a.test/x", in: &targets, place: 7)
        #expect(isKnown(targets, "http://a.test/x") && targets.count == 1)
        #expect(!isKnown(targets, "http://a.test/y"))
        note("http://a.test/x", in: &targets, place: 8)
        #expect(targets.count == 1)
        #expect(Array("http://a.test/x".utf8).withUnsafeBytes { targets.find($0)?.place } == 8)
        let long = "http://a.test/" + String(repeating: "x", count: 600)
        for _ in 0..<3 { note(long, in: &targets) }
        #expect(!isKnown(targets, long))
    }

    @Test(
        "of 10,000 targets that are asked for alike, nearly all are found, most of them after eight requests for each",
        arguments: [(80_000, 9700), (300_000, 9500)])
    func many(requests: Int, found: Int) {
        var targets = KnownTargets(limit: 64 << 20)
        var generator = SystemRandomNumberGenerator()
        _ = ask(&targets, of: 10_000, times: requests, &generator)
        #expect(ask(&targets, of: 10_000, times: 10_000, &generator) > found)
    }

    @Test("they take no more memory than they may, and those that are asked for still find a place")
    func memory() {
        var targets = KnownTargets(limit: 1 << 20)
        var generator = SystemRandomNumberGenerator()
        _ = ask(&targets, of: 10_000, times: 100_000, &generator)
        #expect(targets.bytes <= 1 << 20 && targets.count > 500)
        for number in 0..<100 {
            for _ in 0..<2 { note("http://new.test/\(number)", in: &targets) }
            #expect(isKnown(targets, "http://new.test/\(number)"))
            #expect(targets.bytes <= 1 << 20)
        }
        // Targets that come once take no memory, however many they are.
        for number in 0..<100_000 { note("http://once.test/\(number)", in: &targets) }
        #expect(targets.capacity * 768 <= 1 << 20)
        var none = KnownTargets(limit: 0)
        for _ in 0..<3 { note("http://a.test/x", in: &none) }
        #expect(none.bytes == 0 && !isKnown(none, "http://a.test/x"))
    }
}
