import NIOCore
import NIOTLS

/// Waits behind TLS in the pipeline for a client's handshake, for as long as a header section may take.
///
/// It is over once: completed, and this handler leaves the pipeline; or failed, and the connection is closed.
final class ClientHandshake: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let loop: LoopContext
    private let whenCompleted: (_ protocol: String?, _ channel: any Channel) throws -> Void
    private let whenFailed: (HandshakeFailure) -> Void
    private var isOver = false
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?

    /// - Parameters:
    ///   - whenCompleted: adds the handler of the protocol that ALPN has chosen, nil for none. What it throws is how
    ///     the handshake has failed.
    ///   - whenFailed: called before the connection is closed.
    init(
        _ loop: LoopContext, whenCompleted: @escaping (_ protocol: String?, _ channel: any Channel) throws -> Void,
        whenFailed: @escaping (HandshakeFailure) -> Void = { _ in }
    ) {
        self.loop = loop
        self.whenCompleted = whenCompleted
        self.whenFailed = whenFailed
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.add(self)
        expectEnd(in: loop.proxy.configuration.limits.headerTimeout, orElse: .timedOut)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer?.cancel()
        fail(.closed)
        loop.remove(self)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .some(.handshakeCompleted(let negotiated)) = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        do {
            try whenCompleted(negotiated, context.channel)
            isOver = true
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            fail(HandshakeFailure(inProxy: error))
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(HandshakeFailure(error)) }

    func channelInactive(context: ChannelHandlerContext) {
        fail(.closed)
        context.fireChannelInactive()
    }

    /// Leaves the pipeline: there is no handshake, and the connection goes on.
    func giveUp() {
        isOver = true
        context?.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    /// Ends the handshake, if it is not over, and closes the connection.
    func fail(_ failure: HandshakeFailure) {
        defer { context?.close(promise: nil) }
        guard !isOver else { return }
        isOver = true
        whenFailed(failure)
    }

    private func expectEnd(in limit: TimeAmount, orElse failure: HandshakeFailure) {
        timer?.cancel()
        timer = loop.eventLoop.assumeIsolated().scheduleTask(in: limit) { [weak self] in self?.fail(failure) }
    }
}

extension ClientHandshake: TimedConnection {
    var activity: ConnectionActivity { .handshake }

    func check(now: UInt64) {}
    /// The request comes behind the handshake; see ``ClientConnection/stop()``.
    func stop() { expectEnd(in: ClientConnection.lastRequestPatience, orElse: .stopped) }
    func cut() { fail(.stopped) }
}
