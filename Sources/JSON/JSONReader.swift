import Basics
import Diagnostics

/// Reads JSON as RFC 8259 has it, and nothing more.
///
/// Refused are what is not UTF-8, a member that comes twice, a lone surrogate unless it may be replaced, and more than
/// 64 levels of arrays and objects. The time that it takes is linear.
public struct JSONReader {
    /// What to do with a byte-order mark at the start (RFC 8259 §8.1 leaves it open).
    public enum ByteOrderMark: Sendable {
        case refused
        case skipped
    }

    /// What to do with half a pair of surrogates, which has no UTF-8 (RFC 8259 §8.2 leaves it open).
    public enum LoneSurrogates: Sendable {
        case refused
        /// By U+FFFD. Programs whose strings are UTF-16 write what they have.
        case replaced
    }

    /// How deep arrays and objects may be nested, where nothing else is said.
    public static let maximumLevels = 64

    let bytes: [UInt8]
    /// The byte that is read next.
    public private(set) var offset = 0
    private var levels = 0
    private let loneSurrogates: LoneSurrogates
    private let mostLevels: Int

    /// Reads a text that is one value.
    ///
    /// - Throws: What is wrong with it first, but what is not UTF-8 before all else.
    public static func value(
        _ bytes: [UInt8], byteOrderMark: ByteOrderMark = .refused, loneSurrogates: LoneSurrogates = .refused,
        levels: Int = JSONReader.maximumLevels
    ) throws(JSONError) -> JSONValue {
        var reader = try JSONReader(
            bytes, byteOrderMark: byteOrderMark, loneSurrogates: loneSurrogates, levels: levels)
        let value = try reader.value()
        try reader.end()
        return value
    }

    /// A reader that stands at the beginning, for values that are read piece by piece.
    ///
    /// - Throws: ``JSONError`` at a byte-order mark that is refused, or at the first byte that is not UTF-8.
    public init(
        _ bytes: [UInt8], byteOrderMark: ByteOrderMark, loneSurrogates: LoneSurrogates = .refused,
        levels: Int = JSONReader.maximumLevels
    ) throws(JSONError) {
        let markLength = byteOrderMarkLength(bytes)
        if markLength > 0, byteOrderMark == .refused {
            throw JSONError("JSON doesn't begin with a byte-order mark", at: 0)
        }
        if let invalid = firstInvalidUTF8(bytes) { throw JSONError("this is not UTF-8", at: invalid) }
        self.bytes = bytes
        self.loneSurrogates = loneSurrogates
        mostLevels = levels
        offset = markLength
    }

    // MARK: Values

    /// Reads the next value.
    ///
    /// - Throws: ``JSONError`` at what is no value, at a member that comes twice, at a lone surrogate that is refused,
    ///   and where the levels are too many.
    public mutating func value() throws(JSONError) -> JSONValue {
        switch peek() {
        case UInt8(ascii: "{"):
            try open()
            var object = JSONObject()
            while let (name, place) = try nextName(isFirst: object.members.isEmpty) {
                guard object.append(name, try value()) else {
                    throw JSONError("the member '\(visibleText(of: name, limit: 40))' comes twice", at: place)
                }
            }
            return .object(object)
        case UInt8(ascii: "["):
            try open()
            var elements: [JSONValue] = []
            while try nextElement(isFirst: elements.isEmpty) { elements.append(try value()) }
            return .array(elements)
        case UInt8(ascii: "\""):
            return .string(try string())
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
            let start = offset
            let scan = try JSONNumber.Scan(bytes, from: start)
            offset = scan.end
            try endOfWord(from: start)
            return .number(JSONNumber(Array(bytes[start..<offset]), isWhole: scan.isWhole))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case nil, UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ":"):
            throw JSONError("a value is missing", at: offset)
        default:
            throw JSONError("this is no value; texts stand in double quotes", at: offset)
        }
    }

    /// Checks that nothing but blanks follows.
    ///
    /// - Throws: ``JSONError`` at what follows.
    public mutating func end() throws(JSONError) {
        guard peek() == nil else { throw JSONError("something follows the value", at: offset) }
    }

    /// The next byte that is no blank; nil at the end.
    public mutating func peek() -> UInt8? {
        while offset < bytes.count {
            switch bytes[offset] {
            case 0x20, 0x09, 0x0A, 0x0D: offset &+= 1
            case let byte: return byte
            }
        }
        return nil
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
        let start = offset
        guard bytes[start...].starts(with: word.utf8) else {
            throw JSONError("this is no value; texts stand in double quotes", at: start)
        }
        offset &+= word.utf8.count
        try endOfWord(from: start)
        return value
    }

    /// Checks that a number or a word is not part of a longer one.
    private func endOfWord(from start: Int) throws(JSONError) {
        guard offset < bytes.count else { return }
        switch bytes[offset] {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"),
            UInt8(ascii: "+"), 0x80...:
            throw JSONError("this is no value; texts stand in double quotes", at: start)
        default: return
        }
    }

    // MARK: Arrays and objects, piece by piece

    /// Reads the `[` or `{` that is next.
    ///
    /// - Throws: ``JSONError`` where the levels are too many.
    public mutating func open() throws(JSONError) {
        guard levels < mostLevels else {
            throw JSONError("more than \(mostLevels) levels", at: offset)
        }
        levels &+= 1
        offset &+= 1
    }

    /// Whether another element of an array follows, or its end, which is read.
    ///
    /// - Throws: ``JSONError`` where neither a comma nor `]` is next.
    public mutating func nextElement(isFirst: Bool) throws(JSONError) -> Bool {
        try goesOn(isFirst: isFirst, to: UInt8(ascii: "]"))
    }

    /// Reads the name of an object's next member and the colon, or the object's end.
    ///
    /// - Returns: the name and where it stands; nil at the end.
    /// - Throws: ``JSONError`` where neither a comma nor `}` is next, and where the name or its colon is missing or
    ///   wrong.
    public mutating func nextName(isFirst: Bool) throws(JSONError) -> (name: [UInt8], offset: Int)? {
        guard try goesOn(isFirst: isFirst, to: UInt8(ascii: "}")) else { return nil }
        guard peek() == UInt8(ascii: "\"") else {
            throw JSONError("a name in double quotes is missing", at: offset)
        }
        let start = offset
        let name = try string()
        guard peek() == UInt8(ascii: ":") else { throw JSONError("a colon is missing", at: offset) }
        offset &+= 1
        return (name, start)
    }

    private mutating func goesOn(isFirst: Bool, to bracket: UInt8) throws(JSONError) -> Bool {
        let next = peek()
        if next == bracket {
            offset &+= 1
            levels &-= 1
            return false
        }
        if isFirst { return true }
        guard next == UInt8(ascii: ",") else {
            throw JSONError("a comma or \(Character(Unicode.Scalar(bracket))) is missing", at: offset)
        }
        offset &+= 1
        return true
    }

    // MARK: Strings

    /// Reads a string, at whose quote it stands.
    private mutating func string() throws(JSONError) -> [UInt8] {
        let quote = offset
        offset &+= 1
        var text: [UInt8] = []
        var start = offset
        while offset < bytes.count {
            let byte = bytes[offset]
            if byte == UInt8(ascii: "\"") {
                defer { offset &+= 1 }
                return text.isEmpty ? Array(bytes[start..<offset]) : text + bytes[start..<offset]
            }
            if byte == UInt8(ascii: "\\") {
                text += bytes[start..<offset]
                try appendEscape(to: &text)
                start = offset
                continue
            }
            guard byte >= 0x20 else {
                throw JSONError(
                    "\(codePoint(Unicode.Scalar(byte))) stands in a text; it needs an escape", at: offset)
            }
            offset &+= 1
        }
        throw JSONError("a text has no end", at: quote)
    }

    private mutating func appendEscape(to text: inout [UInt8]) throws(JSONError) {
        let start = offset
        offset &+= 2
        switch start &+ 1 < bytes.count ? bytes[start &+ 1] : nil {
        case UInt8(ascii: "\""): text.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): text.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): text.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            text += String(try scalar(escapedAt: start)).utf8
        default:
            throw JSONError("JSON has no such escape", at: start)
        }
    }

    /// Reads the digits of `\uXXXX`, and of the `\uXXXX` that makes a pair with it.
    private mutating func scalar(escapedAt start: Int) throws(JSONError) -> Unicode.Scalar {
        let unit = try hexadecimalDigits()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        let end = offset
        if unit < 0xDC00, bytes[offset...].starts(with: "\\u".utf8) {
            offset &+= 2
            let second = try hexadecimalDigits()
            if 0xDC00...0xDFFF ~= second,
                let scalar = Unicode.Scalar(0x10000 &+ (unit &- 0xD800) << 10 &+ (second &- 0xDC00))
            {
                return scalar
            }
        }
        guard loneSurrogates == .replaced else { throw JSONError("a lone surrogate", at: start) }
        offset = end
        return "\u{FFFD}"
    }

    private mutating func hexadecimalDigits() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard offset < bytes.count, let digit = bytes[offset].hexValue else {
                throw JSONError("\\u needs four hexadecimal digits", at: min(offset, bytes.count))
            }
            value = value << 4 | UInt32(digit)
            offset &+= 1
        }
        return value
    }
}
