import Basics
import SQLite

extension Schema {
    /// Reads the schema of a connection's main database.
    ///
    /// - Throws: What SQLite says of the file, such as SQLITE_NOTADB.
    static func read(_ connection: SQLiteConnection) throws(SQLiteError) -> Schema {
        let version = try connection.integer("PRAGMA main.schema_version") ?? 0
        let list = try connection.prepare("PRAGMA main.table_list")
        var found: [(name: String, type: String, hasRowID: Bool, isStrict: Bool)] = []
        // SQLite has told of it since it has STRICT tables.
        let tellsStrict = list.columnCount > 5
        while try list.step() {
            let name = list.string(1)
            guard list.string(0) == "main", !name.asciiLowercased.hasPrefix("sqlite_") else { continue }
            let type = list.string(2)
            guard type != "shadow" else { continue }
            found.append((name, type, list.integer(4) == 0, tellsStrict && list.integer(5) != 0))
        }
        found.sort { $0.name < $1.name }
        let fullText = try fullTextTables(connection)
        var tables: [Table] = []
        var unusable: [ByBytes<String>: SQLiteError] = [:]
        for entry in found {
            // Views over views may take long to be told of, and while SQLite does it asks nobody whether to go on.
            try Seeding.checkTime(connection)
            // A view over a table that is gone, or a virtual table of an unknown module, has no columns to tell: it
            // isn't shown, and the others are.
            do throws(SQLiteError) {
                let isFullText = fullText.contains(ByBytes(entry.name))
                if let table = try read(entry, isFullText: isFullText, connection) { tables.append(table) }
            } catch {
                guard !error.isInterrupt, !error.isLock else { continue }
                unusable[entry.name.asName] = error
            }
        }
        return Schema(tables: tables, version: version, unusable: unusable)
    }

    private static func fullTextTables(_ connection: SQLiteConnection) throws(SQLiteError) -> Set<ByBytes<String>> {
        let statement = try connection.prepare(
            "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'")
        var names: Set<ByBytes<String>> = []
        while try statement.step() { names.insert(ByBytes(statement.string(0))) }
        return names
    }

    private static func read(
        _ entry: (name: String, type: String, hasRowID: Bool, isStrict: Bool), isFullText: Bool,
        _ connection: SQLiteConnection
    ) throws(SQLiteError) -> Table? {
        let information = try connection.prepare("PRAGMA main.table_xinfo(\(entry.name.quotedName))")
        let isView = entry.type == "view"
        var columns: [Column] = []
        var hidden: Set<ByBytes<String>> = []
        var key: [(order: Int64, index: Int)] = []
        while try information.step() {
            let kind = information.integer(6)
            let name = information.string(1)
            guard kind != 1 else {
                hidden.insert(name.asName)
                continue
            }
            let order = information.integer(5)
            if order > 0 { key.append((order, columns.count)) }
            columns.append(
                Column(
                    name: name, declaredType: information.string(2), isNotNull: information.integer(3) != 0,
                    defaultValue: information.storageClass(4) == .null ? nil : information.string(4),
                    isGenerated: kind > 1, isStrict: entry.isStrict,
                    collation: (isView ? nil : connection.collation(of: name, in: entry.name)) ?? "BINARY"))
        }
        guard !columns.isEmpty else { return nil }
        key.sort { $0.order < $1.order }
        let names = Set(columns.map(\.name.asName)).union(hidden)
        return Table(
            name: entry.name, kind: isView ? .view : .table, columns: columns, primaryKey: key.map(\.index),
            rowID: isView || !entry.hasRowID
                ? nil : ["rowid", "_rowid_", "oid"].first { !names.contains($0.asName) },
            foreignKeys: isView ? [] : try foreignKeys(entry.name, connection), isFullText: isFullText)
    }

    private static func foreignKeys(
        _ table: String, _ connection: SQLiteConnection
    ) throws(SQLiteError) -> [ForeignKey] {
        let list = try connection.prepare("PRAGMA main.foreign_key_list(\(table.quotedName))")
        var keys: [Int64: ForeignKey] = [:]
        while try list.step() {
            // A key's columns come in its order.
            var key = keys[list.integer(0)] ?? ForeignKey(table: list.string(2))
            key.columns.append(list.string(3))
            if list.storageClass(4) != .null { key.targets.append(list.string(4)) }
            keys[list.integer(0)] = key
        }
        // SQLite numbers them from the last one declared.
        return keys.sorted { $0.key > $1.key }.map(\.value)
    }
}
