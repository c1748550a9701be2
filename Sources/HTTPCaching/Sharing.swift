import HTTPSemantics

/// What of a response others may get than the client that asked for it.
///
/// Everything that a second client gets has passed here, and then ``StoredFields/kept(_:without:replacingDate:)``,
/// which leaves the fields out that are not for others: what is stored, what is shared while it comes, and what a 304 or
/// a response to HEAD changes of what is stored.
enum Sharing {
    /// Why nothing of a response may be kept for others; nil where it may (RFC 9111 §3, §3.5, §5.2.2.5, §5.2.2.7).
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

    /// Whether a response belongs to the user whose credentials the request, or its connection, has: a shared cache
    /// needs a directive of the response itself to give it to others (RFC 9111 §3.5).
    static func forbidsOthers(
        _ directives: ResponseDirectives, _ request: CacheRequest, _ policy: CachePolicy
    ) -> Bool {
        policy.isShared && request.isAuthorized && !directives.allowSharingAuthorized
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
    /// Whether the fields of a 304 may take their place in what is stored.
    ///
    /// They may not where the request says `no-store` (RFC 9111 §5.2.1.5), nor where the 304 is one user's and has no
    /// directive of its own that allows sharing it (§3.5). Then it is used for the client that asked, and what is stored
    /// stays as it was.
    public static func mayBeShared(
        _ notModified: OriginResponse, for request: CacheRequest, policy: CachePolicy
    ) -> Bool {
        guard !request.directives.noStore else { return false }
        return !Sharing.forbidsOthers(
            ResponseDirectives(notModified.fields, policy: policy), request, policy)
    }
}
