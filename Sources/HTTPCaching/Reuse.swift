import HTTPSemantics

/// Whether a stored response answers a request (RFC 9111 §4).
///
/// The caller has found it by its key and by ``Selection``; `only-if-cached` is the caller's too.
///
/// 1. GET and HEAD without content are answered, and no request with If-Match or If-Unmodified-Since, which are for the
///    origin; `no-cache` (or Pragma) in the request goes to the origin; a part answers only a range inside it.
/// 2. `no-cache` without field names in the response: it is validated each time.
/// 3. The request's max-age and min-fresh must be met; max-age=0 is always a validation, `immutable` or not.
/// 4. Fresh is what is younger than its lifetime (RFC 9111 §4.2).
/// 5. A stale response is served only if max-stale or stale-while-revalidate allows it, and never if
///    ``forbidsStale(_:policy:)``.
///
/// Offline, when the origin is never asked, the request's directives don't count, and a stale response of any age is
/// served, but never if ``forbidsStale(_:policy:)``.
public enum Reuse {
    public static func verdict(
        _ request: CacheRequest, _ stored: StoredResponse, at now: CacheInstant, policy: CachePolicy,
        isOffline: Bool = false
    ) -> ReuseVerdict {
        if let reason = unusable(request, stored, policy: policy, isOffline: isOffline) { return .unusable(reason) }
        if stored.directives.noCache == .all { return .validate(.noCache) }
        let age = stored.currentAge(at: now)
        let timeToLive = stored.lifetime.seconds &- age
        if !isOffline {
            if let limit = request.directives.maxAge, limit == 0 || age > Int64(limit) {
                return .validate(.requestMaxAge)
            }
            if let wanted = request.directives.minFresh, timeToLive < Int64(wanted) {
                return .validate(.requestMinFresh)
            }
        }
        if timeToLive > 0 { return .fresh }
        let permission = permission(
            request.directives, stored, staleness: -timeToLive, policy: policy, isOffline: isOffline)
        return permission.map { .stale($0) } ?? .validate(.stale)
    }

    /// Whether a response that is just arriving for another request may be used for `follower` too (RFC 9111 §4).
    ///
    /// It must be selected by the same field values and be fresh for the follower, or within stale-while-revalidate.
    public static func isShareable(
        _ stored: StoredResponse, with follower: CacheRequest, at now: CacheInstant, policy: CachePolicy
    ) -> Bool {
        guard stored.selection.matches(follower) else { return false }
        switch verdict(follower, stored, at: now, policy: policy) {
        case .fresh, .stale(.whileRevalidate), .stale(.maxStale): return true
        case .stale(.offline), .validate, .unusable: return false
        }
    }

    private static let originPreconditions = FieldNameSet(.ifMatch, .ifUnmodifiedSince)

    /// Why `stored` can't answer `request`; nil if it can.
    static func unusable(
        _ request: CacheRequest, _ stored: StoredResponse, policy: CachePolicy, isOffline: Bool
    ) -> UnusableReason? {
        guard request.method == .get || request.method == .head else { return .method }
        guard !request.hasContent else { return .requestContent }
        guard request.fields.present.isDisjoint(with: originPreconditions) else { return .precondition }
        guard isOffline || !request.directives.noCache else { return .reload }
        guard stored.mayBeKept(by: policy) else { return .withdrawn }
        guard stored.part == nil || holdsRange(of: request, stored) else { return .range }
        return nil
    }

    /// Whether the part that is held has all bytes that the request asks for, and If-Range allows giving them.
    private static func holdsRange(of request: CacheRequest, _ stored: StoredResponse) -> Bool {
        guard let part = stored.part, Combination.range(of: request, within: part) != nil else { return false }
        return (stored.etag ?? []).withUnsafeBytes { etag in
            Preconditions.ifRangeHolds(
                request.fields, etag: stored.etag == nil ? nil : etag, lastModified: stored.lastModified,
                date: stored.date)
        }
    }
}
