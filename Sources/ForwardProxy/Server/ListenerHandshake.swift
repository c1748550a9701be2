import NIOCore
import NIOSSL
import NIOTLS
import TLSTermination

/// Waits for the TLS handshake of a client with an https listener; HTTP/1.1 begins behind it.
///
/// The handshake may take as long as a header section.
final class ListenerHandshake: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let connection: ClientConnection
    private let loop: LoopContext
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?

    private init(_ connection: ClientConnection) {
        self.connection = connection
        loop = connection.loop
    }

    /// Puts TLS in front of a client's connection.
    static func install(_ connection: ClientConnection, _ identity: ListenerIdentity, on channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandlers([
            NIOSSLServerHandler(context: identity.context), RecordGathering(), ListenerHandshake(connection),
        ])
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.add(self)
        let limit = loop.proxy.configuration.limits.headerTimeout
        timer = loop.eventLoop.assumeIsolated().scheduleTask(in: limit) { [weak self] in self?.cut() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer?.cancel()
        loop.remove(self)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .some(.handshakeCompleted) = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        do {
            try context.pipeline.syncOperations.addHandler(connection)
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

extension ListenerHandshake: TimedConnection {
    var activity: ConnectionActivity { .handshake }

    func check(now: UInt64) {}
    /// The request comes behind the handshake; see ``ClientConnection/stop()``.
    func stop() {
        timer?.cancel()
        let limit = ClientConnection.lastRequestPatience
        timer = loop.eventLoop.assumeIsolated().scheduleTask(in: limit) { [weak self] in self?.cut() }
    }
    func cut() { context?.close(promise: nil) }
}
