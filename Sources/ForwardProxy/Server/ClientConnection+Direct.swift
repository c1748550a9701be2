import NIOCore

// What goes past the channel's queue, as long as that is empty.
extension ClientConnection {
    /// Writes a whole response in memory, past the channel's queue where that is empty.
    func writeWhole(_ response: ByteBuffer) {
        if channelMayHavePending, direct != nil, pendingBytes == 0 { channelMayHavePending = false }
        guard isInRead, !channelMayHavePending, direct?.isFull == false else { return write(.byteBuffer(response)) }
        direct?.append(response)
        needsFlush = true
    }

    /// Gives the channel what stands in front of what it is given next.
    func handOverDirect() {
        guard direct?.isEmpty == false, let context else { return }
        direct?.handOver { context.write(wrapOutboundOut(.byteBuffer($0)), promise: nil) }
        channelMayHavePending = true
    }
}
