public import HTTPSemantics

/// What of a request the rules look at.
public struct CacheRequest: Sendable {
    public var method: Method
    public var fields: FieldSection
    /// Whether the request has content: a Content-Length other than 0, or Transfer-Encoding.
    public var hasContent: Bool
    /// What `fields` asked of caches when this was made (RFC 9111 §5.2.1, §5.4).
    public let directives: RequestCacheControl

    public init(method: Method, fields: FieldSection, hasContent: Bool) {
        self.method = method
        self.fields = fields
        self.hasContent = hasContent
        directives = RequestCacheControl(fields)
    }
}
