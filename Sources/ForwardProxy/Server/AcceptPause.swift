import Logging
import NIOCore
import Synchronization

/// Stops a listener from accepting for a moment where the system has no descriptor or memory for another connection.
///
/// NIO leaves the listening socket registered after such an error, so that the event loop is woken by the connection
/// that waits, again and again; only switching automatic reading off takes the registration back.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel

    static let pause = TimeAmount.milliseconds(200)

    private let warnings: AcceptWarnings
    private let mayAccept: () -> Bool
    private var isPaused = false

    /// - Parameter mayAccept: whether the listener is still to accept; asked on its event loop when the pause is over.
    init(_ warnings: AcceptWarnings, mayAccept: @escaping () -> Bool) {
        self.warnings = warnings
        self.mayAccept = mayAccept
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is IOError, !isPaused else { return context.fireErrorCaught(error) }
        isPaused = true
        warnings.warn("no more connections are accepted for the moment: \(error)")
        let channel = context.channel
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(in: AcceptPause.pause) { [self] in
            isPaused = false
            // A listener that stops has switched reading off for good.
            guard mayAccept() else { return }
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}

/// Says once a minute, and no more, that something keeps listeners from accepting.
final class AcceptWarnings: Sendable {
    private let logger: Logger
    private let last = Mutex<NIODeadline?>(nil)

    init(logger: Logger) { self.logger = logger }

    func warn(_ message: @autoclosure () -> String) {
        let now = NIODeadline.now()
        let isDue = last.withLock { last in
            if let last, now - last <= .seconds(60) { return false }
            last = now
            return true
        }
        if isDue { logger.warning("\(message())") }
    }
}
