import HTTPSemantics

/// Freshening a stored response by HEAD (RFC 9111 §4.3.5).
extension Validation {
    /// What a 200 to HEAD makes of a stored response that the request could have selected; nil where it is to be
    /// invalidated.
    ///
    /// It is updated where each of ETag and Last-Modified that the HEAD's response has is the stored one's, and its
    /// Content-Length, where it has one, is the content's size. A response that says it depends on other request
    /// fields, or that may not be stored, invalidates.
    ///
    /// - Parameter size: The size of the stored content in bytes; a part's own size, where a part is held.
    public static func freshened(
        _ stored: StoredResponse, size: Int, byHead head: OriginResponse, policy: CachePolicy
    ) -> StoredResponse? {
        guard head.status == 200, stored.status == 200 || stored.part != nil else { return nil }
        if let tag = head.fields.etagValue, tag != stored.etag { return nil }
        if head.fields.contains(.lastModified) {
            let date = CacheDate.first(.lastModified, in: head.fields, now: head.receivedAt.boundedWall)
            guard let date, date == stored.lastModified else { return nil }
        }
        if let length = head.fields.withFirst(.contentLength, { $0.trimmingOptionalWhitespace.decimalValue }) {
            guard let length, length == (stored.part == nil ? size : stored.part?.completeLength) else { return nil }
        }
        if head.fields.contains(.vary) {
            guard SelectingFields.nomination(by: head.fields) == .fields(stored.selection.names) else { return nil }
        }
        guard !ResponseDirectives(head.fields, policy: policy).forbidStoring(policy) else { return nil }
        return stored.updated(by: head, selecting: nil, policy: policy)
    }
}
