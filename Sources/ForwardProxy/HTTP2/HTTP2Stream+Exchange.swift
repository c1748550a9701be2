import NIOCore
import NIOPosix

extension HTTP2Stream: ExchangeClient {
    /// HTTP/2 is spoken inside TLS only.
    var isEncrypted: Bool { true }
    var address: String { connection.address }
    var isLocal: Bool { connection.isLocal }
    var secured: SecureAuthority? { connection.secured }
    var takesSerialisedResponse: Bool { !awaitsContinue }
    var takesFieldBlocks: Bool { true }

    func sendContinue() {
        guard awaitsContinue, !responseHasStarted else { return }
        awaitsContinue = false
        sendInterim(status: 100, lines: ByteBuffer())
    }

    func sendInterim(status: Int, lines: ByteBuffer) {
        guard !responseHasStarted else { return }
        var block = ByteBuffer()
        FieldBlockWriter.writeStatus(status, to: &block)
        FieldBlockWriter.write(lines, to: &block)
        connection.writeHeaders(stream: id, block, isLast: false)
        loop.flushLater(connection)
    }

    func sendSerialised(_ response: ByteBuffer) { fail(.internalError) }
    func sendSerialised(_ head: ByteBuffer, _ body: BodySegments) { fail(.internalError) }

    func send(fieldBlock: ByteBuffer, _ body: BodySegments?) {
        responseHasStarted = true
        responseIsComplete = true
        connection.writeHeaders(stream: id, fieldBlock, isLast: body == nil)
        finishRecord()
        exchange = nil
        guard let body else { return sentAll() }
        append(body.first)
        for segment in body.rest { append(segment) }
        connection.enqueue(self)
        loop.flushLater(connection)
    }

    func start(_ response: ResponseStart) {
        responseHasStarted = true
        record?.status = response.status
        let isLast = response.body == .none || response.body == .length(0)
        var block = ByteBuffer()
        block.reserveCapacity(response.lines.readableBytes &+ 16)
        FieldBlockWriter.writeStatus(response.status, to: &block)
        FieldBlockWriter.write(response.lines, to: &block)
        connection.writeHeaders(stream: id, block, isLast: isLast)
        if isLast {
            responseIsComplete = true
            sentAll()
        }
        loop.flushLater(connection)
    }

    func send(_ body: ByteBuffer) {
        guard body.readableBytes > 0, !responseIsComplete else { return }
        record?.bodyBytes &+= body.readableBytes
        append(body)
        connection.enqueue(self)
        loop.flushLater(connection)
    }

    func send(_ region: FileRegion, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    func finish(trailers: ByteBuffer?) {
        exchange = nil
        finishRecord()
        guard !responseIsComplete else { return }
        responseIsComplete = true
        if let trailers, trailers.readableBytes > 0 {
            var block = ByteBuffer()
            FieldBlockWriter.write(trailers, to: &block)
            if block.readableBytes > 0 { self.trailers = block }
        }
        connection.enqueue(self)
        loop.flushLater(connection)
    }

    func abort() {
        if record?.outcome != .refused { record?.outcome = .failed }
        finishRecord()
        close(.internalError)
    }

    func flush() { connection.flushIfNeeded() }

    func setWantsBody(_ wants: Bool) {
        guard wants != bodyIsWanted else { return }
        bodyIsWanted = wants
        if wants { takeHeld() }
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

    func resume(_ begin: () -> (any Exchange)?) {
        let exchange = begin()
        if !responseIsComplete { self.exchange = exchange }
    }

    func takeOver() -> (any Channel)? { nil }

    func takeUnread() -> (bytes: ByteBuffer, inputHasEnded: Bool) { (ByteBuffer(), true) }
}
