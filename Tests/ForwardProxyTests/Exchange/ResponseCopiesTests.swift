import NIOCore
import Testing

@testable import ForwardProxy

@Suite("Copies of responses that are asked for often")
struct ResponseCopiesTests {
    private func copy(_ text: String) -> ResponseCopy {
        ResponseCopy(ByteBuffer(string: text), second: 1, tailLength: 2)
    }

    @Test("a copy is stamped for another second, and what is being sent stays")
    func stamping() {
        let copy = copy("head 1\n body")
        let sent = copy.bytes
        #expect(copy.stamp(2, ByteBuffer(string: "2\n"), at: 5))
        #expect(copy.second == 2 && String(buffer: copy.bytes) == "head 2\n body")
        #expect(String(buffer: sent) == "head 1\n body")
        #expect(!copy.stamp(3, ByteBuffer(string: "30\n"), at: 5), "of another length")
    }

    @Test("the oldest copy makes room")
    func room() {
        let copies = ResponseCopies()
        let all = (0..<2050).map { copy("\($0)") }
        for copy in all { copies.insert(copy) }
        #expect(all.map { $0.second == nil } == all.indices.map { $0 < 2 })
        #expect(all[0].bytes.readableBytes == 0 && !all[0].stamp(1, ByteBuffer(string: "2\n"), at: 0))
    }
}
