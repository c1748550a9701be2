import Basics
import HTTPSemantics
import NIOCore

/// One request and its response on an HTTP/2 connection: the client's side of an exchange (RFC 9113 §5.1).
final class HTTP2Stream {
    let id: UInt32
    /// Holds this stream until it is closed.
    let connection: HTTP2Connection
    var record: ExchangeRecord?
    var exchange: (any Exchange)?
    var fields: FieldSection?

    // The request.
    private(set) var requestIsComplete = false
    private var receiveWindow = HTTP2Window()
    private var expectedBytes: Int?
    private var receivedBytes = 0
    var bodyIsWanted = true
    /// What has come while the exchange wanted nothing: no more than the window.
    private var held = ByteBuffer()
    private var heldEnd: FieldSection??
    var awaitsContinue = false
    var isHead = false

    // The response.
    var responseHasStarted = false
    /// All of it has been given to this object.
    var responseIsComplete = false
    /// All of it has been written.
    private var responseIsSent = false
    var sendWindow: HTTP2Window
    private var pending: [ByteBuffer] = []
    private var nextPending = 0
    private(set) var pendingBytes = 0
    var trailers: ByteBuffer?
    /// What is kept back of the response until the request has ended.
    var ending = ResponseEnding()
    var isQueued = false
    private var exchangeWaits = false
    private var lastProgress = monotonicNanoseconds()
    /// Bytes that were sent since ``lastProgress``.
    private var sentBytes = 0

    /// How much of a response is held before its source is stopped, and down to what it is started again: bytes.
    private static let highWatermark = 64 << 10
    private static let lowWatermark = 32 << 10
    /// A client that takes less than this within the silence timeout, or sends less of a request that is answered
    /// already, is taken for silent: bytes.
    private static let leastProgress = 4 << 10
    /// Bytes of the request that came since ``lastProgress``.
    private var discardedBytes = 0

    init(_ id: UInt32, _ connection: HTTP2Connection) {
        self.id = id
        self.connection = connection
        sendWindow = HTTP2Window(connection.settings.initialWindowSize)
    }

    var loop: LoopContext { connection.loop }

    // MARK: The request

    func receive(_ block: FieldBlock, isLast: Bool) throws(HTTP2Violation) {
        requestIsComplete = isLast
        let now = lastProgress
        do throws(HTTP2RequestError) {
            let head = try HTTP2RequestHead.make(
                block, hasContent: !isLast, maxTargetBytes: connection.limits.requestTargetBytes)
            fields = head.fields
            isHead = head.method == .head
            awaitsContinue = !isLast && head.fields.contains(.expect)
            expectedBytes = head.fields.withFirst(.contentLength) { $0.decimalValue } ?? nil
            let request = Request(head: head, bodyLength: isLast ? 0 : expectedBytes, receivedAt: now)
            let exchange = loop.begin(request, client: self)
            if !responseIsComplete { self.exchange = exchange }
        } catch {
            guard let refusal = ProxyError(error) else { throw .stream(id, .protocolError) }
            record = HTTP2RequestHead.record(block, receivedAt: now)
            fail(refusal)
        }
    }

    func receive(_ content: ByteBuffer, taking count: Int, isLast: Bool) throws(HTTP2Violation) {
        guard !requestIsComplete else { throw .stream(id, .streamClosed) }
        receiveWindow.take(count)
        guard receiveWindow.size >= 0 else { throw .stream(id, .flowControlError) }
        receivedBytes &+= content.readableBytes
        loop.tally.receivedBytes &+= UInt64(content.readableBytes)
        if let expectedBytes, receivedBytes > expectedBytes || (isLast && receivedBytes < expectedBytes) {
            throw .stream(id, .protocolError)
        }
        noteReceived(content.readableBytes)
        requestIsComplete = isLast
        if responseIsComplete { return discardRequest() }
        if bodyIsWanted {
            if content.readableBytes > 0 { exchange?.receive(content) }
            if isLast { exchange?.receiveEnd(trailers: nil) } else { widenWindow() }
        } else {
            held.writeImmutableBuffer(content)
            if isLast { heldEnd = .some(nil) }
        }
    }

    /// What is thrown away has to come at some speed: nothing else bounds how long the stream and its response are
    /// held.
    private func noteReceived(_ count: Int) {
        if responseIsComplete {
            discardedBytes &+= count
            guard discardedBytes >= HTTP2Stream.leastProgress else { return }
            discardedBytes = 0
        }
        lastProgress = monotonicNanoseconds()
    }

    func receiveTrailers(_ block: FieldBlock) throws(HTTP2Violation) {
        if let expectedBytes, receivedBytes != expectedBytes { throw .stream(id, .protocolError) }
        let trailers: FieldSection
        do throws(HTTP2RequestError) {
            trailers = try HTTP2RequestHead.trailers(block, limits: connection.limits.message)
        } catch {
            guard let refusal = ProxyError(error) else { throw .stream(id, .protocolError) }
            return try refuse(refusal)
        }
        requestIsComplete = true
        if responseIsComplete { return discardRequest() }
        if bodyIsWanted { exchange?.receiveEnd(trailers: trailers) } else { heldEnd = .some(trailers) }
    }

    /// Answers a request whose end is not taken.
    private func refuse(_ refusal: ProxyError) throws(HTTP2Violation) {
        requestIsComplete = true
        if responseIsComplete { return discardRequest() }
        guard !responseHasStarted else { throw .stream(id, .protocolError) }
        let exchange = exchange
        self.exchange = nil
        exchange?.clientIsGone()
        fail(refusal)
    }

    /// Takes in a request whose response is complete, and throws it away: a client may stop sending, and wait for ever,
    /// when it is told with RST_STREAM that the rest is not needed (RFC 9113 §8.1).
    func discardRequest() {
        guard connection.streams[id] === self else { return }
        held = ByteBuffer()
        heldEnd = nil
        if requestIsComplete { endResponse() } else { widenWindow() }
        // What may go out before the request's end does.
        connection.enqueue(self)
        closeIfDone()
    }

    /// Hands on what was held.
    func takeHeld() {
        guard bodyIsWanted else { return }
        if held.readableBytes > 0 {
            let content = held
            held = ByteBuffer()
            exchange?.receive(content)
        }
        guard bodyIsWanted else { return }
        if let end = heldEnd {
            heldEnd = nil
            exchange?.receiveEnd(trailers: end)
        }
        widenWindow()
    }

    private func widenWindow() {
        guard bodyIsWanted || responseIsComplete, !requestIsComplete,
            receiveWindow.size < HTTP2Window.initialSize / 2
        else { return }
        let more = HTTP2Window.initialSize &- receiveWindow.size
        _ = receiveWindow.grow(by: more)
        connection.writeWindowUpdate(stream: id, more)
        if !connection.isInRead { connection.flushOutput() }
    }

    // MARK: The response

    var maySend: Bool { !responseIsSent && (hasOnlyItsEndToSend || (sendableBytes > 0 && sendWindow.size > 0)) }

    /// Whether nothing is left to send that takes room in a window.
    var hasOnlyItsEndToSend: Bool {
        pendingBytes == 0 && responseIsComplete && !responseIsSent && !endingIsHeld
    }

    private var endingIsHeld: Bool { ending.isHeld && !requestIsComplete }

    private var sendableBytes: Int { endingIsHeld ? ending.sendable(of: pendingBytes) : pendingBytes }

    var isWritable: Bool {
        let isWritable = pendingBytes < HTTP2Stream.highWatermark
        if !isWritable { exchangeWaits = true }
        return isWritable
    }

    /// Holds a part of the body until it is its turn.
    func append(_ body: ByteBuffer) {
        if pendingBytes == 0 { lastProgress = monotonicNanoseconds() }
        pending.append(body)
        pendingBytes &+= body.readableBytes
    }

    /// Sends the next DATA frame, or the trailers.
    func sendFrame(atMost limit: Int) {
        guard pendingBytes > 0 else { return sendEnd() }
        let limit = min(limit, sendWindow.size, sendableBytes)
        guard var body = takePending(atMost: limit) else { return }
        // Small parts share a frame.
        while let more = takePending(atMost: limit &- body.readableBytes) {
            body.writeImmutableBuffer(more)
        }
        ending.sent(body.readableBytes)
        sendWindow.take(body.readableBytes)
        connection.sendWindow.take(body.readableBytes)
        let isLast = pendingBytes == 0 && responseIsComplete && trailers == nil && !endingIsHeld
        connection.writeData(stream: id, body, isLast: isLast)
        noteSent(body.readableBytes)
        if isLast { return sentAll() }
        if exchangeWaits, pendingBytes < HTTP2Stream.lowWatermark {
            exchangeWaits = false
            exchange?.clientBecameWritable()
        }
    }

    private func takePending(atMost limit: Int) -> ByteBuffer? {
        guard limit > 0, nextPending < pending.count else { return nil }
        let count = min(limit, pending[nextPending].readableBytes)
        guard let part = pending[nextPending].readSlice(length: count) else { return nil }
        pendingBytes &-= count
        if pending[nextPending].readableBytes == 0 {
            pending[nextPending] = ByteBuffer()
            nextPending &+= 1
            if nextPending == pending.count {
                pending.removeAll(keepingCapacity: true)
                nextPending = 0
            } else if nextPending > 64 {
                pending.removeFirst(nextPending)
                nextPending = 0
            }
        }
        return part
    }

    private func noteSent(_ count: Int) {
        sentBytes &+= count
        guard sentBytes >= HTTP2Stream.leastProgress || pendingBytes == 0 else { return }
        sentBytes = 0
        lastProgress = monotonicNanoseconds()
    }

    private func sendEnd() {
        guard responseIsComplete else { return }
        if let trailers {
            connection.writeHeaders(stream: id, trailers, isLast: true)
        } else {
            connection.writeData(stream: id, ByteBuffer(), isLast: true)
        }
        sentAll()
    }

    /// Lets go what was kept back.
    private func endResponse() {
        guard responseIsComplete, !responseIsSent else { return }
        ending.isHeld = false
        if let block = ending.takeBlock() {
            connection.writeHeaders(stream: id, block, isLast: true)
            sentAll()
        } else {
            connection.enqueue(self)
        }
        loop.flushLater(connection)
    }

    /// END_STREAM has been written.
    func sentAll() {
        responseIsSent = true
        lastProgress = monotonicNanoseconds()
        closeIfDone()
    }

    private func closeIfDone() {
        if responseIsSent, requestIsComplete { connection.remove(self, byProxy: false) }
    }

    // MARK: Ends

    /// Ends the stream with RST_STREAM.
    func close(_ code: HTTP2ErrorCode) {
        exchange = nil
        responseIsComplete = true
        responseIsSent = true
        pending = []
        pendingBytes = 0
        guard connection.streams[id] === self else { return }
        connection.writeReset(stream: id, code)
        connection.remove(self, byProxy: true)
        if !connection.isInRead { connection.flushOutput() }
    }

    /// The client has broken a rule.
    func violated(_ code: HTTP2ErrorCode) {
        clientIsGone("client broke a rule of HTTP/2")
        close(code)
    }

    func clientIsGone(_ reason: String) {
        let exchange = exchange
        self.exchange = nil
        responseIsComplete = true
        responseIsSent = true
        exchange?.clientIsGone()
        guard record != nil else { return }
        record?.fail(reason)
        finishRecord()
    }

    func finishRecord() {
        guard let record else { return }
        self.record = nil
        loop.finish(record, client: connection.address)
    }

    func check(now: UInt64) {
        // Progress is owed by the client where it holds the response up, or has not sent the rest of its request.
        let isOwed = sendableBytes > 0 || (!requestIsComplete && (bodyIsWanted || responseIsComplete))
        guard isOwed else {
            lastProgress = now
            return
        }
        guard now > lastProgress, now &- lastProgress > connection.limits.silenceTimeout.clampedNanoseconds else {
            return
        }
        if responseIsSent { return close(.noError) }
        if endingIsHeld, responseIsComplete, sendableBytes == 0 {
            // The client waits for the response, maybe, before it ends its request.
            lastProgress = now
            return endResponse()
        }
        clientIsGone("client was silent")
        close(.cancel)
    }
}

extension ProxyError {
    /// What the client is told of a request that is well-formed and not taken; nil where it is malformed.
    fileprivate init?(_ error: HTTP2RequestError) {
        switch error {
        case .malformed: return nil
        case .tooLarge:
            self.init(
                status: 431, type: "http_request_error", failure: "The header section is too large.",
                advice: "Send fewer or shorter fields.", isRefusal: true)
        case .targetTooLong:
            self.init(
                status: 414, type: "http_request_error", failure: "The request target is too long.",
                advice: "Send a shorter one.", isRefusal: true)
        case .connect: self = .badRequest("A decrypted tunnel has no CONNECT inside.")
        }
    }
}

extension HTTP2RequestHead {
    /// The log's record of a request that is refused for its header section.
    fileprivate static func record(_ block: FieldBlock, receivedAt: UInt64) -> ExchangeRecord {
        func value(_ name: StaticString) -> ByteBuffer {
            block.bytes.withUnsafeBytes { bytes in
                let line = block.lines.first { UnsafeRawBufferPointer(rebasing: bytes[$0.name]).equals(name) }
                return ByteBuffer(bytes: line.map { bytes[$0.value].prefix(2000) } ?? bytes[0..<0])
            }
        }
        return ExchangeRecord(startedAt: receivedAt, method: value(":method"), url: value(":path"))
    }
}
