import Basics
import CLinux
import HTTP2
import HTTPSemantics
import NIOCore
import NIOPosix

/// One HTTP/2 connection inside a decrypted tunnel: frames in and out, the limits that keep a client from costing
/// others, and a stream for each request (RFC 9113).
///
/// What one connection may do: 100 streams at a time, and 400 more that are refused before it has acknowledged that
/// limit; 5 CONTINUATION frames in a header block; in 30 s 200 resets of
/// requests under way, 200 errors of streams, 200 empty DATA frames and 5,000 frames that mean nothing here; and, while
/// it is sent nothing of a response, 200 PING and SETTINGS frames and 5,000 WINDOW_UPDATE frames and resets of streams
/// that are over. Beyond that it gets GOAWAY with ENHANCE_YOUR_CALM.
final class HTTP2Connection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let loop: LoopContext
    /// The origin of the tunnel.
    let secured: SecureAuthority?
    let address: String
    let isLocal: Bool
    var ownConnections: OwnConnections?
    let limits: ProxyLimits
    var context: ChannelHandlerContext?
    var state: HTTP2ConnectionState
    private var deadlines = HTTP2Deadlines(monotonicNanoseconds())
    var streams: [UInt32: HTTP2Stream] = [:]

    // What has been received.
    var input = ByteBuffer()
    var isInRead = false
    var decoder: HPACKReader
    var fields = FieldBlock()
    private var readIsPending = false
    /// Why the connection is closed, where the client has not done it.
    private var cutReason: String?
    /// Set from when all is done that this connection is for.
    private var ending: Ending?

    /// A connection whose last bytes are on their way.
    private struct Ending {
        /// Whether the kernel has them.
        var isWritten = false
        /// How many the client's system did not have when this was last looked at, and since when.
        var untaken = Int.max
        var since: UInt64
    }

    // What is sent.
    var output = ByteBuffer()
    /// Streams that have something to send, in turn.
    var queue = CircularBuffer<UInt32>()
    var isPumping = false

    init(loop: LoopContext, secured: SecureAuthority?, address: String, isLocal: Bool) {
        self.loop = loop
        self.secured = secured
        self.address = address
        self.isLocal = isLocal
        limits = loop.proxy.configuration.limits
        state = HTTP2ConnectionState(maxBlockBytes: limits.headerSectionBytes)
        decoder = HPACKReader(maxBytes: limits.headerSectionBytes, maxLines: limits.headerFields &+ 4)
    }

    /// Adds what speaks HTTP/2 behind the TLS handlers of a channel.
    static func install(
        on channel: any Channel, _ secured: SecureAuthority?, _ loop: LoopContext, _ address: String, _ isLocal: Bool
    ) throws {
        // A client that has closed its side is gone: nobody would read what is still to be said.
        try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
        try channel.pipeline.syncOperations.addHandler(
            HTTP2Connection(loop: loop, secured: secured, address: address, isLocal: isLocal))
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        HTTP2Settings.write(
            streams: HTTP2ConnectionState.maxStreams, headerSectionBytes: limits.headerSectionBytes, to: &output)
        writeWindowUpdate(stream: 0, state.widenWindow())
        flushOutput()
        loop.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        dropStreams()
        ownConnections = nil
        loop.remove(self)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard state.phase != .failed else { return }
        isInRead = true
        var bytes = unwrapInboundIn(data)
        if input.readableBytes == 0 {
            input = bytes
        } else {
            if input.readerIndex > 1 << 15 { input.discardReadBytes() }
            input.writeBuffer(&bytes)
        }
        parse()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isInRead = false
        flushIfNeeded()
    }

    /// A client that doesn't take what it has asked for is not read from.
    func read(context: ChannelHandlerContext) {
        if context.channel.isWritable { context.read() } else { readIsPending = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        deadlines.becameWritable(context.channel.isWritable, now: monotonicNanoseconds())
        guard context.channel.isWritable else { return }
        parse()
        flushIfNeeded()
        guard readIsPending, context.channel.isWritable else { return }
        readIsPending = false
        context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) { dropStreams() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func dropStreams() {
        state.fail()
        let streams = streams.values
        self.streams.removeAll()
        for stream in streams { stream.clientIsGone(cutReason ?? "client closed the connection") }
    }

    // MARK: Ends

    /// A rule has been broken that the connection can't go on after (RFC 9113 §5.4.1).
    func fail(_ code: HTTP2ErrorCode) {
        guard state.phase != .failed, let context else { return }
        writeGoAway(code)
        cutReason = "the client broke a rule of HTTP/2 (\(code))"
        dropStreams()
        input.clear()
        flushOutput()
        // What is still on its way here is taken in for a moment: else the kernel's reset could overtake the GOAWAY.
        loop.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(100)) { context.close(promise: nil) }
    }

    /// Frames have been read as far as they go. That is not all where the client takes nothing: then what is left may
    /// be whole frames, which are no fault of the client's.
    func noteRead(tookFrame: Bool) {
        let isInFrame = input.readableBytes > 0 && context?.channel.isWritable == true
        deadlines.read(tookFrame: tookFrame, isInFrame: isInFrame, now: monotonicNanoseconds())
    }

    func remove(_ stream: HTTP2Stream, byProxy: Bool) {
        guard streams.removeValue(forKey: stream.id) != nil else { return }
        state.closedStream(stream.id, byProxy: byProxy)
        guard streams.isEmpty else { return }
        deadlines.becameIdle(now: monotonicNanoseconds())
        closeIfDone()
    }

    /// Closes a connection that takes no more streams, and has none, behind all that was written: a channel that is
    /// closed drops what is pending.
    func closeIfDone() {
        guard streams.isEmpty, state.isLeaving, ending == nil, let context else { return }
        // Where the client alone is leaving it has not been told that none is taken.
        _ = state.stop()
        flushOutput()
        ending = Ending(since: monotonicNanoseconds())
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [weak self] _ in
            self?.ending?.isWritten = true
            self?.closeIfTaken()
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
    }

    /// Closes when the client's system has all that was sent. What the client sends to one that is closed, as it does
    /// while it reads, makes the kernel reset the connection and drop what it still had to send.
    private func closeIfTaken() {
        guard ending?.isWritten == true, untakenBytes == 0 else { return }
        context?.close(promise: nil)
    }

    /// Bytes that were written and that the client's system has not acknowledged; 0 where that can't be asked.
    private var untakenBytes: Int {
        guard let context else { return 0 }
        let pending = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
        let sent = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { linux_untaken_bytes($0) }
        return (pending ?? 0) &+ Int(max(0, sent ?? 0))
    }
}

extension HTTP2Connection: TimedConnection {
    var activity: ConnectionActivity {
        if state.phase == .failed || ending != nil { return .closing }
        return streams.isEmpty ? .idle : .active
    }

    func check(now: UInt64) {
        if let ending {
            let untaken = untakenBytes
            if untaken < ending.untaken {
                self.ending?.untaken = untaken
                self.ending?.since = now
            } else if now > ending.since, now &- ending.since > limits.silenceTimeout.clampedNanoseconds {
                return cut()
            }
            return closeIfTaken()
        }
        let action = deadlines.check(
            state, isIdle: streams.isEmpty, isInData: input.isDataFrame, patience: HTTP2Patience(limits), now: now)
        switch action {
        case .none: for stream in streams.values { stream.check(now: now) }
        case .close: cut()
        case .giveUp: cut("the client took nothing of the response")
        case .fail: fail(.enhanceYourCalm)
        case .stop: stop()
        }
    }

    /// Lets the streams that are open finish, and takes no more.
    func stop() {
        guard state.stop() else { return }
        // A client that has all that was sent to it can lose no more than the GOAWAY, and may be gone without a word:
        // it isn't waited for.
        let isDone = streams.isEmpty && output.readableBytes == 0 && untakenBytes == 0
        writeGoAway(.noError)
        flushOutput()
        if isDone { context?.close(promise: nil) } else { closeIfDone() }
    }

    func cut() { cut("the proxy stopped") }

    private func cut(_ reason: String) {
        cutReason = reason
        context?.close(promise: nil)
    }
}

extension HTTP2Connection: BatchedConnection {
    func flushIfNeeded() {
        guard !isInRead else { return }
        pump()
        flushOutput()
    }
}

extension HTTP2Patience {
    fileprivate init(_ limits: ProxyLimits) {
        self.init(
            header: limits.headerTimeout.clampedNanoseconds, silence: limits.silenceTimeout.clampedNanoseconds,
            idle: limits.idleTimeout.clampedNanoseconds)
    }
}

extension ByteBuffer {
    /// Whether these are the first bytes of a DATA frame.
    fileprivate var isDataFrame: Bool {
        getInteger(at: readerIndex &+ 3, as: UInt8.self) == HTTP2FrameKind.data.rawValue
    }
}
