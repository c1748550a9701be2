/// Finds members by their names in JSON, at any depth, and in what is JSON but in part: see ``MemberSearch``.
enum JSONRedaction {
    private static let mark = Array("\"".utf8) + Redaction.mark + Array("\"".utf8)

    /// The text with `"REDACTED"` for the values of members of these names, but for null; all else stays as it is
    /// written.
    ///
    /// - Returns: nil where nothing is to be changed, JSON or not.
    static func redacted(_ text: [UInt8], _ names: RedactedNames) -> [UInt8]? {
        let places = places(text, names)
        guard !places.isEmpty else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var copied = 0
        for place in places {
            result += text[copied..<place.lowerBound] + mark
            copied = place.upperBound
        }
        return result + text[copied...]
    }

    /// Whether a text is JSON to its end, and has members or elements.
    static func isJSON(_ text: [UInt8]) -> Bool {
        let first = text.first { $0 > 0x20 && $0 != 0xEF && $0 != 0xBB && $0 != 0xBF }
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return false }
        var scanner = JSONScanner(ArchiveBytes(text), room: text.count)
        do throws(JSONError) {
            try scanner.beginning()
            while try !scanner.isAtEnd() { try scanner.skipValue() }
            return true
        } catch {
            return false
        }
    }

    /// Where the values of members of these names stand, in their order, and texts that have such members within.
    static func places(_ text: [UInt8], _ names: RedactedNames) -> [Range<Int>] {
        text.withUnsafeBufferPointer { MemberSearch.places($0, names) }
    }

    /// Whether a text has such members.
    ///
    /// - Parameter countsMarks: whether those count whose values have been taken out.
    static func hasMembers(_ text: [UInt8], _ names: RedactedNames, countsMarks: Bool) -> Bool {
        text.contains(UInt8(ascii: ":"))
            && places(text, names).contains { countsMarks || !text[$0].elementsEqual(mark) }
    }
}
