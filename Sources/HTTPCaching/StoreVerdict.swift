/// Whether a response may be stored (RFC 9111 §3).
public enum StoreVerdict: Sendable {
    case store(StoredResponse)
    case refuse(StoreRefusal)
}

/// Why a response is not stored.
public enum StoreRefusal: UInt8, Sendable, CaseIterable, Equatable {
    /// The method is neither GET, nor POST with a Content-Location that is the target.
    case method
    /// A GET with content: the content may have made the response what it is.
    case requestContent
    case requestNoStore
    case noStore
    /// `private`, in a shared cache.
    case isPrivate
    /// The request had Authorization, and nothing in the response allows sharing it (RFC 9111 §3.5).
    case authorization
    /// Set-Cookie in a shared cache, where the origin doesn't say that the response is fresh.
    case setCookie
    /// Vary is `*` or malformed.
    case varyAny
    /// Vary names more than ``SelectingFields/maximumNames`` fields.
    case varyTooLong
    /// The status is one that is never stored.
    case status
    /// `must-understand`, and a status that this cache doesn't know.
    case notUnderstood
    /// A 206 that no range was asked for, or whose Content-Range is missing or wrong.
    case partial
    /// Nothing says that the response may be stored, or for how long.
    case notExplicit

    /// A short phrase for Cache-Status' detail, the log and `explain`.
    public var reason: StaticString {
        switch self {
        case .method: "method"
        case .requestContent: "request content"
        case .requestNoStore: "request no-store"
        case .noStore: "no-store"
        case .isPrivate: "private"
        case .authorization: "Authorization"
        case .setCookie: "Set-Cookie without freshness or with no-cache"
        case .varyAny: "Vary *"
        case .varyTooLong: "Vary names too many fields"
        case .status: "status"
        case .notUnderstood: "must-understand"
        case .partial: "Content-Range"
        case .notExplicit: "no explicit freshness"
        }
    }
}
