import Basics

extension ExpressionParser {
    /// What a backslash and the characters after it mean.
    enum Escape {
        case byte(UInt8)
        /// A character beyond ASCII, in UTF-8.
        case scalar([UInt8])
        case set(ByteSet)
        case assertion(Assertion)
    }

    /// What a `\` and the characters behind it mean.
    ///
    /// - Throws: ``PatternError`` where they mean nothing, or something that is not supported.
    mutating func escape(inClass: Bool) throws(PatternError) -> Escape {
        let start = position
        position += 1
        guard let byte = next else {
            throw PatternError(
                "'\\' stands at the end with nothing after it; write '\\\\' for the character itself",
                at: start..<start + 1)
        }
        guard byte < 0x80 else {
            throw PatternError(
                "'\\' before a character beyond ASCII means nothing; leave it out", at: start..<start + 1)
        }
        position += 1
        if let set = Self.classes(byte) { return .set(set) }
        switch byte {
        case UInt8(ascii: "t"): return .byte(0x09)
        case UInt8(ascii: "n"): return .byte(0x0A)
        case UInt8(ascii: "v"): return .byte(0x0B)
        case UInt8(ascii: "f"): return .byte(0x0C)
        case UInt8(ascii: "r"): return .byte(0x0D)
        case UInt8(ascii: "x"): return try hexadecimal(from: start)
        case UInt8(ascii: "A") where !inClass: return .assertion(.start)
        case UInt8(ascii: "z") where !inClass: return .assertion(.end)
        case UInt8(ascii: "b") where !inClass: return .assertion(.wordBoundary)
        case UInt8(ascii: "B") where !inClass: return .assertion(.notWordBoundary)
        case UInt8(ascii: "_"): return .byte(byte)
        default: break
        }
        guard ByteSet.word.contains(byte) else { return .byte(byte) }
        throw PatternError(unknownEscape(byte, inClass: inClass), at: start..<position)
    }

    private static func classes(_ byte: UInt8) -> ByteSet? {
        switch byte {
        case UInt8(ascii: "d"): .digit
        case UInt8(ascii: "D"): ByteSet.digit.inverted
        case UInt8(ascii: "w"): .word
        case UInt8(ascii: "W"): ByteSet.word.inverted
        case UInt8(ascii: "s"): .space
        case UInt8(ascii: "S"): ByteSet.space.inverted
        default: nil
        }
    }

    private func unknownEscape(_ byte: UInt8, inClass: Bool) -> String {
        let letter = Character(Unicode.Scalar(byte))
        switch byte {
        case UInt8(ascii: "1")...UInt8(ascii: "9"), UInt8(ascii: "k"), UInt8(ascii: "g"):
            return inClass ? "unknown escape '\\\(letter)' in a class" : Self.backReference
        case UInt8(ascii: "0"): return "octal escapes are not supported; write '\\x00'"
        case UInt8(ascii: "Z"): return "'\\Z' is not supported; write '\\z' or '$' for the end"
        case UInt8(ascii: "K"), UInt8(ascii: "G"): return "'\\\(letter)' is not supported; use a group, '(…)'"
        case UInt8(ascii: "p"), UInt8(ascii: "P"):
            return "Unicode properties are not supported; a URL is ASCII, where '\\w' and '[[:alpha:]]' will do"
        case UInt8(ascii: "Q"), UInt8(ascii: "E"):
            return "'\\Q…\\E' is not supported; put '\\' before each character that has a meaning"
        case UInt8(ascii: "h"): return "'\\h' is not supported; write '[ \\t]', or '[[:xdigit:]]' for a hex digit"
        case UInt8(ascii: "b"), UInt8(ascii: "B"), UInt8(ascii: "A"), UInt8(ascii: "z"):
            return "'\\\(letter)' is a place and can't be in a class"
        default: return "unknown escape '\\\(letter)'; write '\(letter)' for the letter itself"
        }
    }

    /// `\xHH`, a byte, or `\x{H…}`, a character.
    private mutating func hexadecimal(from start: Int) throws(PatternError) -> Escape {
        let braced = take("{")
        var value: UInt32 = 0
        var digits = 0
        while let byte = next, let digit = byte.hexValue, braced || digits < 2 {
            value = min(value << 4 | UInt32(digit), 0x11_0000)
            digits += 1
            position += 1
        }
        let complete = braced ? digits > 0 && take("}") : digits == 2
        guard complete else {
            throw PatternError(
                "'\\x' takes two hex digits, as in '\\x2F', or any number in braces, as in '\\x{E9}'",
                at: start..<position)
        }
        if !braced || value < 0x80 { return .byte(UInt8(truncatingIfNeeded: value)) }
        guard let scalar = Unicode.Scalar(value) else {
            throw PatternError("there is no such character; the last is '\\x{10FFFF}'", at: start..<position)
        }
        return .scalar(Array(String(Character(scalar)).utf8))
    }

    /// The UTF-8 bytes of the character beyond ASCII that comes next (RFC 3629 §4).
    ///
    /// - Throws: ``PatternError`` where the bytes are no UTF-8.
    mutating func scalar() throws(PatternError) -> [UInt8] {
        let start = position
        let length =
            switch bytes[start] {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            default: 0
            }
        let end = start + length
        guard length > 0, end <= bytes.count, String(validating: bytes[start..<end], as: UTF8.self) != nil else {
            throw PatternError("this byte is not UTF-8; write it as '\\xHH'", at: start..<start + 1)
        }
        position = end
        return Array(bytes[start..<end])
    }
}
