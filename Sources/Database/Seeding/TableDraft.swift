import Diagnostics
import JSON
import SQLite

/// A table that isn't there yet, as the rows of a file suggest it.
struct TableDraft {
    private(set) var columns: [(name: [UInt8], shape: ColumnShape)] = []
    private var indices: [[UInt8]: Int] = [:]

    /// The column of a name, which is compared without ASCII case; it is added where it isn't there.
    ///
    /// - Throws: Why nothing can be called so.
    mutating func column(_ name: [UInt8]) throws(ValueError) -> Int {
        let folded = foldedName(name)
        if let index = indices[folded] { return index }
        try TableDraft.check(name: name, of: "column")
        indices[folded] = columns.count
        columns.append((name, ColumnShape()))
        return columns.count - 1
    }

    mutating func note(_ value: JSONValue, in column: Int) { columns[column].shape.note(value) }

    mutating func note(field: [UInt8], in column: Int) { columns[column].shape.note(field: field) }

    /// - Throws: Why no column or table can be called so.
    static func check(name: [UInt8], of thing: String) throws(ValueError) {
        guard !name.isEmpty else { throw ValueError(message: "a \(thing)'s name is missing") }
        guard !name.contains(0) else { throw ValueError(message: "a \(thing)'s name can't have a NUL byte") }
        if thing == "table", foldedName(name.prefix(7)).elementsEqual("sqlite_".utf8) {
            throw ValueError(message: "names that begin with sqlite_ are SQLite's own")
        }
    }

    /// Makes the table. Where no row has a column, it gets an `id`, since there is no table without a column.
    ///
    /// - Parameter untyped: the type of columns without values.
    func create(_ name: [UInt8], untyped: ColumnShape.ColumnType, on connection: SQLiteConnection) throws(SQLiteError) {
        var declarations = columns.map { column in
            let identifier = quotedIdentifier(column.name)
            if foldedName(column.name).elementsEqual("id".utf8) {
                return "\(identifier) \(TableDraft.key(column.shape))"
            }
            let type = column.shape.hasValues ? column.shape.type : untyped
            return "\(identifier) \(type.rawValue)"
        }
        if declarations.isEmpty { declarations = ["id \(TableDraft.key(ColumnShape()))"] }
        let list = declarations.joined(separator: ", ")
        try connection.execute("CREATE TABLE main.\(quotedIdentifier(name)) (\(list))")
    }

    private static func key(_ shape: ColumnShape) -> String {
        shape.hasValues && shape.type != .integer
            ? "TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(8))))" : "INTEGER PRIMARY KEY"
    }
}
