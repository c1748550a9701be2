import Basics
import HTTPSemantics
import NIOCore
import NIOSSL
import Substitution
import TLSTermination

/// Serves a CONNECT request for a host that the map names: answers 200 and decrypts what follows, with a certificate
/// made for the host. No connection is made.
final class SecureTunnelExchange: Exchange {
    private let authority: Authority
    private let user: [UInt8]?
    private let loop: LoopContext
    private var client: (any ExchangeClient)?
    /// The client's, once its connection is taken over.
    private var address = ""
    private var isLocal = false
    private var record: ExchangeRecord?
    private var watch: HandshakeWatch?

    /// - Parameter user: the user's name that the request has in Proxy-Authorization; nil for none.
    init(_ authority: Authority, user: [UInt8]?, client: any ExchangeClient) {
        self.authority = authority
        self.user = user
        self.client = client
        loop = client.loop
    }

    func receive(_ body: ByteBuffer) {}
    func receiveEnd(trailers: FieldSection?) {}
    func clientBecameWritable() {}
    func clientIsGone() { client = nil }

    func begin() {
        let name = authority.host.hasPrefix("[") ? String(authority.host.dropFirst().dropLast()) : authority.host
        let context = loop.proxy.secureTunnels.context(for: name, on: loop.eventLoop)
        context.assumeIsolated().whenComplete { [self] result in
            guard let client else { return }
            self.client = nil
            switch result {
            case .success(let context): decrypt(client, context)
            case .failure(let error):
                client.fail(error as? ProxyError ?? .internalError)
                client.flush()
            }
        }
    }

    private func decrypt(_ client: any ExchangeClient, _ context: NIOSSLContext) {
        guard let channel = client.takeOver() else { return }
        address = client.address
        isLocal = client.isLocal
        record = client.record
        client.record = nil
        var reply = ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n")
        reply.writeImmutableBuffer(loop.proxy.identity.viaLine)
        reply.writeStaticString("\r\n")
        record?.observed?.head(status: 200, lines: reply.fieldLinesOfHead)
        channel.writeAndFlush(reply, promise: nil)
        let handshake = ClientHandshake(
            loop, whenCompleted: { [self] in try completed($0, on: $1) }, whenFailed: { [self] in failed($0) })
        do {
            let pipeline = channel.pipeline.syncOperations
            let connection = try pipeline.handler(type: ClientConnection.self)
            let tls = NIOSSLServerHandler(context: context)
            let gathering = RecordGathering()
            let watch = HandshakeWatch(
                mayAskFor: { [authority, loop] name in SecureTunnelExchange.mayAskFor(name, authority, loop) },
                whenRefused: { [weak handshake] in handshake?.fail(.otherHost) },
                whenInTheClear: { [weak self, weak handshake, weak tls, weak gathering] bytes in
                    guard let handshake, let tls, let gathering else { return }
                    self?.serveInTheClear(bytes, on: channel, handshake, tls, gathering)
                })
            self.watch = watch
            try pipeline.addHandlers([watch, tls, gathering, handshake])
            pipeline.removeHandler(connection, promise: nil)
            let (unread, inputHasEnded) = client.takeUnread()
            guard !inputHasEnded else { return channel.close(promise: nil) }
            if unread.readableBytes > 0 {
                // Read by the watch and not by the pipeline's first handler, which may be TLS with the proxy itself.
                let context = try pipeline.context(handler: watch)
                watch.channelRead(context: context, data: NIOAny(unread))
                context.fireChannelReadComplete()
            }
            channel.read()
        } catch {
            handshake.fail(HandshakeFailure(inProxy: error))
            channel.close(promise: nil)
        }
    }

    /// Whether a client of the tunnel may name this host in TLS: that of CONNECT, or another whose tunnels are
    /// decrypted.
    private static func mayAskFor(_ name: [UInt8], _ authority: Authority, _ loop: LoopContext) -> Bool {
        let name = AuthorityText.comparable(name)
        return name.elementsEqual(authority.host.utf8)
            || loop.tunnelPolicy.intercepted.contains(
                host: String(decoding: name, as: UTF8.self), port: authority.port)
    }

    /// Puts the protocol that was agreed on in the place of the handshake.
    private func completed(_ negotiated: String?, on channel: any Channel) throws {
        guard let watch, watch.helloIsAccepted else { throw HandshakeFailure.unreadable }
        let pipeline = channel.pipeline.syncOperations
        pipeline.removeHandler(watch, promise: nil)
        let secured = SecureAuthority(authority, user: user)
        if negotiated == "h2" {
            try HTTP2Connection.install(on: channel, secured, loop, address, isLocal)
        } else {
            let connection = ClientConnection(
                loop: loop, address: address, isLocal: isLocal, isEncrypted: true, secured: secured)
            try pipeline.addHandler(connection)
        }
        endConnect()
    }

    /// Serves a client that speaks HTTP without TLS in its tunnel, as browsers do for `ws:` URLs.
    private func serveInTheClear(
        _ bytes: ByteBuffer, on channel: any Channel, _ handshake: ClientHandshake, _ tls: NIOSSLServerHandler,
        _ gathering: RecordGathering
    ) {
        let pipeline = channel.pipeline.syncOperations
        let connection = ClientConnection(
            loop: loop, address: address, isLocal: isLocal, isEncrypted: true,
            secured: SecureAuthority(authority, user: user, scheme: .http))
        do {
            try pipeline.addHandler(connection)
            handshake.giveUp()
            pipeline.removeHandler(gathering, promise: nil)
            pipeline.removeHandler(tls, promise: nil)
            if let watch { pipeline.removeHandler(watch, promise: nil) }
            watch = nil
            endConnect()
            let context = try pipeline.context(handler: connection)
            connection.channelRead(context: context, data: NIOAny(bytes))
            connection.channelReadComplete(context: context)
        } catch {
            handshake.fail(HandshakeFailure(inProxy: error))
            channel.close(promise: nil)
        }
    }

    /// Ends the CONNECT for its observers alone: the requests in the tunnel are exchanges of their own, so it has
    /// neither a line in the log nor a place in the metrics.
    private func endConnect() {
        guard var record = record.take() else { return }
        record.outcome = .tunnelled
        record.status = 200
        let now = monotonicNanoseconds()
        loop.endObservation(of: record, duration: now > record.startedAt ? now &- record.startedAt : 0)
    }

    private func failed(_ failure: HandshakeFailure) {
        let failure = watch?.alert.map(HandshakeFailure.init(alert:)) ?? failure
        if var record = record.take() {
            record.outcome = .failed
            record.status = 200
            record.reason = failure.phrase
            loop.finish(record, client: address)
        }
        loop.proxy.secureTunnels.handshakeFailed(host: authority.host, failure)
    }
}
