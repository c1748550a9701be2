/// Why bytes are not a valid HTTP/1 message, or exceed a limit (RFC 9112).
///
/// After any of these the connection's framing is unknown: answer with ``status``, then close.
public enum HTTP1Error: Error, Sendable, Equatable, CaseIterable {
    // The start line
    case invalidRequestLine, invalidMethod, tlsRecord, methodTooLong, invalidTarget, targetTooLong, unsupportedVersion
    case invalidStatusLine
    // Any line
    case bareCarriageReturn, bareLineFeed
    // Field lines
    case invalidFieldName, whitespaceBeforeColon, invalidFieldValue, obsoleteLineFolding
    case headerSectionTooLarge, tooManyFields, trailerSectionTooLarge, tooManyTrailerFields
    // The fields that frame and route a message
    case missingHost, repeatedHost, invalidHost
    case invalidContentLength, repeatedContentLength, contentLengthWithTransferEncoding
    case invalidTransferEncoding, repeatedTransferEncoding, transferEncodingInHTTP10, unsupportedTransferCoding
    case contentInConnect, framingInTrailers
    // The chunked coding
    case invalidChunkSize, chunkTooLarge, invalidChunkExtension, chunkExtensionsTooLarge, invalidChunkEnd
    // The end of input
    case unexpectedEnd

    /// The status code that answers a request with this fault; an origin's fault is a 502 whatever this says.
    public var status: Int {
        switch self {
        case .targetTooLong: 414
        case .headerSectionTooLarge, .tooManyFields, .trailerSectionTooLarge, .tooManyTrailerFields: 431
        case .unsupportedTransferCoding: 501
        case .unsupportedVersion: 505
        default: 400
        }
    }
}

extension HTTP1Error: CustomStringConvertible {
    /// What is wrong with the message, as the end of a sentence that begins with "the message is malformed:".
    public var description: String {
        switch self {
        case .invalidRequestLine: "its first line is not 'METHOD target HTTP/1.1'"
        case .invalidMethod: "its method is not a token"
        case .tlsRecord: "it begins as TLS does"
        case .methodTooLong: "its method is too long"
        case .invalidTarget: "its request target has a control byte in it or is empty"
        case .targetTooLong: "its request target is too long"
        case .unsupportedVersion: "its HTTP version is not 1.0 or 1.1"
        case .invalidStatusLine: "its first line is not 'HTTP/1.1 status reason'"
        case .bareCarriageReturn: "a CR without LF is in it"
        case .bareLineFeed: "a line of it ends in LF without CR"
        case .invalidFieldName: "a field name is not a token"
        case .whitespaceBeforeColon: "there is whitespace before the colon of a field"
        case .invalidFieldValue: "a field value has a control byte in it"
        case .obsoleteLineFolding: "a field line begins with whitespace"
        case .headerSectionTooLarge: "its header section is too large"
        case .tooManyFields: "it has too many fields"
        case .trailerSectionTooLarge: "its trailer section is too large"
        case .tooManyTrailerFields: "it has too many trailer fields"
        case .missingHost: "it has no Host"
        case .repeatedHost: "it has more than one Host"
        case .invalidHost: "its Host is not a host name or address with an optional port"
        case .invalidContentLength: "its Content-Length is not a number, or too large a one"
        case .repeatedContentLength: "it has more than one Content-Length"
        case .contentLengthWithTransferEncoding: "it has Content-Length and Transfer-Encoding"
        case .invalidTransferEncoding: "its Transfer-Encoding does not say where it ends"
        case .repeatedTransferEncoding: "it has more than one Transfer-Encoding"
        case .transferEncodingInHTTP10: "it has a Transfer-Encoding in HTTP/1.0"
        case .unsupportedTransferCoding: "its transfer coding is another than chunked"
        case .contentInConnect: "it is a CONNECT with content"
        case .framingInTrailers: "its trailers say how it is framed or where it goes"
        case .invalidChunkSize: "a chunk size is not a hexadecimal number"
        case .chunkTooLarge: "a chunk size is too large a number"
        case .invalidChunkExtension: "a chunk extension is malformed"
        case .chunkExtensionsTooLarge: "its chunk extensions are too large"
        case .invalidChunkEnd: "a chunk does not end where its size says"
        case .unexpectedEnd: "the connection ended inside it"
        }
    }
}
