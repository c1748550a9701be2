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
    /// Views whose columns are not read yet.
    let unreadViews: [String]
    /// Views that take too much to be told of among all others, with what SQLite says, whether their columns were read
    /// or not.
    let heavyViews: [ByBytes<String>: HeavyView]
    private let indices: [ByBytes<String>: Int]

    /// A view that takes much: its name as it is declared, and what SQLite says.
    struct HeavyView: Sendable {
        let name: String
        let error: SQLiteError
    }

    init(
        tables: [Table], version: Int64, unusable: [ByBytes<String>: SQLiteError] = [:], unreadViews: [String] = [],
        heavyViews: [ByBytes<String>: HeavyView] = [:]
    ) {
        self.heavyViews = heavyViews
        self.unreadViews = unreadViews
        self.tables = tables
        self.version = version
        self.unusable = unusable
        var indices: [ByBytes<String>: Int] = [:]
        for (index, table) in tables.enumerated() { indices[table.name.asName] = index }
        self.indices = indices
    }

    /// A table by its name, without ASCII case.
    func table(_ name: String) -> Table? { indices[name.asName].map { tables[$0] } }

    /// Whether there is a view of the name whose columns are not read yet.
    func isUnread(_ name: String) -> Bool { unreadViews.contains { $0.asName == name.asName } }
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
    /// The foreign keys, in the order that they are declared in.
    let foreignKeys: [ForeignKey]
    /// It is searched by words (https://sqlite.org/fts5.html).
    let isFullText: Bool
    /// Whether its key has an index of its own, so that it isn't the rowid: as `INTEGER PRIMARY KEY DESC` has
    /// (https://sqlite.org/lang_createtable.html#rowid). Told of keys of one INTEGER column alone.
    private let hasKeyIndex: Bool
    private let indices: [ByBytes<String>: Int]

    init(
        name: String, kind: Kind, columns: [Column], primaryKey: [Int], rowID: String?, foreignKeys: [ForeignKey],
        isFullText: Bool, hasKeyIndex: Bool = false
    ) {
        self.name = name
        self.kind = kind
        self.columns = columns
        self.primaryKey = primaryKey
        self.rowID = rowID
        self.foreignKeys = foreignKeys
        self.isFullText = isFullText
        self.hasKeyIndex = hasKeyIndex
        var indices: [ByBytes<String>: Int] = [:]
        for (index, column) in columns.enumerated() { indices[column.name.asName] = index }
        self.indices = indices
    }

    /// Whether its one key column is another name of the rowid.
    var hasIntegerKey: Bool { !hasKeyIndex && Table.isIntegerKey(primaryKey, columns) }

    /// Whether a key has the form of one that is the rowid.
    static func isIntegerKey(_ key: [Int], _ columns: [Column]) -> Bool {
        key.count == 1 && columns[key[0]].declaredType.asciiUppercased == "INTEGER"
    }

    /// A column's place by its name, without ASCII case.
    func index(of column: String) -> Int? { indices[column.asName] }
}

/// Columns that refer to a row of a table.
struct ForeignKey: Sendable, Hashable {
    /// The columns that refer.
    var columns: [String] = []
    /// The table that they refer to.
    var table: String
    /// The columns there, in the same order; empty for the primary key.
    var targets: [String] = []
}

/// A column that refers, and the one that it refers to.
struct ColumnReference: Sendable, Hashable {
    /// The place of the one in its table.
    var column: Int
    /// The place of the other in the table that is referred to.
    var target: Int
    /// The other's collation, by which SQLite compares them (https://sqlite.org/foreignkeys.html §3); nil where it is
    /// that of the one.
    var collation: String?

    /// The other's affinity where the one has none: SQLite compares by it, so that a text `1` refers to the row 1.
    var affinity: Affinity?

    /// What stands between the one and the place of a value that it is compared with, in SQL.
    var before: String { affinity == nil ? "=" : "\(collated) IN (WITH sought(x) AS (VALUES(" }

    /// What follows the place of the value.
    ///
    /// `+` takes the affinity of a CAST away. An index on the one is used, so that of texts in a number's form only that
    /// counts which SQLite itself writes.
    var after: String {
        guard let affinity else { return collated }
        var others = ["+CAST(x AS TEXT) FROM sought WHERE typeof(x)<>'blob'"]
        if !affinity.isNumeric {
            others = ["INTEGER", "REAL"].map { "+CAST(x AS \($0)) FROM sought WHERE CAST(CAST(x AS \($0)) AS TEXT)=x" }
        }
        return ")) SELECT x FROM sought" + others.map { " UNION ALL SELECT \($0)" }.joined() + ")"
    }

    private var collated: String { collation.map { " COLLATE \($0.quotedName)" } ?? "" }
}
