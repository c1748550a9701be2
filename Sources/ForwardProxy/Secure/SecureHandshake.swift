import Basics
import HTTPSemantics
import NIOCore
import NIOTLS
import Substitution

/// Waits for the TLS handshake with a client, and puts the protocol that was agreed on in its place.
///
/// The handshake may take as long as a header section.
final class SecureHandshake: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let authority: Authority
    private let loop: LoopContext
    private let address: String
    private let isLocal: Bool
    private var record: ExchangeRecord?
    private var watch: HandshakeWatch?
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?

    init(_ authority: Authority, loop: LoopContext, address: String, isLocal: Bool, record: ExchangeRecord?) {
        self.authority = authority
        self.loop = loop
        self.address = address
        self.isLocal = isLocal
        self.record = record
    }

    /// Makes what stands before TLS in the pipeline while the handshake goes on.
    func makeWatch() -> HandshakeWatch {
        let watch = HandshakeWatch(
            mayAskFor: { [authority, loop] name in SecureHandshake.mayAskFor(name, authority, loop) },
            whenRefused: { [weak self] in self?.fail(.otherHost) })
        self.watch = watch
        return watch
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.add(self)
        let limit = loop.proxy.configuration.limits.headerTimeout
        timer = loop.eventLoop.assumeIsolated().scheduleTask(in: limit) { [weak self] in
            self?.fail(.timedOut)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer?.cancel()
        loop.remove(self)
    }

    /// Both the host of CONNECT and the one that the client names in TLS have to be such as are decrypted.
    private static func mayAskFor(_ name: [UInt8], _ authority: Authority, _ loop: LoopContext) -> Bool {
        let name = AuthorityText.comparable(name)
        return name.elementsEqual(authority.host.utf8)
            || loop.tunnelPolicy.intercepted.contains(
                host: String(decoding: name, as: UTF8.self), port: authority.port)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? TLSUserEvent, case .handshakeCompleted(let negotiated) = event else {
            return context.fireUserInboundEventTriggered(event)
        }
        guard let watch, watch.helloIsAccepted else { return fail(.unreadable) }
        endConnect()
        do {
            let pipeline = context.pipeline.syncOperations
            pipeline.removeHandler(watch, promise: nil)
            if negotiated == "h2" {
                try HTTP2Connection.install(on: context.channel, SecureAuthority(authority), loop, address, isLocal)
            } else {
                let connection = ClientConnection(
                    loop: loop, address: address, isLocal: isLocal, isEncrypted: true,
                    secured: SecureAuthority(authority))
                try pipeline.addHandler(connection)
            }
            pipeline.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(HandshakeFailure(error)) }

    func channelInactive(context: ChannelHandlerContext) {
        fail(.closed)
        context.fireChannelInactive()
    }

    /// What comes is exchanges of their own, so the CONNECT has neither a line in the log nor a place in the metrics.
    private func endConnect() {
        guard var record = record.take() else { return }
        record.outcome = .tunnelled
        record.status = 200
        let now = monotonicNanoseconds()
        loop.endObservation(of: record, duration: now > record.startedAt ? now &- record.startedAt : 0)
    }

    func fail(_ failure: HandshakeFailure) {
        defer { context?.close(promise: nil) }
        guard var record else { return }
        self.record = nil
        let failure = watch?.alert.map(HandshakeFailure.init(alert:)) ?? failure
        record.outcome = .failed
        record.status = 200
        record.reason = failure.phrase
        loop.finish(record, client: address)
        loop.proxy.secureTunnels.handshakeFailed(host: authority.host, failure)
    }
}

extension SecureHandshake: TimedConnection {
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
