import Basics

/// A value of JSON's (RFC 8259).
///
/// Numbers are equal where they are written alike, and objects where their members come in the same order.
public enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    /// UTF-8; it may have NUL bytes.
    case string([UInt8])
    case array([JSONValue])
    case object(JSONObject)

    /// What kind of value it is, for messages: `an object`.
    public var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a text"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// Appends its text without blanks: numbers as they were written, strings with the escapes that JSON needs.
    public func append(to json: inout [UInt8]) {
        switch self {
        case .null: json += "null".utf8
        case .bool(let bool): json += (bool ? "true" : "false").utf8
        case .number(let number): json += number.text
        case .string(let string): JSONText.append(string: string, to: &json)
        case .array(let elements):
            json.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { json.append(UInt8(ascii: ",")) }
                element.append(to: &json)
            }
            json.append(UInt8(ascii: "]"))
        case .object(let object):
            json.append(UInt8(ascii: "{"))
            for (index, member) in object.members.enumerated() {
                if index > 0 { json.append(UInt8(ascii: ",")) }
                JSONText.append(string: member.name, to: &json)
                json.append(UInt8(ascii: ":"))
                member.value.append(to: &json)
            }
            json.append(UInt8(ascii: "}"))
        }
    }

    /// Its text without blanks.
    public var text: [UInt8] {
        var json: [UInt8] = []
        append(to: &json)
        return json
    }

    /// Applies a merge patch (RFC 7396 §2).
    ///
    /// Members stay where they are; new ones come behind them.
    public mutating func merge(patch: JSONValue) { self = merged(with: patch) }

    private func merged(with patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var result = JSONObject()
        var old = JSONObject()
        if case .object(let object) = self { old = object }
        for member in old.members {
            let change = changes[member.name]
            if change == .null { continue }
            _ = result.append(member.name, change.map { member.value.merged(with: $0) } ?? member.value)
        }
        for change in changes.members where change.value != .null && old[change.name] == nil {
            _ = result.append(change.name, JSONValue.null.merged(with: change.value))
        }
        return .object(result)
    }
}
