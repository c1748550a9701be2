import HTTPSemantics
import NIOCore

/// How a newer response changes the fields of a stored one (RFC 9111 §3.2).
///
/// All lines of a name that the newer response has replace those of the stored one and stand at the end; all other
/// lines stay where they are. Fields that are not stored at all are never taken. Content-Encoding and digests belong to
/// the stored content, which wrong ones would make unreadable: they are taken only from a response that has the same
/// strong entity tag.
enum UpdatingFields {
    /// - Parameters:
    ///   - newer: The newer response's fields as received.
    ///   - unstored: The fields of the newer response that are not stored.
    ///   - forbidden: The fields of which nothing may be stored any more, such as those that its directives name;
    ///     stored ones of these names are removed.
    ///   - isSameContent: Whether the newer response is known to speak of just the content that is held.
    ///   - date: The Date to set where the newer response has none that is valid.
    static func updated(
        _ stored: FieldSection, by newer: FieldSection, without unstored: UnstoredNames, forbidden: UnstoredNames,
        isSameContent: Bool, replacingDate date: Int64?
    ) -> FieldSection {
        var excluded = unstored
        // A part's is made anew, and no other one speaks of what is held.
        excluded.insert(.contentRange)
        if !isSameContent {
            excluded.insert(.contentEncoding)
            excluded.insertContentDigests()
        }
        if date != nil { excluded.insert(.date) }

        var replaced = FieldNameSet()
        var others: Set<[UInt8]> = []
        if date != nil { replaced.insert(.date) }
        for line in newer.lines where !excluded.contains(line, of: newer) {
            if line.name == .other { others.insert(newer.lowercaseName(line)) } else { replaced.insert(line.name) }
        }

        var writer = FieldSectionWriter(
            byteCount: stored.bytes.readableBytes &+ newer.bytes.readableBytes &+ 40,
            lineCount: stored.count &+ newer.count &+ 1)
        for line in stored.lines {
            let isReplaced =
                line.name == .other
                ? !others.isEmpty && others.contains(stored.lowercaseName(line)) : replaced.contains(line.name)
            if !isReplaced, !forbidden.contains(line, of: stored) { writer.copy(line, of: stored) }
        }
        for line in newer.lines where !excluded.contains(line, of: newer) { writer.copy(line, of: newer) }
        if let date { writer.append(.date, spelling: "Date", value: HTTPDate.bytes(date)) }
        return writer.section
    }

    /// The same for two sections that are stored ones already.
    static func merged(
        _ stored: FieldSection, with newer: FieldSection, ruling: ResponseDirectives, policy: CachePolicy
    ) -> FieldSection {
        let unstored = UnstoredNames(ruling, policy: policy)
        return updated(
            stored, by: newer, without: unstored, forbidden: unstored, isSameContent: false, replacingDate: nil)
    }
}
