import Basics

/// A column of a table or view, as the schema declares it.
struct Column: Sendable, Hashable {
    let name: String
    /// As it is written; empty where there is none.
    let declaredType: String
    let isNotNull: Bool
    /// The expression of its default; nil where there is none.
    let defaultValue: String?
    /// It is computed from others, and can't be written.
    let isGenerated: Bool
    let affinity: Affinity
    /// By which its values are compared.
    let collation: String

    /// - Parameter isStrict: whether the table is STRICT.
    init(
        name: String, declaredType: String, isNotNull: Bool, defaultValue: String?, isGenerated: Bool,
        isStrict: Bool = false, collation: String = "BINARY"
    ) {
        self.collation = collation
        self.name = name
        self.declaredType = declaredType
        self.isNotNull = isNotNull
        self.defaultValue = defaultValue
        self.isGenerated = isGenerated
        // What is ANY elsewhere has NUMERIC affinity (https://sqlite.org/stricttables.html §2).
        affinity =
            isStrict && declaredType.asciiUppercased == "ANY" ? .none : Affinity(declaredType: declaredType)
    }

    /// The default in SQL, for a statement that sets it: what INSERT takes for a text, a bare word or one in double
    /// quotes, would be a column's name there.
    var defaultExpression: String {
        guard let text = defaultValue, let first = text.utf8.first else { return "NULL" }
        if first == UInt8(ascii: "\""), text.utf8.count > 1, text.utf8.last == first {
            var inner: [UInt8] = []
            var isDoubled = false
            for byte in text.utf8.dropFirst().dropLast() {
                isDoubled = byte == first && !isDoubled
                if !isDoubled { inner.append(byte) }
            }
            return String(decoding: inner, as: UTF8.self).quotedText
        }
        let keywords: Set = ["NULL", "TRUE", "FALSE", "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP"]
        let isWord = text.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "_") || byte >= 0x80 || (0x30...0x39).contains(byte)
                || (0x41...0x5A).contains(byte & 0xDF)
        }
        let isBare = isWord && !(0x30...0x39).contains(first) && !keywords.contains(text.asciiUppercased)
        // It may end with a comment, to the end of its line.
        return isBare ? text.quotedText : "(\(text)\n)"
    }
}

/// What SQLite does with values that are put into a column, and compared with one ("Datatypes In SQLite" §3.1).
enum Affinity: Sendable, Hashable {
    case integer, real, numeric, text, blob
    /// No declared type, or ANY in a STRICT table: values stay what they are.
    case none

    init(declaredType: String) {
        let type = declaredType.asciiUppercased
        if type.isEmpty {
            self = .none
        } else if type.contains("INT") {
            self = .integer
        } else if type.contains("CHAR") || type.contains("CLOB") || type.contains("TEXT") {
            self = .text
        } else if type.contains("BLOB") {
            self = .blob
        } else if type.contains("REAL") || type.contains("FLOA") || type.contains("DOUB") {
            self = .real
        } else {
            self = .numeric
        }
    }

    /// Whether a text in a number's form becomes a number.
    var isNumeric: Bool { self == .integer || self == .real || self == .numeric }
}

/// How a column's values are written in JSON and read from it.
public enum ValueForm: String, Sendable, Hashable {
    /// As their storage class says.
    case plain
    /// 0 and 1 are false and true.
    case boolean
    /// Text is a JSON value.
    case json
    /// Integers are strings.
    case text
    /// Text is Base64 of a BLOB.
    case blob

    /// What a declared type means without an option of the rule.
    init(declaredType: String) {
        switch declaredType.asciiUppercased {
        case "BOOL", "BOOLEAN": self = .boolean
        case "JSON", "JSONB": self = .json
        case let type where type.contains("BLOB"): self = .blob
        default: self = .plain
        }
    }
}

extension String {
    /// The text with ASCII letters in lower case, as SQLite compares names.
    var asciiLowercased: String {
        guard utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return self }
        return String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// The text as SQLite compares names: byte by byte, without ASCII case.
    var asName: ByBytes<String> { ByBytes(asciiLowercased) }

    /// The text with ASCII letters in upper case.
    var asciiUppercased: String {
        guard utf8.contains(where: { (0x61...0x7A).contains($0) }) else { return self }
        return String(decoding: utf8.map { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 }, as: UTF8.self)
    }

    /// The text as a name in SQL.
    var quotedName: String { quotedIdentifier(Array(utf8)) }

    /// The text as a string in SQL; only for what the schema says, never for what a client says.
    var quotedText: String {
        // Byte by byte: to Swift a quote with a combining character behind it is another character.
        "'" + String(decoding: utf8.flatMap { $0 == 0x27 ? [0x27, 0x27] : [$0] }, as: UTF8.self) + "'"
    }
}
