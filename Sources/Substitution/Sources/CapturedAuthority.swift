import HTTPSemantics
import Patterns

/// Keeps captures from changing which host a URL of the map leads to: `@` would make user information of what stands
/// before it, and `/`, `?` or `#` a path or a query of what stands behind.
enum CapturedAuthority {
    /// Whether each capture in the scheme or the authority of a template has only characters that belong there.
    ///
    /// One that the template ends with may bring path and query along: nothing of the map's stands behind it.
    static func isKept(by template: CaptureTemplate, captures: CaptureList, of input: UnsafeRawBufferPointer) -> Bool {
        // Without one in the map's own words there is nothing that a capture could change.
        guard let authority = authority(of: template) else { return true }
        return template.allGroups(captures: captures, of: input) { position, group, isLast in
            if position < authority.lowerBound { return group.allSatisfy(isOfScheme) }
            guard position <= authority.upperBound else { return true }
            guard isLast else { return group.allSatisfy(isOfAuthority) }
            return group.prefix { !isDelimiter($0) }.allSatisfy(isOfAuthority)
        }
    }

    /// Where the authority is in the literal text of a template; nil where that is a path of the same host.
    private static func authority(of template: CaptureTemplate) -> Range<Int>? {
        let text = template.text
        var start = 0
        if text.first == UInt8(ascii: "/") {
            let isPath = !text.starts(with: "//".utf8) || (template.references.first?.range.lowerBound ?? 2) < 2
            guard !isPath else { return nil }
        } else {
            guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            start = colon + 1
        }
        guard text[start...].starts(with: "//".utf8) else { return nil }
        start += 2
        return start..<(text[start...].firstIndex(where: isDelimiter) ?? text.count)
    }

    private static func isOfScheme(_ byte: UInt8) -> Bool {
        byte.isMember(of: .alphanumeric) || byte == 0x2b || byte == 0x2d || byte == 0x2e
    }

    /// A host's characters, a port's colon, and the brackets of an IPv6 address.
    private static func isOfAuthority(_ byte: UInt8) -> Bool {
        byte.isMember(of: .lowerHost) || byte.isMember(of: .alpha) || byte == 0x3a || byte == 0x5b || byte == 0x5d
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool { byte == 0x2f || byte == 0x3f || byte == 0x23 }
}
