import NIOCore

/// Received bytes that are not consumed yet; the storage received is kept, and copied only to join pieces of a head.
struct InputBuffer: Sendable {
    /// The bytes, from its reader index.
    var bytes = ByteBuffer()

    var isEmpty: Bool { bytes.readableBytes == 0 }

    /// Takes all bytes of `buffer`, and leaves it empty.
    mutating func append(_ buffer: inout ByteBuffer) {
        if isEmpty {
            swap(&bytes, &buffer)
            buffer = ByteBuffer()
            return
        }
        defer { buffer = ByteBuffer() }
        guard buffer.readableBytes > 0 else { return }
        if bytes.readerIndex > 0 {
            // What was read shares this storage with messages that are still in use: start anew, don't copy them.
            var joined = ByteBufferAllocator().buffer(capacity: max(1024, bytes.readableBytes &+ buffer.readableBytes))
            joined.writeBuffer(&bytes)
            bytes = joined
        }
        bytes.writeBuffer(&buffer)
    }

    /// Takes `length` bytes from the front without copying; the slice's indices begin at 0.
    mutating func take(_ length: Int) -> ByteBuffer {
        let slice = bytes.readSlice(length: length) ?? ByteBuffer()
        // Let go of the storage, so that it isn't shared when the next bytes come.
        if isEmpty { bytes = ByteBuffer() }
        return slice
    }

    /// Takes as many bytes as there are, but at most `length`.
    mutating func takeAtMost(_ length: Int) -> ByteBuffer { take(min(length, bytes.readableBytes)) }
}
