/// A field name that decisions depend on, recognised once while the head is scanned; any other is `.other`.
///
/// The bytes as received, case included, stay in the section.
public enum FieldName: UInt8, Sendable, CaseIterable {
    case other
    case accept, acceptEncoding, accessControlAllowOrigin, accessControlRequestHeaders, accessControlRequestMethod
    case accessControlRequestPrivateNetwork, age, authorization, cacheControl, cacheStatus, connection
    case contentEncoding, contentLength, contentLocation, contentRange, contentType, cookie, date, etag, expect
    case expires, host, ifMatch, ifModifiedSince, ifNoneMatch, ifRange, ifUnmodifiedSince, keepAlive, lastModified
    case location, maxForwards, origin, pragma, proxyAuthenticate, proxyAuthenticationInfo, proxyAuthorization
    case proxyConnection, proxyStatus, range, setCookie, te, trailer, transferEncoding, upgrade, userAgent, vary
    case via, http2Settings, link, server, retryAfter

    /// The name in lower case, `""` for `.other`.
    public var lowercaseName: StaticString {
        switch self {
        case .other: ""
        case .accept: "accept"
        case .acceptEncoding: "accept-encoding"
        case .accessControlAllowOrigin: "access-control-allow-origin"
        case .accessControlRequestHeaders: "access-control-request-headers"
        case .accessControlRequestMethod: "access-control-request-method"
        case .accessControlRequestPrivateNetwork: "access-control-request-private-network"
        case .age: "age"
        case .authorization: "authorization"
        case .cacheControl: "cache-control"
        case .cacheStatus: "cache-status"
        case .connection: "connection"
        case .contentEncoding: "content-encoding"
        case .contentLength: "content-length"
        case .contentLocation: "content-location"
        case .contentRange: "content-range"
        case .contentType: "content-type"
        case .cookie: "cookie"
        case .date: "date"
        case .etag: "etag"
        case .expect: "expect"
        case .expires: "expires"
        case .host: "host"
        case .ifMatch: "if-match"
        case .ifModifiedSince: "if-modified-since"
        case .ifNoneMatch: "if-none-match"
        case .ifRange: "if-range"
        case .ifUnmodifiedSince: "if-unmodified-since"
        case .keepAlive: "keep-alive"
        case .lastModified: "last-modified"
        case .location: "location"
        case .maxForwards: "max-forwards"
        case .origin: "origin"
        case .pragma: "pragma"
        case .proxyAuthenticate: "proxy-authenticate"
        case .proxyAuthenticationInfo: "proxy-authentication-info"
        case .proxyAuthorization: "proxy-authorization"
        case .proxyConnection: "proxy-connection"
        case .proxyStatus: "proxy-status"
        case .range: "range"
        case .setCookie: "set-cookie"
        case .te: "te"
        case .trailer: "trailer"
        case .transferEncoding: "transfer-encoding"
        case .upgrade: "upgrade"
        case .userAgent: "user-agent"
        case .vary: "vary"
        case .via: "via"
        case .http2Settings: "http2-settings"
        case .link: "link"
        case .server: "server"
        case .retryAfter: "retry-after"
        }
    }

    /// A name in the table of slots, with the text that it is compared with.
    private struct Slot: @unchecked Sendable {
        // Unchecked: the text is that of a literal, which is there for good and never written to.
        var name = FieldName.other
        var text = UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// A table of 256 slots by ``slot(_:)``; names that share a slot stand in the next free ones.
    private static let slots: InlineArray<256, Slot> = {
        var slots = InlineArray<256, Slot>(repeating: Slot())
        for name in allCases where name != .other {
            let literal = name.lowercaseName
            let text = UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
            var index = slot(text)
            while slots[index].name != .other { index = (index &+ 1) & 255 }
            slots[index] = Slot(name: name, text: text)
        }
        return slots
    }()

    @inline(__always)
    private static func slot(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard bytes.count > 1 else { return 0 }
        let first = Int(bytes[0] | 0x20)
        let last = Int(bytes[bytes.count &- 1] | 0x20)
        let middle = Int(bytes[bytes.count >> 1] | 0x20)
        return (bytes.count &* 37 &+ first &* 5 &+ middle &* 11 &+ last) & 255
    }

    /// Recognises a field name, case ignored.
    public init(_ bytes: UnsafeRawBufferPointer) {
        var index = FieldName.slot(bytes)
        while true {
            let candidate = FieldName.slots[index]
            if candidate.name == .other || FieldName.matches(bytes, candidate.text) {
                self = candidate.name
                return
            }
            index = (index &+ 1) & 255
        }
    }

    /// Whether `bytes` are `other`, which is in lower case, letters compared without case; eight bytes at a time.
    @inline(__always)
    private static func matches(_ bytes: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        let count = bytes.count
        guard count == other.count else { return false }
        guard count >= 8 else {
            for index in 0..<count where bytes[index].asciiLowercased != other[index] { return false }
            return true
        }
        var index = 0
        while true {
            let wanted = other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let difference = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ wanted
            // The bit of case may differ where the name has a letter: of its bytes only letters have 0x40.
            guard difference & ~(wanted >> 1 & 0x2020_2020_2020_2020) == 0 else { return false }
            guard index &+ 8 < count else { return true }
            // The last eight bytes, some of them for the second time.
            index = min(index &+ 8, count &- 8)
        }
    }
}

/// A set of recognised field names: which of them a section has at all.
public struct FieldNameSet: Sendable, Equatable {
    public var rawValue: UInt64 { bits }
    @usableFromInline var bits: UInt64 = 0

    @inlinable
    public init() {}

    public init(_ names: FieldName...) {
        for name in names { insert(name) }
    }

    @inlinable
    @inline(__always)
    public mutating func insert(_ name: FieldName) { bits |= 1 &<< UInt64(name.rawValue) }

    @inlinable
    @inline(__always)
    public func contains(_ name: FieldName) -> Bool { bits & (1 &<< UInt64(name.rawValue)) != 0 }

    @inlinable
    @inline(__always)
    public func isDisjoint(with other: FieldNameSet) -> Bool { bits & other.bits == 0 }

    /// The names of either set.
    public func union(_ other: FieldNameSet) -> FieldNameSet {
        var union = self
        union.bits |= other.bits
        return union
    }

    /// The names of this set that the other has not.
    public func subtracting(_ other: FieldNameSet) -> FieldNameSet {
        var rest = self
        rest.bits &= ~other.bits
        return rest
    }
}
