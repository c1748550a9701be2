import HTTPSemantics
public import NIOCore

/// Received bytes that are not consumed yet; the storage received is kept, and copied only to join pieces of a head.
@usableFromInline
struct InputBuffer: Sendable {
    /// Nil where there are none: all empty buffers share one storage, whose references all threads would count here.
    @usableFromInline var received: ByteBuffer?

    @inlinable var isEmpty: Bool { received == nil }

    var count: Int { received?.readableBytes ?? 0 }

    /// The bytes, from its reader index.
    var bytes: ByteBuffer {
        get { received ?? ByteBuffer() }
        _modify {
            var bytes = received.take() ?? ByteBuffer()
            defer { if bytes.readableBytes > 0 { received = bytes } }
            yield &bytes
        }
    }

    /// Calls `body` with the bytes.
    @inline(__always)
    func withBytes<Result, Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Result)
        throws(Failure) -> Result
    {
        guard let received else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        return try received.withUnsafeReadableBytes(body)
    }

    /// Takes all bytes of `buffer`.
    mutating func append(_ buffer: consuming ByteBuffer) {
        guard buffer.readableBytes > 0 else { return }
        guard var joined = received.take() else {
            received = buffer
            return
        }
        if joined.readerIndex > 0 {
            // What was read shares this storage with messages that are still in use: start anew, don't copy them.
            var anew = ByteBufferAllocator().buffer(capacity: max(1024, joined.readableBytes &+ buffer.readableBytes))
            anew.writeBuffer(&joined)
            joined = anew
        }
        joined.writeImmutableBuffer(buffer)
        received = joined
    }

    /// Takes `length` bytes from the front without copying; the slice's indices begin at 0.
    ///
    /// The storage is released with the last byte, so that it isn't shared when the next ones come.
    mutating func take(_ length: Int) -> ByteBuffer {
        guard var bytes = received.take() else { return ByteBuffer() }
        if length == bytes.readableBytes, bytes.readerIndex == 0 { return bytes }
        let slice = bytes.readSlice(length: length) ?? ByteBuffer()
        if bytes.readableBytes > 0 { received = bytes }
        return slice
    }

    /// Takes as many bytes as there are, but at most `length`.
    mutating func takeAtMost(_ length: Int) -> ByteBuffer { take(min(length, count)) }
}
