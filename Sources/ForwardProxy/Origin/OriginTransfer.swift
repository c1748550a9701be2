import Curl
import Glibc
import HTTP1
import HTTPSemantics
import Logging
import NIOCore
import Synchronization

/// One request to an origin through libcurl: the bridge between the transfer thread, where libcurl calls, and the
/// client's event loop, where the exchange is.
///
/// Bytes on their way are counted in both directions: the transfer is paused before more than ``ProxyLimits/bodyBytes``
/// would wait for the client, what is read at a time included, and the client's reading while half of that waits for
/// the origin.
final class OriginTransfer: OriginTransport, TransferDelegate, @unchecked Sendable {
    // Unchecked: `sink`, `transfer` and `stage` are the event loop's, `outbox` and what follows it the transfer
    // thread's, and what both touch is atomic or behind the mutex; `loan` is written once, before `hasLoan` says so.

    private struct Upload {
        var queue = UploadQueue()
        var hasEnded = false
        var trailers: [[UInt8]] = []
        var isStarved = false
        var clientIsHeld = false
    }

    /// Interim responses that are passed on; an origin that sends more is cut off, here where they come in, so that
    /// they don't pile up on their way to the event loop.
    static let interimLimit = 256

    private let request: OriginRequest
    private let connections: OriginConnections
    private let loop: LoopContext
    private let clientIsLocal: Bool
    private let limit: Int
    /// As many bytes may wait for the client before the transfer is paused.
    private let mark: Int

    /// Nil from the end on. Not weak: see ``ForwardExchange``.
    private var sink: (any OriginSink)?
    private var transfer: Transfer?
    private var thread: TransferLoop?
    private var stage: TransferStage?

    private let delivered = Atomic<Int>(0)
    private var loan: OutputLoan?
    private let hasLoan = Atomic<Bool>(false)
    private let isPaused = Atomic<Bool>(false)
    private let upload = Mutex(Upload())

    private var outbox: TransferOutbox?
    /// What came of the body in the turn `pieceTurn`.
    private var piece: BodyPiece?
    private var pieceTurn: UInt64 = 0
    /// Bytes of the body that went to the event loop.
    private var handedOver = 0
    private var parser: ResponseHeadParser
    private var hasHead = false
    private var hasAskedForBody = false
    private var interimCount = 0
    private var failure: ProxyError?
    /// Why an address of the host may not be connected to: the reason where no other one could be.
    private var refusal: ProxyError?

    init(_ request: OriginRequest, over connections: OriginConnections, loop: LoopContext, clientIsLocal: Bool) {
        self.request = request
        self.connections = connections
        self.loop = loop
        self.clientIsLocal = clientIsLocal
        limit = loop.proxy.configuration.limits.bodyBytes
        // What has been read along with the byte that reaches the mark comes too.
        mark = max(1, limit &- loop.proxy.transports.receiveBytes)
        parser = ResponseHeadParser(limits: loop.proxy.configuration.limits.message)
    }

    // MARK: The event loop's side

    func start(sink: any OriginSink) {
        self.sink = sink
        do {
            let (thread, outbox) = try loop.proxy.transports.loop(clientIsLocal: clientIsLocal)
            self.thread = thread
            self.outbox = outbox
            transfer = thread.start(TransferRequest(request, over: connections), delegate: self)
            loop.transfers.move(&stage, to: .waiting)
        } catch {
            loop.proxy.logger.error("\(error)")
            loop.eventLoop.execute {
                let sink = self.sink
                self.sink = nil
                sink?.originFinished(.internalError)
            }
        }
    }

    func upload(_ body: ByteBuffer) -> Bool {
        let (mustResume, mayGoOn) = upload.withLock { upload in
            upload.queue.append(body)
            // Once told to stop, the client goes on only when the transfer thread says so.
            upload.clientIsHeld = upload.clientIsHeld || upload.queue.byteCount >= limit / 2
            defer { upload.isStarved = false }
            return (upload.isStarved, !upload.clientIsHeld)
        }
        if mustResume, let transfer { thread?.resumeSending(transfer) }
        return mayGoOn
    }

    func endUpload(trailers: [[UInt8]]) {
        let mustResume = upload.withLock { upload in
            upload.hasEnded = true
            upload.trailers = trailers
            defer { upload.isStarved = false }
            return upload.isStarved
        }
        if mustResume, let transfer { thread?.resumeSending(transfer) }
    }

    func acknowledge(_ count: Int) {
        let left = delivered.subtract(count, ordering: .sequentiallyConsistent).newValue
        guard left <= limit / 4, isPaused.exchange(false, ordering: .sequentiallyConsistent), let transfer else {
            return
        }
        thread?.resumeReceiving(transfer)
    }

    var unacknowledgedBytes: Int? { delivered.load(ordering: .sequentiallyConsistent) }

    func lend(_ loan: OutputLoan, at position: Int) {
        loan.lend(at: position)
        guard self.loan == nil else { return }
        self.loan = loan
        hasLoan.store(true, ordering: .releasing)
    }

    func cancel() {
        sink = nil
        guard let transfer else { return }
        self.transfer = nil
        thread?.cancel(transfer)
    }

    /// Tells the sink the end, and lets go of the transfer, which holds this object as its delegate.
    private func deliverEnd(_ failure: ProxyError?) {
        outbox?.add(loop) {
            self.transfer = nil
            self.loop.transfers.move(&self.stage, to: nil)
            let sink = self.sink
            self.sink = nil
            sink?.originFinished(failure)
        }
    }

    private func deliver(_ event: @escaping (any OriginSink) -> Void) {
        // The closure is made here and runs on the event loop; it holds only values.
        let event = UncheckedEvent(event)
        outbox?.add(loop) {
            guard let sink = self.sink else { return }
            event.run(sink)
        }
    }

    // MARK: The transfer thread's side

    func transfer(_ transfer: Transfer, didReceiveHeaderLine line: UnsafeRawBufferPointer) -> HeaderVerdict {
        do throws(HTTP1Error) {
            switch try parser.line(line) {
            case .statusLine, .field, .trailer: break
            case .interimHead(let head):
                interimCount &+= 1
                guard interimCount <= OriginTransfer.interimLimit else {
                    failure = .originProtocol("sent more than \(OriginTransfer.interimLimit) interim responses")
                    return .abort
                }
                deliver { $0.originSentInterim(head) }
            case .head(let head) where head.status == 407 && isForParent:
                failure = .parentRefused(407, host: request.host)
                return .abort
            case .head(let head):
                hasHead = true
                deliver {
                    self.loop.transfers.move(&self.stage, to: .receiving)
                    $0.originSentHead(head)
                }
            }
            return .proceed
        } catch {
            failure = .originProtocol("sent a malformed response: \(error)")
            return .abort
        }
    }

    /// Whether the request itself goes to a parent proxy: its 407 is for this proxy, and not for the client, who can't
    /// answer it (RFC 9110 §11.7.1).
    private var isForParent: Bool { !request.isHTTPS && loop.proxy.transports.asksParent(for: request.host) }

    func transfer(_ transfer: Transfer, didReceiveBody bytes: UnsafeRawBufferPointer) -> BodyVerdict {
        guard hasHead else {
            failure = .originProtocol("sent something that is no HTTP response")
            return .abort
        }
        let sent = sendStraight(bytes)
        guard sent < bytes.count else { return .consumed }
        let bytes = UnsafeRawBufferPointer(rebasing: bytes[sent...])
        take(bytes)
        handedOver &+= bytes.count
        let waiting = delivered.add(bytes.count, ordering: .sequentiallyConsistent).newValue
        guard waiting >= mark else { return .consumed }
        // A pause of an earlier call stands: whoever takes the bytes that wait finds it, and resumes. Only one of this
        // call may be taken back.
        guard !isPaused.exchange(true, ordering: .sequentiallyConsistent) else { return .consumedLast }
        // The client may have taken all of it between the lines above: then nobody else would resume.
        if delivered.load(ordering: .sequentiallyConsistent) <= limit / 4,
            isPaused.exchange(false, ordering: .sequentiallyConsistent)
        {
            return .consumed
        }
        return .consumedLast
    }

    /// Sends bytes of the body to the client's socket, if that is lent.
    ///
    /// - Returns: how many need not go to the event loop.
    private func sendStraight(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard hasLoan.load(ordering: .acquiring), let loan, let outbox else { return 0 }
        let sent = loan.send(bytes, at: handedOver)
        if sent > 0 { outbox.noteSent(loan) }
        return sent
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        guard let outbox else { return }
        if let piece, outbox.turn == pieceTurn, piece.append(bytes) { return }
        let piece = outbox.makePiece(bytes)
        self.piece = piece
        pieceTurn = outbox.turn
        deliver { $0.originSentBody(piece.take()) }
    }

    func transfer(_ transfer: Transfer, readBodyInto space: UnsafeMutableRawBufferPointer) -> ReadVerdict {
        if !hasAskedForBody {
            hasAskedForBody = true
            deliver { $0.originWantsBody() }
        }
        let (verdict, mustRelease) = upload.withLock { upload -> (ReadVerdict, Bool) in
            let count = upload.queue.read(into: space)
            let mustRelease = upload.clientIsHeld && upload.queue.byteCount <= limit / 8
            if mustRelease { upload.clientIsHeld = false }
            if count > 0 { return (.bytes(count), mustRelease) }
            if upload.hasEnded { return (.end, mustRelease) }
            upload.isStarved = true
            return (.pause, mustRelease)
        }
        if mustRelease { deliver { $0.originTookBody() } }
        return verdict
    }

    func trailers(of transfer: Transfer) -> [[UInt8]] { upload.withLock(\.trailers) }

    func transfer(_ transfer: Transfer, mayConnectTo address: UnsafeRawPointer) -> Bool {
        let verdict = loop.proxy.addressPolicy.judge(
            address.assumingMemoryBound(to: sockaddr.self), clientIsLocal: clientIsLocal)
        guard let refusal = ProxyError(verdict, host: request.host) else { return true }
        self.refusal = refusal
        return false
    }

    func transfer(_ transfer: Transfer, didConnect descriptor: CInt) { close(descriptor) }

    func transferDidFinish(_ transfer: Transfer, _ result: TransferResult) {
        if result.isSuccess, hasHead {
            if let trailers = parser.takeTrailers() { deliver { $0.originSentTrailers(trailers) } }
            deliverEnd(nil)
        } else if result.isCancelled {
            deliverEnd(.internalError)
        } else {
            deliverEnd(
                // Of a response that has begun.
                result.isSuccess
                    ? .terminated(request.host, "its header section is incomplete")
                    : ProxyError(result, host: request.host, known: failure ?? (result.hasNoConnection ? refusal : nil))
            )
        }
    }
}

/// An event on its way to the event loop.
private struct UncheckedEvent: @unchecked Sendable {
    // Unchecked: the closure captures only values that are Sendable, which its type can't say for an existential.
    let run: (any OriginSink) -> Void
    init(_ run: @escaping (any OriginSink) -> Void) { self.run = run }
}

extension TransferRequest {
    fileprivate init(_ request: OriginRequest, over connections: OriginConnections) {
        let body: TransferRequest.Body =
            switch request.body {
            case .none: .none
            case .length(let length): .length(length)
            case .chunked: .chunked
            }
        self.init(
            method: request.method, isHTTPS: request.isHTTPS, host: request.host, port: request.port,
            pathAndQuery: request.pathAndQuery, lines: request.lines, body: body, isHead: request.isHead,
            expectsContinue: request.expectsContinue, needsFreshConnection: !request.mayBeRepeated)
        switch connections {
        case .shared: break
        case .single:
            needsFreshConnection = true
            isLastOnConnection = true
        case .own(let own):
            // The steps of a handshake have to go over one connection, whatever the method.
            pool = own.pool
            needsFreshConnection = false
            mayBeRepeated = request.mayBeRepeated
        }
    }
}

extension ProxyError {
    /// The error that a client gets for a failed transfer.
    ///
    /// - Parameter known: the reason for which a callback ended the transfer, if one did.
    init(_ result: TransferResult, host: String, known: ProxyError?) {
        if let known, result.kind != .silence {
            self = known
            return
        }
        switch result.kind {
        case .silence: self = .silent(host)
        case .hostNotFound: self = .dns(host)
        case .proxyNotFound: self = .parentNotFound(host)
        case .notConnected:
            // libcurl's own text does not say why.
            let why = result.osErrno == 0 ? "" : " (\(String(cString: strerror(result.osErrno))))"
            self = .notReached(host, result.message + why)
        case .noLibrary: self = .noLibrary(result.message)
        case .noResources: self = .noResources(host, String(cString: strerror(result.osErrno)))
        case .connectTimeout: self = .connectTimeout(host)
        case .tunnelRefused: self = .parentRefused(result.tunnelStatus, host: host)
        case .incomplete: self = .terminated(host, "its response is incomplete")
        case .reset: self = .terminated(host, result.message)
        case .noTrustAnchors: self = .trustAnchors(host, result.message)
        case .tlsCertificate: self = .tls(host, result.message, isCertificate: true)
        case .tlsProtocol: self = .tls(host, result.message, isCertificate: false)
        case .malformed: self = .originProtocol("sent a response that is malformed")
        case .other, .success, .cancelled: self = .originProtocol("could not be read: \(result.message)")
        }
    }
}
