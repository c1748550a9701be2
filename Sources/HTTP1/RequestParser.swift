public import HTTPSemantics
public import NIOCore

/// What a ``RequestParser`` found next.
public enum RequestEvent: Sendable {
    /// A request's head, and how the end of its body is found.
    case head(RequestHead, BodyFraming)
    /// A piece of the body, never empty: a slice of what was received.
    case body(ByteBuffer)
    /// The end of the message, with the trailer section if there is one that is not empty.
    case end(trailers: FieldSection?)
}

/// Parses the requests of one connection as their bytes come, strictly (RFC 9112).
///
/// Give it what is received with ``feed(_:)``, then call ``next()`` until it returns nil. After
/// ``RequestEvent/end(trailers:)`` the next request of a pipeline is parsed only when ``next()`` is called again: a
/// caller that paces requests stops there, and stops reading, because the parser keeps what it is fed. The events and
/// errors do not depend on how the bytes are cut, except for the pieces of a body.
public struct RequestParser: Sendable {
    @usableFromInline
    enum Phase: Sendable {
        case head
        case body(remaining: Int)
        case chunked
        case detached
        case failed(HTTP1Error)
    }

    /// Empty lines that are skipped before a request line (RFC 9112 §2.2).
    private static let maximumEmptyLines = 4

    private let limits: MessageLimits
    // Not private, so that the short properties below can be inlined: a call would copy the parser, which is large.
    @usableFromInline var input = InputBuffer()
    @usableFromInline var phase = Phase.head
    private var emptyLines = 0
    private var scanner = RequestHeadScanner()
    private var decoder: ChunkedDecoder
    /// Whether ``next()`` has returned nil since bytes came.
    private var isStarved = false
    private var inputHasEnded = false
    /// Method and target of a request whose fields were unusable; nil where its request line was, or none has failed.
    public private(set) var failedLine: (method: ByteBuffer, target: ByteBuffer)?

    public init(limits: MessageLimits = MessageLimits()) {
        self.limits = limits
        decoder = ChunkedDecoder(limits: limits)
    }

    /// Takes what was received, and leaves `buffer` empty.
    ///
    /// Nothing is copied unless a part of a head is waiting for its rest.
    public mutating func feed(_ buffer: inout ByteBuffer) {
        feed(buffer)
        buffer = ByteBuffer()
    }

    /// Takes what was received.
    public mutating func feed(_ buffer: consuming ByteBuffer) {
        if case .failed = phase { return }
        isStarved = false
        input.append(buffer)
    }

    /// The next event, or nil where more bytes are needed.
    ///
    /// - Throws: What is wrong with the request, as soon as its bytes show it, and the same from then on. After
    ///   ``end()``, ``HTTP1Error/unexpectedEnd`` where the input ended inside a message.
    public mutating func next() throws(HTTP1Error) -> RequestEvent? {
        do throws(HTTP1Error) {
            return try advance()
        } catch {
            fail(error)
            throw error
        }
    }

    /// The head of the next request if one is due and has come whole; otherwise nil, and ``next()`` says why.
    ///
    /// A short way for most requests, which have no body: if `framing` is ``BodyFraming/none`` no event tells the
    /// request's end, and the next event belongs to the next request.
    ///
    /// - Throws: What ``next()`` throws.
    @inline(__always)
    public mutating func nextHead(_ framing: inout BodyFraming) throws(HTTP1Error) -> RequestHead? {
        guard case .head = phase, !input.isEmpty else { return nil }
        do throws(HTTP1Error) {
            guard try RequestParser.scan(input, &scanner, limits) == .complete else { return nil }
            let head = try takeHead(&framing)
            if framing == .none { phase = .head }
            return head
        } catch {
            fail(error)
            throw error
        }
    }

    /// Says that no more bytes will come.
    ///
    /// Requests that were received before it are still parsed.
    ///
    /// - Throws: ``HTTP1Error/unexpectedEnd`` if the input ended inside a message and ``next()`` has returned nil
    ///   because the rest was missing. If there are still events to fetch, ``next()`` throws it after them.
    public mutating func end() throws(HTTP1Error) {
        inputHasEnded = true
        if case .failed(let error) = phase { throw error }
        guard isStarved, !isBetweenMessages else { return }
        fail(.unexpectedEnd)
        throw .unexpectedEnd
    }

    /// Whether bytes were fed that no event has covered yet.
    @inlinable public var hasBufferedBytes: Bool { !input.isEmpty }

    /// Whether no message is under way: the last one, if any, has ended, and no byte of another has come.
    @inlinable public var isBetweenMessages: Bool {
        if case .head = phase { return input.isEmpty }
        return false
    }

    /// Whether some bytes of a head have come and its end has not: what a timeout for heads counts from.
    @inlinable public var headStarted: Bool {
        if case .head = phase { return !input.isEmpty }
        return false
    }

    /// Takes the bytes after the last event, for a tunnel or a protocol that was switched to.
    ///
    /// From then on nothing is parsed: what is fed can only be taken again.
    public mutating func takeRemaining() -> ByteBuffer {
        phase = .detached
        isStarved = false
        return input.take(input.count)
    }

    /// Takes the storage of a head that is no longer used, for the next one.
    ///
    /// It helps where no copy of the head is left.
    public mutating func recycle(_ head: inout RequestHead) {
        var lines = head.fields.takeLines()
        scanner.recycle(&lines)
    }

    /// The same for a head that is given away.
    public mutating func recycle(_ head: consuming RequestHead) { recycle(&head) }

    private mutating func fail(_ error: HTTP1Error) {
        if case .head = phase { failedLine = scanner.requestLine(in: input.bytes) }
        phase = .failed(error)
        input = InputBuffer()
    }

    @inline(__always)
    private mutating func advance() throws(HTTP1Error) -> RequestEvent? {
        switch phase {
        case .head:
            return try advanceHead()
        case .body(let remaining):
            guard remaining > 0 else {
                phase = .head
                return .end(trailers: nil)
            }
            guard !input.isEmpty else { return try needMore() }
            let piece = input.takeAtMost(remaining)
            phase = .body(remaining: remaining &- piece.readableBytes)
            return .body(piece)
        case .chunked:
            switch try decoder.next(&input.bytes) {
            case nil: return try needMore()
            case .data(let piece): return .body(piece)
            case .end(let trailers):
                phase = .head
                return .end(trailers: trailers)
            }
        case .detached: return nil
        case .failed(let error):
            throw error
        }
    }

    @inline(__always)
    private mutating func advanceHead() throws(HTTP1Error) -> RequestEvent? {
        while true {
            switch try RequestParser.scan(input, &scanner, limits) {
            case .incomplete: return try needMore()
            case .emptyLine:
                emptyLines &+= 1
                guard emptyLines <= RequestParser.maximumEmptyLines else { throw .invalidRequestLine }
                _ = input.take(2)
            case .complete:
                var framing = BodyFraming.none
                return .head(try takeHead(&framing), framing)
            }
        }
    }

    /// Takes the head that the scanner has found.
    @inline(__always)
    private mutating func takeHead(_ framing: inout BodyFraming) throws(HTTP1Error) -> RequestHead {
        framing = try scanner.framing()
        let head = scanner.takeHead(input.take(scanner.length))
        emptyLines = 0
        switch framing {
        case .length(let length): phase = .body(remaining: length)
        case .chunked:
            decoder.reset()
            phase = .chunked
        case .none, .untilClose: phase = .body(remaining: 0)
        }
        return head
    }

    private enum HeadScan { case incomplete, emptyLine, complete }

    private static func scan(
        _ input: InputBuffer, _ scanner: inout RequestHeadScanner, _ limits: MessageLimits
    ) throws(HTTP1Error) -> HeadScan {
        try input.withBytes { bytes throws(HTTP1Error) in
            if bytes.first == Byte.carriageReturn {
                guard bytes.count > 1 else { return .incomplete }
                guard bytes[1] == Byte.lineFeed else { throw .bareCarriageReturn }
                return .emptyLine
            }
            return try scanner.scan(bytes, limits) ? .complete : .incomplete
        }
    }

    /// What to return where the bytes have run out.
    private mutating func needMore() throws(HTTP1Error) -> RequestEvent? {
        isStarved = true
        guard inputHasEnded, !isBetweenMessages else { return nil }
        throw .unexpectedEnd
    }
}
