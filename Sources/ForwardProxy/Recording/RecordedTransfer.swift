import Basics
import HTTP1
import HTTPSemantics
import NIOCore
import Synchronization

/// Carries a request to its origin by another transport, and hands the whole exchange to a recorder.
///
/// Bytes of the response's body are acknowledged to the origin when both the client and the recorder have taken them,
/// so that a slow disk slows the exchange. No socket is lent: bytes that the kernel passes on would not be seen. Bound
/// to the event loop.
final class RecordedTransfer: OriginTransport, OriginSink {
    /// Longer bodies are spooled.
    static let mostHeld = 256 << 10
    /// Longer bodies of requests are not recorded.
    static let mostOfRequest = 1 << 20

    private let transport: any OriginTransport
    private let recorder: any ExchangeRecorder
    private let loop: LoopContext
    /// Nil from the end on. Not weak: see ``ForwardExchange``.
    private var sink: (any OriginSink)?
    private var exchange: PackedExchange

    private var requestBody: [UInt8]?
    private var requestHasEnded = false

    private enum Body {
        case held([ByteBuffer])
        case spooled(any BodySpool)
        /// It is not recorded.
        case none
    }

    private var hasHead = false
    /// Who learns of the head may have another answer take the place of this one.
    private var isTellingHead = false
    private var isRecorded = false
    private var body = Body.held([])
    /// Bytes of the body so far, and how many it has; nil where that shows at its end only.
    private var count = 0
    private var announced: Int?
    /// Bytes that the client, and the recorder, have taken, and those of them that were acknowledged.
    private var takenByClient = 0
    private var takenByRecorder = 0
    private var acknowledged = 0
    /// Where the recorder's thread reports bytes that it has taken, and that there is room again.
    private let bytesTaken: LoopCalls
    private let room: LoopCalls

    /// - Parameters:
    ///   - exchange: the request, without its body.
    ///   - hasBody: whether the request has one.
    init(
        _ transport: any OriginTransport, _ exchange: PackedExchange, hasBody: Bool,
        by recorder: any ExchangeRecorder,
        loop: LoopContext
    ) {
        self.transport = transport
        self.exchange = exchange
        self.recorder = recorder
        self.loop = loop
        bytesTaken = LoopCalls(loop.eventLoop)
        room = LoopCalls(loop.eventLoop)
        requestBody = hasBody ? [] : nil
        requestHasEnded = !hasBody
        self.exchange.startedAt = monotonicNanoseconds()
    }

    // MARK: OriginTransport

    func start(sink: any OriginSink) {
        self.sink = sink
        // A client that has its response may ask for the next one on another connection: that one waits.
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let hasRoom = recorder.admit { [room] in
            room.call { bound.value.begin() }
        }
        if hasRoom { transport.start(sink: self) }
    }

    /// The recorder has room for it now.
    private func begin() {
        guard sink != nil else { return }
        transport.start(sink: self)
    }

    func upload(_ body: ByteBuffer) -> Bool {
        if var held = requestBody.take(), held.count + body.readableBytes <= RecordedTransfer.mostOfRequest {
            held += body.readableBytesView
            requestBody = held
        }
        return transport.upload(body)
    }

    func endUpload(trailers: [[UInt8]]) {
        requestHasEnded = true
        transport.endUpload(trailers: trailers)
    }

    func acknowledge(_ count: Int) {
        takenByClient += count
        acknowledge()
    }

    var unacknowledgedBytes: Int? { nil }

    func lend(_ loan: OutputLoan, at position: Int) {}

    func cancel() {
        guard sink != nil else { return }
        sink = nil
        if !isRecorded {
            // A client that has all bytes may be gone before the origin's end is known.
            let isWhole = hasHead && !isTellingHead && requestHasEnded && exchange.status >= 200 && count == announced
            if isWhole { _ = record() } else { recorder.passOver(.cutOff) }
        }
        body = .none
        bytesTaken.close()
        room.close()
        transport.cancel()
    }

    private func acknowledge() {
        let taken = min(takenByClient, takenByRecorder)
        guard taken > acknowledged else { return }
        transport.acknowledge(taken - acknowledged)
        acknowledged = taken
    }

    // MARK: OriginSink

    func originSentInterim(_ head: ResponseHead) { sink?.originSentInterim(head) }
    func originWantsBody() { sink?.originWantsBody() }
    func originTookBody() { sink?.originTookBody() }
    func originSentTrailers(_ fields: FieldSection) { sink?.originSentTrailers(fields) }

    func originSentHead(_ head: ResponseHead) {
        hasHead = true
        exchange.answeredAt = monotonicNanoseconds()
        exchange.setResponse(head)
        switch head.framing(for: exchange.isHead ? .head : .get) {
        case .none: announced = 0
        case .length(let length): announced = length
        default: break
        }
        if let announced, announced > recorder.bodyLimit { body = .none }
        isTellingHead = true
        sink?.originSentHead(head)
        isTellingHead = false
    }

    func originSentBody(_ bytes: ByteBuffer) {
        let length = bytes.readableBytes
        count += length
        if count > recorder.bodyLimit { body = .none }
        switch body {
        case .none: takenByRecorder += length
        case .held(var pieces):
            // Else each piece would copy the list.
            body = .none
            pieces.append(bytes)
            if count <= RecordedTransfer.mostHeld {
                body = .held(pieces)
                takenByRecorder += length
            } else {
                let spool = recorder.makeSpool(for: exchange)
                body = .spooled(spool)
                // What was held has been counted as taken.
                for piece in pieces.dropLast() { spool.append(piece) {} }
                append(bytes, to: spool)
            }
        case .spooled(let spool): append(bytes, to: spool)
        }
        sink?.originSentBody(bytes)
    }

    private func append(_ bytes: ByteBuffer, to spool: any BodySpool) {
        let length = bytes.readableBytes
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        spool.append(bytes) { [bytesTaken] in
            bytesTaken.call { bound.value.recorderTook(length) }
        }
    }

    private func recorderTook(_ count: Int) {
        takenByRecorder += count
        acknowledge()
    }

    func originFinished(_ failure: ProxyError?) {
        guard sink != nil else { return }
        guard failure == nil, hasHead, exchange.status >= 200 else {
            recorder.passOver(.failed)
            return end(failure)
        }
        if record() { end(nil) }
    }

    /// Hands over what has come whole.
    ///
    /// - Returns: whether the recorder has room for more; else ``goOn()`` is called when it has.
    private func record() -> Bool {
        let pieces: RecordedPieces
        switch body {
        case .none:
            recorder.passOver(.tooLong)
            return true
        case .held(let held): pieces = .memory(held)
        case .spooled(let spool): pieces = .spooled(spool)
        }
        body = .none
        isRecorded = true
        // All has come: there is nothing left to be acknowledged.
        bytesTaken.close()
        exchange.requestBody = requestHasEnded ? requestBody : nil
        exchange.storedBytes = count
        exchange.duration = Int64(clamping: (monotonicNanoseconds() &- exchange.startedAt) / 1_000_000)
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        return recorder.record(exchange, body: pieces) { [room] in
            room.call { bound.value.goOn() }
        }
    }

    /// The recorder has room again.
    private func goOn() {
        guard sink != nil else { return }
        loop.batch { end(nil) }
    }

    private func end(_ failure: ProxyError?) {
        let sink = sink
        self.sink = nil
        bytesTaken.close()
        room.close()
        sink?.originFinished(failure)
    }
}

/// Passes calls of another thread on to an event loop, until nobody waits for them any more.
///
/// A recorder goes on writing when the loops have ended, and a loop that has ended takes no calls. Exchanges end before
/// their loop does; so who has closed this on the loop is sure that none comes to it too late.
final class LoopCalls: Sendable {
    private let eventLoop: any EventLoop
    private let isClosed = Mutex(false)

    init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func call(_ body: @escaping @Sendable () -> Void) {
        isClosed.withLock { isClosed in
            if !isClosed { eventLoop.execute(body) }
        }
    }

    func close() { isClosed.withLock { $0 = true } }
}

extension LoopContext {
    /// What carries a request to its origin: libcurl, under the eyes of the recorder where there is one.
    ///
    /// - Parameters:
    ///   - asked: the URL that the client has asked for, which a rule may have others answer.
    func transport(
        _ request: Request, asked: TargetURI, to uri: TargetURI, _ client: any ExchangeClient
    ) -> any OriginTransport {
        let recorder = proxy.configuration.recorder
        // Of other methods a condition decides whether something is done.
        let isRetrieval = request.head.method == .get || request.head.method == .head
        let transfer = OriginTransfer(
            OriginRequest(
                request, to: uri, identity: proxy.identity,
                preconditions: recorder != nil && isRetrieval ? .unvalidated : .asReceived, isRecorded: recorder != nil),
            over: connections(for: request, of: client), loop: self, clientIsLocal: client.isLocal)
        guard let recorder else { return transfer }
        var exchange = PackedExchange(request.head, asked: asked, isUnvalidated: isRetrieval)
        exchange.time = Int64(clamping: wallNanoseconds() / 1_000_000)
        return RecordedTransfer(transfer, exchange, hasBody: request.hasBody, by: recorder, loop: self)
    }
}
