import Files
import Glibc
import NIOCore
import NIOPosix
import Substitution

/// Sends whole responses to a client's socket past the channel's queue, as long as nothing stands in that.
///
/// The way through the pipeline and its queue of pending writes costs a small response more than the system call that
/// sends it. What the socket doesn't take at once is the channel's to send, with all that comes behind it.
struct DirectOutput {
    private let descriptor: NIOBSDSocket.Handle
    /// What is to be sent; in nearly all cases it is one response, or its head and its body.
    private var first: ByteBuffer?
    private var second: ByteBuffer?
    private var others: [ByteBuffer] = []

    /// Buffers that may wait for the end of a read; Linux takes 1024 a call (IOV_MAX).
    private static let capacity = 256

    /// Nil where the channel has no socket of its own, as one that is embedded in a test.
    init?(_ context: ChannelHandlerContext) {
        let handle = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { $0 }
        guard let handle, handle >= 0 else { return nil }
        descriptor = handle
    }

    /// A duplicate of the descriptor; nil where there are no more.
    func duplicate() -> CInt? {
        let duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        return duplicate >= 0 ? duplicate : nil
    }

    var isEmpty: Bool { first == nil }
    var isFull: Bool { others.count >= DirectOutput.capacity }

    mutating func append(_ buffer: ByteBuffer) {
        if first == nil {
            first = buffer
        } else if second == nil {
            second = buffer
        } else {
            others.append(buffer)
        }
    }

    /// Sends what was appended, and gives what was not taken to `rest`, in order.
    ///
    /// The channel must be active: a descriptor that is closed may be somebody else's by now.
    ///
    /// - Parameter moreFollows: whether the last packet may wait for what is sent next.
    @inline(__always)
    mutating func send(moreFollows: Bool = false, _ rest: (ByteBuffer) -> Void) {
        guard let buffer = first.take() else { return }
        let flags = flags | (moreFollows ? CInt(MSG_MORE) : 0)
        if let body = second.take() {
            guard others.isEmpty else { return send([buffer, body] + others, flags, rest) }
            var sent = DirectOutput.send(buffer, body, on: descriptor, flags)
            if sent < buffer.readableBytes { give(buffer, behind: sent, rest) }
            sent = max(0, sent &- buffer.readableBytes)
            if sent < body.readableBytes { give(body, behind: sent, rest) }
            return
        }
        let sent = buffer.withUnsafeReadableBytes { max(0, Glibc.send(descriptor, $0.baseAddress, $0.count, flags)) }
        if sent < buffer.readableBytes { give(buffer, behind: sent, rest) }
    }

    /// Sends content that the kernel sends by itself; all that was appended has been sent.
    ///
    /// - Returns: bytes that the socket took; none where it failed.
    func send(_ content: SealedContent, _ range: Range<Int>) -> Int {
        var offset = off_t(range.lowerBound)
        return min(range.count, max(0, sendfile(descriptor, content.descriptor, &offset, range.count)))
    }

    /// Gives all that was appended to `rest`, in order.
    mutating func handOver(_ rest: (ByteBuffer) -> Void) {
        if let buffer = first.take() { rest(buffer) }
        if let buffer = second.take() { rest(buffer) }
        guard !others.isEmpty else { return }
        for buffer in others { rest(buffer) }
        others = []
    }

    private var flags: CInt { CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL) }

    private mutating func send(_ buffers: [ByteBuffer], _ flags: CInt, _ rest: (ByteBuffer) -> Void) {
        others = []
        var sent = sendAll(buffers, flags)
        for buffer in buffers {
            if sent >= buffer.readableBytes {
                sent &-= buffer.readableBytes
            } else {
                give(buffer, behind: sent, rest)
                sent = 0
            }
        }
    }

    private func give(_ buffer: ByteBuffer, behind sent: Int, _ rest: (ByteBuffer) -> Void) {
        buffer.getSlice(at: buffer.readerIndex &+ sent, length: buffer.readableBytes &- sent).map(rest)
    }

    /// Bytes that the socket took of two buffers, as ``sendAll(_:_:)``.
    private static func send(
        _ head: ByteBuffer, _ body: ByteBuffer, on descriptor: CInt, _ flags: CInt
    ) -> Int {
        head.withUnsafeReadableBytes { head in
            body.withUnsafeReadableBytes { body in
                withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { vectors in
                    vectors.initializeElement(
                        at: 0,
                        to: iovec(iov_base: UnsafeMutableRawPointer(mutating: head.baseAddress), iov_len: head.count))
                    vectors.initializeElement(
                        at: 1,
                        to: iovec(iov_base: UnsafeMutableRawPointer(mutating: body.baseAddress), iov_len: body.count))
                    var message = msghdr()
                    message.msg_iov = vectors.baseAddress
                    message.msg_iovlen = 2
                    return max(0, sendmsg(descriptor, &message, flags))
                }
            }
        }
    }

    /// Bytes that the socket took; none where it failed, since the channel meets the same error and knows what to do.
    private func sendAll(_ buffers: [ByteBuffer], _ flags: CInt) -> Int {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: buffers.count) { vectors in
            for (index, buffer) in buffers.enumerated() {
                // The storage outlives the call: `buffers` holds it.
                buffer.withUnsafeReadableBytes {
                    vectors.initializeElement(
                        at: index,
                        to: iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count))
                }
            }
            var message = msghdr()
            message.msg_iov = vectors.baseAddress
            message.msg_iovlen = buffers.count
            return max(0, sendmsg(descriptor, &message, flags))
        }
    }
}

// What goes past the channel's queue, as long as that is empty.
extension ClientConnection {
    /// Writes a whole response in memory, past the channel's queue where that is empty.
    func writeWhole(_ response: ByteBuffer) {
        guard output.mayPass(isInRead: isInRead, isDirect: direct != nil, pending: pendingBytes),
            direct?.isFull == false
        else { return write(.byteBuffer(response)) }
        direct?.append(response)
        output.gaveDirectly()
    }

    /// Gives the channel what stands in front of what it is given next.
    func handOverDirect() {
        guard direct?.isEmpty == false, let context else { return }
        direct?.handOver { context.write(wrapOutboundOut(.byteBuffer($0)), promise: nil) }
        output.gaveToChannel()
    }
}
