/// A request method, recognised once while the head is scanned (RFC 9110 §9).
///
/// Methods are case-sensitive: `get` is `.other`. The bytes of any method, known or not, are in
/// ``RequestHead/methodBytes``.
public enum Method: UInt8, Sendable, Equatable {
    case other, get, head, post, put, delete, connect, options, trace, patch

    /// Recognises `bytes` as a method; a token that is not one of RFC 9110's or PATCH is `.other`.
    @inlinable
    public init(_ bytes: UnsafeRawBufferPointer) {
        func equals(_ literal: StaticString) -> Bool {
            for index in 0..<literal.utf8CodeUnitCount where bytes[index] != literal.utf8Start[index] { return false }
            return true
        }
        switch bytes.count {
        case 3: self = equals("GET") ? .get : equals("PUT") ? .put : .other
        case 4: self = equals("HEAD") ? .head : equals("POST") ? .post : .other
        case 5: self = equals("PATCH") ? .patch : equals("TRACE") ? .trace : .other
        case 6: self = equals("DELETE") ? .delete : .other
        case 7: self = equals("OPTIONS") ? .options : equals("CONNECT") ? .connect : .other
        default: self = .other
        }
    }

    /// The method's token; nil for ``other``.
    public var token: StaticString? {
        switch self {
        case .other: nil
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .connect: "CONNECT"
        case .options: "OPTIONS"
        case .trace: "TRACE"
        case .patch: "PATCH"
        }
    }

    /// Whether repeating the request has the effect of making it once (RFC 9110 §9.2.2).
    ///
    /// An unknown method counts as not idempotent.
    public var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, .trace: true
        case .post, .connect, .patch, .other: false
        }
    }

    /// Whether the method only reads (RFC 9110 §9.2.1).
    public var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: false
        }
    }
}
