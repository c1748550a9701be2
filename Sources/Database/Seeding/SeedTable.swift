import Basics
import Diagnostics
import JSON
import SQLite

/// A table that rows are inserted into.
struct SeedTable {
    /// A column, as the schema has it.
    struct Column {
        let name: String
        let kind: Kind
        /// Whether SQLite computes it.
        let isGenerated: Bool
        /// Whether it is a key that has a default, which takes the place of NULL.
        let isDefaultedKey: Bool
    }

    /// How values come to a column, by its declared type.
    enum Kind {
        case plain, boolean, json, blob

        init(declaredType: String) {
            let type = String(decoding: foldedName(declaredType.utf8), as: UTF8.self)
            switch type.prefix(while: { $0 != "(" && $0 != " " }) {
            case "bool", "boolean": self = .boolean
            case "json", "jsonb": self = .json
            default: self = type.contains("blob") ? .blob : .plain
            }
        }
    }

    let name: [UInt8]
    let columns: [Column]
    private let indices: [[UInt8]: Int]
    private let connection: SQLiteConnection
    /// The statements by the columns that they set.
    private var statements: [[Int]: SQLiteStatement] = [:]
    private var last: (columns: [Int], statement: SQLiteStatement)?
    private static let maximumStatements = 64

    /// The table or view of a name, which is compared without ASCII case; nil where there is none.
    init?(_ name: [UInt8], on connection: SQLiteConnection) throws(SQLiteError) {
        // cid, name, type, notnull, dflt_value, pk, hidden
        let list = try connection.prepare("PRAGMA main.table_xinfo(\(quotedIdentifier(name)))")
        var columns: [Column] = []
        var indices: [[UInt8]: Int] = [:]
        while try list.step() {
            // 1 is a virtual table's own, 2 and 3 are generated.
            let hidden = list.integer(6)
            if hidden == 1 { continue }
            indices[list.withText(1) { foldedName($0) }] = columns.count
            columns.append(
                Column(
                    name: list.string(1), kind: Kind(declaredType: list.string(2)), isGenerated: hidden > 1,
                    isDefaultedKey: list.integer(5) > 0 && list.storageClass(4) != .null))
        }
        guard !columns.isEmpty else { return nil }
        self.name = name
        self.columns = columns
        self.indices = indices
        self.connection = connection
    }

    /// A column's number; nil where there is none of that name.
    func index(of column: [UInt8]) -> Int? { indices[foldedName(column)] }

    /// What to say of a column that isn't there.
    func unknownColumn(_ column: [UInt8]) -> String {
        let known = columns.lazy.map(\.name)
        let hint = didYouMean(column, among: known).map { "; did you mean '\($0)'?" } ?? ""
        return "\(visibleText(of: name, limit: 40)) has no column '\(visibleText(of: column, limit: 40))'\(hint)"
    }

    /// Inserts a row.
    ///
    /// - Parameters:
    ///   - set: the columns that have a value, no two the same.
    ///   - values: their values; NULL of a key that has a default, and what is generated, is left out.
    mutating func insert(_ set: [Int], _ values: [SQLiteValue]) throws(SQLiteError) {
        var set = set
        var values = values
        for position in set.indices.reversed() {
            let column = columns[set[position]]
            guard column.isGenerated || (column.isDefaultedKey && values[position] == .null) else { continue }
            set.remove(at: position)
            values.remove(at: position)
        }
        let statement = try statement(set)
        for (position, value) in values.enumerated() { try statement.bind(value, to: position + 1) }
        while try statement.step() {}
    }

    private mutating func statement(_ set: [Int]) throws(SQLiteError) -> SQLiteStatement {
        if let last, last.columns == set { return last.statement }
        let statement: SQLiteStatement
        if let kept = statements[set] {
            statement = kept
        } else {
            let names = set.map { quotedIdentifier(Array(columns[$0].name.utf8)) }.joined(separator: ", ")
            let marks = Array(repeating: "?", count: set.count).joined(separator: ", ")
            let values = set.isEmpty ? "DEFAULT VALUES" : "(\(names)) VALUES (\(marks))"
            statement = try connection.prepare("INSERT INTO main.\(quotedIdentifier(name)) \(values)", isKept: true)
            // As many as the rows of a file may have shapes would be too many.
            if statements.count == SeedTable.maximumStatements { statements.removeAll() }
            statements[set] = statement
        }
        last = (set, statement)
        return statement
    }
}

// MARK: Values

extension SeedTable.Column {
    /// A value of JSON as SQLite gets it.
    ///
    /// - Throws: Why it can't.
    func value(of json: JSONValue) throws(ValueError) -> SQLiteValue {
        if case .null = json { return .null }
        if kind == .json { return .text(json.text) }
        if kind == .blob {
            guard case .string(let text) = json, let blob = Base64.decoded(text) else { throw .base64(name) }
            return .blob(blob)
        }
        switch json {
        case .bool(let bool): return .integer(bool ? 1 : 0)
        case .number(let number):
            if let integer = number.integer { return .integer(integer) }
            guard let real = number.real else { throw ValueError(message: "this number is beyond a double's range") }
            return .real(real)
        case .string(let text): return .text(text)
        case .null, .array, .object:
            throw ValueError(message: "\(json.kind) can't be in '\(name)', which is not declared JSON")
        }
    }

    /// A field of a CSV file as SQLite gets it: as text, which gets its type by the column's affinity.
    ///
    /// - Throws: Why it can't.
    func value(ofField text: [UInt8]) throws(ValueError) -> SQLiteValue {
        switch kind {
        case .plain: return .text(text)
        case .boolean:
            if text.elementsEqual("true".utf8) { return .integer(1) }
            return text.elementsEqual("false".utf8) ? .integer(0) : .text(text)
        case .json:
            do throws(JSONError) {
                _ = try JSONReader.value(text)
            } catch {
                throw ValueError(message: "'\(name)' is declared JSON, and this is none: \(error.message)")
            }
            return .text(text)
        case .blob:
            guard let blob = Base64.decoded(text) else { throw .base64(name) }
            return .blob(blob)
        }
    }
}

/// Why a value can't be in a column.
struct ValueError: Error {
    let message: String

    static func base64(_ column: String) -> ValueError {
        ValueError(message: "'\(column)' is declared BLOB, and this is no text of base64")
    }
}
