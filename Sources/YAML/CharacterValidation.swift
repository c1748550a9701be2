import Basics
import Diagnostics

/// What the pass over a source's bytes found, before any of them is parsed.
struct ValidatedSource {
    /// How many bytes a byte-order mark takes at the start.
    var byteOrderMark: Int
    /// Whether a character is always one byte.
    var isASCII: Bool

    /// Accepts UTF-8 of the characters that YAML allows (YAML 1.2, 5.1), with or without a byte-order mark.
    ///
    /// Stricter than YAML in one point: U+0085, U+2028 and U+2029 end a line in YAML 1.1, which libyaml reads, and do
    /// not in YAML 1.2, so they are refused outside of escapes.
    ///
    /// - Throws: The first byte or character that is not allowed.
    init(_ bytes: [UInt8]) throws(YAMLError) {
        try Self.refuseOtherEncodings(bytes)
        byteOrderMark = byteOrderMarkLength(bytes)
        isASCII = true
        var index = byteOrderMark
        while true {
            index = Self.endOfPrintableASCII(bytes, from: index)
            guard index < bytes.count else { return }
            guard let (scalar, length) = decodeUTF8(bytes, at: index) else {
                let byte = Hexadecimal.text(bytes[index], width: 2, .upper)
                throw Self.error(
                    "the byte 0x\(byte) is not UTF-8; save the file as UTF-8", bytes, at: index, length: 1)
            }
            if length > 1 { isASCII = false }
            if let message = Self.refusal(of: scalar) {
                throw Self.error(message, bytes, at: index, length: length)
            }
            index += length
        }
    }

    private static func refuseOtherEncodings(_ bytes: [UInt8]) throws(YAMLError) {
        let marks: [(name: String, bytes: [UInt8])] = [
            ("UTF-32", [0xFF, 0xFE, 0, 0]), ("UTF-32", [0, 0, 0xFE, 0xFF]),
            ("UTF-16", [0xFF, 0xFE]), ("UTF-16", [0xFE, 0xFF]),
        ]
        for mark in marks where bytes.starts(with: mark.bytes) {
            throw YAMLError("the file is \(mark.name); save it as UTF-8", at: TextSpan(at: .start))
        }
    }

    /// The next byte that is neither printable ASCII nor a tab or line break, or the end.
    private static func endOfPrintableASCII(_ bytes: [UInt8], from start: Int) -> Int {
        bytes.withUnsafeBytes { raw in
            var index = start
            while index < raw.count {
                // Eight bytes at a time: the first is where a subtraction of 0x20 borrows, the second where adding 1
                // to a 7-bit byte carries; both look at the top bit of each byte and may only err towards "look".
                while raw.count - index >= 8 {
                    let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    let below = (word &- 0x2020_2020_2020_2020) & ~word
                    let above = word | ((word & 0x7F7F_7F7F_7F7F_7F7F) &+ 0x0101_0101_0101_0101)
                    guard (below | above) & 0x8080_8080_8080_8080 == 0 else { break }
                    index += 8
                }
                // Then byte by byte past what stopped it, which is a line break in most cases.
                let stop = min(index + 8, raw.count)
                while index < stop {
                    switch raw[index] {
                    case 0x20...0x7E, 0x09, 0x0A, 0x0D: index += 1
                    default: return index
                    }
                }
            }
            return index
        }
    }

    private static func refusal(of scalar: Unicode.Scalar) -> String? {
        switch scalar.value {
        case 0:
            return "a NUL byte; the file is not text, or it is UTF-16: save it as UTF-8"
        case 0x85, 0x2028, 0x2029:
            return "the line separator \(codePoint(scalar)) is not allowed;"
                + " in double quotes it may be written \(escape(scalar))"
        case 0x09, 0x0A, 0x0D:
            return nil
        case 0..<0x20, 0x7F..<0xA0:
            return "the control character \(codePoint(scalar)) is not allowed;"
                + " in double quotes it may be written \(escape(scalar))"
        case 0xFFFE, 0xFFFF:
            return "the character \(codePoint(scalar)) is not allowed"
        default:
            return nil
        }
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        "\\u" + codePoint(scalar).dropFirst(2)
    }

    private static func error(_ message: String, _ bytes: [UInt8], at offset: Int, length: Int) -> YAMLError {
        let start = TextMark(offset: offset, in: bytes)
        return YAMLError(message, at: TextSpan(start: start, end: start.advanced(columns: 1, bytes: length)))
    }
}
