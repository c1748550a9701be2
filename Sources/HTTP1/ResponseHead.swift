public import HTTPSemantics
public import NIOCore

/// A response's status line and header section over the bytes received.
public struct ResponseHead: Sendable {
    /// The status code, 100 to 999.
    public var status: Int
    public var version: HTTPVersion
    /// Where the reason phrase stands in ``bytes``; empty where there is none.
    public var reasonRange: Range<Int>
    /// The header section; its bytes are the whole head.
    public var fields: FieldSection
    /// The value of Content-Length, nil where there is none.
    public var contentLength: Int?
    /// Whether the transfer coding is chunked.
    public var isChunked: Bool

    public init(
        status: Int, version: HTTPVersion, reasonRange: Range<Int>, fields: FieldSection, contentLength: Int?,
        isChunked: Bool
    ) {
        self.status = status
        self.version = version
        self.reasonRange = reasonRange
        self.fields = fields
        self.contentLength = contentLength
        self.isChunked = isChunked
    }

    /// The bytes that all ranges refer to, from its reader index.
    public var bytes: ByteBuffer { fields.bytes }

    /// Whether another head follows: a status of 1xx but 101, after which HTTP/1 ends (RFC 9110 §15.2).
    public var isInterim: Bool { (100..<200).contains(status) && status != 101 }

    /// How the end of the body is found in the response to a request with this method (RFC 9112 §6.3).
    public func framing(for method: Method) -> BodyFraming {
        if method == .head || status < 200 || status == 204 || status == 304 { return .none }
        if method == .connect && status < 300 { return .none }
        if isChunked { return .chunked }
        return contentLength.map { .length($0) } ?? .untilClose
    }

    /// Calls `body` with the bytes of the reason phrase.
    ///
    /// - Throws: What `body` throws.
    public func withReason<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try fields.bytes.withUnsafeReadableBytes { all throws(Failure) in
            try body(UnsafeRawBufferPointer(rebasing: all[reasonRange.clamped(to: 0..<all.count)]))
        }
    }
}
