import Basics
import SQLite

/// The tables and views of a database that may be shown.
final class Schema: Sendable {
    /// In the order that SQLite lists them: by name.
    let tables: [Table]
    /// PRAGMA schema_version when it was read.
    let version: Int64
    /// Views and virtual tables that SQLite can't use, with what it says.
    let unusable: [ByBytes<String>: SQLiteError]
    private let indices: [ByBytes<String>: Int]

    init(tables: [Table], version: Int64, unusable: [ByBytes<String>: SQLiteError] = [:]) {
        self.tables = tables
        self.version = version
        self.unusable = unusable
        var indices: [ByBytes<String>: Int] = [:]
        for (index, table) in tables.enumerated() { indices[table.name.asName] = index }
        self.indices = indices
    }

    /// A table by its name, without ASCII case.
    func table(_ name: String) -> Table? { indices[name.asName].map { tables[$0] } }
}

/// A table or a view.
final class Table: Sendable {
    enum Kind: String, Sendable { case table, view }

    let name: String
    let kind: Kind
    /// Those that SELECT * shows, in their order.
    let columns: [Column]
    /// The primary key's columns, in the key's order; empty where there is none.
    let primaryKey: [Int]
    /// The name under which the rowid can be asked for; nil where there is no rowid, or columns have all its names.
    let rowID: String?
    /// Foreign keys of one column, by which tables are joined in answers.
    let foreignKeys: [ForeignKey]
    /// It is searched by words (https://sqlite.org/fts5.html).
    let isFullText: Bool
    private let indices: [ByBytes<String>: Int]

    init(
        name: String, kind: Kind, columns: [Column], primaryKey: [Int], rowID: String?, foreignKeys: [ForeignKey],
        isFullText: Bool
    ) {
        self.name = name
        self.kind = kind
        self.columns = columns
        self.primaryKey = primaryKey
        self.rowID = rowID
        self.foreignKeys = foreignKeys
        self.isFullText = isFullText
        var indices: [ByBytes<String>: Int] = [:]
        for (index, column) in columns.enumerated() { indices[column.name.asName] = index }
        self.indices = indices
    }

    /// A column's place by its name, without ASCII case.
    func index(of column: String) -> Int? { indices[column.asName] }
}

/// A column that refers to a row of a table.
struct ForeignKey: Sendable, Hashable {
    /// The column that refers.
    var column: String
    /// The table that it refers to.
    var table: String
    /// The column there; nil for the primary key.
    var target: String?
}
