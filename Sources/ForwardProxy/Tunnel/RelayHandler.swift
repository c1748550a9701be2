import NIOCore

/// One side of a tunnel: what it reads, its partner writes, at the pace at which the partner's peer takes it.
///
/// Both sides are on one event loop. A side that closes its output closes the partner's output after all that came
/// before, so half-closed connections stay half-closed (RFC 9110 §9.3.6).
final class RelayHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Output { case open, draining, closed }

    private weak var partner: RelayHandler?
    private let tunnel: Tunnel
    private let isClientSide: Bool
    private var context: ChannelHandlerContext?
    private var readIsPending = false
    private var inputHasEnded = false
    private var output = Output.open
    /// Whether the whole connection closes once all that is pending has been written.
    private var closesAll = false
    /// Bytes to write before anything that is relayed.
    private var first: ByteBuffer?

    private init(tunnel: Tunnel, isClientSide: Bool, first: ByteBuffer?) {
        self.tunnel = tunnel
        self.isClientSide = isClientSide
        self.first = first
    }

    /// Makes both sides of a tunnel.
    ///
    /// - Parameter toClient: bytes that go to the client first.
    static func pair(_ tunnel: Tunnel, toClient: ByteBuffer) -> (client: RelayHandler, origin: RelayHandler) {
        let client = RelayHandler(tunnel: tunnel, isClientSide: true, first: toClient)
        let origin = RelayHandler(tunnel: tunnel, isClientSide: false, first: nil)
        client.partner = origin
        origin.partner = client
        tunnel.sides = [client, origin]
        return (client, origin)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        RelayHandler.limitReads(of: context.channel)
        // The head that opens the tunnel is none of the bytes that it carries.
        if let first, first.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(first), promise: nil) }
        first = nil
        // The partner may have been held back until this side was there to write to.
        partner?.resumeReading()
    }

    /// Goes on where another handler of this side's channel left off.
    ///
    /// - Parameters:
    ///   - unread: bytes that were read and not used.
    ///   - inputHasEnded: whether the peer has closed its side already.
    func begin(with unread: ByteBuffer, inputHasEnded: Bool) {
        if unread.readableBytes > 0 {
            partner?.write(unread)
            partner?.context?.flush()
        }
        guard inputHasEnded else { return }
        self.inputHasEnded = true
        partner?.finishOutput()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Lets a side read 64 KiB while nothing waits to be written to the other: 64 KiB each way at most.
    private static func limitReads(of channel: any Channel) {
        guard let options = channel.syncOptions else { return }
        try? options.setOption(.maxMessagesPerRead, value: 1)
        try? options.setOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 64 << 10))
        try? options.setOption(.writeBufferWaterMark, value: .init(low: 1, high: 1))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        partner?.write(unwrapInboundIn(data))
    }

    func channelReadComplete(context: ChannelHandlerContext) { partner?.context?.flush() }

    func read(context: ChannelHandlerContext) {
        if let target = partner?.context, target.channel.isWritable {
            context.read()
        } else {
            readIsPending = true
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { partner?.resumeReading() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .some(.inputClosed) = event as? ChannelEvent else { return }
        inputHasEnded = true
        partner?.finishOutput()
        if output == .closed { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        partner?.closesAll = true
        partner?.finishOutput()
        tunnel.sideClosed()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    /// Ends the tunnel on this side at once.
    func close() { context?.close(promise: nil) }

    private func write(_ bytes: ByteBuffer) {
        guard let context, output == .open else { return }
        tunnel.carried(bytes.readableBytes, toClient: isClientSide)
        context.write(wrapOutboundOut(bytes), promise: nil)
    }

    private func resumeReading() {
        guard readIsPending, let context else { return }
        readIsPending = false
        context.read()
    }

    /// Closes the output when all that is pending has been written.
    ///
    /// A channel whose input is shut down closes wholly, and drops what is pending, when its output is closed: hence
    /// the wait for an empty write.
    private func finishOutput() {
        guard let context else { return }
        switch output {
        case .open:
            output = .draining
            let written = context.eventLoop.makePromise(of: Void.self)
            written.futureResult.assumeIsolated().whenComplete { [self] _ in
                output = .closed
                finishOutput()
            }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
        case .draining: break
        case .closed:
            context.close(mode: closesAll || inputHasEnded ? .all : .output, promise: nil)
        }
    }
}

/// A tunnel between a client and an origin: what it has carried, and its end.
final class Tunnel {
    fileprivate(set) var bytesToClient = 0
    fileprivate(set) var bytesToOrigin = 0
    /// The monotonic time of the last byte either way, in nanoseconds.
    private(set) var lastActivity: UInt64
    fileprivate var sides: [RelayHandler] = []
    private var openSides = 2
    private let clock: () -> UInt64
    private var onEnd: ((Tunnel) -> Void)?

    /// How long it may carry nothing, in nanoseconds.
    let idleLimit: UInt64
    /// How long a side has for what is left, once the other is gone.
    private let drainLimit: UInt64
    /// When the first side went.
    private var leftAt: UInt64?
    /// The monotonic time at which the server stopped, until it is decided whether that closes the tunnel.
    var stoppedAt: UInt64?

    init(
        idleLimit: UInt64, drainLimit: UInt64, clock: @escaping () -> UInt64, onEnd: @escaping (Tunnel) -> Void
    ) {
        self.idleLimit = idleLimit
        self.drainLimit = drainLimit
        self.clock = clock
        self.onEnd = onEnd
        lastActivity = clock()
    }

    /// Cuts both sides.
    func close() {
        for side in sides { side.close() }
    }

    fileprivate func carried(_ count: Int, toClient: Bool) {
        if toClient { bytesToClient &+= count } else { bytesToOrigin &+= count }
        lastActivity = clock()
    }

    /// Nothing more is carried: what waits for the end is told, once.
    func end() {
        guard let onEnd else { return }
        self.onEnd = nil
        sides = []
        onEnd(self)
    }

    /// The time by the tunnel's clock.
    var clockNow: UInt64 { clock() }

    fileprivate func sideClosed() {
        openSides &-= 1
        leftAt = leftAt ?? clock()
        if openSides == 0 { end() }
    }

    /// Whether it is over by its limits of time.
    func isExhausted(at now: UInt64) -> Bool {
        if now > lastActivity, now &- lastActivity > idleLimit { return true }
        guard let leftAt else { return false }
        return now > leftAt && now &- leftAt > drainLimit
    }
}
