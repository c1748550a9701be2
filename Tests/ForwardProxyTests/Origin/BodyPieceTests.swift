import NIOCore
import Testing

@testable import ForwardProxy

@Suite("Pieces of a body on their way to an event loop")
struct BodyPieceTests {
    private static let part = [UInt8](repeating: 0x61, count: 16 << 10)

    @Test("A piece takes as much as is read at a time, and no more")
    func gathering() {
        var memory = PieceMemory()
        let piece = Self.part.withUnsafeBytes { memory.make($0) }
        for _ in 0..<3 { #expect(Self.part.withUnsafeBytes { piece.append($0) }) }
        #expect(!Self.part.withUnsafeBytes { piece.append(UnsafeRawBufferPointer(rebasing: $0[..<1])) })
        memory.complete(piece)
        #expect(piece.take() == ByteBuffer(repeating: 0x61, count: 64 << 10))
    }

    @Test("Memory is used again only once nobody has the bytes that are in it")
    func reuse() {
        var memory = PieceMemory()
        let whole = make(&memory, byte: 0x61)
        let slice = make(&memory, byte: 0x62).getSlice(at: 0, length: 1)
        let third = make(&memory, byte: 0x63)
        #expect(address(third) != address(whole))
        #expect(slice.flatMap(address) != address(third))
        #expect(whole == ByteBuffer(repeating: 0x61, count: 64 << 10))
        #expect(slice == ByteBuffer(repeating: 0x62, count: 1))
    }

    @Test("Memory that was let go of is used again")
    func letGo() {
        var memory = PieceMemory()
        let before = address(make(&memory, byte: 0x61))
        #expect(address(make(&memory, byte: 0x62)) == before)
    }

    @Test("A piece waits in little more memory than its bytes need", arguments: [1, 4096, 16 << 10, 20_000, 32 << 10])
    func cost(count: Int) {
        var memory = PieceMemory()
        let bytes = [UInt8](repeating: 0x61, count: count)
        let piece = bytes.withUnsafeBytes { memory.make($0) }
        memory.complete(piece)
        let taken = piece.take()
        #expect(taken == ByteBuffer(bytes: bytes))
        #expect(taken.storageCapacity < 2 * max(count, 16))
    }

    private func make(_ memory: inout PieceMemory, byte: UInt8) -> ByteBuffer {
        let part = [UInt8](repeating: byte, count: 16 << 10)
        let piece = part.withUnsafeBytes { memory.make($0) }
        for _ in 0..<3 { _ = part.withUnsafeBytes { piece.append($0) } }
        memory.complete(piece)
        return piece.take()
    }

    private func address(_ buffer: ByteBuffer) -> UnsafeRawPointer? {
        buffer.withUnsafeReadableBytes { $0.baseAddress }
    }
}
