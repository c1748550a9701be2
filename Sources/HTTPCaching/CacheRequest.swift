public import HTTPSemantics
import NIOCore

/// The parts of a request that the rules depend on.
public struct CacheRequest: Sendable {
    public var method: Method
    /// The fields that the origin gets to choose its response by: those received without those that are not forwarded,
    /// which are what Connection nominates (RFC 9110 §7.6.1), and Expect of a request without content or of HTTP/1.0.
    public private(set) var fields: FieldSection
    /// The version in which it was received, which is what the proxy says of it in Via.
    public let version: HTTPVersion
    /// Whether the request has content: a Content-Length other than 0, or Transfer-Encoding.
    public var hasContent: Bool
    /// Whether the response is made for one user: the request has Authorization, or its connection to the origin is
    /// authenticated (RFC 4559 §6).
    public let isAuthorized: Bool
    /// What `fields` asked of caches when this was made (RFC 9111 §5.2.1, §5.4).
    public let directives: RequestCacheControl

    /// - Parameters:
    ///   - fields: as received.
    ///   - version: the version in which it was received. The default is HTTP/1.1.
    ///   - isConnectionAuthenticated: whether the connection to the origin stands for a user. The default is false.
    public init(
        method: Method, fields: FieldSection, hasContent: Bool, version: HTTPVersion = .http1_1,
        isConnectionAuthenticated: Bool = false
    ) {
        self.method = method
        let losesExpect = (!hasContent || version < .http1_1) && fields.contains(.expect)
        self.fields =
            losesExpect || HopByHop.nominatesFields(fields)
            ? CacheRequest.forwarded(fields, losesExpect: losesExpect) : fields
        self.hasContent = hasContent
        self.version = version
        isAuthorized = isConnectionAuthenticated || fields.contains(.authorization)
        directives = RequestCacheControl(fields)
    }

    /// The request without its preconditions and ranges, as a background request asks for the whole.
    public var unconditional: CacheRequest {
        var request = self
        request.fields = CacheRequest.copy(of: fields) { line in
            switch line.name {
            case .ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .ifRange, .range: false
            default: true
            }
        }
        return request
    }

    private static func forwarded(_ fields: FieldSection, losesExpect: Bool) -> FieldSection {
        let hopByHop = HopByHop(fields)
        return copy(of: fields) { line in
            // Of TE the origin gets what is forwarded of it, whatever Connection names.
            line.name == .te || (!hopByHop.isConnectionLevel(line) && !(losesExpect && line.name == .expect))
        }
    }

    private static func copy(
        of fields: FieldSection, where isKept: (FieldSection.Line) -> Bool
    ) -> FieldSection {
        var writer = FieldSectionWriter(byteCount: fields.bytes.readableBytes, lineCount: fields.count)
        for line in fields.lines where isKept(line) { writer.copy(line, of: fields) }
        return writer.section
    }
}
