public import HTTPSemantics
public import NIOCore

/// What a ``ResponseParser`` found next.
public enum ResponseEvent: Sendable {
    /// The head of an interim response (1xx but 101); more heads follow.
    case interimHead(ResponseHead)
    /// The final response's head, and how the end of its body is found.
    case head(ResponseHead, BodyFraming)
    /// A piece of the body, never empty: a slice of what was received.
    case body(ByteBuffer)
    /// The end of the message, with the trailer section if there is one that is not empty.
    case end(trailers: FieldSection?)
}

/// Parses the responses of one connection as their bytes come, strictly (RFC 9112); for connections that libcurl
/// doesn't own.
///
/// Give it what is received with ``feed(_:)``, then call ``next()`` until it returns nil. After a 101 or the end, the
/// bytes that follow are ``takeRemaining()``'s.
public struct ResponseParser: Sendable {
    private enum Phase {
        case head
        case body(remaining: Int)
        case chunked
        case untilClose
        case ended
        case failed(HTTP1Error)
    }

    private let limits: MessageLimits
    private var method: Method
    private var input = InputBuffer()
    private var phase = Phase.head
    private var scanner = ResponseHeadScanner()
    private var decoder: ChunkedDecoder
    private var inputHasEnded = false

    /// - Parameter method: That of the request, on which the body's framing depends.
    public init(respondingTo method: Method, limits: MessageLimits = MessageLimits()) {
        self.limits = limits
        self.method = method
        decoder = ChunkedDecoder(limits: limits)
    }

    /// Expects the response to another request, after the end of the one before it.
    public mutating func expectResponse(to method: Method) {
        guard case .ended = phase else { return }
        self.method = method
        phase = .head
    }

    /// Takes what was received, and leaves `buffer` empty.
    public mutating func feed(_ buffer: inout ByteBuffer) {
        if case .failed = phase {
            buffer = ByteBuffer()
            return
        }
        input.append(buffer)
        buffer = ByteBuffer()
    }

    /// Says that no more bytes will come, which is the end of a body that has no other.
    ///
    /// Call ``next()`` afterwards: it gives the end, or throws ``HTTP1Error/unexpectedEnd``.
    public mutating func end() { inputHasEnded = true }

    /// The next event, or nil where more bytes are needed or the response has ended.
    ///
    /// - Throws: What is wrong with the response, as soon as its bytes show it, and the same from then on.
    public mutating func next() throws(HTTP1Error) -> ResponseEvent? {
        do throws(HTTP1Error) {
            return try advance()
        } catch {
            phase = .failed(error)
            input = InputBuffer()
            throw error
        }
    }

    /// Whether bytes were fed that no event has covered yet.
    public var hasBufferedBytes: Bool { !input.isEmpty }

    /// Whether the response has ended.
    public var hasEnded: Bool {
        if case .ended = phase { return true }
        return false
    }

    /// Takes the bytes after the last event, for a tunnel or a protocol that was switched to.
    public mutating func takeRemaining() -> ByteBuffer {
        phase = .ended
        return input.take(input.count)
    }

    private mutating func advance() throws(HTTP1Error) -> ResponseEvent? {
        switch phase {
        case .head: return try advanceHead()
        case .body(let remaining):
            guard remaining > 0 else { return finish(nil) }
            guard !input.isEmpty else { return try needMore() }
            let piece = input.takeAtMost(remaining)
            phase = .body(remaining: remaining &- piece.readableBytes)
            return .body(piece)
        case .chunked:
            switch try decoder.next(&input.bytes) {
            case nil: return try needMore()
            case .data(let piece): return .body(piece)
            case .end(let trailers): return finish(trailers)
            }
        case .untilClose:
            if !input.isEmpty { return .body(input.take(input.count)) }
            return inputHasEnded ? finish(nil) : nil
        case .ended: return nil
        case .failed(let error): throw error
        }
    }

    private mutating func advanceHead() throws(HTTP1Error) -> ResponseEvent? {
        guard try ResponseParser.scan(input.bytes, &scanner, limits) else { return try needMore() }
        let head = scanner.finish(input.take(scanner.length))
        if head.isInterim { return .interimHead(head) }
        let framing = head.framing(for: method)
        switch framing {
        case .none: phase = .body(remaining: 0)
        case .length(let length): phase = .body(remaining: length)
        case .chunked:
            decoder.reset()
            phase = .chunked
        case .untilClose: phase = .untilClose
        }
        return .head(head, framing)
    }

    private mutating func finish(_ trailers: FieldSection?) -> ResponseEvent {
        phase = .ended
        return .end(trailers: trailers)
    }

    private static func scan(
        _ buffer: ByteBuffer, _ scanner: inout ResponseHeadScanner, _ limits: MessageLimits
    ) throws(HTTP1Error) -> Bool {
        try buffer.withUnsafeReadableBytes { bytes throws(HTTP1Error) in try scanner.scan(bytes, limits) }
    }

    /// What to return where the bytes have run out; a response that is expected and doesn't come has ended too early.
    private func needMore() throws(HTTP1Error) -> ResponseEvent? {
        if inputHasEnded { throw .unexpectedEnd }
        return nil
    }
}
