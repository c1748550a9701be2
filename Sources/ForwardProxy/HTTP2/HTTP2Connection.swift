import Basics
import HTTPSemantics
import NIOCore

/// One HTTP/2 connection inside a decrypted tunnel: frames in and out, the limits that keep a client from costing
/// others, and a stream for each request (RFC 9113).
///
/// What one connection may do: 100 streams at a time; 5 CONTINUATION frames in a header block; in 30 s 200 resets of
/// requests under way, 200 errors of streams, 200 empty DATA frames and 5,000 frames that mean nothing here; and, while
/// it is sent nothing of a response, 200 PING and SETTINGS frames and 5,000 WINDOW_UPDATE frames and resets of streams
/// that are over. Beyond that it gets GOAWAY with ENHANCE_YOUR_CALM.
final class HTTP2Connection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Phase {
        /// The client's preface has to come (RFC 9113 §3.4).
        case preface
        /// Then its SETTINGS.
        case settings
        case open
        /// GOAWAY has been sent for an error; what comes is thrown away until the connection is closed.
        case failed
    }

    let loop: LoopContext
    /// The origin of the tunnel.
    let secured: SecureAuthority?
    let address: String
    let isLocal: Bool
    var ownConnections: OwnConnections?
    let limits: ProxyLimits
    var context: ChannelHandlerContext?
    var phase = Phase.preface
    var streams: [UInt32: HTTP2Stream] = [:]

    // What has been received.
    var input = ByteBuffer()
    var isInRead = false
    /// When the first part of the frame came that is not complete.
    var frameSince: UInt64?
    var decoder: FieldBlockDecoder
    var fields = FieldBlock()
    var openBlock: OpenBlock?
    /// The highest stream that the client has used, and the highest that was served.
    var highestStream: UInt32 = 0
    var lastStream: UInt32 = 0
    var closedStreams = ClosedStreams()
    var receiveWindow = HTTP2Window()
    var resets = HTTP2RateLimit(200)
    var errors = HTTP2RateLimit(200)
    var controls = HTTP2RateLimit(200)
    var emptyFrames = HTTP2RateLimit(200)
    var idleFrames = HTTP2RateLimit(5000)
    var quietFrames = HTTP2RateLimit(5000)
    private var readIsPending = false
    /// Why the connection is closed, where the client has not done it.
    private var cutReason: String?

    // What is sent.
    var settings = HTTP2Settings()
    var sendWindow = HTTP2Window()
    var output = ByteBuffer()
    /// Streams that have something to send, in turn.
    var queue = CircularBuffer<UInt32>()
    var isPumping = false

    private let startedAt = monotonicNanoseconds()
    private var idleSince = monotonicNanoseconds()
    private var unwritableSince: UInt64?
    var isStopping = false
    var clientIsLeaving = false

    /// Streams at a time.
    static let maxStreams = 100
    /// What a client may send on all streams together before it is taken in: bytes.
    static let receiveWindowSize = 1 << 20

    init(loop: LoopContext, secured: SecureAuthority?, address: String, isLocal: Bool) {
        self.loop = loop
        self.secured = secured
        self.address = address
        self.isLocal = isLocal
        limits = loop.proxy.configuration.limits
        decoder = FieldBlockDecoder(maxBytes: limits.headerSectionBytes, maxLines: limits.headerFields &+ 4)
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
            streams: HTTP2Connection.maxStreams, headerSectionBytes: limits.headerSectionBytes, to: &output)
        let more = HTTP2Connection.receiveWindowSize &- HTTP2Window.initialSize
        writeWindowUpdate(stream: 0, more)
        _ = receiveWindow.grow(by: more)
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
        guard phase != .failed else { return }
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
        guard context.channel.isWritable else {
            unwritableSince = monotonicNanoseconds()
            return
        }
        unwritableSince = nil
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
        phase = .failed
        let streams = streams.values
        self.streams.removeAll()
        for stream in streams { stream.clientIsGone(cutReason ?? "client closed the connection") }
    }

    // MARK: Ends

    /// A rule has been broken that the connection can't go on after (RFC 9113 §5.4.1).
    func fail(_ code: HTTP2ErrorCode) {
        guard phase != .failed, let context else { return }
        writeGoAway(code)
        cutReason = "the client broke a rule of HTTP/2 (\(code))"
        dropStreams()
        input.clear()
        flushOutput()
        // What is still on its way here is taken in for a moment: else the kernel's reset could overtake the GOAWAY.
        loop.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(100)) { context.close(promise: nil) }
    }

    func remove(_ stream: HTTP2Stream, byProxy: Bool) {
        guard streams.removeValue(forKey: stream.id) != nil else { return }
        closedStreams.insert(stream.id, byProxy: byProxy)
        guard streams.isEmpty else { return }
        idleSince = monotonicNanoseconds()
        closeIfDone()
    }

    func closeIfDone() {
        guard streams.isEmpty, isStopping || clientIsLeaving, phase != .failed else { return }
        flushOutput()
        context?.close(promise: nil)
    }
}

extension HTTP2Connection: TimedConnection {
    var activity: ConnectionActivity {
        if phase == .failed { return .closing }
        return streams.isEmpty ? .idle : .active
    }

    func check(now: UInt64) {
        if phase != .open, now &- startedAt > limits.headerTimeout.clampedNanoseconds { return cut() }
        if let since = frameSince, !input.isDataFrame, now &- since > limits.headerTimeout.clampedNanoseconds {
            return fail(.enhanceYourCalm)
        }
        if let block = openBlock, now &- block.startedAt > limits.headerTimeout.clampedNanoseconds {
            return fail(.enhanceYourCalm)
        }
        if let since = unwritableSince, now &- since > limits.silenceTimeout.clampedNanoseconds {
            return cut("the client took nothing of the response")
        }
        if streams.isEmpty, now &- idleSince > limits.idleTimeout.clampedNanoseconds { return stop() }
        for stream in streams.values { stream.check(now: now) }
    }

    /// Lets the streams that are open finish, and takes no more.
    func stop() {
        guard !isStopping, phase != .failed else { return }
        isStopping = true
        writeGoAway(.noError)
        flushOutput()
        closeIfDone()
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

/// A header block whose CONTINUATION frames have not all come.
struct OpenBlock {
    var stream: UInt32
    var isLast: Bool
    var dependsOnItself: Bool
    var bytes: ByteBuffer
    var frames = 0
    var startedAt = monotonicNanoseconds()
}

/// The streams that were closed last, so that what was on its way to them can be told from what must not come.
struct ClosedStreams {
    private var ring: [(stream: UInt32, byProxy: Bool)] = []
    private var next = 0

    private static let capacity = 256

    mutating func insert(_ stream: UInt32, byProxy: Bool) {
        if ring.count < ClosedStreams.capacity {
            ring.append((stream, byProxy))
        } else {
            ring[next] = (stream, byProxy)
            next = (next &+ 1) % ClosedStreams.capacity
        }
    }

    /// Whether this side has closed the stream before the client had ended it; nil where it is not among the last.
    func isClosedByProxy(_ stream: UInt32) -> Bool? { ring.last { $0.stream == stream }?.byProxy }
}

extension ByteBuffer {
    /// Whether these are the first bytes of a DATA frame.
    fileprivate var isDataFrame: Bool {
        getInteger(at: readerIndex &+ 3, as: UInt8.self) == HTTP2FrameKind.data.rawValue
    }
}

extension TimeAmount {
    var clampedNanoseconds: UInt64 { UInt64(max(0, nanoseconds)) }
}
