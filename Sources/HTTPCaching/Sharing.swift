import HTTPSemantics

/// Which parts of a response may be given to other clients than the one that asked for it.
///
/// Everything that a second client gets has passed here, and then ``StoredFields/kept(_:without:replacingDate:)``,
/// which leaves out the fields that are not for others. This holds for stored responses, for those that are shared
/// while they come, and for the changes that a 304 or a response to HEAD makes to a stored one.
enum Sharing {
    /// Why no part of a response may be kept for others; nil if it may be kept (RFC 9111 §3, §3.5, §5.2.2.5, §5.2.2.7).
    ///
    /// - Parameter directives: the response's own.
    static func refusal(
        of directives: ResponseDirectives, to request: CacheRequest, status: Int, policy: CachePolicy
    ) -> StoreRefusal? {
        if directives.mustUnderstand {
            guard CacheableStatus.isUnderstood(status) else { return .notUnderstood }
        } else if directives.noStore {
            return .noStore
        }
        guard policy.isShared else { return nil }
        if directives.isPrivate == .all { return .isPrivate }
        return forbidsOthers(directives, request, policy) ? .authorization : nil
    }

    /// Whether Set-Cookie is for others too: in a shared cache only where the response is fresh by what it says, and
    /// is not validated each time.
    static func allowsCookies(
        _ directives: ResponseDirectives, _ lifetime: FreshnessLifetime, _ policy: CachePolicy
    ) -> Bool {
        !policy.isShared || lifetime.isGiven && directives.noCache != .all
    }

    /// The fields of what was put together of several responses, without a Set-Cookie that is not for others.
    static func withoutOneUsersCookies(
        _ fields: FieldSection, _ directives: ResponseDirectives, _ lifetime: FreshnessLifetime, _ policy: CachePolicy
    ) -> FieldSection {
        guard fields.contains(.setCookie), !allowsCookies(directives, lifetime, policy) else { return fields }
        return withoutCookies(fields)
    }

    fileprivate static func withoutCookies(_ fields: FieldSection) -> FieldSection {
        var cookies = UnstoredNames()
        cookies.insert(.setCookie)
        return StoredFields.kept(fields, without: cookies, replacingDate: nil)
    }

    /// Whether a response belongs to the user whose credentials the request, or its connection, has: a shared cache
    /// needs a directive of the response itself to give it to others (RFC 9111 §3.5).
    static func forbidsOthers(
        _ directives: ResponseDirectives, _ request: CacheRequest, _ policy: CachePolicy
    ) -> Bool {
        policy.isShared && request.isAuthorized && !directives.allowSharingAuthorized
    }
}

extension StoredResponse {
    /// The response as others get it that is served though it is stale: in a shared cache without Set-Cookie, which was
    /// for others only as long as the response was fresh. Nil where that is the response as it is.
    public func servedStale(policy: CachePolicy) -> StoredResponse? {
        guard policy.isShared, fields.contains(.setCookie) else { return nil }
        return StoredResponse(
            status: status, reason: reason, fields: Sharing.withoutCookies(fields), directives: directives,
            lifetime: lifetime, correctedInitialAge: correctedInitialAge, receivedAt: receivedAt, date: date,
            etag: etag, lastModified: lastModified, selection: selection, isAuthorized: isAuthorized, part: part,
            version: version)
    }
}

extension ResponseDirectives {
    /// Whether a shared cache may store and reuse a response to a request with Authorization (RFC 9111 §3.5): `public`,
    /// `must-revalidate`, or a valid s-maxage.
    var allowSharingAuthorized: Bool {
        if isPublic || mustRevalidate { return true }
        guard case .seconds = sMaxAge else { return false }
        return true
    }
}

extension Validation {
    /// Whether the fields of a 304 may change the stored response.
    ///
    /// They may not if the request says `no-store` (RFC 9111 §5.2.1.5), nor if the 304 is for one user and has no
    /// directive of its own that allows sharing it (§3.5). Then the stored response stays as it was, unless
    /// the 304 ends the leave to share it (``Validation/Outcome/withdrawn``).
    public static func mayBeShared(
        _ notModified: OriginResponse, for request: CacheRequest, policy: CachePolicy
    ) -> Bool {
        guard !request.directives.noStore else { return false }
        return !Sharing.forbidsOthers(
            ResponseDirectives(notModified.fields, policy: policy), request, policy)
    }
}
