public import NIOCore

/// Joins the small writes of one flush, so that a head and its body leave in one TLS record and not in two.
public final class RecordGathering: ChannelOutboundHandler, RemovableChannelHandler {
    public typealias OutboundIn = ByteBuffer
    public typealias OutboundOut = ByteBuffer

    /// What a TLS record holds at the most (RFC 8446 §5.1).
    private static let recordSize = 16 << 10

    private var gathered = ByteBuffer()
    private var promise: EventLoopPromise<Void>?

    /// A handler for one channel, in front of which TLS is.
    public init() {}

    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = unwrapOutboundIn(data)
        if bytes.readableBytes >= RecordGathering.recordSize {
            send(context)
            context.write(wrapOutboundOut(bytes), promise: promise)
            return
        }
        if gathered.readableBytes &+ bytes.readableBytes > RecordGathering.recordSize { send(context) }
        if gathered.readableBytes == 0 {
            gathered = bytes
        } else {
            gathered.writeImmutableBuffer(bytes)
        }
        guard let promise else { return }
        if let first = self.promise { first.futureResult.cascade(to: promise) } else { self.promise = promise }
    }

    public func flush(context: ChannelHandlerContext) {
        send(context)
        context.flush()
    }

    public func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode != .input { send(context) }
        context.close(mode: mode, promise: promise)
    }

    public func handlerRemoved(context: ChannelHandlerContext) {
        promise?.fail(ChannelError.ioOnClosedChannel)
        promise = nil
    }

    private func send(_ context: ChannelHandlerContext) {
        guard gathered.readableBytes > 0 || promise != nil else { return }
        let bytes = gathered
        let promise = promise
        gathered = ByteBuffer()
        self.promise = nil
        context.write(wrapOutboundOut(bytes), promise: promise)
    }
}
