public import NIOCore

/// The scheme of a target URI; `other` is one that only a map can answer.
public enum URIScheme: UInt8, Sendable, Equatable {
    case http, https, other

    /// The port where none is given (RFC 9110 §4.2.1, §4.2.2); nil for other schemes.
    public var defaultPort: UInt16? {
        switch self {
        case .http: 80
        case .https: 443
        case .other: nil
        }
    }
}

/// Why bytes are not a usable target URI; each message says what is wrong with it.
public enum TargetError: Error, Sendable, Equatable, CustomStringConvertible {
    case empty, tooLong, invalidScheme, invalidAuthority, invalidHost, invalidPort, invalidByte, notAbsolute

    public var description: String {
        switch self {
        case .empty: "the URL is empty"
        case .tooLong: "the URL is too long"
        case .invalidScheme: "the URL's scheme is not one (letters, digits, '+', '-', '.', then '://')"
        case .invalidAuthority: "the URL's authority is malformed"
        case .invalidHost: "the URL's host is not a host name or an IP address"
        case .invalidPort: "the URL's port is not a number from 1 to 65535"
        case .invalidByte: "the URL has a space, a control character or a backslash in it"
        case .notAbsolute: "the URL is not absolute (scheme://host/path)"
        }
    }
}

/// An absolute URI, normalised for comparing (RFC 3986 §6.2.2, §6.2.3), with its parts as offsets.
///
/// Scheme and host are in lower case, addresses of http and https in one form, the root's dot behind a host and a
/// default port are dropped, percent-encoded unreserved characters are decoded, hexadecimal digits are in upper case,
/// dot segments are removed, an empty path is `/`. User information and fragment are left out. If the received bytes
/// are in this form already, ``bytes`` shares their storage and nothing is copied.
///
/// A forwarded request does not carry this but the path and query as received: ``rawPathAndQuery``.
public struct TargetURI: Sendable {
    /// The normalised URI: `scheme://host[:port]/path[?query]`.
    public let bytes: ByteBuffer
    public let scheme: URIScheme
    /// The length of the scheme, without `://`.
    public let schemeLength: Int
    /// The host, IPv6 addresses with their brackets.
    public let hostRange: Range<Int>
    /// The port that a connection goes to: the one given, or the scheme's default; 0 for other schemes without one.
    public let port: UInt16
    /// Where the path begins.
    public let pathStart: Int
    /// Where `?` stands, or the end.
    public let pathEnd: Int
    /// Whether it was received without path and query: with OPTIONS it then stands for the whole server, as `*` does
    /// (RFC 9112 §3.2.4).
    public private(set) var isPathEmpty: Bool
    /// The path and query as received where they are not the end of ``bytes``.
    private let raw: ByteBuffer?

    /// The path and query as received, `/` in front where the path was empty and without the fragment.
    public var rawPathAndQuery: ByteBuffer {
        raw ?? bytes.getSlice(at: bytes.readerIndex &+ pathStart, length: bytes.readableBytes &- pathStart)
            ?? ByteBuffer()
    }

    /// Whether path and query were received as they stand in ``bytes``.
    public var hasNormalPathAndQuery: Bool {
        guard let raw else { return true }
        return raw.withUnsafeReadableBytes { raw in
            withBytes { UnsafeRawBufferPointer(rebasing: $0[pathStart...]).equals(raw) }
        }
    }

    /// The same URI with `/` for an empty path: the root page, whatever the method.
    public var ofRootPage: TargetURI {
        var uri = self
        uri.isPathEmpty = false
        return uri
    }

    /// Whether there is a `?`.
    public var hasQuery: Bool { pathEnd < bytes.readableBytes }

    /// Calls `body` with the normalised URI.
    ///
    /// - Throws: What `body` throws.
    @inline(__always)
    public func withBytes<Result, Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Result)
        throws(Failure) -> Result
    {
        try bytes.withUnsafeReadableBytes(body)
    }

    /// The host as text; it is ASCII.
    public var host: String { text(hostRange) }

    /// The host with the port where it is not the scheme's own: what belongs in a Host field.
    public var authority: String { text(hostRange.lowerBound..<pathStart) }

    /// The whole normalised URI as text.
    public var description: String { text(0..<bytes.readableBytes) }

    /// The scheme as text.
    public var schemeText: String { text(0..<schemeLength) }

    private func text(_ range: Range<Int>) -> String {
        withBytes { String(decoding: $0[range.clamped(to: 0..<$0.count)], as: UTF8.self) }
    }
}

extension TargetURI {
    /// Parses an absolute URI, as of a request target in absolute-form (RFC 9112 §3.2.2) or a map's key.
    ///
    /// - Throws: ``TargetError`` if the URI can't name a resource, or could name another one to another parser.
    public init(absolute buffer: ByteBuffer) throws(TargetError) {
        let parts = try buffer.withUnsafeReadableBytes { bytes throws(TargetError) in
            try URIParts(absolute: bytes)
        }
        try self.init(parts: parts, of: buffer)
    }

    /// Parses an absolute URI from text.
    ///
    /// - Throws: ``TargetError``, as ``init(absolute:)`` does.
    public init(_ text: String) throws(TargetError) {
        try self.init(absolute: ByteBuffer(string: text))
    }

    /// Makes the target URI of a request in origin-form from its scheme, authority and path (RFC 9110 §7.1).
    ///
    /// - Throws: ``TargetError``, as ``init(absolute:)`` does.
    public init(
        scheme: StaticString, authority: [UInt8], pathAndQuery: UnsafeRawBufferPointer
    ) throws(TargetError) {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(scheme.utf8CodeUnitCount &+ 3 &+ authority.count &+ pathAndQuery.count)
        buffer.writeStaticString(scheme)
        buffer.writeStaticString("://")
        buffer.writeBytes(authority)
        buffer.writeBytes(pathAndQuery)
        try self.init(absolute: buffer)
    }

    /// The normal form of an absolute URI, where only that is needed of it: an index has it of each of its entries.
    ///
    /// - Returns: nil bytes where the URI is in that form already; with them where the path ends, at the `?` or the
    ///   end.
    /// - Throws: ``TargetError``, as ``init(absolute:)`` does.
    public static func normalForm(
        of uri: UnsafeRawBufferPointer
    ) throws(TargetError) -> (bytes: [UInt8]?, pathEnd: Int) {
        let parts = try URIParts(absolute: uri)
        guard parts.isNormalised else {
            let normalised = URINormaliser.normalise(uri, parts)
            return (normalised.bytes, normalised.pathEnd)
        }
        let isWhole = parts.rawPath.upperBound == uri.count
        return (isWhole ? nil : Array(uri[..<parts.rawPath.upperBound]), parts.queryStart)
    }

    private init(parts: URIParts, of received: ByteBuffer) throws(TargetError) {
        scheme = parts.scheme
        schemeLength = parts.schemeLength
        port = parts.port ?? parts.scheme.defaultPort ?? 0
        isPathEmpty = parts.rawPath.isEmpty
        if parts.isNormalised {
            let length = parts.rawPath.upperBound
            bytes =
                length == received.readableBytes
                ? received : received.getSlice(at: received.readerIndex, length: length) ?? ByteBuffer()
            raw = nil
            hostRange = parts.host
            pathStart = parts.rawPath.lowerBound
            pathEnd = parts.queryStart
            return
        }
        let path = received.getSlice(
            at: received.readerIndex &+ parts.rawPath.lowerBound, length: parts.rawPath.count)
        if parts.rawPath.isEmpty || parts.rawPathStartsWithQuery {
            var raw = ByteBuffer()
            raw.writeInteger(UInt8(ascii: "/"))
            if let path { raw.writeImmutableBuffer(path) }
            self.raw = raw
        } else {
            raw = path ?? ByteBuffer()
        }
        let normalised = received.withUnsafeReadableBytes { URINormaliser.normalise($0, parts) }
        bytes = ByteBuffer(bytes: normalised.bytes)
        hostRange = normalised.host
        pathStart = normalised.pathStart
        pathEnd = normalised.pathEnd
    }
}
