import HTTP1
import HTTP1Invariants
import NIOCore
import Testing

@Suite("The decoder of the chunked coding")
struct ChunkedDecoderTests {
    @Test("gives data as slices, and leaves what follows the body")
    func slices() throws {
        var buffer = ByteBuffer(string: "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\nnext")
        let address = buffer.withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) }
        var decoder = ChunkedDecoder()
        guard case .data(let first)? = try decoder.next(&buffer), case .data(let second)? = try decoder.next(&buffer),
            case .end(nil)? = try decoder.next(&buffer)
        else {
            Issue.record("other events")
            return
        }
        #expect(first == ByteBuffer(string: "abc") && second == ByteBuffer(string: "de"))
        #expect(first.withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) } == address + 3)
        #expect(decoder.isComplete)
        #expect(try decoder.next(&buffer) == nil)
        #expect(buffer == ByteBuffer(string: "next"))
    }

    @Test("gives what there is of a chunk, and goes on with the rest")
    func partialChunk() throws {
        let (trace, left) = chunkedTrace(
            ["A", "\r\n01", "234567", "89\r", "\n0\r\nX:", " y\r\n\r", "\nz"].map { ByteBuffer(string: $0) })
        #expect(trace.body == Array("0123456789".utf8))
        #expect(trace.steps.last == .end(trailers: [TracedField(Array("X".utf8), Array("y".utf8))]))
        #expect(left == 1)
    }

    @Test("decodes one body after another, and goes on failing once it failed")
    func reset() throws {
        var decoder = ChunkedDecoder()
        for _ in 0..<2 {
            var buffer = ByteBuffer(string: "0\r\n\r\n")
            guard case .end(nil)? = try decoder.next(&buffer) else {
                Issue.record("no end")
                return
            }
            decoder.reset()
        }
        var buffer = ByteBuffer(string: "x")
        #expect(throws: HTTP1Error.invalidChunkSize) { try decoder.next(&buffer) }
        buffer = ByteBuffer(string: "0\r\n\r\n")
        #expect(throws: HTTP1Error.invalidChunkSize) { try decoder.next(&buffer) }
        decoder.reset()
        #expect(try decoder.next(&buffer) != nil)
    }
}
