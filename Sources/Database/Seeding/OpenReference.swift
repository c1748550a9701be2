import CSQLite
import Diagnostics
import SQLite

/// A row that refers to a row that isn't there.
struct OpenReference {
    let table: String
    /// Nil where it isn't found.
    let row: Row?
    let error: SQLiteError

    /// Which row it is.
    enum Row {
        /// One of a rowid.
        case number(Int64)
        /// One of a table WITHOUT ROWID.
        case key(Key)
    }

    /// What a row is found by.
    struct Key {
        let values: [SQLiteValue]
        /// Gets the columns that it refers with, of the row of those values.
        let statement: String
    }

    /// The first one that is found; nil where there is none.
    init?(in connection: SQLiteConnection) throws(SQLiteError) {
        let check = try connection.prepare("PRAGMA foreign_key_check")
        guard try check.step() else { return nil }
        table = check.string(0)
        let number = check.storageClass(1) == .null ? nil : check.integer(1)
        let parent = check.string(2)
        let id = check.integer(3)
        check.reset()
        let key = try SeedForeignKey(id, of: table, parent, on: connection)
        var reference = ""
        if let number {
            row = .number(number)
            reference = try key.described(number, on: connection)
        } else if let found = try key.openRow(on: connection) {
            row = .key(found.key)
            reference = found.described
        } else {
            row = nil
        }
        error = SQLiteError(
            code: SQLITE_CONSTRAINT | 3 << 8,
            message: "\(table)\(reference) refers to a row that \(parent) doesn't have")
    }
}

/// Sees whether a row changes, of a table WITHOUT ROWID: SQLite tells of no change of these.
final class RowWatch {
    private let connection: SQLiteConnection
    private let key: OpenReference.Key
    private var statement: SQLiteStatement?
    /// The changes of the connection when it was last looked at.
    private var changes: Int64
    /// What the row referred with; nil where there was no such row.
    private var reference: [SQLiteValue]?

    init(_ key: OpenReference.Key, in connection: SQLiteConnection) {
        self.key = key
        self.connection = connection
        changes = connection.totalChanges
    }

    /// Whether the row is there and refers with something else than when it was last asked.
    func isSet() -> Bool {
        // To ask before anything is written would settle the size of pages.
        guard connection.totalChanges != changes else { return false }
        changes = connection.totalChanges
        let now = try? row()
        defer { reference = now }
        return now != nil && now != reference
    }

    /// What the row refers with.
    ///
    /// - Throws: What SQLite says, as where there is no such table yet.
    private func row() throws(SQLiteError) -> [SQLiteValue]? {
        if statement == nil { statement = try connection.prepare(key.statement, isKept: true) }
        guard let row = statement else { return nil }
        for (index, value) in key.values.enumerated() { try row.bind(value, to: index + 1) }
        defer { row.reset() }
        return try row.step() ? (0..<row.columnCount).map { row.value($0) } : nil
    }
}

/// A foreign key of a table.
private struct SeedForeignKey {
    private let table: String
    private let parent: String
    /// The columns that it refers with.
    private let columns: [String]
    /// The parent's columns that these stand for; none where there is no such table.
    private let parentColumns: [String]

    init(
        _ id: Int64, of table: String, _ parent: String, on connection: SQLiteConnection
    ) throws(SQLiteError) {
        self.table = table
        self.parent = parent
        // id, seq, table, from, to …
        let rows = try connection.prepare("PRAGMA main.foreign_key_list(\(quoted(table)))")
        var columns: [String] = []
        var named: [String] = []
        while try rows.step() {
            guard rows.integer(0) == id else { continue }
            columns.append(rows.string(3))
            if rows.storageClass(4) != .null { named.append(rows.string(4)) }
        }
        self.columns = columns
        let known = try SeedForeignKey.columns(of: parent, on: connection)
        if known.all.isEmpty {
            parentColumns = []
        } else {
            parentColumns = named.isEmpty ? known.key : named
        }
    }

    /// Names a row and what it refers with: ` row 7: product = 99`.
    func described(_ number: Int64, on connection: SQLiteConnection) throws(SQLiteError) -> String {
        guard !columns.isEmpty else { return " row \(number)" }
        let values = try connection.prepare(
            "SELECT \(list(columns)) FROM main.\(quoted(table)) WHERE rowid = ?1")
        try values.bind(.integer(number), to: 1)
        guard try values.step() else { return " row \(number)" }
        return " row \(number): \(pairs(values, from: 0))"
    }

    /// The first row by its primary key, of a table WITHOUT ROWID, that refers to a row that isn't there; with its name
    /// and what it refers with: ` row de/Haus: product = 99`.
    func openRow(
        on connection: SQLiteConnection
    ) throws(SQLiteError) -> (key: OpenReference.Key, described: String)? {
        let key = try SeedForeignKey.columns(of: table, on: connection).key
        guard !key.isEmpty, !columns.isEmpty else { return nil }
        var conditions = columns.map { "c.\(quoted($0)) IS NOT NULL" }
        if parentColumns.count == columns.count {
            // As SQLite compares them: by the parent's collation, and without the type of the child's column.
            let pairs = zip(parentColumns, columns).map { "p.\(quoted($0)) = +c.\(quoted($1))" }
            let matches = pairs.joined(separator: " AND ")
            conditions.append("NOT EXISTS (SELECT 1 FROM main.\(quoted(parent)) AS p WHERE \(matches))")
        }
        let name = "main.\(quoted(table))"
        let row = try connection.prepare(
            "SELECT \(list(key + columns)) FROM \(name) AS c WHERE \(conditions.joined(separator: " AND "))"
                + " ORDER BY \(list(key)) LIMIT 1")
        guard try row.step() else { return nil }
        let values = key.indices.map { row.value($0) }
        let names = key.indices.map { index in row.withText(index) { visibleText(of: $0, limit: 40) } }
        let places = key.enumerated().map { "\(quoted($1)) = ?\($0 + 1)" }.joined(separator: " AND ")
        let statement = "SELECT \(list(columns)) FROM \(name) WHERE \(places)"
        return (
            OpenReference.Key(values: values, statement: statement),
            " row \(names.joined(separator: "/")): \(pairs(row, from: key.count))"
        )
    }

    /// The columns with their values in a row, from one of its columns on.
    private func pairs(_ row: SQLiteStatement, from first: Int) -> String {
        columns.enumerated().map { index, column in
            "\(column) = \(row.withText(first + index) { visibleText(of: $0, limit: 40) })"
        }.joined(separator: ", ")
    }

    /// The columns of a table, and those of its primary key in their order there.
    private static func columns(
        of table: String, on connection: SQLiteConnection
    ) throws(SQLiteError) -> (all: [String], key: [String]) {
        // cid, name, type, notnull, dflt_value, pk
        let rows = try connection.prepare("PRAGMA main.table_info(\(quoted(table)))")
        var all: [String] = []
        var key: [(place: Int64, name: String)] = []
        while try rows.step() {
            all.append(rows.string(1))
            if rows.integer(5) > 0 { key.append((rows.integer(5), rows.string(1))) }
        }
        return (all, key.sorted { $0.place < $1.place }.map(\.name))
    }
}

private func quoted(_ name: String) -> String { quotedIdentifier(Array(name.utf8)) }

private func list(_ names: [String]) -> String { names.map(quoted).joined(separator: ", ") }
