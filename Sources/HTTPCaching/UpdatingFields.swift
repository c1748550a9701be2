import HTTPSemantics
import NIOCore

/// How a newer response changes the fields of a stored one (RFC 9111 §3.2).
///
/// All lines of a name that the newer response has replace those of the stored one and stand at the end; all other lines
/// stay where they are. Never taken are the fields that are not stored at all, and those that describe the content which
/// is held and not the one that the newer response would have had: Content-Encoding, Content-Type and, as everywhere,
/// Content-Length and Content-Range. Keeping these the RFC allows to a cache that depends on them; here content is held
/// as it came, and a response without content that is wrong about it would make it unreadable.
enum UpdatingFields {
    /// - Parameters:
    ///   - newer: The newer response's fields as received.
    ///   - unstored: What the newer response's own directives keep from being stored.
    ///   - takesCookies: Whether Set-Cookie is taken.
    ///   - date: The Date to set where the newer response has none that is valid.
    static func updated(
        _ stored: FieldSection, by newer: FieldSection, without unstored: UnstoredNames, takesCookies: Bool,
        replacingDate date: Int64?
    ) -> FieldSection {
        var excluded = unstored
        excluded.insert(.contentEncoding)
        excluded.insert(.contentType)
        if !takesCookies { excluded.insert(.setCookie) }
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
            // What the newer response forbids to store must not stay either.
            if !isReplaced, !unstored.contains(line, of: stored) { writer.copy(line, of: stored) }
        }
        for line in newer.lines where !excluded.contains(line, of: newer) { writer.copy(line, of: newer) }
        if let date { writer.append(.date, spelling: "Date", value: HTTPDate.bytes(date)) }
        return writer.section
    }

    /// The same for two sections that are stored ones already.
    static func merged(_ stored: FieldSection, with newer: FieldSection) -> FieldSection {
        updated(stored, by: newer, without: UnstoredNames(), takesCookies: true, replacingDate: nil)
    }
}
