import NIOCore
import NIOEmbedded
import TLSTermination
import Testing

@Suite("Small writes in front of TLS")
struct RecordGatheringTests {
    private let channel = EmbeddedChannel(handler: RecordGathering())

    private func bytes(_ count: Int, _ byte: UInt8 = 0x61) -> ByteBuffer {
        ByteBuffer(repeating: byte, count: count)
    }

    /// The sizes of what has left.
    private func sizes() throws -> [Int] {
        var sizes: [Int] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { sizes.append(buffer.readableBytes) }
        return sizes
    }

    @Test("leave as one at a flush, in their order")
    func joined() throws {
        channel.write(ByteBuffer(string: "head "), promise: nil)
        channel.write(ByteBuffer(string: "body"), promise: nil)
        #expect(try sizes() == [])
        channel.flush()
        #expect(try channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(string: "head body"))
        channel.flush()
        #expect(try sizes() == [])
    }

    @Test("are not joined to more than a record holds")
    func bounded() throws {
        for _ in 0..<3 { channel.write(bytes(10_000), promise: nil) }
        channel.flush()
        #expect(try sizes() == [10_000, 10_000, 10_000])
        for _ in 0..<4 { channel.write(bytes(8192), promise: nil) }
        channel.flush()
        #expect(try sizes() == [16_384, 16_384])
    }

    @Test("leave before a write that fills a record by itself")
    func order() throws {
        channel.write(bytes(5), promise: nil)
        channel.write(bytes(20_000), promise: nil)
        channel.write(bytes(7), promise: nil)
        channel.flush()
        #expect(try sizes() == [5, 20_000, 7])
    }

    @Test("have their promises kept together")
    func promises() throws {
        let kept = NIOLoopBoundBox(0, eventLoop: channel.eventLoop)
        for _ in 0..<3 {
            let promise = channel.eventLoop.makePromise(of: Void.self)
            promise.futureResult.whenSuccess { kept.value += 1 }
            channel.write(bytes(1), promise: promise)
        }
        #expect(kept.value == 0)
        channel.flush()
        #expect(kept.value == 3)
        #expect(try sizes() == [3])
    }
}
