import Basics
import HTTP2
import HTTPSemantics
import NIOCore

/// One request and its response on an HTTP/2 connection: it performs what ``HTTP2StreamState`` says, and is the
/// client's side of an exchange.
final class HTTP2Stream {
    /// Holds this stream until it is closed.
    let connection: HTTP2Connection
    var state: HTTP2StreamState
    var record: ExchangeRecord?
    var exchange: (any Exchange)?
    var resumption = Resumption()
    var fields: FieldSection?
    var isHead = false
    /// What has come of the request while the exchange wanted nothing: no more than the window.
    private var held = ByteBuffer()
    /// The request's end, where it came behind that, with its trailers.
    private var heldEnd: FieldSection??
    private var pending = HTTP2PendingBody()
    /// What ends the stream, instead of DATA: the trailers, or a header section that was kept back.
    var lastBlock: ByteBuffer?
    var isQueued = false

    init(_ id: UInt32, _ connection: HTTP2Connection, requestIsComplete: Bool, now: UInt64) {
        self.connection = connection
        state = HTTP2StreamState(
            id, requestIsComplete: requestIsComplete, window: connection.state.settings.initialWindowSize, now: now)
    }

    var id: UInt32 { state.id }
    var loop: LoopContext { connection.loop }

    // MARK: The request

    func receive(_ block: FieldBlock, now: UInt64) throws(HTTP2Violation) {
        do throws(HTTP2RequestError) {
            let isLast = state.requestIsComplete
            let head = try HTTP2RequestHead.make(
                block, hasContent: !isLast, maxTargetBytes: connection.limits.requestTargetBytes)
            fields = head.fields
            isHead = head.method == .head
            let length = head.fields.withFirst(.contentLength) { $0.decimalValue } ?? nil
            state.receivedHead(length: length, expectsContinue: head.fields.contains(.expect))
            let request = Request(head: head, bodyLength: isLast ? 0 : length, receivedAt: now)
            // Another exchange may be in its place already.
            let number = resumption.begin()
            let begun = loop.begin(request, client: self)
            if resumption.end(number), !state.responseIsComplete { exchange = begun }
        } catch {
            loop.open(HTTP2RequestHead.record(block, receivedAt: now), nil, on: self)
            guard let refusal = ProxyError(error) else {
                record?.outcome = .refused
                record?.reason = "The request is malformed."
                finishRecord()
                throw .stream(id, .protocolError)
            }
            fail(refusal)
        }
    }

    func receive(
        _ content: ByteBuffer, taking count: Int, isLast: Bool, now: UInt64
    ) throws(HTTP2Violation) {
        let action = try state.receivedData(content.readableBytes, frame: count, isLast: isLast, now: now)
        loop.exchangeMetrics.receivedBytes &+= UInt64(content.readableBytes)
        switch action {
        case .deliver:
            if content.readableBytes > 0 { exchange?.receive(content) }
            if isLast { exchange?.receiveEnd(trailers: nil) } else { widenWindow() }
        case .hold:
            held.writeImmutableBuffer(content)
            if isLast { heldEnd = .some(nil) }
        case .discard: discardRequest()
        }
    }

    func receiveTrailers(_ block: FieldBlock, isLast: Bool) throws(HTTP2Violation) {
        try state.receivedTrailers(isLast: isLast)
        let trailers: FieldSection
        do throws(HTTP2RequestError) {
            trailers = try HTTP2RequestHead.trailers(block, limits: connection.limits.message)
        } catch {
            guard let refusal = ProxyError(error) else { throw .stream(id, .protocolError) }
            return try refuse(refusal)
        }
        switch state.endedRequest() {
        case .deliver: exchange?.receiveEnd(trailers: trailers)
        case .hold: heldEnd = .some(trailers)
        case .discard: discardRequest()
        }
    }

    /// Answers a request whose end is not taken.
    private func refuse(_ refusal: ProxyError) throws(HTTP2Violation) {
        guard try state.refusedEnd() == .answer else { return discardRequest() }
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
        if state.requestIsComplete { endResponse() } else { widenWindow() }
        // What may go out before the request's end does.
        connection.enqueue(self)
        closeIfDone()
    }

    /// Hands on what was held.
    func takeHeld() {
        guard state.bodyIsWanted else { return }
        if held.readableBytes > 0 {
            let content = held
            held = ByteBuffer()
            exchange?.receive(content)
        }
        guard state.bodyIsWanted else { return }
        if let end = heldEnd {
            heldEnd = nil
            exchange?.receiveEnd(trailers: end)
        }
        widenWindow()
    }

    private func widenWindow() {
        guard let more = state.widenWindow() else { return }
        connection.writeWindowUpdate(stream: id, more)
        if !connection.isInRead { connection.flushOutput() }
    }

    // MARK: The response

    var isWritable: Bool { state.takesMore() }

    /// Holds a part of the body until it is its turn.
    func append(_ body: ByteBuffer) {
        pending.append(body)
        state.appended(body.readableBytes, now: monotonicNanoseconds())
    }

    /// Sends the next DATA frame, or the trailers.
    func sendFrame(atMost limit: Int) {
        switch state.nextFrame(atMost: limit) {
        case .nothing: break
        case .end: sendEnd()
        case .data(let limit):
            guard let body = pending.take(atMost: limit) else { return }
            let sent = state.sentData(body.readableBytes, now: monotonicNanoseconds())
            connection.writeData(stream: id, body, isLast: sent.isLast)
            if sent.isLast { return sentEnd() }
            if sent.makesRoom { exchange?.clientBecameWritable() }
        }
    }

    private func sendEnd() {
        if let lastBlock {
            connection.writeHeaders(stream: id, lastBlock, isLast: true)
        } else {
            connection.writeData(stream: id, ByteBuffer(), isLast: true)
        }
        sentEnd()
    }

    /// Lets go what was kept back.
    private func endResponse() {
        switch state.releaseEnding() {
        case .nothing: return
        case .writeHead: sendEnd()
        case .enqueue: connection.enqueue(self)
        }
        loop.flushLater(connection)
    }

    /// END_STREAM has been written.
    func sentEnd() {
        state.sentEnd(now: monotonicNanoseconds())
        closeIfDone()
    }

    private func closeIfDone() {
        if state.phase == .closed { connection.remove(self, byProxy: false) }
    }

    // MARK: Ends

    /// Ends the stream with RST_STREAM.
    func close(_ code: HTTP2ErrorCode) {
        exchange = nil
        state.close()
        pending = HTTP2PendingBody()
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
        state.close()
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
        switch state.check(now: now, silence: connection.limits.silenceTimeout.clampedNanoseconds) {
        case .none: break
        case .endResponse: endResponse()
        case .close: close(.noError)
        case .giveUp:
            clientIsGone("client was silent")
            close(.cancel)
        }
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
