import JSON
import SQLite

/// The values that a column, or a member of the JSON value in one, may equal.
struct SoughtValues {
    /// As they are stored.
    private(set) var values: [SQLiteValue] = []
    private(set) var hasNull = false
    private var hasTrue = false
    private var hasFalse = false

    /// The types of members that have no value beside their type.
    var types: [StaticString] {
        var types: [StaticString] = []
        if hasTrue { types.append("true") }
        if hasFalse { types.append("false") }
        return types
    }

    /// Adds a value of the query.
    ///
    /// - Throws: 400 where it is none that the column has.
    mutating func add(text: [UInt8], of operand: Operand) throws(Problem) {
        guard !text.elementsEqual("null".utf8) else {
            hasNull = true
            return
        }
        switch operand.booleanType(text) {
        case true?: hasTrue = true
        case false?: hasFalse = true
        case nil: break
        }
        let alternatives = try operand.alternatives(text)
        values.append(contentsOf: alternatives)
    }

    /// Adds a value in JSON, which has its type.
    ///
    /// - Throws: 400 where it is none that the column has, and for an array or an object.
    mutating func add(json: JSONValue, of operand: Operand) throws(Problem) {
        let isPlain = operand.form == .plain || operand.form == .text
        let isJSON = operand.form == .json
        switch json {
        case .null: hasNull = true
        case .string(let string) where isJSON:
            values.append(.text(json.text))
            // A text that is no JSON is shown as it is. In a column of numbers none in the form of one is kept as a text.
            let isNumber = operand.affinity.isNumeric && SQLNumber(string.trimmed) != nil
            if !isNumber, !JSONOutput.isJSON(string) { values.append(.text(string)) }
        case .number(let number) where isJSON:
            values.append(.text(number.text))
            if operand.affinity == .none, let value = number.sqlValue { values.append(value) }
        case .bool where isJSON: values.append(.text(json.text))
        case .string(let string) where isPlain:
            // A text is a text: where there is no affinity it doesn't equal a number.
            values.append(.text(string))
        case .number(let number) where operand.hasNoAffinity:
            guard let value = number.sqlValue else { throw .badValue("a number beyond a double's range") }
            values.append(value)
        case .bool(let bool) where isPlain:
            // As a body's, where they are 1 and 0; of a JSON value they are no numbers.
            guard !operand.path.members.isEmpty else { return values.append(.integer(bool ? 1 : 0)) }
            if bool { hasTrue = true } else { hasFalse = true }
        case .array, .object:
            throw .badValue(
                "'\(operand.path.written)' is compared with a text, a number, true, false or null, not \(json.kind)")
        default: try add(text: json.scalarText ?? [], of: operand)
        }
    }
}
