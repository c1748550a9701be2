import Basics

/// Writes a JSON object on one line, its members in the order in which they were added (RFC 8259).
struct JSONObjectText {
    private var members: [String] = []

    /// The object's text.
    var text: String { "{\(members.joined(separator: ","))}" }

    /// Adds a member whose value is a string, or null.
    mutating func add(_ name: String, _ value: String?) {
        members.append("\(JSONObjectText.quoted(name)):\(value.map(JSONObjectText.quoted) ?? "null")")
    }

    mutating func add(_ name: String, _ value: Int?) {
        members.append("\(JSONObjectText.quoted(name)):\(value.map { String($0) } ?? "null")")
    }

    mutating func add(_ name: String, _ value: Bool) {
        members.append("\(JSONObjectText.quoted(name)):\(value)")
    }

    mutating func add(_ name: String, _ values: [String]) { add(name, json: JSONObjectText.array(values)) }

    /// Adds a member whose value is JSON already, or null.
    mutating func add(_ name: String, json value: String?) {
        members.append("\(JSONObjectText.quoted(name)):\(value ?? "null")")
    }

    /// An array of strings.
    static func array(_ values: [String]) -> String {
        "[\(values.map(JSONObjectText.quoted).joined(separator: ","))]"
    }

    /// Adds a member whose value is another object, or null.
    mutating func add(_ name: String, _ value: JSONObjectText?) {
        members.append("\(JSONObjectText.quoted(name)):\(value?.text ?? "null")")
    }

    mutating func add(_ name: String, _ values: [JSONObjectText]) {
        members.append("\(JSONObjectText.quoted(name)):[\(values.map(\.text).joined(separator: ","))]")
    }

    /// A text as a JSON string, line breaks and control characters escaped.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            // Control characters of both halves of Latin-1 and the line separators, which terminals and readers obey.
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}":
                let unit = UInt16(truncatingIfNeeded: scalar.value)
                result += "\\u" + withUnsafeBytes(of: unit.bigEndian) { Hexadecimal.text($0) }
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
