import Basics
import Diagnostics
import JSON
import SQLite

/// Reads the body of a write: the columns that it names, and their values.
struct BodyReader {
    let view: TableView
    let body: DatabaseRequest.Body
    /// For PATCH with a merge patch, the value before of a column that is changed in part.
    var current: ((Int) throws(Problem) -> SQLiteValue)?

    /// The columns of a row that a body sets, in the table's order of columns.
    struct Row {
        /// Those that aren't set take no room: a short body may have many rows that each set the last of many columns.
        private var values: [(column: Int, value: SQLiteValue)] = []

        subscript(column: Int) -> SQLiteValue? {
            let place = place(of: column)
            return place < values.count && values[place].column == column ? values[place].value : nil
        }
        mutating func set(_ column: Int, _ value: SQLiteValue) {
            let place = place(of: column)
            if place < values.count, values[place].column == column {
                values[place].value = value
            } else {
                values.insert((column, value), at: place)
            }
        }
        var columns: [Int] { values.map(\.column) }

        /// Where a column stands, or belongs.
        private func place(of column: Int) -> Int {
            var (low, high) = (0, values.count)
            while low < high {
                let middle = (low + high) / 2
                if values[middle].column < column { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    init(_ view: TableView, _ body: DatabaseRequest.Body) {
        self.view = view
        self.body = body
    }

    /// - Returns: the rows of an array, or one of an object.
    /// - Throws: 400 for what no row can have.
    func rows() throws(Problem) -> (rows: [Row], isArray: Bool) {
        guard body.type == "application/json" else { return ([try row()], false) }
        let value = try BodyReader.json(body.bytes)
        guard case .array(let elements) = value else { return ([try row(of: value)], false) }
        var rows: [Row] = []
        for element in elements {
            guard case .object(let object) = element else {
                throw .badBody("an array is one of objects, not of \(element.kind)")
            }
            rows.append(try row(object))
        }
        return (rows, true)
    }

    /// - Throws: 400 for what no row can have.
    func row() throws(Problem) -> Row {
        if body.type == "application/x-www-form-urlencoded" { return try row(BodyReader.form(body.bytes)) }
        return try row(of: try BodyReader.json(body.bytes))
    }

    private func row(of value: JSONValue) throws(Problem) -> Row {
        guard case .object(let object) = value else { throw .badBody("the body is an object, not \(value.kind)") }
        return try row(object)
    }

    private func row(_ object: JSONObject) throws(Problem) -> Row {
        var row = Row()
        for member in object.members {
            let column = try column(member.name, in: row)
            guard !view.table.columns[column].isGenerated else { continue }
            if let current, view.forms[column] == .json, case .object = member.value {
                row.set(column, try merged(try current(column), member.value, column))
            } else {
                row.set(column, try value(member.value, column))
            }
        }
        return row
    }

    private func row(_ fields: [FormReader.Field]) throws(Problem) -> Row {
        var row = Row()
        for field in fields {
            let column = try column(field.name, in: row)
            guard !view.table.columns[column].isGenerated else { continue }
            row.set(column, try value(text: field.value, column))
        }
        return row
    }

    private func column(_ name: [UInt8], in row: Row) throws(Problem) -> Int {
        let text = String(decoding: name, as: UTF8.self)
        guard let column = view.table.index(of: text) else { throw ListQuery.unknownColumn(text, view) }
        guard row[column] == nil else { throw .badBody("'\(text)' comes twice") }
        return column
    }

    // MARK: Values

    private func value(_ json: JSONValue, _ column: Int) throws(Problem) -> SQLiteValue {
        let name = view.table.columns[column].name
        if json == .null { return .null }
        if view.forms[column] == .json { return .text(try text(of: json, column)) }
        switch json {
        case .null: return .null
        case .bool(let bool): return .integer(bool ? 1 : 0)
        case .number(let number):
            guard let value = number.sqlValue else { throw .badBody("'\(name)' is beyond a double's range") }
            return value
        case .string(let text):
            guard view.forms[column] == .blob else { return .text(text) }
            return try blob(text, name)
        case .array, .object:
            throw .badBody("'\(name)' is no JSON column, and can't have \(json.kind)")
        }
    }

    private func value(text: [UInt8], _ column: Int) throws(Problem) -> SQLiteValue {
        let name = view.table.columns[column].name
        switch view.forms[column] {
        case .plain, .text: return .text(text)
        case .blob: return try blob(text, name)
        case .boolean:
            switch String(decoding: text, as: UTF8.self) {
            case "true", "1": return .integer(1)
            case "false", "0": return .integer(0)
            case let other: throw .badValue("'\(name)' is true or false, not '\(other)'")
            }
        case .json:
            let value = try BodyReader.json(text)
            return value == .null ? .null : .text(try self.text(of: value, column))
        }
    }

    /// The text that a JSON column keeps of a value. A number is kept as SQLite's where the column makes it one.
    private func text(of json: JSONValue, _ column: Int) throws(Problem) -> [UInt8] {
        let declared = view.table.columns[column]
        if case .number(let number) = json, declared.affinity.isNumeric, number.sqlValue == nil {
            throw .badBody("'\(declared.name)' is beyond a double's range")
        }
        return json.text
    }

    private func blob(_ text: [UInt8], _ name: String) throws(Problem) -> SQLiteValue {
        guard let bytes = Base64.decoded(text, .exact) else {
            throw .badBody("'\(name)' is a BLOB, and takes Base64 (RFC 4648)")
        }
        return .blob(bytes)
    }

    private func merged(
        _ value: SQLiteValue, _ patch: JSONValue, _ column: Int
    ) throws(Problem) -> SQLiteValue {
        var json = JSONValue.null
        switch value {
        case .text(let text):
            do throws(JSONError) { json = try JSONReader.value(text) } catch {
                // What is shown as an object may have a member twice, or half a surrogate pair.
                guard !JSONOutput.isJSON(text) else {
                    let name = view.table.columns[column].name
                    throw .badBody(
                        "'\(name)' has JSON that nothing can be merged into: \(error.description(in: text)); set all of it as application/json"
                    )
                }
                json = .string(text)
            }
        case .integer, .real:
            if let text = RowKeyText.text(value), let number = try? JSONReader.value(text) { json = number }
        case .null, .blob: break
        }
        json.merge(patch: patch)
        return json == .null ? .null : .text(try text(of: json, column))
    }

    // MARK: Texts

    static func json(_ bytes: [UInt8]) throws(Problem) -> JSONValue {
        do throws(JSONError) { return try JSONReader.value(bytes) } catch {
            throw .badBody(error.description(in: bytes))
        }
    }

    static func form(_ bytes: [UInt8]) throws(Problem) -> [FormReader.Field] {
        do throws(TextError) { return try FormReader.fields(bytes) } catch {
            throw .badBody(error.description(in: bytes))
        }
    }
}
