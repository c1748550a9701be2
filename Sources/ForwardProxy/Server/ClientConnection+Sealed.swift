import NIOCore
import NIOPosix
import Substitution

extension ClientConnection {
    /// Writes content that the kernel sends by itself, past the channel's queue where nothing stands in that.
    ///
    /// What stands in front leaves with it, so that a head and its body share a packet.
    func write(_ content: SealedContent, _ range: Range<Int>) {
        guard let context else { return }
        var left = range
        if isInRead, !channelMayHavePending, channel?.isActive == true, direct != nil {
            direct?.send(moreFollows: true) {
                context.write(wrapOutboundOut(.byteBuffer($0)), promise: nil)
                channelMayHavePending = true
            }
            if !channelMayHavePending, let sent = direct?.send(content, range) { left = range.dropFirst(sent) }
        }
        guard !left.isEmpty else { return needsFlush = channelMayHavePending }
        handOverDirect()
        let handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: content.descriptor)
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { _ in
            // The content, which lives until here, closes the descriptor.
            _ = try? handle.takeDescriptorOwnership()
            withExtendedLifetime(content) {}
        }
        let region = FileRegion(fileHandle: handle, readerIndex: left.lowerBound, endIndex: left.upperBound)
        context.write(wrapOutboundOut(.fileRegion(region)), promise: written)
        channelMayHavePending = true
        needsFlush = true
        if !isInRead { loop.flushLater(self) }
    }
}
