import Files
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
        if output.mayPass(isInRead: isInRead, isDirect: direct != nil), channel?.isActive == true {
            direct?.send(moreFollows: true) {
                context.write(wrapOutboundOut(.byteBuffer($0)), promise: nil)
                output.gaveToChannel()
            }
            if !output.channelMayHavePending, let sent = direct?.send(content, range) { left = range.dropFirst(sent) }
        }
        guard !left.isEmpty else { return output.passed() }
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
        output.wroteToChannel()
        if !isInRead { loop.flushLater(self) }
    }
}
