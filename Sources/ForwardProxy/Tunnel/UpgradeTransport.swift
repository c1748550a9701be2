import HTTP1
import HTTPSemantics
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// Carries an upgrade request over a connection of its own. Until a valid 101 comes, it is an exchange like any other:
/// nothing that the client sent behind its request has left. Where the origin's URL is https, the connection is TLS.
final class UpgradeTransport: OriginTransport, ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case connecting, handshaking
        /// TLS has failed, and libcurl is asked for the reason.
        case explaining
        case open, over
    }

    private let request: Request
    private let isHTTPS: Bool
    private let head: ByteBuffer
    private let loop: LoopContext
    private let clientIsLocal: Bool
    private let authority: Authority
    private var parser: ResponseParser
    /// Nil from the end on. Not weak: see ``ForwardExchange``.
    private var sink: (any OriginSink)?
    private var connecting: OriginConnection?
    private var context: ChannelHandlerContext?
    private var unacknowledged = 0
    private var readIsPending = false
    private var phase = Phase.connecting
    private var interimCount = 0
    private var silence: Scheduled<Void>?
    private var isOver: Bool { phase == .over }
    /// Takes the connection over when the protocol was switched: the 101's head, and what came behind it.
    var onSwitch: ((ResponseHead, any Channel, ByteBuffer) -> Void)?

    /// - Parameters:
    ///   - head: the request's head as it is sent, with its Upgrade and Connection fields.
    ///   - authority: where to connect.
    ///   - isHTTPS: whether TLS is spoken with it.
    init(
        request: Request, head: ByteBuffer, authority: Authority, isHTTPS: Bool, loop: LoopContext, clientIsLocal: Bool
    ) {
        self.request = request
        self.isHTTPS = isHTTPS
        self.head = head
        self.authority = authority
        self.loop = loop
        self.clientIsLocal = clientIsLocal
        parser = ResponseParser(
            respondingTo: request.head.method, limits: loop.proxy.configuration.limits.message)
    }

    func start(sink: any OriginSink) {
        self.sink = sink
        let connection = OriginConnection(loop: loop, clientIsLocal: clientIsLocal) { [self] result in
            connecting = nil
            switch result {
            case .failure(let error): end(error)
            case .success(let descriptor):
                guard !isOver else { return OriginConnection.close(descriptor) }
                if isHTTPS { secure(descriptor) } else { adopt(descriptor, [self]) }
            }
        }
        connecting = connection
        connection.connect(host: authority.host, port: authority.port, for: request.head)
    }

    private func adopt(_ descriptor: CInt, _ handlers: [any ChannelHandler]) {
        OriginConnection.adopt(descriptor, on: loop.eventLoop, handlers: handlers) { [self] opened in
            if !opened { end(.internalError) }
        }
    }

    private func secure(_ descriptor: CInt) {
        loop.proxy.originSecurity.handlers(for: authority.host, on: loop.eventLoop).whenComplete { [self] result in
            guard !isOver else { return OriginConnection.close(descriptor) }
            switch result {
            case .success(let handlers): adopt(descriptor, handlers + [self])
            case .failure(let error):
                OriginConnection.close(descriptor)
                explain("\(error)", isCertificate: false)
            }
        }
    }

    func upload(_ body: ByteBuffer) -> Bool { true }
    func endUpload(trailers: [[UInt8]]) {}

    var unacknowledgedBytes: Int? { nil }

    func lend(_ loan: OutputLoan, at position: Int) {}

    func acknowledge(_ count: Int) {
        unacknowledged = max(0, unacknowledged &- count)
        guard readIsPending, mayRead, let context else { return }
        readIsPending = false
        context.read()
    }

    func cancel() {
        phase = .over
        sink = nil
        onSwitch = nil
        silence?.cancel()
        connecting?.cancel()
        connecting = nil
        context?.close(promise: nil)
    }

    // MARK: The origin's connection

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        guard !isOver else { return context.close(promise: nil) }
        guard isHTTPS else { return sendHead(context) }
        phase = .handshaking
        silence = loop.eventLoop.assumeIsolated().scheduleTask(
            in: loop.proxy.configuration.limits.connectTimeout
        ) { [weak self] in
            guard let self else { return }
            end(.connectTimeout(authority.host))
        }
    }

    private func sendHead(_ context: ChannelHandlerContext) {
        phase = .open
        context.writeAndFlush(wrapOutboundOut(head), promise: nil)
        watchSilence()
    }

    /// Tells why there is no TLS, in libcurl's words: BoringSSL does not say what it has against a certificate, and the
    /// same fault shall read the same whatever the request was.
    private func explain(_ known: String, isCertificate: Bool) {
        guard phase == .connecting || phase == .handshaking else { return }
        phase = .explaining
        silence?.cancel()
        context?.close(promise: nil)
        let connection = OriginConnection(loop: loop, clientIsLocal: clientIsLocal) { [self] result in
            connecting = nil
            switch result {
            case .failure(let error): end(error)
            case .success(let descriptor):
                OriginConnection.close(descriptor)
                end(.tls(authority.host, known, isCertificate: isCertificate))
            }
        }
        connecting = connection
        connection.connect(host: authority.host, port: authority.port, isHTTPS: true, for: request.head)
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        watchSilence()
        var bytes = unwrapInboundIn(data)
        parser.feed(&bytes)
        loop.batch { process() }
    }

    func read(context: ChannelHandlerContext) {
        if mayRead { context.read() } else { readIsPending = true }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.handshakeCompleted) = event as? TLSUserEvent, phase == .handshaking {
            if let refusal = OriginSecurity.refusal(of: context.channel, host: authority.host) {
                return explain(refusal, isCertificate: true)
            }
            silence?.cancel()
            return sendHead(context)
        }
        guard case .some(.inputClosed) = event as? ChannelEvent else { return }
        inputEnded()
    }

    func channelInactive(context: ChannelHandlerContext) {
        inputEnded()
        self.context = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if phase == .handshaking { return explain("\(error)", isCertificate: false) }
        guard phase == .open else { return }
        // A body that ends with the connection may have been cut short by anybody, where TLS was not ended too.
        let isTruncated = error as? NIOSSLError == .uncleanShutdown
        end(.terminated(authority.description, isTruncated ? "its response is incomplete" : "reset"))
    }

    private var mayRead: Bool { unacknowledged < loop.proxy.configuration.limits.bodyBytes / 2 }

    private func inputEnded() {
        guard phase == .open else { return }
        parser.end()
        loop.batch { process() }
    }

    private func process() {
        while !isOver {
            do throws(HTTP1Error) {
                guard let event = try parser.next() else { return }
                handle(event)
            } catch {
                end(
                    error == .unexpectedEnd
                        ? .terminated(authority.description, "its response is incomplete")
                        : .originProtocol("sent a malformed response: \(error)"))
            }
        }
    }

    private func handle(_ event: ResponseEvent) {
        switch event {
        case .interimHead(let head):
            interimCount &+= 1
            guard interimCount <= OriginTransfer.interimLimit else {
                return end(.originProtocol("sent more than \(OriginTransfer.interimLimit) interim responses"))
            }
            sink?.originSentInterim(head)
        case .head(let head, _) where head.status == 101:
            guard UpgradeRequest.isAnswered(request, by: head), let context, let onSwitch else {
                return end(.originProtocol("switched protocols with a handshake that is not valid"))
            }
            phase = .over
            sink = nil
            silence?.cancel()
            self.onSwitch = nil
            onSwitch(head, context.channel, parser.takeRemaining())
        case .head(let head, _): sink?.originSentHead(head)
        case .body(let body):
            unacknowledged &+= body.readableBytes
            sink?.originSentBody(body)
        case .end(let trailers):
            if let trailers { sink?.originSentTrailers(trailers) }
            end(nil)
        }
    }

    private func end(_ failure: ProxyError?) {
        guard !isOver else { return }
        phase = .over
        silence?.cancel()
        onSwitch = nil
        let sink = sink
        self.sink = nil
        context?.close(promise: nil)
        loop.batch { sink?.originFinished(failure) }
    }

    private func watchSilence() {
        let limit = loop.proxy.configuration.limits.silenceTimeout
        silence?.cancel()
        silence = loop.eventLoop.assumeIsolated().scheduleTask(in: limit) { [weak self] in
            guard let self else { return }
            // It is the client that holds things up.
            guard mayRead else { return watchSilence() }
            end(.silent(authority.description))
        }
    }
}

extension LoopContext {
    /// Tries an upgrade; what comes of it is a tunnel, or a response like any other.
    func beginUpgrade(
        _ request: Request, asked: TargetURI, to uri: TargetURI, _ client: any ExchangeClient, _ plan: ForwardPlan,
        _ fallback: ((ProxyError) -> Void)?
    ) -> (any Exchange)? {
        let exchange = ForwardExchange(
            request: request, asked: asked, target: uri, plan: plan, client: client, fallback: fallback)
        let transport = UpgradeTransport(
            request: request, head: OriginRequest.upgradeHead(request, to: uri, identity: proxy.identity),
            authority: Authority(host: uri.host, port: uri.port), isHTTPS: uri.scheme == .https, loop: self,
            clientIsLocal: client.isLocal)
        transport.onSwitch = { [self] head, channel, rest in
            var reply = ByteBuffer()
            MessageWriter.writeStatusLine(101, to: &reply)
            let hopByHop = HopByHop(head.fields)
            MessageWriter.writeFields(of: head.fields, to: &reply) { line in
                line.name == .upgrade || (line.name != .contentLength && !hopByHop.isConnectionLevel(line))
            }
            reply.writeStaticString("Connection: Upgrade\r\n")
            reply.writeImmutableBuffer(proxy.identity.viaLine(head.version))
            reply.writeStaticString("\r\n")
            reply.writeImmutableBuffer(rest)
            relay(client, channel, toClient: reply, status: 101)
        }
        exchange.begin(transport)
        return exchange
    }
}
