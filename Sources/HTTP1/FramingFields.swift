import HTTPSemantics

/// What the fields that frame and route a message say, checked as each of their lines is completed (RFC 9112 §6).
///
/// It is an error if recipients are known to differ over the meaning: two lengths even if they are equal, a list of
/// lengths, a length beside a transfer coding.
struct FramingFields {
    private(set) var hasHost = false
    private(set) var contentLength: Int?
    private(set) var isChunked = false
    /// The version of the start line, which precedes all fields.
    var version = HTTPVersion.http1_1

    /// Whether the fields are trailers, which come too late to frame and route anything (RFC 9110 §6.5.1).
    private let isTrailer: Bool

    init(isTrailer: Bool = false) { self.isTrailer = isTrailer }

    /// The names that ``note(_:_:)`` must be told of.
    static let requestNames = FieldNameSet(.host, .contentLength, .transferEncoding)
    static let responseNames = FieldNameSet(.contentLength, .transferEncoding)

    /// Takes a complete line into account.
    mutating func note(_ name: FieldName, _ value: UnsafeRawBufferPointer) throws(HTTP1Error) {
        guard !isTrailer else { throw .framingInTrailers }
        switch name {
        case .host:
            guard !hasHost else { throw .repeatedHost }
            guard HostField.isValid(value) else { throw .invalidHost }
            hasHost = true
        case .contentLength:
            guard contentLength == nil else { throw .repeatedContentLength }
            guard !isChunked else { throw .contentLengthWithTransferEncoding }
            guard let length = value.decimalValue else { throw .invalidContentLength }
            contentLength = length
        case .transferEncoding:
            guard !isChunked else { throw .repeatedTransferEncoding }
            guard contentLength == nil else { throw .contentLengthWithTransferEncoding }
            // RFC 9112 §6.1: the framing of such a message is faulty even if it has a Content-Length.
            guard version > .http1_0 else { throw .transferEncodingInHTTP10 }
            guard value.equalsIgnoringCase("chunked") else { throw TransferCoding.refusal(of: value) }
            isChunked = true
        default: break
        }
    }

    /// The framing of a request, once its head is complete (RFC 9112 §6.3).
    func requestFraming(_ method: Method) throws(HTTP1Error) -> BodyFraming {
        guard hasHost || version == .http1_0 else { throw .missingHost }
        if method == .connect {
            // Content-Length: 0 is what WinINet sends.
            guard !isChunked, contentLength ?? 0 == 0 else { throw .contentInConnect }
            return .none
        }
        if isChunked { return .chunked }
        return contentLength.map { .length($0) } ?? .none
    }
}

/// How the end of a message's body is found (RFC 9112 §6.3).
public enum BodyFraming: Sendable, Equatable {
    /// The message ends with its head.
    case none
    /// By Content-Length, which is this.
    case length(Int)
    /// By the chunked transfer coding.
    case chunked
    /// By the end of the connection; only responses.
    case untilClose
}

/// Judges a Transfer-Encoding that is not exactly `chunked` (RFC 9112 §6.1, §7).
enum TransferCoding {
    /// The error for `value`: a coding that is understood and not offered, or a list that frames nothing.
    ///
    /// Tokens of which only the last may be `chunked` are a transfer coding that isn't supported; anything else (empty
    /// elements, parameters, quotes, `chunked` twice or before another) is malformed.
    static func refusal(of value: UnsafeRawBufferPointer) -> HTTP1Error {
        var elementStart = 0
        var seenChunked = false
        while elementStart <= value.count {
            var elementEnd = elementStart
            while elementEnd < value.count, value[elementEnd] != UInt8(ascii: ",") { elementEnd &+= 1 }
            let element = value.rebased(elementStart..<elementEnd).trimmingOptionalWhitespace
            guard !element.isEmpty, !seenChunked else { return .invalidTransferEncoding }
            for byte in element where !byte.isTokenByte { return .invalidTransferEncoding }
            seenChunked = element.equalsIgnoringCase("chunked")
            elementStart = elementEnd &+ 1
        }
        return .unsupportedTransferCoding
    }
}
