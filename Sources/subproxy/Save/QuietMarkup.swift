import HTTPSemantics

/// XML documents in which nothing can run, so that they can be saved as they came.
enum QuietMarkup {
    /// What no such document has: scripts, what makes others of names and attributes, and elements of HTML.
    private static let words: [StaticString] = [
        "<script", ":script", "javascript", "&#", "<!entity", "<!attlist", "<?xml-stylesheet", "1999/xhtml",
    ]

    /// Whether nothing in a document can run. What looks as if it could counts as what can.
    static func isQuiet(_ bytes: [UInt8]) -> Bool {
        let text = bytes.map(\.asciiLowercased)
        // In some encodings letters have zero bytes or controls between them.
        guard !text.contains(where: { $0 < 0x20 && !isBlank($0) }) else { return false }
        guard !hasHandler(text), !hasOtherEntity(text) else { return false }
        return !words.contains { word in word.withUTF8Buffer { text.firstRange(of: $0) != nil } }
    }

    /// Whether there may be an attribute whose name begins with `on`.
    private static func hasHandler(_ text: [UInt8]) -> Bool {
        for start in text.indices.dropLast(2)
        where text[start] == UInt8(ascii: "o") && text[start + 1] == UInt8(ascii: "n") {
            guard start > 0, isBlank(text[start - 1]) else { continue }
            let end = text[start...].drop { (0x61...0x7A).contains($0) }.drop(while: isBlank)
            if end.first == UInt8(ascii: "=") { return true }
        }
        return false
    }

    /// Whether a reference is to another entity than XML's own: what says that it is XHTML has all of HTML's, and with
    /// them anything can be written in another way.
    private static func hasOtherEntity(_ text: [UInt8]) -> Bool {
        let own: [StaticString] = ["amp;", "lt;", "gt;", "quot;", "apos;"]
        return text.indices.contains { index in
            guard text[index] == UInt8(ascii: "&") else { return false }
            let rest = text[(index + 1)...]
            return !own.contains { word in word.withUTF8Buffer { rest.starts(with: $0) } }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
