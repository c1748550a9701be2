import NIOCore
import NIOHTTP2

/// One HTTP/2 connection inside a decrypted tunnel: its settings and limits, its graceful end, and a stream for each
/// request (RFC 9113).
///
/// Floods of resets, errors, control frames, empty frames and CONTINUATION are cut off by NIOHTTP2, whose limits are: 200
/// resets, stream errors or control frames in 30 s each, 5 CONTINUATION frames in a row, 100 streams at a time.
final class HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let loop: LoopContext
    private var context: ChannelHandlerContext?

    /// Adds what speaks HTTP/2 behind the TLS handlers of a channel.
    static func install(
        on channel: any Channel, _ secured: SecureAuthority, _ loop: LoopContext, _ address: String, _ isLocal: Bool
    ) throws {
        let limits = loop.proxy.configuration.limits
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 100),
            HTTP2Setting(parameter: .maxHeaderListSize, value: limits.headerSectionBytes),
            HTTP2Setting(parameter: .initialWindowSize, value: windowSize),
        ]
        connection.targetWindowSize = 4 * windowSize
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.targetWindowSize = windowSize
        stream.outboundBufferSizeHighWatermark = 64 << 10
        stream.outboundBufferSizeLowWatermark = 32 << 10
        let management = NIOHTTP2ServerConnectionManagementHandler(
            eventLoop: channel.eventLoop,
            configuration: .init(
                maxIdleTime: limits.idleTimeout, maxAge: nil, maxGraceTime: limits.shutdownGrace, keepalive: nil))
        let handler = NIOHTTP2Handler(
            mode: .server, eventLoop: channel.eventLoop, connectionConfiguration: connection,
            streamConfiguration: stream, streamDelegate: management.http2StreamDelegate
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                try stream.pipeline.syncOperations.addHandler(
                    HTTP2Stream(loop: loop, secured: secured, address: address, isLocal: isLocal))
            }
        }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(handler)
        try pipeline.addHandler(management)
        try pipeline.addHandler(HTTP2Connection(loop: loop))
    }

    /// What a client may send of a request's body before it is taken: bytes a stream.
    private static let windowSize = 64 << 10

    private init(loop: LoopContext) { self.loop = loop }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        loop.remove(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Errors of one stream end that stream; those of the connection have sent GOAWAY before they come here.
        guard !(error is NIOHTTP2Errors.StreamError) else { return }
        context.close(promise: nil)
    }
}

extension HTTP2Connection: TimedConnection {
    /// The connection's own handler looks after idle ones.
    func check(now: UInt64) {}

    func stop() { context?.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }

    func cut() { context?.close(promise: nil) }
}
