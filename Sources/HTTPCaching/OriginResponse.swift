public import HTTPSemantics
public import NIOCore

/// A response as it came from the origin.
public struct OriginResponse: Sendable {
    public var status: Int
    /// The protocol that it was received in; the default is HTTP/1.1.
    public var version: HTTPVersion
    /// The reason phrase as received, may be empty.
    public var reason: ByteBuffer
    /// The header section as received.
    public var fields: FieldSection
    /// When the request was sent.
    public var requestedAt: CacheInstant
    /// When the head arrived.
    public var receivedAt: CacheInstant

    public init(
        status: Int, reason: ByteBuffer, fields: FieldSection, requestedAt: CacheInstant, receivedAt: CacheInstant,
        version: HTTPVersion = .http1_1
    ) {
        self.status = status
        self.version = version
        self.reason = reason
        self.fields = fields
        self.requestedAt = requestedAt
        self.receivedAt = receivedAt
    }
}
