public import HTTPSemantics
public import NIOCore

/// All that is kept of a response but its content; immutable.
public struct StoredResponse: Sendable {
    /// 200 for what is complete by ranges, 206 for a part, else as received.
    public let status: Int
    /// The protocol that it was received in.
    public let version: HTTPVersion
    public let reason: ByteBuffer
    /// The fields that are kept (RFC 9111 §3.1): without Content-Length, Content-Range, Age and the fields of one
    /// connection. A Date is there, and is one.
    public let fields: FieldSection
    public let directives: ResponseDirectives
    public let lifetime: FreshnessLifetime
    /// The age at ``receivedAt``, in seconds (RFC 9111 §4.2.3).
    public let correctedInitialAge: Int64
    /// When the response, or the last one that freshened it, arrived.
    public let receivedAt: CacheInstant
    /// Unix seconds: the Date, or the time of receipt where it was missing or malformed.
    public let date: Int64
    /// The whole value of ETag, which may be malformed; nil where there is none or it is empty.
    public let etag: [UInt8]?
    /// Unix seconds; nil where Last-Modified is missing or malformed.
    public let lastModified: Int64?
    public let selection: SelectingFields
    /// Whether the request had an Authorization field.
    public let isAuthorized: Bool
    /// Which bytes of the representation are held; nil where all are.
    public let part: ContentPart?

    /// Puts a response together again, as from another store; lifetime and age are kept within 0 and 2³¹ seconds.
    public init(
        status: Int, reason: ByteBuffer, fields: FieldSection, directives: ResponseDirectives,
        lifetime: FreshnessLifetime, correctedInitialAge: Int64, receivedAt: CacheInstant, date: Int64, etag: [UInt8]?,
        lastModified: Int64?, selection: SelectingFields, isAuthorized: Bool, part: ContentPart?,
        version: HTTPVersion = .http1_1
    ) {
        self.status = status
        self.version = version
        self.reason = reason
        self.fields = fields
        self.directives = directives
        self.lifetime = FreshnessLifetime(
            seconds: min(max(lifetime.seconds, 0), ResponseDirectives.largestDelta), source: lifetime.source)
        self.correctedInitialAge = min(max(correctedInitialAge, 0), ResponseDirectives.largestDelta)
        self.receivedAt = receivedAt
        self.date = date
        self.etag = etag
        self.lastModified = lastModified
        self.selection = selection
        self.isAuthorized = isAuthorized
        self.part = part
    }

    /// What an If-Modified-Since is compared with, as Unix seconds: Last-Modified, or Date where there is none
    /// (RFC 9111 §4.3.2).
    public var modificationDate: Int64 { lastModified ?? date }

    /// Whether the response may stay stored. It may not once a 304 or a HEAD has brought `no-store`. In a shared cache it
    /// may not either once they have brought `private`, or once it has fields of a response to an authorized request
    /// and no leave to share them. It is then used once at most: for the request that the 304 answers.
    public func mayBeKept(by policy: CachePolicy) -> Bool {
        guard !directives.forbidStoring(policy) else { return false }
        return !policy.isShared || !isAuthorized || directives.allowSharingAuthorized
    }

    /// Calls `body` with the entity tag; nil where there is none or it is malformed.
    func withEntityTag<Result>(_ body: (EntityTag) -> Result) -> Result? {
        etag?.withUnsafeBytes { bytes in EntityTag(bytes).map { body($0) } }
    }
}

extension FieldSection {
    /// The whole first value of ETag; nil where there is none or it is empty.
    var etagValue: [UInt8]? {
        withFirst(.etag) { value in
            let value = value.trimmingOptionalWhitespace
            return value.isEmpty ? nil : Array(value)
        } ?? nil
    }
}

extension StoredResponse: StoreMetadata {
    /// Bytes that the value refers to: its fields with their line table, reason phrase, entity tag, selecting values.
    public var memoryCost: Int {
        var cost = fields.bytes.storageCapacity &+ fields.lines.count &* 24 &+ reason.readableBytes &+ 256
        cost &+= etag?.count ?? 0
        for name in selection.names { cost &+= name.count &+ 48 }
        for value in selection.values { cost &+= value?.count ?? 0 }
        return cost
    }
}

extension ResponseStore where Metadata == StoredResponse {
    /// The same as for any metadata, compiled for this one: a look-up stands in every request's way.
    public func entries(for key: StoreKey) -> [Entry] { shard(of: key).read { $0.entries(for: key) } }
}
