import Basics
import HTTP1
import HTTPSemantics
import NIOCore
import NIOPosix

/// One HTTP/1 connection from a client: it feeds the parser, performs what ``ConnectionState`` says, and is the
/// client's side of the exchange under way. Decisions are the dispatcher's.
final class ClientConnection: ChannelDuplexHandler, RemovableChannelHandler, BatchedConnection {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = IOData

    let loop: LoopContext
    let address: String
    let isLocal: Bool
    /// The origin of a decrypted tunnel; nil for a connection to the proxy itself.
    let secured: SecureAuthority?
    let isEncrypted: Bool
    var record: ExchangeRecord?
    var ownConnections: OwnConnections?
    /// Made at first need, which most connections never have.
    private(set) lazy var owner = channel.map { ClientOwner($0) }
    var state = ConnectionState()
    var parser: RequestParser
    var exchange: (any Exchange)?
    var resumption = Resumption()
    var context: ChannelHandlerContext?
    var underWay = RequestUnderWay()
    /// The header section of the request under way, for an error page.
    var requestFields: FieldSection?
    var output = ClientOutput()
    /// The straight way to the socket; nil where TLS or a test stands between.
    var direct: DirectOutput?
    private var deadlines = ConnectionDeadlines()
    private let patience: ConnectionPatience
    var isInRead = false
    var isProcessing = false
    var channel: (any Channel)?
    private var readIsPending = false

    init(loop: LoopContext, address: String, isLocal: Bool, isEncrypted: Bool, secured: SecureAuthority? = nil) {
        self.loop = loop
        self.isEncrypted = isEncrypted
        self.secured = secured
        self.address = address
        self.isLocal = isLocal
        let limits = loop.proxy.configuration.limits
        parser = RequestParser(limits: limits.message)
        patience = ConnectionPatience(
            idle: limits.idleTimeout.clampedNanoseconds, head: limits.headerTimeout.clampedNanoseconds,
            silence: limits.silenceTimeout.clampedNanoseconds)
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        channel = context.channel
        if !isEncrypted { direct = DirectOutput(context) }
        expect(.request)
        loop.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        channel = nil
        direct = nil
        ownConnections = nil
        loop.remove(self)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard state.phase != .lingering, state.phase != .closed else { return }
        isInRead = true
        parser.feed(unwrapInboundIn(data))
        if deadlines.wait == .body || deadlines.wait == .rest { expect(deadlines.wait) }
        process()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isInRead = false
        flushIfNeeded()
        // What the channel would ask for next anyway, on the way through the whole pipeline.
        if !isEncrypted, wantsBytes { context.read() }
    }

    func read(context: ChannelHandlerContext) {
        if wantsBytes {
            context.read()
        } else {
            readIsPending = true
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .some(.inputClosed) = event as? ChannelEvent else { return }
        let wasInExchange = exchange != nil
        let action = state.inputEnded(requestsWait: isHeldBack)
        // Where the output is being finished already, its end closes the rest; where it is, this does.
        if output.isFinished || deadlines.wait != .closing { perform(output.isFinished ? .abort : action) }
        if wasInExchange, exchange != nil {
            // A client that has gone looks like one that has only closed its output: it is asked, see `check`.
            deadlines.inputEnded(now: monotonicNanoseconds())
            process()
            if case .exchange(requestIsComplete: false, _) = state.phase { truncatedRequest() }
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        exchange?.clientBecameWritable()
        process()
        resumeReading()
    }

    /// Whether the next request has to wait until the client has taken more of the responses before it: else one that
    /// only asks would have answers pile up here.
    private var isHeldBack: Bool { output.channelMayHavePending && state.isIdle && !isWritable }

    private var wantsBytes: Bool {
        (state.wantsBytes(bodyIsWanted: underWay.bodyIsWanted) || mayReadAhead) && !isHeldBack
    }

    /// Whether a next request may be read once, and kept, while this one is answered: not to read costs two calls of
    /// epoll_ctl(2) an exchange.
    private var mayReadAhead: Bool {
        guard case .exchange(requestIsComplete: true, _) = state.phase else { return false }
        return !parser.hasBufferedBytes && underWay.letsReadAhead(requestFields)
    }

    func channelInactive(context: ChannelHandlerContext) {
        state.closed()
        endExchange(reason: "client closed the connection")
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    // MARK: Requests

    /// Reads events from the parser for as long as nothing is in the way.
    func process() {
        guard !isProcessing else { return }
        isProcessing = true
        defer { isProcessing = false }
        while true {
            switch state.phase {
            case .lingering, .relaying, .closed: return
            case .exchange(requestIsComplete: true, _): return
            case .idle, .draining, .exchange: break
            }
            if isHeldBack {
                if deadlines.wait == .nothing { expect(.request) }
                return
            }
            do throws(HTTP1Error) {
                var framing = BodyFraming.none
                if let head = try parser.nextHead(&framing) {
                    begin(head, framing)
                } else if !parser.isBetweenMessages, let event = try parser.next() {
                    try handle(event)
                } else {
                    awaitMore()
                    return
                }
            } catch {
                malformed(error)
                return
            }
        }
    }

    private func begin(_ head: consuming RequestHead, _ framing: BodyFraming) {
        deadlines.beganRequest()
        underWay.begin(head.version, head.method)
        let length: Int? =
            switch framing {
            case .none: 0
            case .length(let count): count
            case .chunked, .untilClose: nil
            }
        // A proxy keeps no connection of an HTTP/1.0 client open (RFC 9112 §9.3).
        state.receivedHead(
            isPersistent: HopByHop.options(of: head.fields).persists(head.version, honouringKeepAlive: false),
            expectsContinue: framing != .none && head.version == .http1_1 && head.fields.contains(.expect),
            bodyLength: length)
        // A request without a body ends with its head.
        if framing == .none { _ = state.receivedEnd() }
        let now = monotonicNanoseconds()
        var request = Request(head: consume head, bodyLength: length, receivedAt: now)
        deadlines.knownTime = now
        if !loop.answerKnown(request, client: self) {
            requestFields = request.head.fields
            // Another exchange may be in its place already.
            let number = resumption.begin()
            let begun = loop.begin(request, client: self)
            if resumption.end(number) { exchange = begun }
        }
        deadlines.knownTime = nil
        if exchange == nil { parser.recycle(&request.head) }
        endExchangeIfClosed()
        // It may be answered already.
        if framing != .none, state.awaitsBody { expect(state.readsGivenUpBody ? .rest : .body) }
    }

    private func handle(_ event: consuming RequestEvent) throws(HTTP1Error) {
        switch consume event {
        case .head(let head, let framing):
            if framing == .none { _ = try parser.next() }
            begin(head, framing)
        case .body(let bytes):
            loop.exchangeMetrics.receivedBytes &+= UInt64(bytes.readableBytes)
            switch state.receivedBody(bytes.readableBytes) {
            case .deliver: exchange?.receive(bytes)
            case .discard: break
            case .closeOutput: perform(.closeOutput)
            }
        case .end(let trailers):
            if deadlines.wait == .body { expect(.nothing) }
            let action = state.receivedEnd()
            exchange?.receiveEnd(trailers: trailers)
            perform(action)
        }
    }

    private func awaitMore() {
        guard state.isIdle else { return }
        if state.inputHasEnded {
            perform(state.inputEnded())
        } else if parser.headStarted {
            if deadlines.wait != .head { expect(.head) }
        } else if deadlines.wait != .request, !state.isStopping {
            expect(.request)
        }
    }

    var responseHasStarted: Bool {
        if case .exchange(_, responseHasStarted: true) = state.phase { return true }
        if case .draining = state.phase { return true }
        return false
    }

    // MARK: Actions

    func perform(_ action: ConnectionState.Action) {
        switch action {
        case .none: break
        case .proceed:
            if state.isIdle, !parser.headStarted { expect(.request) }
            if state.readsGivenUpBody { expect(.rest) }
            process()
            resumeReading()
        case .closeOutput:
            finishOutput()
            resumeReading()
        case .close: finishOutput()
        case .abort: cutOff()
        }
    }

    /// Closes the output behind all that is pending, or the whole connection where the client has closed its side: a
    /// channel that is closed drops what is pending.
    private func finishOutput() {
        guard let context else { return }
        handOverDirect()
        expect(.closing)
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [weak self] _ in
            guard let self, let context = self.context else { return }
            expect(.lingering)
            output.finish()
            context.close(mode: state.inputHasEnded ? .all : .output, promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(ByteBuffer())), promise: written)
    }

    /// Bytes that are written and have not left yet.
    var pendingBytes: Int {
        guard let options = context?.channel.syncOptions else { return 0 }
        return (try? options.getOption(.bufferedWritableBytes)) ?? 0
    }

    func resumeReading() {
        guard readIsPending, wantsBytes, let context else { return }
        readIsPending = false
        context.read()
    }

    func write(_ data: IOData) {
        guard let context else { return }
        handOverDirect()
        context.write(wrapOutboundOut(data), promise: nil)
        output.wroteToChannel()
        if !isInRead { loop.flushLater(self) }
    }

    func flushIfNeeded() {
        guard output.flushes() else { return }
        if direct?.isEmpty == false {
            guard channel?.isActive == true else { return handOverDirect() }
            direct?.send {
                context?.write(wrapOutboundOut(.byteBuffer($0)), promise: nil)
                output.gaveToChannel()
            }
            if !output.channelMayHavePending { return }
        }
        context?.flush()
    }

    /// The exchange has written its last byte.
    func responseIsComplete() {
        exchange = nil
        underWay.endResponse()
        // Nothing of the request is held on to, so that the next one is read into the same memory.
        requestFields = nil
        finishRecord()
        perform(state.finishedResponse())
    }

    /// The exchange ends without a complete response; what happened goes to the log.
    private func endExchange(reason: String) {
        let exchange = exchange
        self.exchange = nil
        exchange?.clientIsGone()
        if record != nil {
            record?.fail(reason)
            finishRecord()
        }
    }

    /// Ends an exchange that has just begun, where the channel was closed while it did, by what it has sent: the
    /// closing had nobody to tell.
    func endExchangeIfClosed() {
        if case .closed = state.phase { endExchange(reason: "client closed the connection") }
    }

    func finishRecord() {
        guard let record = record.take() else { return }
        loop.finish(record, client: address)
    }

    // MARK: Timeouts

    func expect(_ wait: ConnectionDeadlines.Wait) {
        deadlines.expect(wait, patience, now: monotonicNanoseconds())
    }

    private func timedOut() {
        switch deadlines.timedOut(state, bodyIsWanted: underWay.bodyIsWanted, pending: pendingBytes) {
        case .none: break
        case .renew: return expect(deadlines.wait)
        case .abort: perform(state.aborted())
        case .close: context?.close(promise: nil)
        case .endReading: perform(state.endedReading())
        case .refuseHead:
            endRequest(.headerTimeout)
            respondAndClose(.headerTimeout)
        case .refuseBody:
            endRequest(.bodyTimeout)
            if responseHasStarted { abortResponse() } else { respondAndClose(.bodyTimeout, toHead: underWay.isHead) }
        }
        flushIfNeeded()
    }

    /// Gives a client up that takes nothing of a response.
    private func watchOutput(_ now: UInt64) {
        // An answer that was handed over whole has no exchange any more.
        let isWatched = exchange != nil ? !isWritable : deadlines.leavesBytes && output.channelMayHavePending
        let pending = isWatched ? pendingBytes : 0
        guard deadlines.isStalled(pending: pending > 0 ? pending : nil, patience, now: now) else { return }
        endExchange(reason: "the client took nothing of the response")
        cutOff()
    }

    /// Asks a client that has closed its output whether it is still there: an interim response to a closed socket is
    /// answered by a reset, and one that is only half closed ignores it (RFC 9110 §15.2).
    private func probe() {
        guard exchange != nil, !responseHasStarted, underWay.isHTTP11 else { return }
        write(.byteBuffer(ByteBuffer(string: "HTTP/1.1 102 Processing\r\n\r\n")))
        flushIfNeeded()
    }
}

extension ClientConnection: TimedConnection {
    var activity: ConnectionActivity {
        switch state.phase {
        case .idle: parser.headStarted ? .active : .idle
        case .exchange: .active
        case .relaying: .tunnel
        case .draining, .lingering, .closed: .closing
        }
    }

    func check(now: UInt64) {
        if deadlines.hasPassed(now) { timedOut() }
        if deadlines.probes(now: now) { probe() }
        watchOutput(now)
    }

    /// A request may be on its way, above all from a client that has just connected: it would be lost, so an idle
    /// connection is closed a moment later.
    func stop() {
        state.stop()
        if state.isIdle, !parser.headStarted { expect(.lastRequest) }
    }

    func cut() {
        endExchange(reason: "the proxy stopped")
        cutOff()
    }
}
