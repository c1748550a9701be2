/// The line of a text that a span begins on, and the mark to print under it.
///
/// Reads only as much of the source as it prints, so a file of one endless line costs no more than another.
struct Excerpt {
    let line: String
    let underline: String

    /// The longest line that is shown whole, in characters.
    static let width = 120
    /// How much of a longer line stands before the span at most.
    private static let leadingWidth = 40

    init(_ source: [UInt8], _ span: TextSpan) {
        let first = byteOrderMarkLength(source)
        let start = min(max(span.start.offset, first), source.count)
        var before = Self.characters(source, before: start, downTo: first)
        var after = Self.characters(source, from: start)
        var isCutBefore = before.isCut
        var isCutAfter = after.isCut
        let total = before.characters.count + after.characters.count
        if isCutBefore || isCutAfter || total > Self.width {
            let kept = min(
                after.characters.count, max(Self.width - before.characters.count, Self.width - Self.leadingWidth))
            isCutAfter = isCutAfter || kept < after.characters.count
            after.characters.removeLast(after.characters.count - kept)
            let surplus = max(0, before.characters.count - (Self.width - kept))
            isCutBefore = isCutBefore || surplus > 0
            before.characters.removeFirst(surplus)
        }
        line =
            (isCutBefore ? "…" : "") + before.characters.map(\.text).joined()
            + after.characters.map(\.text).joined() + (isCutAfter ? "…" : "")

        var underline = isCutBefore ? " " : ""
        for character in before.characters {
            underline += character.text == "\t" ? "\t" : String(repeating: " ", count: character.width)
        }
        var offset = start
        var columns = 0
        for character in after.characters where offset < span.end.offset {
            columns += character.width
            offset += character.length
        }
        self.underline = underline + "^" + String(repeating: "~", count: max(0, columns - 1))
    }

    private typealias Part = (characters: [VisibleCharacter], isCut: Bool)

    /// The characters up to the end of the line, or as many as are shown at most.
    private static func characters(_ source: [UInt8], from start: Int) -> Part {
        var part: Part = ([], false)
        var index = start
        while index < source.count, !isLineBreak(source[index]) {
            if part.characters.count == width { return (part.characters, true) }
            part.characters.append(character(source, at: index))
            index += part.characters.last?.length ?? 1
        }
        return part
    }

    /// The characters from the beginning of the line, or as many as are shown at most.
    private static func characters(_ source: [UInt8], before end: Int, downTo first: Int) -> Part {
        var part: Part = ([], false)
        var index = end
        while index > first, !isLineBreak(source[index - 1]) {
            if part.characters.count == width {
                part.isCut = true
                break
            }
            var start = index - 1
            while start > first, index - start < 4, source[start] & 0xC0 == 0x80 { start -= 1 }
            // What does not end where the next character begins is not UTF-8: then it is taken byte by byte.
            if decodeUTF8(source, at: start)?.length != index - start { start = index - 1 }
            part.characters.append(character(source, at: start))
            index = start
        }
        part.characters.reverse()
        return part
    }

    private static func character(_ source: [UInt8], at index: Int) -> VisibleCharacter {
        // A tab stays in the line and in the mark's indentation, so they agree whatever its width is.
        source[index] == UInt8(ascii: "\t")
            ? VisibleCharacter(text: "\t", width: 1, length: 1) : VisibleCharacter(source, at: index)
    }

    private static func isLineBreak(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
}
