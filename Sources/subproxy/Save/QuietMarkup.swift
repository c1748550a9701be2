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
        return !hasHandler(text) && !words.contains { word in word.withUTF8Buffer { text.firstRange(of: $0) != nil } }
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

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
