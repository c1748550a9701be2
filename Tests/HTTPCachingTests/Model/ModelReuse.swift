import HTTPSemantics

/// What the model says of answering a request from a stored response (RFC 9111 §4).
enum ModelReuse {
    /// The stored responses that may be selected: of the matching ones those that have what is asked for, of these
    /// those with a Vary, of these the one with the latest Date, then the latest received (RFC 9111 §3.3, §4, §4.1).
    static func select(_ request: ModelRequest, among stored: [ModelStored]) -> Set<Int> {
        // If-Range may be looked at before or after.
        let withoutCondition = ModelRequest(
            method: request.method, fields: request.fields.filter { $0.name.lowercased() != "if-range" })
        return Set([request, withoutCondition].compactMap { preferred($0, among: stored) })
    }

    private static func preferred(_ request: ModelRequest, among stored: [ModelStored]) -> Int? {
        var candidates = stored.indices.filter { stored[$0].matches(request) }
        func prefer(_ isBetter: (ModelStored) -> Bool) {
            let better = candidates.filter { isBetter(stored[$0]) }
            if !better.isEmpty { candidates = better }
        }
        prefer { held in held.part.map { satisfies(request, $0, held) } ?? true }
        prefer { !$0.selecting.isEmpty }
        let latest = candidates.map { stored[$0].date }.max()
        prefer { $0.date == latest }
        return candidates.max { stored[$0].receivedAt.steady < stored[$1].receivedAt.steady }
    }

    /// The verdicts of which one must be given, as `fresh`, `stale.maxStale`, `validate.noCache`, `unusable.range`.
    static func verdicts(
        _ request: ModelRequest, _ stored: ModelStored, at now: ModelInstant, policy: ModelPolicy, isOffline: Bool
    ) -> Set<String> {
        let unusable = reasonsNotToUse(request, stored, policy, isOffline: isOffline)
        guard unusable.isEmpty else { return unusable }
        // Where the origin is never asked, what a request prefers can't be had.
        let wishes = isOffline ? ModelRequest().wishes : request.wishes
        let age = stored.age(now)
        let isStale = stored.lifetime <= age
        var reasons: Set<String> = []
        if stored.directives.isUnlimited("no-cache") { reasons.insert("validate.noCache") }
        if let maxAge = wishes.maxAge, age > maxAge || maxAge == 0 { reasons.insert("validate.requestMaxAge") }
        if let minFresh = wishes.minFresh, stored.lifetime - age < minFresh {
            reasons.insert("validate.requestMinFresh")
        }
        guard isStale else { return reasons.isEmpty ? ["fresh"] : reasons }
        var permissions: Set<String> = []
        if !stored.directives.forbidStale(policy) {
            let staleness = age - stored.lifetime
            if let limit = wishes.maxStale, staleness <= limit { permissions.insert("stale.maxStale") }
            // With max-age alone the client does not wish a stale response (RFC 9111 §5.2.1.1).
            if let limit = stored.directives.seconds("stale-while-revalidate"), staleness <= limit,
                wishes.maxAge == nil
            {
                permissions.insert("stale.whileRevalidate")
                // Whether the last second is in or out is a matter of taste.
                if staleness == limit && permissions.count == 1 { permissions.insert("validate.stale") }
            }
            if isOffline { permissions.insert("stale.offline") }
        }
        if permissions.isEmpty || !reasons.isEmpty { reasons.insert("validate.stale") }
        return reasons.isEmpty ? permissions : reasons
    }

    /// A shared cache must not use a response that was made for one user (RFC 9111 §3.5, §5.2.2.7), nor any cache one
    /// that must not be stored; an update can make such a one of a stored response.
    static func isLostToOthers(_ stored: ModelStored, _ policy: ModelPolicy) -> Bool {
        if stored.directives.has("no-store") && !stored.directives.has("must-understand") { return true }
        guard policy.isShared else { return false }
        return stored.directives.isUnlimited("private") || stored.isAuthorized && !stored.directives.allowAuthorized
    }

    private static func reasonsNotToUse(
        _ request: ModelRequest, _ stored: ModelStored, _ policy: ModelPolicy, isOffline: Bool
    ) -> Set<String> {
        var reasons: Set<String> = []
        if !["GET", "HEAD"].contains(request.method) { reasons.insert("unusable.method") }
        if request.hasContent { reasons.insert("unusable.requestContent") }
        if request.wishes.noCache && !isOffline { reasons.insert("unusable.reload") }
        if isLostToOthers(stored, policy) { reasons.insert("unusable.withdrawn") }
        if request.fields.has("if-match") || request.fields.has("if-unmodified-since") {
            reasons.insert("unusable.precondition")
        }
        if let part = stored.part, !satisfies(request, part, stored) { reasons.insert("unusable.range") }
        return reasons
    }

    /// Whether a part answers a request: one for a range wholly within it (RFC 9111 §3.3), whose If-Range holds.
    static func satisfies(_ request: ModelRequest, _ part: ModelPart, _ stored: ModelStored) -> Bool {
        let ranges = request.fields.values("range")
        guard request.method == "GET", ranges.count == 1, part.range(of: ranges[0]) != nil else { return false }
        guard let condition = request.fields.first("if-range") else { return true }
        if ModelText.opaque(condition) != nil {
            return ModelText.isStrong(condition) && condition == stored.etag
        }
        // A date is a strong validator where it is at least a second older than Date (RFC 9110 §8.8.2.2).
        let date = ModelText.date(condition, now: stored.date)
        return date != nil && date == stored.lastModified && (date ?? 0) < stored.date
    }

    /// RFC 5861 §4: nil where both answers are right.
    static func mayStandIn(
        _ stored: ModelStored, for request: ModelRequest, status: Int?, at now: ModelInstant, policy: ModelPolicy
    ) -> Bool? {
        if let status, ![500, 502, 503, 504].contains(status) { return false }
        guard reasonsNotToUse(request, stored, policy, isOffline: false).isEmpty else { return false }
        let staleness = stored.age(now) - stored.lifetime
        if stored.directives.forbidStale(policy) {
            // A fresh one is not forbidden by what forbids stale ones.
            return staleness < 0 && !stored.directives.isUnlimited("no-cache") ? nil : false
        }
        let limits = [stored.directives.seconds("stale-if-error"), request.wishes.staleIfError]
        // Whether the last second is in or out is a matter of taste.
        if limits.contains(max(0, staleness)) { return nil }
        let allowing = limits.map { limit in limit.map { staleness < $0 } }
        let isAllowed = allowing.contains(true)
        // Where the two limits disagree, or the response is fresh without either, both are right.
        if isAllowed && allowing.contains(false) { return nil }
        return staleness < 0 && !isAllowed ? nil : isAllowed
    }

    /// RFC 9111 §4.2.4, for a week; nil where both answers are right.
    static func mayStandInDisconnected(
        _ stored: ModelStored, for request: ModelRequest, at now: ModelInstant, policy: ModelPolicy
    ) -> Bool? {
        let mayStandIn = mayStandIn(stored, for: request, status: nil, at: now, policy: policy)
        guard reasonsNotToUse(request, stored, policy, isOffline: false).isEmpty,
            !stored.directives.forbidStale(policy)
        else { return mayStandIn }
        return stored.age(now) - stored.lifetime < 604_800 ? true : mayStandIn
    }

    /// Whether a response that is just arriving for one request may be used for another; nil where both are right.
    static func isShareable(
        _ stored: ModelStored, with follower: ModelRequest, at now: ModelInstant, policy: ModelPolicy
    ) -> Bool? {
        guard stored.matches(follower) else { return false }
        let verdicts = verdicts(follower, stored, at: now, policy: policy, isOffline: false)
        if verdicts == ["stale.whileRevalidate", "validate.stale"] { return nil }
        if !verdicts.isDisjoint(with: ["fresh", "stale.whileRevalidate"]) { return true }
        return verdicts.contains("stale.maxStale") ? nil : false
    }
}
