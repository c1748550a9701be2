import Logging
import NIOCore

/// Stops a listener from accepting for a moment where the system has no descriptor or memory for another connection.
///
/// NIO leaves the listening socket registered after such an error, so that the event loop is woken by the connection that
/// waits, again and again; only switching automatic reading off takes the registration back.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let pause = TimeAmount.milliseconds(200)

    private let logger: Logger
    private var isPaused = false
    private var lastWarning: NIODeadline?

    init(logger: Logger) { self.logger = logger }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is IOError, !isPaused else { return context.fireErrorCaught(error) }
        isPaused = true
        let now = NIODeadline.now()
        if lastWarning.map({ now - $0 > .seconds(60) }) ?? true {
            lastWarning = now
            logger.warning("no more connections are accepted for the moment: \(error)")
        }
        let channel = context.channel
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: AcceptPause.pause) { [self] in
            isPaused = false
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}
