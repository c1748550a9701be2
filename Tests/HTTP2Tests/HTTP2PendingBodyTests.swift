import NIOCore
import Testing

@testable import HTTP2

@Suite("Parts of a body that wait for their turn")
struct HTTP2PendingBodyTests {
    @Test(
        "share a frame where they are small, and are cut where they are large",
        arguments: [
            (["ab", "cd", "e"], [10], ["abcde"]), (["abcdef"], [2, 3, 5], ["ab", "cde", "f"]),
            (["ab", "cd"], [3, 3, 3], ["abc", "d", nil]), ([], [5], [nil]), (["ab"], [0, 5], [nil, "ab"]),
            (["", "ab"], [5], ["ab"]),
        ] as [([String], [Int], [String?])])
    func take(parts: [String], limits: [Int], taken: [String?]) {
        var pending = HTTP2PendingBody()
        for part in parts { pending.append(ByteBuffer(string: part)) }
        for (limit, wanted) in zip(limits, taken) {
            let bytes = pending.take(atMost: limit)
            #expect(bytes.map { String(buffer: $0) } == wanted)
        }
    }

    @Test("keep their order while others are added")
    func order() {
        var pending = HTTP2PendingBody()
        var taken = ""
        var given = ""
        for index in 0..<300 {
            given += "\(index),"
            pending.append(ByteBuffer(string: "\(index),"))
            if let bytes = pending.take(atMost: 3) { taken += String(buffer: bytes) }
        }
        while let bytes = pending.take(atMost: 100) { taken += String(buffer: bytes) }
        #expect(taken == given)
    }
}
