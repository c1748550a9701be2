import HTTPSemantics

/// How a newer response without content changes a stored one (RFC 9111 §3.2, §4.3.4).
extension StoredResponse {
    /// The stored response with the fields of a 304 or of a HEAD's 200, its age and lifetime counted anew.
    ///
    /// Set-Cookie is taken by a shared cache only where the newer response itself says that it is fresh, without
    /// no-cache; where it isn't taken, the stored one goes too, and so does any where what comes out is not fresh or
    /// has no-cache. A Date that the newer response lacks is the time of its receipt.
    ///
    /// - Parameters:
    ///   - request: The request that the newer response answers.
    ///   - selects: Whether its fields are those of a Vary that names others than before; not where the Vary is known to
    ///     name the same.
    func updated(
        by newer: OriginResponse, to request: CacheRequest, selects: Bool, policy: CachePolicy
    ) -> StoredResponse {
        let wall = newer.receivedAt.boundedWall
        let parsedDate = CacheDate.first(.date, in: newer.fields, now: wall)
        let date = parsedDate ?? wall
        let own = ResponseDirectives(newer.fields, policy: policy)
        let lifetime = FreshnessLifetime(
            own, fields: newer.fields, status: status, date: date, lastModified: nil, policy: policy)
        let ruling =
            own.isTargeted || (newer.fields.contains(.cacheControl) && !self.directives.isTargeted)
            ? own : self.directives
        var unstored = UnstoredNames(newer.fields, own, policy: policy)
        unstored.insertNames(of: ruling, policy: policy)
        var forbidden = UnstoredNames(own, policy: policy)
        if newer.fields.contains(.setCookie), !Sharing.allowsCookies(own, lifetime, policy) {
            unstored.insert(.setCookie)
            forbidden.insert(.setCookie)
        }
        let isDateKept = parsedDate != nil && !unstored.recognised.contains(.date)
        var merged = UpdatingFields.updated(
            fields, by: newer.fields, without: unstored, forbidden: forbidden,
            isSameContent: hasSameStrongTag(newer.fields), replacingDate: isDateKept ? nil : date)
        // Without directives of its own the stored ones stay, also those of a field that was not kept.
        let hasDirectives = own.isTargeted || newer.fields.contains(.cacheControl)
        let directives = hasDirectives ? ResponseDirectives(merged, policy: policy) : self.directives
        let lastModified = CacheDate.first(.lastModified, in: merged, now: date)
        let newLifetime = FreshnessLifetime(
            directives, fields: merged, status: status, date: date, lastModified: lastModified, policy: policy)
        merged = Sharing.withoutOneUsersCookies(merged, directives, newLifetime, policy)
        return StoredResponse(
            status: status, reason: reason, fields: merged, directives: directives, lifetime: newLifetime,
            correctedInitialAge: Age.correctedInitial(newer, date: date), receivedAt: newer.receivedAt, date: date,
            etag: merged.etagValue, lastModified: lastModified,
            selection: selects ? selection(after: newer, request) : selection,
            isAuthorized: isAuthorized || request.isAuthorized, part: part,
            version: version)
    }

    /// Whether a response names the very content that is held, byte for byte (RFC 9110 §8.8.1).
    private func hasSameStrongTag(_ fields: FieldSection) -> Bool {
        withEntityTag { held in
            fields.withFirst(.etag) { value in
                EntityTag(value.trimmingOptionalWhitespace)?.matchesStrongly(held) ?? false
            } ?? false
        } ?? false
    }

    private func selection(after newer: OriginResponse, _ request: CacheRequest) -> SelectingFields {
        guard newer.fields.contains(.vary) else { return selection }
        switch SelectingFields.nomination(by: newer.fields) {
        case .any, .tooMany: return .never
        case .fields(selection.names): return selection
        case .fields(let names): return SelectingFields(names: names, of: request)
        }
    }
}

extension FieldSection {
    /// All values of a name, joined with commas; nil where there is none.
    func joined(_ name: FieldName) -> [UInt8]? {
        guard contains(name) else { return nil }
        var out: [UInt8] = []
        forEach(name) { value in
            if !out.isEmpty { out.append(contentsOf: [0x2c, 0x20]) }
            out.append(contentsOf: value)
        }
        return out
    }
}
