import Basics
import YAML

/// Writes scalars of YAML, plain where they read as the same text so.
enum YAMLText {
    /// Where a scalar stands.
    enum Context {
        /// Behind a key in a block.
        case block
        /// In brackets or braces.
        case flow
    }

    /// A text; nil where YAML has none for these bytes, which are no UTF-8.
    ///
    /// - Parameter keepsType: whether a text that reads as a number or a boolean is put in quotes.
    static func scalar(_ text: [UInt8], in context: Context, keepsType: Bool = false) -> [UInt8]? {
        if isPlain(text, context), !keepsType || isText(text) { return text }
        guard let quoted = quoted(text) else { return nil }
        let isASCII = text.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
        return isASCII || reads(quoted, as: text) ? quoted : nil
    }

    /// A name as a key: plain where it is a word.
    static func key(_ name: [UInt8]) -> [UInt8]? {
        let isWord =
            name.first.map { ($0 | 0x20) &- 0x61 < 26 } ?? false
            && name.allSatisfy { byte in
                (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == UInt8(ascii: "-")
                    || byte == UInt8(ascii: "_")
            }
        if isWord, isText(name), name.count <= 1000 { return name }
        // (libyaml: a simple key has at most 1024 characters.)
        guard name.count <= 500 else { return nil }
        return scalar(name, in: .flow, keepsType: true).map { $0 == name ? quoted(name) ?? $0 : $0 }
    }

    private static func isText(_ text: [UInt8]) -> Bool {
        let scalar = YAMLScalar(text)
        return scalar.value == .text && !scalar.isYAML11Boolean
    }

    private static func isPlain(_ text: [UInt8], _ context: Context) -> Bool {
        guard let first = text.first, let last = text.last, first > 0x20, last > 0x20, last != UInt8(ascii: ":") else {
            return false
        }
        guard !"-?:,[]{}#&*!|>'\"%@`=<".utf8.contains(first), !YAMLScalar(text).isNull else { return false }
        for (index, byte) in text.enumerated() {
            guard byte >= 0x20, byte < 0x7F else { return false }
            switch byte {
            case UInt8(ascii: ":"):
                if context == .flow || text[index + 1] == 0x20 { return false }
            case UInt8(ascii: "#"): if text[index - 1] == 0x20 { return false }
            case UInt8(ascii: ","), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"):
                if context == .flow { return false }
            default: break
            }
        }
        return true
    }

    /// In double quotes (YAML 1.2.2 §7.3.1); nil for bytes that are no UTF-8.
    private static func quoted(_ text: [UInt8]) -> [UInt8]? {
        guard let string = String(validating: text, as: UTF8.self) else { return nil }
        var result: [UInt8] = [UInt8(ascii: "\"")]
        for scalar in string.unicodeScalars {
            switch scalar.value {
            case 0x22: result += Array("\\\"".utf8)
            case 0x5C: result += Array("\\\\".utf8)
            case 0x0A: result += Array("\\n".utf8)
            case 0x0D: result += Array("\\r".utf8)
            case 0x09: result += Array("\\t".utf8)
            case 0x20..<0x7F, 0xA0..<0x2000, 0x2030..<0x2060, 0x2070..<0xD800: result += Array(scalar.utf8)
            case 0xF900..<0xFEFF, 0xFF00..<0xFFF0, 0x10000..<0xE0000: result += Array(scalar.utf8)
            case 0..<0x100: result += Array("\\x\(Hexadecimal.text(scalar.value, width: 2))".utf8)
            case 0x100..<0x10000: result += Array("\\u\(Hexadecimal.text(scalar.value, width: 4))".utf8)
            default: result += Array("\\U\(Hexadecimal.text(scalar.value, width: 8))".utf8)
            }
        }
        return result + [UInt8(ascii: "\"")]
    }

    private static func reads(_ quoted: [UInt8], as text: [UInt8]) -> Bool {
        guard let scalar = try? YAMLNode.parse(quoted)?.scalar else { return false }
        return scalar.bytes.elementsEqual(text)
    }
}
