import Files
import HTTPSemantics
import NIOCore
import NIOPosix
import Substitution

/// The head of a response as an exchange gives it to the client's side, which adds what its HTTP version needs.
struct ResponseStart {
    enum Body: Equatable {
        /// No body follows, whatever the fields say: HEAD, 204, 304.
        case none
        case length(Int)
        /// The length is known only at the end: chunked, or delimited by closing for HTTP/1.0.
        case unknown
    }

    var status: Int
    /// The reason phrase as received from an origin; nil writes the standard one.
    var reason: ByteBuffer?
    /// End-to-end field lines, each with its CRLF, Content-Length among them where it is known.
    var lines: ByteBuffer
    var body: Body
    /// Whether the exchange goes on with what is still to come of the request's body, as where an origin gets it.
    var usesBody = false
}

/// What a response's body is written to; called on the client's event loop.
protocol BodyReceiver: AnyObject {
    /// Whether what is written soon leaves; else an exchange stops its source until it is told.
    var isWritable: Bool { get }
    /// Whether nothing of what was written is still here.
    var hasSentAll: Bool { get }
    func send(_ body: ByteBuffer)
    func flush()
    /// Whether bytes of the body under way may go to the socket as they are: not over TLS and HTTP/2, nor in chunks.
    var takesBodyAsItIs: Bool { get }
    /// A duplicate of the socket, which the caller owns; nil where bytes can't go there, or there is no descriptor.
    func duplicateSocket() -> CInt?
    /// Counts bytes of the body that were sent past this.
    func noteSent(_ count: Int)
}

/// The client's side of an exchange: an HTTP/1 connection, or another protocol's stream.
///
/// All calls are on the client's event loop.
protocol ExchangeClient: BodyReceiver {
    var loop: LoopContext { get }
    /// The client's IP address as text, and whether it is on this machine.
    var address: String { get }
    var isLocal: Bool { get }
    /// The origin of the decrypted tunnel that the requests come through; nil outside of one.
    var secured: SecureAuthority? { get }
    /// Whether the client's connection is TLS, which has to have the bytes of all that is sent.
    var isEncrypted: Bool { get }
    /// Whether the client takes a whole response as bytes, and this one may keep the connection open.
    var takesSerialisedResponse: Bool { get }
    /// Whether the header section is sent as a header block of HTTP/2.
    var takesFieldBlocks: Bool { get }
    /// Whose the client's socket is, as far as the kernel tells; nil where that can't be asked.
    var owner: ClientOwner? { get }
    /// The connections to origins that are this client's connection's alone; nil unless they stand for a user.
    var ownConnections: OwnConnections? { get set }
    /// The log's record of the exchange under way, which ``LoopContext/open(_:_:on:)`` begins.
    var record: ExchangeRecord? { get set }

    func sendContinue()
    func sendInterim(status: Int, lines: ByteBuffer)
    /// A whole response that was serialised before; only where ``takesSerialisedResponse``.
    func sendSerialised(_ response: ByteBuffer)
    func sendSerialised(_ head: ByteBuffer, _ body: BodySegments)
    /// The same as a header block and a body, nil for none; only where ``takesFieldBlocks`` too.
    ///
    /// - Parameter status: the one that the block has.
    func send(fieldBlock: ByteBuffer, status: Int, _ body: BodySegments?)
    func start(_ response: ResponseStart)
    /// Sends a region of a file; not where ``needsBytes``, and so not where there are observers.
    func send(_ region: FileRegion, promise: EventLoopPromise<Void>?)
    /// Sends a range of content that the kernel sends by itself; not where ``isEncrypted``. Observers are not told of
    /// it here: ``send(_:_:)`` tells them.
    func send(_ content: SealedContent, _ range: Range<Int>)
    /// Ends the response; `trailers` are field lines, each with its CRLF.
    func finish(trailers: ByteBuffer?)
    /// Cuts the connection off, so that the client sees an incomplete response.
    func abort()
    /// Whether the exchange wants more of the request's body now.
    func setWantsBody(_ wants: Bool)
    /// Answers with an error of the proxy's own, if no response has begun; else cuts the connection off.
    func fail(_ error: ProxyError)
    /// Goes on with another exchange in the place of the one that has released the client.
    func resume(_ begin: () -> (any Exchange)?)
    /// Gives the connection to a tunnel; bytes that come before ``takeUnread()`` are kept.
    func takeOver() -> (any Channel)?
    /// The bytes that were read behind the request's head, and whether the client has closed its side.
    func takeUnread() -> (bytes: ByteBuffer, inputHasEnded: Bool)
}

extension ExchangeClient {
    /// Sends a range of a body in memory, in the way that costs the client's connection least.
    func send(_ body: BodySegments, _ range: Range<Int>) {
        guard !isEncrypted, let sealed = body.sealed, range.count >= SealedContent.smallest else {
            return body.forEachSlice(of: range) { send($0) }
        }
        if loop.isObserved, let observed = record?.observed {
            body.forEachSlice(of: range) { observed.body($0) }
        }
        send(sealed, range)
    }

    /// How many bytes are sent to it before a flush. TLS copies what it is given, and only behind a flush it counts for
    /// ``isWritable``; HTTP/2 keeps what it is given until the client takes it.
    var mostUnflushed: Int { isEncrypted && !takesFieldBlocks ? 64 << 10 : .max }

    /// Whether a body of so many bytes, all of it in memory, may be sent at once, whatever the client takes.
    func takesAtOnce(_ size: Int) -> Bool { size <= StoredExchange.threshold || mostUnflushed == .max }

    /// Whether what is sent has to be here as bytes: for TLS, or for observers.
    var needsBytes: Bool { isEncrypted || (loop.isObserved && record?.observed != nil) }

    func noteSent(_ count: Int) { record?.bodyBytes &+= count }
}

/// What serves one request; the client's side calls it on its event loop.
protocol Exchange: AnyObject {
    func receive(_ body: ByteBuffer)
    func receiveEnd(trailers: FieldSection?)
    func clientBecameWritable()
    /// The client has gone, or its request turned out malformed: nothing more is sent.
    func clientIsGone()
}

/// A request as the dispatcher gets it.
struct Request {
    var head: RequestHead
    /// Bytes of the body: nil where it is chunked, 0 where there is none.
    var bodyLength: Int?
    /// The monotonic time at which its head was complete, in nanoseconds; where its credentials had to be checked, that
    /// at which it was let in.
    var receivedAt: UInt64
    /// How long it had waited by then: nanoseconds.
    private(set) var waited: UInt64 = 0

    var hasBody: Bool { bodyLength != 0 }
    /// Whether it declares a body of more bytes than these.
    func hasMore(than limit: Int) -> Bool { bodyLength.map { $0 > limit } ?? false }
    var isHead: Bool { head.method == .head }

    init(head: RequestHead, bodyLength: Int?, receivedAt: UInt64) {
        self.head = head
        self.bodyLength = bodyLength
        self.receivedAt = receivedAt
    }

    /// The monotonic time at which its head was complete, whatever it waited for since.
    var startedAt: UInt64 { receivedAt &- waited }

    /// The request without its body, which another exchange has had: nobody waits for it.
    var withoutBody: Request {
        var request = self
        request.bodyLength = 0
        return request
    }

    /// The request as it is let in later than it came, so that its answer is of that time.
    func admitted(at now: UInt64) -> Request {
        var request = self
        request.waited = now > receivedAt ? now &- receivedAt : 0
        request.receivedAt = receivedAt &+ request.waited
        return request
    }
}
