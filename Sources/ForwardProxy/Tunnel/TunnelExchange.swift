import Basics
import HTTPSemantics
import NIOCore
import NIOPosix
import Substitution

/// Serves a CONNECT request: connects, answers 200, and relays bytes untouched (RFC 9110 §9.3.6).
final class TunnelExchange: Exchange {
    private let loop: LoopContext
    /// Nil from the end of the exchange on, and not weak: see ``ForwardExchange``.
    private var client: (any ExchangeClient)?
    private var connecting: OriginConnection?

    init(client: any ExchangeClient) {
        self.client = client
        loop = client.loop
    }

    func receive(_ body: ByteBuffer) {}
    func receiveEnd(trailers: FieldSection?) {}
    func clientBecameWritable() {}

    func clientIsGone() {
        client = nil
        connecting?.cancel()
        connecting = nil
    }

    func begin(_ authority: Authority, _ head: RequestHead) {
        guard let client else { return }
        let connection = OriginConnection(loop: loop, clientIsLocal: client.isLocal) { [self] result in
            connecting = nil
            connected(result)
        }
        connecting = connection
        connection.connect(host: authority.host, port: authority.port, for: head)
    }

    private func connected(_ result: Result<CInt, ProxyError>) {
        guard let client else {
            if case .success(let descriptor) = result { OriginConnection.close(descriptor) }
            return
        }
        switch result {
        case .failure(let error):
            self.client = nil
            client.fail(error)
            client.flush()
        case .success(let descriptor):
            self.client = nil
            var reply = ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n")
            reply.writeImmutableBuffer(loop.proxy.identity.viaLine)
            reply.writeStaticString("\r\n")
            loop.relay(client, descriptor, toClient: reply, status: 200)
        }
    }
}

extension LoopContext {
    /// Answers a CONNECT request by the port policy, or begins a tunnel.
    func beginTunnel(
        _ request: Request, _ authority: Authority, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        let decision = decider.tunnel(
            to: authority.host, port: authority.port, version: request.head.version, fields: request.head.fields,
            hasBody: request.hasBody)
        switch decision {
        case .refuse(let refusal):
            client.fail(error(of: refusal, authority))
            return nil
        case .decrypt:
            let user = TurnClient.user(request.head.fields, .proxyAuthorization)
            let exchange = SecureTunnelExchange(authority, user: user, client: client)
            exchange.begin()
            return exchange
        case .relay:
            proxy.configuration.recorder?.noteTunnel(host: authority.host, port: authority.port)
            let exchange = TunnelExchange(client: client)
            exchange.begin(authority, request.head)
            return exchange
        }
    }

    /// What the client of a refused tunnel is told. A replay counts it as missed where no archive has the host, or the
    /// port is not allowed.
    private func error(of refusal: TunnelDecision.Refusal, _ authority: Authority) -> ProxyError {
        guard let replay = proxy.configuration.replay else { return refusal.error }
        switch refusal {
        case .offline:
            exchangeMetrics.archiveMisses &+= 1
            replay.noteRefusedTunnel(host: authority.host, port: authority.port)
            return .inNoArchive(.timeout, [])
        case .port:
            exchangeMetrics.archiveMisses &+= 1
            replay.noteRefusedTunnel(host: authority.host, port: authority.port, isPortAllowed: false)
            return refusal.error
        case .content, .expectation, .loop: return refusal.error
        }
    }

    /// Joins a client's connection and a connected socket to a tunnel.
    ///
    /// - Parameter toClient: what the client gets first: the head of the response that opens the tunnel.
    func relay(_ client: any ExchangeClient, _ descriptor: CInt, toClient: ByteBuffer, status: Int) {
        guard let channel = client.takeOver() else { return OriginConnection.close(descriptor) }
        let tunnel = makeTunnel(client, status, toClient)
        let sides = RelayHandler.pair(tunnel, toClient: toClient)
        add(tunnel)
        OriginConnection.adopt(descriptor, on: eventLoop, handlers: [sides.origin]) { [self] opened in
            guard opened else {
                tunnel.end()
                return channel.close(promise: nil)
            }
            join(channel, sides.client, replacing: ClientConnection.self, tunnel)
            let (unread, inputHasEnded) = client.takeUnread()
            sides.client.begin(with: unread, inputHasEnded: inputHasEnded)
        }
    }

    /// Joins a client's connection and an origin's, whose protocol was switched, to a tunnel.
    func relay(_ client: any ExchangeClient, _ origin: any Channel, toClient: ByteBuffer, status: Int) {
        guard let channel = client.takeOver() else { return origin.close(promise: nil) }
        let tunnel = makeTunnel(client, status, toClient)
        let sides = RelayHandler.pair(tunnel, toClient: toClient)
        add(tunnel)
        join(origin, sides.origin, replacing: UpgradeTransport.self, tunnel)
        join(channel, sides.client, replacing: ClientConnection.self, tunnel)
        let (unread, inputHasEnded) = client.takeUnread()
        sides.client.begin(with: unread, inputHasEnded: inputHasEnded)
    }

    private func makeTunnel(_ client: any ExchangeClient, _ status: Int, _ reply: ByteBuffer) -> Tunnel {
        var record = client.record
        client.record = nil
        record?.observed?.head(status: status, lines: reply.fieldLinesOfHead)
        let address = client.address
        return Tunnel(
            idleLimit: proxy.configuration.limits.tunnelIdleTimeout.clampedNanoseconds,
            drainLimit: ConnectionPatience.stall(proxy.configuration.limits.silenceTimeout.clampedNanoseconds),
            clock: { monotonicNanoseconds() }
        ) { [self] tunnel in
            remove(tunnel)
            record?.outcome = .tunnelled
            record?.status = status
            record?.bodyBytes = tunnel.bytesToClient
            exchangeMetrics.receivedBytes &+= UInt64(tunnel.bytesToOrigin)
            if let record { finish(record, client: address) }
        }
    }

    private func join<Old: RemovableChannelHandler>(
        _ channel: any Channel, _ side: RelayHandler, replacing old: Old.Type, _ tunnel: Tunnel
    ) {
        do {
            try channel.pipeline.syncOperations.addHandler(side)
            if let handler = try? channel.pipeline.syncOperations.handler(type: old) {
                channel.pipeline.syncOperations.removeHandler(handler, promise: nil)
            }
            channel.read()
        } catch {
            channel.close(promise: nil)
            tunnel.close()
            tunnel.end()
        }
    }
}

extension Tunnel: TimedConnection {
    var activity: ConnectionActivity { .tunnel }

    func check(now: UInt64) {
        if isExhausted(at: now) { return close() }
        guard let stop = stoppedAt, now > stop, now &- stop >= ConnectionPatience.lastRequest else { return }
        stoppedAt = nil
        if stop > lastActivity, stop &- lastActivity > ConnectionPatience.tunnelInUse { close() }
    }

    /// A tunnel that carries something goes on until the server cuts what is left. The next bytes may be on their way,
    /// as a request may be, so one that seems idle is closed a moment later.
    func stop() { stoppedAt = clockNow }

    func cut() { close() }
}
