import CYAML
import Diagnostics

/// Turns libyaml's character counts into byte offsets.
///
/// libyaml counts characters (`yaml_mark_t.index`). Its marks come nearly in order, so a cursor that moves from one to
/// the next reads the source once.
struct CharacterCursor {
    private let isASCII: Bool
    private let first: Int
    private var character = 0
    private var offset: Int

    /// - Parameter first: The offset of character 0.
    init(first: Int, isASCII: Bool) {
        self.first = first
        self.isASCII = isASCII
        offset = first
    }

    /// The offset of a character; the end of the source for one behind it.
    mutating func offset(ofCharacter target: Int, in source: [UInt8]) -> Int {
        if isASCII { return min(first &+ target, source.count) }
        while character < target, offset < source.count {
            offset += 1
            while offset < source.count, source[offset] & 0xC0 == 0x80 { offset += 1 }
            character += 1
        }
        while character > target, offset > first {
            offset -= 1
            while offset > first, source[offset] & 0xC0 == 0x80 { offset -= 1 }
            character -= 1
        }
        return offset
    }

    /// A mark of libyaml's as one of ours.
    mutating func mark(_ mark: yaml_mark_t, in source: [UInt8]) -> TextMark {
        let character = Int(truncatingIfNeeded: mark.index)
        return TextMark(
            line: Int(truncatingIfNeeded: mark.line) &+ 1, column: Int(truncatingIfNeeded: mark.column) &+ 1,
            offset: offset(ofCharacter: character, in: source))
    }
}
