import JSON

/// What the values of a column have in common, from which its type is chosen.
struct ColumnShape {
    /// A column's type as CREATE TABLE has it.
    enum ColumnType: String {
        case integer = "INTEGER"
        case real = "REAL"
        case boolean = "BOOLEAN"
        case json = "JSON"
        case text = "TEXT"
        case none = ""
    }

    private struct Types: OptionSet {
        let rawValue: UInt8
        static let integer = Types(rawValue: 1)
        static let real = Types(rawValue: 2)
        static let boolean = Types(rawValue: 4)
        static let json = Types(rawValue: 8)
        static let text = Types(rawValue: 16)
    }

    /// The types that all values fit.
    private var types: Types = [.integer, .real, .boolean, .json, .text]
    private var hasCollection = false
    /// Whether there is a value that isn't NULL.
    private(set) var hasValues = false

    /// The most restrictive type that all values fit.
    ///
    /// A column of JSON in which a single value is an array or an object is JSON: other values are JSON too.
    var type: ColumnType {
        guard hasValues else { return .none }
        if hasCollection { return .json }
        if types.contains(.integer) { return .integer }
        if types.contains(.real) { return .real }
        if types.contains(.boolean) { return .boolean }
        if types.contains(.json) { return .json }
        return types.contains(.text) ? .text : .none
    }

    /// Takes a value of a JSON file into account.
    mutating func note(_ value: JSONValue) {
        switch value {
        case .null: return
        case .bool: types.formIntersection(.boolean)
        case .number(let number):
            types.formIntersection(number.integer.map(ColumnShape.types) ?? .real)
        case .string: types.formIntersection(.text)
        case .array, .object: hasCollection = true
        }
        hasValues = true
    }

    /// Takes a field of a CSV file into account that isn't NULL.
    ///
    /// As a number counts what JSON writes so, but no integer of more than 64 bits: as REAL it would lose digits.
    mutating func note(field: [UInt8]) {
        hasValues = true
        if types == .text { return }
        types.formIntersection(ColumnShape.types(of: field).union(.text))
    }

    private static func types(of field: [UInt8]) -> Types {
        switch field.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            return (try? JSONReader.value(field)) == nil ? [] : .json
        case UInt8(ascii: "t"), UInt8(ascii: "f"):
            return field.elementsEqual("true".utf8) || field.elementsEqual("false".utf8) ? .boolean : []
        default:
            guard let number = JSONNumber(field) else { return [] }
            if number.isWhole { return number.integer.map(types) ?? [] }
            return number.real == nil ? [] : .real
        }
    }

    /// An integer is REAL too where a double holds it.
    private static func types(of integer: Int64) -> Types {
        Double(exactly: integer) == nil ? .integer : [.integer, .real]
    }
}
