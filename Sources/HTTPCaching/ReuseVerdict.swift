/// Whether the selected response may be used (RFC 9111 §4).
public enum ReuseVerdict: Sendable, Equatable {
    case fresh
    /// It may be served although it is stale.
    case stale(StalePermission)
    /// It must be validated first.
    case validate(ValidationReason)
    /// This request goes to the origin as it is.
    case unusable(UnusableReason)
}

/// What allows a stale response to be served.
public enum StalePermission: Sendable, Equatable {
    /// The request's max-stale.
    case maxStale
    /// The response's stale-while-revalidate (RFC 5861 §3): serve it, and validate it in the background.
    case whileRevalidate
    /// The origin is never asked.
    case offline
}

/// Why a response must be validated before it is used.
public enum ValidationReason: Sendable, Equatable, CaseIterable {
    /// It is stale, and nothing allows that.
    case stale
    /// `no-cache` in the response.
    case noCache
    /// It is older than the request's max-age, or that is 0.
    case requestMaxAge
    /// It is not fresh for as long as the request's min-fresh.
    case requestMinFresh

    /// A short phrase for Cache-Status' detail, the log and `explain`.
    public var reason: StaticString {
        switch self {
        case .stale: "stale"
        case .noCache: "no-cache"
        case .requestMaxAge: "request max-age"
        case .requestMinFresh: "request min-fresh"
        }
    }
}

/// Why a response is no answer to a request, whatever its age.
public enum UnusableReason: Sendable, Equatable, CaseIterable {
    /// `no-cache` in the request: an end-to-end reload.
    case reload
    /// If-Match or If-Unmodified-Since, which only the origin can decide (RFC 9111 §4.3.2).
    case precondition
    /// A part is held, and the request wants more or other bytes.
    case range
    /// The method is neither GET nor HEAD.
    case method
    /// The request has content.
    case requestContent
    /// What a later 304 said of the response forbids keeping it: ``StoredResponse/mayBeKept(by:)``.
    case withdrawn

    /// A short phrase for Cache-Status' detail, the log and `explain`.
    public var reason: StaticString {
        switch self {
        case .reload: "request no-cache"
        case .precondition: "precondition for the origin"
        case .range: "range not held"
        case .method: "method"
        case .requestContent: "request content"
        case .withdrawn: "no longer allowed"
        }
    }
}
