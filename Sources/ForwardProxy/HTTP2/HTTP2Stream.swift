import HTTPSemantics
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix

/// One request and its response on an HTTP/2 connection: the client's side of an exchange.
final class HTTP2Stream: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundIn = Never
    typealias OutboundOut = HTTP2Frame.FramePayload

    let loop: LoopContext
    let secured: SecureAuthority?
    let address: String
    let isLocal: Bool
    var record: ExchangeRecord?
    private var exchange: (any Exchange)?
    private var context: ChannelHandlerContext?
    private var fields: FieldSection?
    private var isHead = false
    private var requestHasCome = false
    private var requestIsComplete = false
    private var responseHasStarted = false
    private var responseIsComplete = false
    private var bodyIsWanted = true
    private var readIsPending = false
    private var isInRead = false
    private var awaitsContinue = false
    /// Body bytes that are written once it is known whether they are the last.
    private var held: ByteBuffer?
    private var lastProgress = monotonicNanoseconds()

    init(loop: LoopContext, secured: SecureAuthority, address: String, isLocal: Bool) {
        self.loop = loop
        self.secured = secured
        self.address = address
        self.isLocal = isLocal
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        loop.remove(self)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lastProgress = monotonicNanoseconds()
        isInRead = true
        switch unwrapInboundIn(data) {
        case .headers(let headers) where !requestHasCome: receive(headers.headers, isLast: headers.endStream)
        case .headers(let headers): receiveTrailers(headers.headers)
        case .data(let data):
            if case .byteBuffer(let bytes) = data.data, bytes.readableBytes > 0 { exchange?.receive(bytes) }
            if data.endStream { receiveEnd(nil) }
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isInRead = false
        writeHeld()
        context.flush()
    }

    func read(context: ChannelHandlerContext) {
        if bodyIsWanted || !requestHasCome { context.read() } else { readIsPending = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        lastProgress = monotonicNanoseconds()
        if context.channel.isWritable { exchange?.clientBecameWritable() }
    }

    func channelInactive(context: ChannelHandlerContext) { clientIsGone("client reset the stream") }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        clientIsGone("client reset the stream")
        context.close(promise: nil)
    }

    private func clientIsGone(_ reason: String) {
        // The stream ends with the response too.
        guard !responseIsComplete else { return }
        let exchange = exchange
        self.exchange = nil
        exchange?.clientIsGone()
        guard record != nil else { return }
        record?.outcome = .failed
        if record?.reason.isEmpty == true { record?.reason = reason }
        finishRecord()
    }

    // MARK: The request

    private func receive(_ headers: HPACKHeaders, isLast: Bool) {
        requestHasCome = true
        requestIsComplete = isLast
        do throws(HTTP2RequestError) {
            let head = try HTTP2RequestHead.make(
                headers, hasContent: !isLast, limit: loop.proxy.configuration.limits.headerFields)
            fields = head.fields
            isHead = head.method == .head
            awaitsContinue = !isLast && head.fields.contains(.expect)
            let length =
                isLast ? 0 : head.fields.withFirst(.contentLength) { $0.decimalValue } ?? nil
            let request = Request(head: head, bodyLength: length, receivedAt: monotonicNanoseconds())
            exchange = loop.begin(request, client: self)
        } catch .tooManyFields {
            fail(
                ProxyError(
                    status: 431, type: "http_request_error", failure: "The header section has too many fields.",
                    advice: "Send fewer fields.", isRefusal: true))
        } catch {
            reset(.protocolError)
        }
    }

    private func receiveTrailers(_ headers: HPACKHeaders) {
        do throws(HTTP2RequestError) {
            receiveEnd(try HTTP2RequestHead.trailers(headers, limit: loop.proxy.configuration.limits.headerFields))
        } catch {
            reset(.protocolError)
        }
    }

    private func receiveEnd(_ trailers: FieldSection?) {
        guard !requestIsComplete else { return }
        requestIsComplete = true
        exchange?.receiveEnd(trailers: trailers)
    }

    // MARK: The response

    private func write(_ payload: HTTP2Frame.FramePayload) {
        context?.write(wrapOutboundOut(payload), promise: nil)
        if !isInRead { context?.flush() }
    }

    private func writeHeld() {
        guard let held else { return }
        self.held = nil
        context?.write(wrapOutboundOut(.data(.init(data: .byteBuffer(held)))), promise: nil)
    }

    private func reset(_ code: HTTP2ErrorCode) {
        exchange = nil
        held = nil
        responseIsComplete = true
        context?.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
    }

    private func endResponse() {
        exchange = nil
        // RFC 9113 §8.1: a client that still sends is told that the rest is not needed.
        if !requestIsComplete { context?.writeAndFlush(wrapOutboundOut(.rstStream(.noError)), promise: nil) }
    }

    private func finishRecord() {
        guard let record else { return }
        self.record = nil
        loop.finish(record, client: address)
    }
}

extension HTTP2Stream: ExchangeClient {
    var isWritable: Bool { context?.channel.isWritable ?? false }
    var isEncrypted: Bool { true }
    var takesSerialisedResponse: Bool { false }

    func sendContinue() {
        guard awaitsContinue, !responseHasStarted else { return }
        awaitsContinue = false
        write(.headers(.init(headers: HTTP2Fields.make(status: 100, ByteBuffer()))))
    }

    func sendInterim(status: Int, lines: ByteBuffer) {
        guard !responseHasStarted else { return }
        write(.headers(.init(headers: HTTP2Fields.make(status: status, lines))))
    }

    func sendSerialised(_ response: ByteBuffer) { fail(.internalError) }
    func sendSerialised(_ head: ByteBuffer, _ body: BodySegments) { fail(.internalError) }

    func start(_ response: ResponseStart) {
        responseHasStarted = true
        record?.status = response.status
        let isLast = response.body == .none || response.body == .length(0)
        if isLast { responseIsComplete = true }
        write(
            .headers(.init(headers: HTTP2Fields.make(status: response.status, response.lines), endStream: isLast)))
    }

    func send(_ body: ByteBuffer) {
        guard body.readableBytes > 0, !responseIsComplete else { return }
        record?.bodyBytes &+= body.readableBytes
        writeHeld()
        held = body
        guard !isInRead else { return }
        // The end most often follows in the same turn; what does not is sent at the turn's end.
        loop.flushLater(self)
    }

    func send(_ region: FileRegion, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    func finish(trailers: ByteBuffer?) {
        // The end of the response may end the stream at once, and this object with it.
        let hasEnded = responseIsComplete
        responseIsComplete = true
        finishRecord()
        if !hasEnded {
            if let trailers, trailers.readableBytes > 0 {
                writeHeld()
                write(.headers(.init(headers: HTTP2Fields.make(status: nil, trailers), endStream: true)))
            } else {
                let last = held ?? ByteBuffer()
                held = nil
                write(.data(.init(data: .byteBuffer(last), endStream: true)))
            }
        }
        endResponse()
    }

    func abort() {
        if record?.outcome != .refused { record?.outcome = .failed }
        finishRecord()
        reset(.internalError)
    }

    func flush() {
        writeHeld()
        context?.flush()
    }

    func setWantsBody(_ wants: Bool) {
        bodyIsWanted = wants
        guard wants, readIsPending else { return }
        readIsPending = false
        context?.read()
    }

    func fail(_ error: ProxyError) {
        guard !responseHasStarted else { return abort() }
        let response = ErrorResponse(error, asked: record, fields: fields, loop: loop)
        record?.outcome = error.isRefusal ? .refused : .failed
        record?.reason = error.failure
        start(response.start(isHead: isHead))
        if !isHead { send(response.page) }
        finish(trailers: nil)
    }

    func resume(_ begin: () -> (any Exchange)?) { exchange = begin() }

    func takeOver() -> (any Channel)? { nil }

    func takeUnread() -> (bytes: ByteBuffer, inputHasEnded: Bool) { (ByteBuffer(), true) }
}

extension HTTP2Stream: TimedConnection, BatchedConnection {
    func check(now: UInt64) {
        let limit = UInt64(max(0, loop.proxy.configuration.limits.silenceTimeout.nanoseconds))
        // Progress is owed by the client where it holds the response up, or has not sent the rest of its request.
        let isOwed = context?.channel.isWritable == false || (!requestIsComplete && bodyIsWanted)
        guard isOwed else {
            lastProgress = now
            return
        }
        guard now > lastProgress, now &- lastProgress > limit else { return }
        clientIsGone("client was silent")
        reset(.cancel)
    }

    func stop() {}
    func cut() {}

    func flushIfNeeded() { flush() }
}
