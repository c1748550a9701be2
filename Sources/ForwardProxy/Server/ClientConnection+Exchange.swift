import Files
import HTTP1
import HTTPSemantics
import NIOCore
import NIOPosix
import Substitution

extension ClientConnection: ExchangeClient {
    /// How long an idle connection stays open when the server stops.
    static let lastRequestPatience = TimeAmount.nanoseconds(Int64(ConnectionPatience.lastRequest))

    var isWritable: Bool { context?.channel.isWritable ?? false }

    var takesSerialisedResponse: Bool {
        underWay.isHTTP11 && state.isPersistent && !state.isStopping && !state.awaitsContinue && !state.leavesTooMuch
    }

    var takesFieldBlocks: Bool { false }

    func send(fieldBlock: ByteBuffer, status: Int, _ body: BodySegments?) { fail(.internalError) }

    func sendContinue() {
        // An origin may ask for the request's body when its response has begun.
        guard state.awaitsContinue, !responseHasStarted else { return }
        state.sentContinue()
        write(.byteBuffer(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")))
        flush()
    }

    func sendInterim(status: Int, lines: ByteBuffer) {
        // An HTTP/1.0 client does not know interim responses (RFC 9110 §15.2).
        guard underWay.isHTTP11 else { return }
        var out = ByteBuffer()
        MessageWriter.writeStatusLine(status, to: &out)
        out.writeImmutableBuffer(lines)
        out.writeStaticString("\r\n")
        write(.byteBuffer(out))
        flush()
    }

    func sendSerialised(_ response: ByteBuffer) {
        _ = state.startedResponse()
        writeWhole(response)
        responseIsComplete()
    }

    func sendSerialised(_ head: ByteBuffer, _ body: BodySegments) {
        _ = state.startedResponse()
        writeWhole(head)
        if let sealed = body.sealed, !isEncrypted {
            write(sealed, 0..<sealed.count)
        } else {
            writeWhole(body.first)
            for segment in body.rest { writeWhole(segment) }
        }
        responseIsComplete()
    }

    func start(_ response: ResponseStart) {
        underWay.startResponse(response.body)
        if underWay.ending == .close { state.mustClose() }
        let isPersistent = state.startedResponse(usesBody: response.usesBody)
        var out = ByteBuffer()
        out.reserveCapacity(response.lines.readableBytes &+ 160)
        if let reason = response.reason {
            MessageWriter.writeStatusLine(response.status, checkedReason: reason, to: &out)
        } else {
            MessageWriter.writeStatusLine(response.status, to: &out)
        }
        out.writeImmutableBuffer(response.lines)
        if underWay.ending == .chunked { out.writeStaticString("Transfer-Encoding: chunked\r\n") }
        if !isPersistent {
            out.writeStaticString("Connection: close\r\n")
        }
        out.writeStaticString("\r\n")
        record?.status = response.status
        record?.observed?.head(status: response.status, lines: response.lines)
        write(.byteBuffer(out))
    }

    func send(_ body: ByteBuffer) {
        guard body.readableBytes > 0 else { return }
        record?.bodyBytes &+= body.readableBytes
        record?.observed?.body(body)
        guard underWay.ending == .chunked else { return write(.byteBuffer(body)) }
        var chunk = ByteBuffer()
        MessageWriter.writeChunkHead(body.readableBytes, to: &chunk)
        if body.readableBytes <= 16 << 10 {
            chunk.writeImmutableBuffer(body)
            chunk.writeStaticString("\r\n")
            write(.byteBuffer(chunk))
        } else {
            write(.byteBuffer(chunk))
            write(.byteBuffer(body))
            write(.byteBuffer(ByteBuffer(string: "\r\n")))
        }
    }

    func send(_ region: FileRegion, promise: EventLoopPromise<Void>?) {
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        record?.bodyBytes &+= region.readableBytes
        handOverDirect()
        output.gaveToChannel()
        context.writeAndFlush(wrapOutboundOut(.fileRegion(region)), promise: promise)
    }

    func send(_ content: SealedContent, _ range: Range<Int>) {
        record?.bodyBytes &+= range.count
        write(content, range)
    }

    func finish(trailers: ByteBuffer?) {
        if underWay.ending == .chunked {
            var out = ByteBuffer()
            out.writeStaticString("0\r\n")
            if let trailers { out.writeImmutableBuffer(trailers) }
            out.writeStaticString("\r\n")
            write(.byteBuffer(out))
        }
        responseIsComplete()
    }

    func abort() {
        exchange = nil
        if record?.outcome != .refused { record?.outcome = .failed }
        finishRecord()
        flush()
        perform(state.aborted())
    }

    func flush() { flushIfNeeded() }

    var hasSentAll: Bool { !output.needsFlush && pendingBytes == 0 }

    var takesBodyAsItIs: Bool { direct != nil && underWay.ending != .chunked && record?.observed == nil }

    func duplicateSocket() -> CInt? {
        guard takesBodyAsItIs, channel?.isActive == true else { return nil }
        return direct?.duplicate()
    }

    func setWantsBody(_ wants: Bool) {
        guard underWay.setWantsBody(wants), wants else { return }
        if state.awaitsBody { expect(.body) }
        resumeReading()
    }

    func resume(_ begin: () -> (any Exchange)?) {
        // What `begin` answers at once must not let the next request begin before this one's exchange is put down.
        let wasProcessing = isProcessing
        isProcessing = true
        let number = resumption.begin()
        let exchange = begin()
        isProcessing = wasProcessing
        if resumption.end(number) {
            self.exchange = exchange
            endExchangeIfClosed()
        }
        if self.exchange == nil { process() }
    }

    func fail(_ error: ProxyError) {
        guard !responseHasStarted else { return abort() }
        if underWay.mustClose(behind: error.status, hasUnread: parser.hasBufferedBytes) { state.mustClose() }
        let response = ErrorResponse(error, asked: record, fields: requestFields, loop: loop)
        record?.outcome = error.isRefusal ? .refused : .failed
        record?.reason = error.note ?? error.failure
        start(response.start(isHead: underWay.isHead))
        if !underWay.isHead { send(response.page) }
        finish(trailers: nil)
    }

    func takeOver() -> (any Channel)? {
        guard let context else { return nil }
        handOverDirect()
        state.startedRelaying()
        expect(.nothing)
        exchange = nil
        return context.channel
    }

    func takeUnread() -> (bytes: ByteBuffer, inputHasEnded: Bool) {
        (parser.takeRemaining(), state.inputHasEnded)
    }

    /// Writes the fields of a response behind which the connection is closed.
    func writeClosingFields(for error: ProxyError, length: Int, to out: inout ByteBuffer) {
        out.writeStaticString("Content-Length: ")
        out.writeDecimal(length)
        out.writeStaticString("\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n")
        StatusFields.writeError(error, to: &out)
        out.writeImmutableBuffer(loop.proxy.identity.viaLine)
        out.writeImmutableBuffer(loop.dateStamp().line)
    }
}

extension ProxyError {
    static let tlsInTheClear = ProxyError(
        status: 400, type: "http_request_error",
        failure: "the client speaks TLS to a listener without it; write http:// before the proxy's address, or listen "
            + "with https://",
        advice: "Correct the proxy's address.", isRefusal: true)

    /// What the client is told of bytes that are no HTTP/1 request.
    init(_ error: HTTP1Error) {
        self.init(
            status: error.status, type: "http_request_error", failure: error.description,
            advice: "Correct the request; the connection is closed, because nothing behind it can be read reliably.",
            isRefusal: true)
    }
}
