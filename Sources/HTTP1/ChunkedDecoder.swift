public import HTTPSemantics
public import NIOCore

/// What a ``ChunkedDecoder`` found next.
public enum ChunkedEvent: Sendable {
    /// A piece of the content, never empty: a slice of what was received.
    case data(ByteBuffer)
    /// The end of the body, with the trailer section if there is one that is not empty.
    case end(trailers: FieldSection?)
}

/// Decodes the chunked transfer coding as its bytes come, strictly (RFC 9112 §7.1).
///
/// Lines end in CRLF, sizes are digits alone, extensions are checked and dropped. Content-Length, Transfer-Encoding and
/// Host in the trailer section are errors; for other fields that have no place there see ``TrailerFilter``.
public struct ChunkedDecoder: Sendable {
    private enum Phase {
        case control
        case data(remaining: Int)
        case trailers
        case complete
        case failed(HTTP1Error)
    }

    private let limits: MessageLimits
    private var phase = Phase.control
    private var scanner = ChunkLineScanner()
    private var trailerLines = FieldLineScanner()

    public init(limits: MessageLimits = MessageLimits()) { self.limits = limits }

    /// Whether the end was found.
    public var isComplete: Bool {
        if case .complete = phase { return true }
        return false
    }

    /// Begins with another body.
    public mutating func reset() {
        phase = .control
        scanner = ChunkLineScanner()
    }

    /// The next event, or nil where more bytes are needed or the body is complete.
    ///
    /// What was decoded is read from `buffer`. An unfinished trailer section stays in it: call again with the same
    /// bytes and more.
    ///
    /// - Throws: What is wrong with the coding, as soon as its bytes show it, and the same from then on.
    public mutating func next(_ buffer: inout ByteBuffer) throws(HTTP1Error) -> ChunkedEvent? {
        do throws(HTTP1Error) {
            return try advance(&buffer)
        } catch {
            phase = .failed(error)
            throw error
        }
    }

    private mutating func advance(_ buffer: inout ByteBuffer) throws(HTTP1Error) -> ChunkedEvent? {
        while true {
            switch phase {
            case .control:
                guard try advanceControl(&buffer) else { return nil }
            case .data(let remaining):
                let count = min(remaining, buffer.readableBytes)
                guard count > 0, let piece = ChunkedDecoder.take(count, from: &buffer) else { return nil }
                phase = count == remaining ? .control : .data(remaining: remaining &- count)
                return .data(piece)
            case .trailers:
                guard try ChunkedDecoder.scan(buffer, &trailerLines) else { return nil }
                let present = trailerLines.present
                let lines = trailerLines.takeLines()
                let bytes = ChunkedDecoder.take(trailerLines.position, from: &buffer) ?? ByteBuffer()
                phase = .complete
                return .end(
                    trailers: lines.isEmpty ? nil : FieldSection(bytes: bytes, lines: lines, present: present))
            case .complete:
                return nil
            case .failed(let error):
                throw error
            }
        }
    }

    /// Reads chunk sizes and line ends; false where more bytes are needed.
    private mutating func advanceControl(_ buffer: inout ByteBuffer) throws(HTTP1Error) -> Bool {
        let (consumed, size) = try ChunkedDecoder.scan(buffer, &scanner, limits)
        buffer.moveReaderIndex(forwardBy: consumed)
        guard let size else { return false }
        if size > 0 {
            phase = .data(remaining: size)
        } else {
            trailerLines.beginTrailers(limits, noting: FramingFields.requestNames)
            phase = .trailers
        }
        return true
    }

    private static func scan(
        _ buffer: ByteBuffer, _ scanner: inout ChunkLineScanner, _ limits: MessageLimits
    ) throws(HTTP1Error) -> (consumed: Int, size: Int?) {
        try buffer.withUnsafeReadableBytes { bytes throws(HTTP1Error) in
            try scanner.scan(bytes, limits.chunkExtensionBytes)
        }
    }

    private static func scan(_ buffer: ByteBuffer, _ scanner: inout FieldLineScanner) throws(HTTP1Error) -> Bool {
        var framing = FramingFields(isTrailer: true)
        return try buffer.withUnsafeReadableBytes { bytes throws(HTTP1Error) in
            try scanner.scan(bytes, noting: &framing)
        }
    }

    /// Takes a slice from the front of `buffer`, and lets go of storage that has nothing left to read.
    private static func take(_ count: Int, from buffer: inout ByteBuffer) -> ByteBuffer? {
        let slice = buffer.readSlice(length: count)
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
        return slice
    }
}
