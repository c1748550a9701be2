import Basics

/// Makes bytes from outside fit for a message: one line that can't drive a terminal or turn the text's direction.
///
/// Control and format characters appear as `<U+001B>`, bytes that are not UTF-8 as `<E9>`; all else stays.
///
/// - Parameter limit: The number of characters after which the text is cut with `…`; the default is no limit.
public func visibleText(of bytes: some Sequence<UInt8>, limit: Int = .max) -> String {
    // A scalar has at most four bytes, so of a huge text no more than a prefix is copied.
    let bytes = limit < 1 << 20 ? Array(bytes.prefix(4 * max(limit, 0) + 4)) : Array(bytes)
    var text = ""
    var index = 0
    var characters = 0
    while index < bytes.count {
        guard characters < limit else { return text + "…" }
        let character = VisibleCharacter(bytes, at: index)
        text += character.text
        index += character.length
        characters += 1
    }
    return text
}

/// One scalar of a source, as a terminal may show it.
struct VisibleCharacter {
    /// What is printed.
    let text: String
    /// The columns that it takes in a terminal.
    let width: Int
    /// The bytes of the source that it stands for.
    let length: Int

    /// - Parameter index: A byte of `bytes`.
    init(_ bytes: [UInt8], at index: Int) {
        guard let (scalar, length) = decodeUTF8(bytes, at: index) else {
            self.init(escape: Hexadecimal.text(bytes[index], width: 2, .upper), length: 1)
            return
        }
        if scalar.isASCII, scalar.value >= 0x20, scalar.value != 0x7F {
            self.init(text: String(scalar), width: 1, length: length)
            return
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse:
            self.init(escape: codePoint(scalar), length: length)
        case .nonspacingMark, .enclosingMark:
            self.init(text: String(scalar), width: 0, length: length)
        default:
            self.init(text: String(scalar), width: Self.isWide(scalar) ? 2 : 1, length: length)
        }
    }

    /// A character that stays what it is, such as a tab in an indentation.
    init(text: String, width: Int, length: Int) {
        self.text = text
        self.width = width
        self.length = length
    }

    private init(escape: String, length: Int) {
        self.init(text: "<\(escape)>", width: escape.utf8.count + 2, length: length)
    }

    /// Whether terminals give it two columns (Unicode UAX #11, the blocks that are wide as a whole).
    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
            0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return true
        default:
            return false
        }
    }
}
