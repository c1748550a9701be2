import NIOCore

/// A part of a response's body on its way to the event loop: what one turn of the transfer thread has brought.
///
/// libcurl gives what it has read in parts of 16 KiB, each of which would cost a buffer, an event and a write of its
/// own.
final class BodyPiece: @unchecked Sendable {
    // Unchecked: the transfer thread's until the end of its turn, and from then on the event loop's.

    fileprivate var bytes: ByteBuffer
    /// Whether its memory is to be used again.
    fileprivate let isLarge: Bool

    fileprivate init(_ bytes: ByteBuffer, isLarge: Bool) {
        self.bytes = bytes
        self.isLarge = isLarge
    }

    /// Adds bytes.
    ///
    /// - Returns: false where there is no room.
    func append(_ more: UnsafeRawBufferPointer) -> Bool {
        guard bytes.readableBytes &+ more.count <= PieceMemory.capacity else { return false }
        bytes.writeBytes(more)
        return true
    }

    func take() -> ByteBuffer {
        defer { bytes = ByteBuffer() }
        return bytes
    }
}

/// The memory of large pieces, used again once nobody else has it: fresh memory costs a page fault for each page.
///
/// Belongs to its transfer thread.
struct PieceMemory {
    static let capacity = 64 << 10
    /// As many are kept, 1 MiB in all.
    private static let most = 16
    /// As much as libcurl gives at a time (CURL_MAX_WRITE_SIZE): more may follow.
    private static let largestPart = 16 << 10

    /// Those that went to event loops, the last one last: it is the likeliest to be in the processor's cache.
    private var lent: [ByteBuffer] = []

    /// A piece with its first bytes.
    mutating func make(_ bytes: UnsafeRawBufferPointer) -> BodyPiece {
        guard bytes.count >= PieceMemory.largestPart else { return BodyPiece(ByteBuffer(bytes: bytes), isLarge: false) }
        var buffer = takeFree() ?? ByteBufferAllocator().buffer(capacity: PieceMemory.capacity)
        buffer.writeBytes(bytes)
        return BodyPiece(buffer, isLarge: true)
    }

    /// Notes that a piece goes to its event loop, in memory of its own where it is small: it may wait there for long.
    mutating func complete(_ piece: BodyPiece) {
        guard piece.isLarge else { return }
        let buffer = piece.bytes
        if buffer.readableBytes <= PieceMemory.capacity / 2 {
            piece.bytes = ByteBuffer(bytes: buffer.readableBytesView)
        }
        if lent.count == PieceMemory.most { lent.removeFirst() }
        lent.append(buffer)
    }

    private mutating func takeFree() -> ByteBuffer? {
        for index in lent.indices.reversed() {
            let cleared: Void? = lent[index].modifyIfUniquelyOwned { $0.clear() }
            if cleared != nil { return lent.remove(at: index) }
        }
        return nil
    }
}
