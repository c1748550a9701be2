public import HTTPSemantics
import NIOCore

/// What a line given to a ``ResponseHeadParser`` was.
public enum ResponseLineEvent: Sendable {
    /// A status line, with its code.
    case statusLine(Int)
    /// A line of a header section.
    case field
    /// The empty line after an interim response's header section (1xx but 101); a status line follows.
    case interimHead(ResponseHead)
    /// The empty line after the final response's header section.
    case head(ResponseHead)
    /// A line of the trailer section, or the empty line after it.
    case trailer
}

/// Parses the head of a response, and its trailers, from raw lines as libcurl gives them (`CURLOPT_HEADERFUNCTION`).
///
/// libcurl passes on what it received even where it is malformed, hence the strictness here (RFC 9112).
public struct ResponseHeadParser: Sendable {
    private enum Phase {
        case head, trailers
        case failed(HTTP1Error)
    }

    private let limits: MessageLimits
    private var phase = Phase.head
    private var bytes = ByteBuffer()
    private var scanner = ResponseHeadScanner()
    private var trailerLines = FieldLineScanner()

    public init(limits: MessageLimits = MessageLimits()) { self.limits = limits }

    /// Takes one whole line with its CRLF.
    ///
    /// - Throws: What is wrong with the response, and the same from then on; ``HTTP1Error/unexpectedEnd`` where a line
    ///   has no end.
    public mutating func line(_ line: UnsafeRawBufferPointer) throws(HTTP1Error) -> ResponseLineEvent {
        do throws(HTTP1Error) {
            switch phase {
            case .head: return try headLine(line)
            case .trailers: return try trailerLine(line)
            case .failed(let error): throw error
            }
        } catch {
            phase = .failed(error)
            bytes = ByteBuffer()
            throw error
        }
    }

    /// The trailer section received after the final head, nil where there is none; to be asked at the response's end.
    public mutating func takeTrailers() -> FieldSection? {
        guard case .trailers = phase else { return nil }
        let present = trailerLines.present
        let lines = trailerLines.takeLines()
        guard !lines.isEmpty else { return nil }
        let section = FieldSection(bytes: bytes, lines: lines, present: present)
        bytes = ByteBuffer()
        trailerLines.beginTrailers(limits, noting: FieldNameSet())
        return section
    }

    private mutating func headLine(_ line: UnsafeRawBufferPointer) throws(HTTP1Error) -> ResponseLineEvent {
        if bytes.readableBytes == 0 { bytes = ByteBufferAllocator().buffer(capacity: 1024) }
        bytes.writeBytes(line)
        let wasInFields = scanner.isInFields
        guard try ResponseHeadParser.scan(bytes, &scanner, limits) else {
            guard scanner.isAtLineStart else { throw .unexpectedEnd }
            return wasInFields ? .field : .statusLine(scanner.status)
        }
        guard scanner.length == bytes.readableBytes else { throw .invalidFieldValue }
        let head = scanner.finish(bytes)
        bytes = ByteBuffer()
        if head.isInterim { return .interimHead(head) }
        trailerLines.beginTrailers(limits, noting: FieldNameSet())
        phase = .trailers
        return .head(head)
    }

    private mutating func trailerLine(_ line: UnsafeRawBufferPointer) throws(HTTP1Error) -> ResponseLineEvent {
        // Nothing comes after the empty line that ends the trailer section.
        guard !trailerLines.isComplete else { throw .invalidFieldName }
        bytes.writeBytes(line)
        guard try !ResponseHeadParser.scan(bytes, &trailerLines) else { return .trailer }
        guard trailerLines.isAtLineStart else { throw .unexpectedEnd }
        return .trailer
    }

    private static func scan(
        _ buffer: ByteBuffer, _ scanner: inout ResponseHeadScanner, _ limits: MessageLimits
    ) throws(HTTP1Error) -> Bool {
        try buffer.withUnsafeReadableBytes { bytes throws(HTTP1Error) in try scanner.scan(bytes, limits) }
    }

    private static func scan(_ buffer: ByteBuffer, _ scanner: inout FieldLineScanner) throws(HTTP1Error) -> Bool {
        // Trailers come too late to frame the response, so none is noted; TrailerFilter leaves such names out.
        var framing = FramingFields()
        return try buffer.withUnsafeReadableBytes { bytes throws(HTTP1Error) in
            try scanner.scan(bytes, noting: &framing)
        }
    }
}
