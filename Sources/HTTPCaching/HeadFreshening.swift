import HTTPSemantics

/// Freshening a stored response by HEAD (RFC 9111 §4.3.5).
extension Validation {
    /// What a response to HEAD does to a stored one.
    public enum HeadOutcome: Sendable {
        /// It says nothing about the stored response, or nothing that others may know.
        case unchanged
        /// To be stored in its place.
        case freshened(StoredResponse)
        /// The stored response is out of date.
        case invalidated
    }

    /// How a 200 to HEAD changes a stored response that the request could have selected.
    ///
    /// It is updated where each of ETag and Last-Modified that the HEAD's response has is the stored one's, and its
    /// Content-Length, where it has one, is the content's size. A response that says it depends on other request
    /// fields, or that may not be stored, invalidates. One that is for one user alone (RFC 9111 §3.5) changes nothing.
    ///
    /// - Parameter size: The size of the stored content in bytes; a part's own size, where a part is held.
    public static func outcome(
        _ stored: StoredResponse, size: Int, byHead head: OriginResponse, request: CacheRequest, policy: CachePolicy
    ) -> HeadOutcome {
        let directives = ResponseDirectives(head.fields, policy: policy)
        guard head.status == 200, !request.directives.noStore,
            !Sharing.forbidsOthers(directives, request, policy)
        else { return .unchanged }
        guard fits(stored, size: size, head), !directives.forbidStoring(policy) else { return .invalidated }
        return .freshened(stored.updated(by: head, to: request, selects: false, policy: policy))
    }

    private static func fits(_ stored: StoredResponse, size: Int, _ head: OriginResponse) -> Bool {
        guard stored.status == 200 || stored.part != nil else { return false }
        if let tag = head.fields.etagValue, tag != stored.etag { return false }
        if head.fields.contains(.lastModified) {
            let date = CacheDate.first(.lastModified, in: head.fields, now: head.receivedAt.boundedWall)
            guard let date, date == stored.lastModified else { return false }
        }
        if let length = head.fields.withFirst(.contentLength, { $0.trimmingOptionalWhitespace.decimalValue }) {
            guard let length, length == (stored.part == nil ? size : stored.part?.completeLength) else { return false }
        }
        guard head.fields.contains(.vary) else { return true }
        return SelectingFields.nomination(by: head.fields) == .fields(stored.selection.names)
    }
}
