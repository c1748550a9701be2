/// Responses to requests with Authorization (RFC 9111 §3.5).
extension ResponseDirectives {
    /// Whether a shared cache may store and reuse such a response: `public`, `must-revalidate`, or a valid s-maxage.
    var allowSharingAuthorized: Bool {
        if isPublic || mustRevalidate { return true }
        guard case .seconds = sMaxAge else { return false }
        return true
    }
}
