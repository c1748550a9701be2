import HTTPSemantics

/// When a stale response may be served (RFC 9111 §4.2.4, RFC 5861).
extension Reuse {
    /// Whether an error must be sent (504) rather than a stale response where the origin can't be reached: `no-cache`,
    /// `must-revalidate`, and in a shared cache `proxy-revalidate` and s-maxage (RFC 9111 §5.2.2.2, §5.2.2.8,
    /// §5.2.2.10).
    public static func forbidsStale(_ stored: StoredResponse, policy: CachePolicy) -> Bool {
        let directives = stored.directives
        if directives.mustRevalidate || directives.noCache == .all { return true }
        return policy.isShared && (directives.proxyRevalidate || directives.sMaxAge != nil)
    }

    /// What allows `stored` to be served that has been stale for `staleness` seconds, if anything.
    ///
    /// A request's max-age without max-stale asks for a fresh response, so stale-while-revalidate doesn't count then
    /// (RFC 9111 §5.2.1.1).
    static func permission(
        _ request: RequestCacheControl, _ stored: StoredResponse, staleness: Int64, policy: CachePolicy, isOffline: Bool
    ) -> StalePermission? {
        guard !forbidsStale(stored, policy: policy) else { return nil }
        if isOffline { return .offline }
        switch request.maxStale {
        case .any: return .maxStale
        case .seconds(let limit) where staleness <= Int64(limit): return .maxStale
        case .none, .seconds: break
        }
        if request.maxAge == nil, let limit = stored.directives.staleWhileRevalidate, staleness < limit {
            return .whileRevalidate
        }
        return nil
    }

    /// What allows the stored response to stand in for an origin that failed, or that answered with an error; nil where
    /// nothing does.
    ///
    /// It may within the seconds of stale-if-error, the response's or the request's, counted from when it became stale
    /// (RFC 5861 §4); and where the origin could not be reached, within ``CachePolicy/staleIfUnreachable`` (RFC 9111
    /// §4.2.4). Not where ``forbidsStale(_:policy:)``, and not where the request asks for a reload.
    public static func standIn(
        _ stored: StoredResponse, for request: CacheRequest, after failure: OriginFailure, at now: CacheInstant,
        policy: CachePolicy
    ) -> StandInPermission? {
        switch failure {
        case .unreachable, .noResponse, .status(500), .status(502), .status(503), .status(504): break
        case .status: return nil
        }
        guard unusable(request, stored, policy: policy, isOffline: false) == nil,
            !forbidsStale(stored, policy: policy)
        else { return nil }
        let staleness = max(0, -stored.timeToLive(at: now))
        if let limit = stored.directives.staleIfError, staleness < limit { return .staleIfError }
        if let limit = request.directives.staleIfError, staleness < Int64(limit) { return .staleIfError }
        return failure == .unreachable && staleness < policy.staleIfUnreachable ? .unreachable : nil
    }
}

/// How an origin failed to answer a validation.
public enum OriginFailure: Sendable, Equatable {
    /// It answered with this status.
    case status(Int)
    /// It gave no response that is one.
    case noResponse
    /// It could not be reached, or closed the connection without a response.
    case unreachable
}

/// What allows a stored response to stand in for the origin's.
public enum StandInPermission: Sendable, Equatable {
    /// stale-if-error of the response or the request (RFC 5861 §4).
    case staleIfError
    /// The cache is disconnected from the origin (RFC 9111 §4.2.4).
    case unreachable
}
