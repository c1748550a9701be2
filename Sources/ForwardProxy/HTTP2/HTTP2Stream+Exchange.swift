import Files
import HTTP2
import NIOCore
import NIOPosix
import Substitution

extension HTTP2Stream: ExchangeClient {
    /// HTTP/2 is spoken inside TLS only.
    var isEncrypted: Bool { true }
    var address: String { connection.address }
    var isLocal: Bool { connection.isLocal }
    var secured: SecureAuthority? { connection.secured }
    var ownConnections: OwnConnections? {
        get { connection.ownConnections }
        set { connection.ownConnections = newValue }
    }
    /// The proxy's own site is not asked for in a tunnel.
    var owner: ClientOwner? { nil }
    var takesSerialisedResponse: Bool { !state.awaitsContinue }
    var takesFieldBlocks: Bool { true }

    var hasSentAll: Bool { false }
    var takesBodyAsItIs: Bool { false }
    func duplicateSocket() -> CInt? { nil }

    func sendContinue() {
        guard state.continues() else { return }
        sendInterim(status: 100, lines: ByteBuffer())
    }

    func sendInterim(status: Int, lines: ByteBuffer) {
        guard !state.responseHasStarted else { return }
        var block = ByteBuffer()
        HPACKWriter.writeStatus(status, to: &block)
        HPACKWriter.write(lines, to: &block)
        connection.writeHeaders(stream: id, block, isLast: false)
        loop.flushLater(connection)
    }

    func sendSerialised(_ response: ByteBuffer) { fail(.internalError) }
    func sendSerialised(_ head: ByteBuffer, _ body: BodySegments) { fail(.internalError) }

    func send(fieldBlock: ByteBuffer, status: Int, _ body: BodySegments?) {
        write(fieldBlock, status: status, length: body?.count ?? 0)
        state.completedResponse()
        finishRecord()
        exchange = nil
        if let body {
            append(body.first)
            for segment in body.rest { append(segment) }
        }
        responseIsComplete()
    }

    /// Nothing more of the response will come: what is still to come of the request's body is let in.
    private func responseIsComplete() {
        if state.requestIsComplete { connection.enqueue(self) } else { discardRequest() }
        loop.flushLater(connection)
    }

    /// Writes the header section of a response; `length` is that of its body, nil where it is not known.
    private func write(_ block: ByteBuffer, status: Int, length: Int?) {
        // The end comes behind the request's, which the client would not send.
        if state.willHoldEnding(status: status, length: length) { sendContinue() }
        switch state.startedResponse(length: length) {
        case .write: connection.writeHeaders(stream: id, block, isLast: false)
        case .writeLast:
            connection.writeHeaders(stream: id, block, isLast: true)
            sentEnd()
        case .hold: lastBlock = block
        case .discard: break
        }
    }

    func start(_ response: ResponseStart) {
        record?.status = response.status
        record?.observed?.head(status: response.status, lines: response.lines)
        var block = ByteBuffer()
        block.reserveCapacity(response.lines.readableBytes &+ 16)
        HPACKWriter.writeStatus(response.status, to: &block)
        HPACKWriter.write(response.lines, to: &block)
        let length: Int? =
            switch response.body {
            case .none: 0
            case .length(let length): length
            case .unknown: nil
            }
        write(block, status: response.status, length: length)
        loop.flushLater(connection)
    }

    func send(_ body: ByteBuffer) {
        guard body.readableBytes > 0, !state.responseIsComplete else { return }
        record?.bodyBytes &+= body.readableBytes
        record?.observed?.body(body)
        append(body)
        connection.enqueue(self)
        loop.flushLater(connection)
    }

    func send(_ region: FileRegion, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    func send(_ content: SealedContent, _ range: Range<Int>) { abort() }

    func finish(trailers: ByteBuffer?) {
        exchange = nil
        finishRecord()
        if !state.responseIsComplete {
            if let trailers, trailers.readableBytes > 0 {
                var block = ByteBuffer()
                HPACKWriter.write(trailers, to: &block)
                if block.readableBytes > 0 { lastBlock = block }
            }
            state.completedResponse(hasTrailers: lastBlock != nil)
        }
        responseIsComplete()
    }

    func abort() {
        if record?.outcome != .refused { record?.outcome = .failed }
        finishRecord()
        close(.internalError)
    }

    func flush() { connection.flushIfNeeded() }

    func setWantsBody(_ wants: Bool) {
        // Of what is held the exchange that is being begun gets what the one before it has not had.
        if state.setWantsBody(wants), wants, !resumption.isUnderWay { takeHeld() }
    }

    func fail(_ error: ProxyError) {
        guard !state.responseHasStarted else { return abort() }
        var error = error
        error.advice = error.adviceOverHTTP2 ?? error.advice
        let response = ErrorResponse(error, asked: record, fields: fields, loop: loop)
        record?.outcome = error.isRefusal ? .refused : .failed
        record?.reason = error.note ?? error.failure
        start(response.start(isHead: isHead))
        if !isHead { send(response.page) }
        finish(trailers: nil)
    }

    func resume(_ begin: () -> (any Exchange)?) {
        let number = resumption.begin()
        let exchange = begin()
        guard resumption.end(number) else { return }
        if !state.responseIsComplete { self.exchange = exchange }
        takeHeld()
    }

    func takeOver() -> (any Channel)? { nil }

    func takeUnread() -> (bytes: ByteBuffer, inputHasEnded: Bool) { (ByteBuffer(), true) }
}
