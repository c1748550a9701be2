public import HTTP1
public import HTTPSemantics
public import NIOCore

/// A field line as a pair of byte strings.
public struct TracedField: Equatable, Sendable {
    public var name: [UInt8]
    public var value: [UInt8]

    public init(_ name: [UInt8], _ value: [UInt8]) {
        self.name = name
        self.value = value
    }
}

/// A step of parsing, in a form that can be compared; pieces of a body that follow each other are one.
public enum TraceStep: Equatable, Sendable {
    case requestHead(method: [UInt8], target: [UInt8], HTTPVersion, [TracedField], BodyFraming)
    case responseHead(status: Int, reason: [UInt8], HTTPVersion, [TracedField], BodyFraming?)
    case body([UInt8])
    case end(trailers: [TracedField]?)
    case failed(HTTP1Error)
}

/// What a parser makes of bytes, however they are cut.
public struct MessageTrace: Equatable, Sendable {
    public private(set) var steps: [TraceStep] = []

    public init() {}

    public mutating func append(_ step: TraceStep) {
        if case .body(let more) = step, case .body(let bytes)? = steps.last {
            steps[steps.count - 1] = .body(bytes + more)
        } else {
            steps.append(step)
        }
    }

    /// The error that parsing ended with.
    public var error: HTTP1Error? {
        if case .failed(let error)? = steps.last { return error }
        return nil
    }

    /// How many messages were complete.
    public var completeCount: Int {
        steps.count {
            if case .end = $0 { return true }
            return false
        }
    }

    /// The bytes of all bodies, one after the other.
    public var body: [UInt8] {
        steps.flatMap { step -> [UInt8] in
            if case .body(let bytes) = step { return bytes }
            return []
        }
    }
}

extension FieldSection {
    /// The lines as pairs of byte strings.
    public var traced: [TracedField] {
        lines.map { line in TracedField(withName(line) { Array($0) }, withValue(line) { Array($0) }) }
    }
}

extension RequestHead {
    /// The head in a form that can be compared.
    public func traced(_ framing: BodyFraming) -> TraceStep {
        .requestHead(method: methodBytes, target: targetBytes, version, fields.traced, framing)
    }
}

extension ResponseHead {
    /// The head in a form that can be compared.
    public func traced(_ framing: BodyFraming?) -> TraceStep {
        .responseHead(status: status, reason: withReason { Array($0) }, version, fields.traced, framing)
    }
}

/// Cuts `bytes` before each of the offsets; offsets that are outside or out of order cut nothing.
public func pieces(_ bytes: [UInt8], cutAt cuts: some Sequence<Int>) -> [ByteBuffer] {
    var pieces: [ByteBuffer] = []
    var start = 0
    for cut in cuts where cut > start && cut < bytes.count {
        pieces.append(ByteBuffer(bytes: bytes[start..<cut]))
        start = cut
    }
    pieces.append(ByteBuffer(bytes: bytes[start...]))
    return pieces
}

/// The method of the request whose fields ``RequestParser`` finds unusable in `bytes`; nil where none is, or where it has
/// no method.
public func methodOfFailedRequest(_ bytes: [UInt8]) -> [UInt8]? {
    var trace = MessageTrace()
    var parser = RequestParser(limits: MessageLimits())
    var piece = ByteBuffer(bytes: bytes)
    parser.feed(&piece)
    do throws(HTTP1Error) { try drain(&parser, into: &trace) } catch {
        return parser.failedLine.map { Array($0.method.readableBytesView) }
    }
    return nil
}

/// What ``RequestParser`` makes of `pieces`, fed one by one, and of the end of input after them.
public func requestTrace(_ pieces: [ByteBuffer], limits: MessageLimits = MessageLimits()) -> MessageTrace {
    var trace = MessageTrace()
    var parser = RequestParser(limits: limits)
    do throws(HTTP1Error) {
        for piece in pieces {
            var piece = piece
            parser.feed(&piece)
            try drain(&parser, into: &trace)
        }
        try parser.end()
        try drain(&parser, into: &trace)
    } catch {
        trace.append(.failed(error))
    }
    return trace
}

private func drain(_ parser: inout RequestParser, into trace: inout MessageTrace) throws(HTTP1Error) {
    while let event = try parser.next() {
        switch event {
        case .head(let head, let framing): trace.append(head.traced(framing))
        case .body(let bytes): trace.append(.body(Array(buffer: bytes)))
        case .end(let trailers): trace.append(.end(trailers: trailers?.traced))
        }
    }
}

/// What ``ResponseParser`` makes of `pieces`, as responses to requests with `method`, and of the end of input.
public func responseTrace(
    _ pieces: [ByteBuffer], to method: Method, limits: MessageLimits = MessageLimits()
) -> MessageTrace {
    var trace = MessageTrace()
    var parser = ResponseParser(respondingTo: method, limits: limits)
    do throws(HTTP1Error) {
        for piece in pieces {
            var piece = piece
            parser.feed(&piece)
            try drain(&parser, into: &trace)
        }
        parser.end()
        try drain(&parser, into: &trace)
    } catch {
        trace.append(.failed(error))
    }
    return trace
}

private func drain(_ parser: inout ResponseParser, into trace: inout MessageTrace) throws(HTTP1Error) {
    while let event = try parser.next() {
        switch event {
        case .interimHead(let head): trace.append(head.traced(nil))
        case .head(let head, let framing): trace.append(head.traced(framing))
        case .body(let bytes): trace.append(.body(Array(buffer: bytes)))
        case .end(let trailers): trace.append(.end(trailers: trailers?.traced))
        }
    }
}

/// What ``ChunkedDecoder`` makes of `pieces`, with the count of bytes that it left.
public func chunkedTrace(
    _ pieces: [ByteBuffer], limits: MessageLimits = MessageLimits()
) -> (trace: MessageTrace, left: Int) {
    var trace = MessageTrace()
    var decoder = ChunkedDecoder(limits: limits)
    var buffer = ByteBuffer()
    do throws(HTTP1Error) {
        for piece in pieces {
            buffer.writeImmutableBuffer(piece)
            while let event = try decoder.next(&buffer) {
                switch event {
                case .data(let bytes): trace.append(.body(Array(buffer: bytes)))
                case .end(let trailers): trace.append(.end(trailers: trailers?.traced))
                }
            }
        }
    } catch {
        trace.append(.failed(error))
        return (trace, 0)
    }
    return (trace, buffer.readableBytes)
}
