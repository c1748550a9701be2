public import HTTPSemantics

/// Validating a stored response with the origin (RFC 9111 §4.3).
public enum Validation {
    /// The preconditions for validating `stored`, to take the place of the client's own (RFC 9111 §4.3.1).
    ///
    /// If-None-Match has the client's tags, without a `*`, and the stored one where it is not among them: so one answer
    /// serves the store and the client. If-Modified-Since is the stored Last-Modified. Where the stored response has
    /// neither ETag nor Last-Modified, or is a part that has not the range asked for (§4.3.2), there is nothing to
    /// validate, and the client's own are returned as they are.
    public static func preconditions(
        _ stored: StoredResponse, request: FieldSection
    ) -> (ifNoneMatch: [UInt8]?, ifModifiedSince: [UInt8]?) {
        guard isValidatable(stored, request) else {
            return (request.joined(.ifNoneMatch), request.joined(.ifModifiedSince))
        }
        let since = stored.lastModified.map { HTTPDate.bytes($0) }
        guard let etag = stored.etag else { return (nil, since) }
        var tags: [UInt8] = []
        var hasStored = false
        request.forEach(.ifNoneMatch) { line in
            for tag in EntityTagList(line) {
                hasStored = hasStored || stored.hasEntityTag(matching: tag)
                if !tags.isEmpty { tags.append(contentsOf: [0x2c, 0x20]) }
                if tag.isWeak { tags.append(contentsOf: [0x57, 0x2f]) }
                tags.append(0x22)
                tags.append(contentsOf: tag.opaqueTag)
                tags.append(0x22)
            }
        }
        if !hasStored {
            if !tags.isEmpty { tags.append(contentsOf: [0x2c, 0x20]) }
            tags.append(contentsOf: etag)
        }
        return (tags, since)
    }

    private static func isValidatable(_ stored: StoredResponse, _ request: FieldSection) -> Bool {
        guard stored.etag != nil || stored.lastModified != nil else { return false }
        guard let part = stored.part else { return true }
        return Combination.range(of: request, method: .get, within: part) != nil
    }

    /// What a 304 to a validation means.
    public enum Outcome: Sendable {
        /// The stored response is valid; this is what is to be served, and stored in its place if
        /// ``StoredResponse/mayBeKept(by:)``.
        case freshened(StoredResponse)
        /// It answers the client's own precondition, about a representation that is not held: pass it on.
        case forClient
        /// It fits nothing: ask again without preconditions.
        case mismatch
        /// The stored response was got with Authorization, and the 304 ends the leave to give it to others (RFC 9111
        /// §3.5): ask again without preconditions. Nobody gets what is stored, also where the origin then fails.
        case withdrawn
    }

    /// What a 304 to a validation by ``preconditions(_:request:)`` means (RFC 9111 §4.3.3, §4.3.4).
    ///
    /// It identifies the stored response by its ETag, compared weakly if it is weak; without one, or where the stored
    /// response has none, by Last-Modified. Without either it does where no tags but the stored one's were sent.
    public static func outcome(
        _ stored: StoredResponse, notModified: OriginResponse, request: CacheRequest, policy: CachePolicy
    ) -> Outcome {
        if identifies(stored, notModified, request.fields) {
            let updated = stored.updated(by: notModified, to: request, selects: true, policy: policy)
            let isOneUsers = policy.isShared && stored.isAuthorized && !updated.directives.allowSharingAuthorized
            return isOneUsers ? .withdrawn : .freshened(updated)
        }
        return answersClient(stored, notModified, request.fields) ? .forClient : .mismatch
    }

    private static func identifies(
        _ stored: StoredResponse, _ notModified: OriginResponse, _ request: FieldSection
    ) -> Bool {
        guard isValidatable(stored, request) else { return false }
        let date = notModified.receivedAt.boundedWall
        let lastModified = CacheDate.first(.lastModified, in: notModified.fields, now: date)
        if let tag = notModified.fields.etagValue, let own = stored.etag {
            return tag == own
                || tag.withUnsafeBytes { bytes in
                    EntityTag(bytes).map { $0.isWeak && stored.hasEntityTag(matching: $0) } ?? false
                }
        }
        if let lastModified, let own = stored.lastModified { return lastModified == own }
        // It has no validator of a kind that the stored response has: then it is about what was asked for.
        guard notModified.fields.etagValue == nil, lastModified == nil else { return false }
        return stored.etag == nil || !hasOtherTags(request, than: stored)
    }

    private static func hasOtherTags(_ request: FieldSection, than stored: StoredResponse) -> Bool {
        var found = false
        request.forEach(.ifNoneMatch) { line in
            for tag in EntityTagList(line) where !found {
                found = !stored.hasEntityTag(matching: tag)
            }
        }
        return found
    }

    /// Whether the client's own precondition would have got this 304.
    private static func answersClient(
        _ stored: StoredResponse, _ notModified: OriginResponse, _ request: FieldSection
    ) -> Bool {
        guard isValidatable(stored, request) else {
            return request.contains(.ifNoneMatch) || request.contains(.ifModifiedSince)
        }
        if request.contains(.ifNoneMatch) {
            guard let tag = notModified.fields.etagValue else { return false }
            var found = false
            request.forEach(.ifNoneMatch) { line in
                let tags = EntityTagList(line)
                if tags.isAny { found = true }
                tag.withUnsafeBytes { bytes in
                    guard let current = EntityTag(bytes) else { return }
                    for presented in tags where !found { found = presented.matchesWeakly(current) }
                }
            }
            return found
        }
        let now = notModified.receivedAt.boundedWall
        guard request.count(of: .ifModifiedSince) == 1,
            let since = CacheDate.first(.ifModifiedSince, in: request, now: now),
            let lastModified = CacheDate.first(.lastModified, in: notModified.fields, now: now)
        else { return false }
        return lastModified <= since
    }
}

extension StoredResponse {
    /// Whether ETag is the same tag, weak or not; false where there is none or it is malformed.
    fileprivate func hasEntityTag(matching tag: EntityTag) -> Bool {
        withEntityTag { $0.matchesWeakly(tag) } ?? false
    }
}
