import NIOCore

/// Host and port of a CONNECT request (RFC 9112 §3.2.3).
public struct Authority: Sendable, Equatable {
    /// The host in lower case and without the root's dot, IPv6 addresses with their brackets; addresses in one form.
    public let host: String
    public let port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port`; the port is required.
    ///
    /// - Throws: ``TargetError`` if the bytes are empty, longer than 512, or not a host with a port.
    public init(_ bytes: UnsafeRawBufferPointer) throws(TargetError) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= 512 else { throw .tooLong }
        var isNormalised = true
        let (range, port) = try URIParts.hostAndPort(bytes, 0..<bytes.count, .http, &isNormalised)
        // A leading zero or an empty port would be "not normalised" in a URI; here it is malformed or missing.
        guard let port, let colon = bytes.lastIndex(of: UInt8(ascii: ":")), bytes[colon &+ 1] != 0x30 else {
            throw .invalidPort
        }
        host = String(decoding: IPAddressText.normalHost(UnsafeRawBufferPointer(rebasing: bytes[range])), as: UTF8.self)
        self.port = port
    }

    public var description: String { "\(host):\(port)" }
}

/// A request target in one of its four forms (RFC 9112 §3.2).
public enum RequestTarget: Sendable {
    /// `GET http://host/path`: a request to the proxy for another server.
    case absolute(TargetURI)
    /// `GET /path`: a request to the proxy itself. The range is that of path and query in the head's bytes.
    case origin(Range<Int>)
    /// `CONNECT host:port`.
    case authority(Authority)
    /// `OPTIONS *`.
    case asterisk

    /// Reads the target of `head` by its method and first byte.
    ///
    /// - Throws: ``TargetError`` if it has none of the four forms.
    public init(_ head: borrowing RequestHead) throws(TargetError) {
        let range = head.targetRange
        guard !range.isEmpty else { throw .empty }
        if head.method == .connect {
            self = .authority(try head.withTarget { bytes throws(TargetError) in try Authority(bytes) })
            return
        }
        let first = head.withTarget { $0.first }
        switch first {
        case UInt8(ascii: "/"): self = .origin(range)
        case UInt8(ascii: "*") where range.count == 1 && head.method == .options: self = .asterisk
        default:
            guard let slice = head.bytes.getSlice(at: head.bytes.readerIndex &+ range.lowerBound, length: range.count)
            else { throw .empty }
            self = .absolute(try TargetURI(absolute: slice))
        }
    }
}
