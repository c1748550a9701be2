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

    /// Whether the stored response may stand in for an origin that failed, or that answered with an error
    /// (RFC 5861 §4).
    ///
    /// It may within the seconds of stale-if-error, the response's or the request's, counted from when it became stale;
    /// not where ``forbidsStale(_:policy:)``, and not where the request asks for a reload.
    ///
    /// - Parameter status: 500, 502, 503 and 504 are errors, nil that there was no answer.
    public static func mayStandIn(
        _ stored: StoredResponse, for request: CacheRequest, status: Int?, at now: CacheInstant, policy: CachePolicy
    ) -> Bool {
        switch status {
        case nil, 500, 502, 503, 504: break
        default: return false
        }
        guard unusable(request, stored, policy: policy, isOffline: false) == nil,
            !forbidsStale(stored, policy: policy)
        else { return false }
        let staleness = max(0, -stored.timeToLive(at: now))
        if let limit = stored.directives.staleIfError, staleness < limit { return true }
        if let limit = request.directives.staleIfError, staleness < Int64(limit) { return true }
        return false
    }
}
