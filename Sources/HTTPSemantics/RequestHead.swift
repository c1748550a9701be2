public import NIOCore

/// The protocol that a message was received in; a minor version of HTTP/1 above 1 counts as 1.1 (RFC 9110 §2.5).
public enum HTTPVersion: UInt8, Sendable, Comparable {
    case http1_0
    case http1_1
    case http2

    public static func < (lhs: HTTPVersion, rhs: HTTPVersion) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// A request's method, target and header section over the bytes received.
///
/// HTTP/1 heads are the received buffer with ranges into it; an HTTP/2 request is written into the same form.
public struct RequestHead: Sendable {
    public var method: Method
    public var version: HTTPVersion
    /// Where the method stands in ``bytes``.
    public var methodRange: Range<Int>
    /// Where the request target stands in ``bytes``.
    public var targetRange: Range<Int>
    /// The header section; its bytes are the whole head.
    public var fields: FieldSection

    public init(
        method: Method, version: HTTPVersion, methodRange: Range<Int>, targetRange: Range<Int>, fields: FieldSection
    ) {
        self.method = method
        self.version = version
        self.methodRange = methodRange
        self.targetRange = targetRange
        self.fields = fields
    }

    /// The bytes that all ranges refer to, from its reader index.
    public var bytes: ByteBuffer { fields.bytes }

    /// The method as received.
    public var methodBytes: [UInt8] { copy(methodRange) }

    /// The request target as received.
    public var targetBytes: [UInt8] { copy(targetRange) }

    /// Calls `body` with the bytes of the request target.
    ///
    /// - Throws: What `body` throws.
    @inlinable
    @inline(__always)
    public func withTarget<Result, Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Result)
        throws(Failure) -> Result
    {
        try fields.bytes.withUnsafeReadableBytes { all throws(Failure) in
            try body(UnsafeRawBufferPointer(rebasing: all[targetRange.clamped(to: 0..<all.count)]))
        }
    }

    private func copy(_ range: Range<Int>) -> [UInt8] {
        fields.bytes.withUnsafeReadableBytes { Array($0[range.clamped(to: 0..<$0.count)]) }
    }
}
