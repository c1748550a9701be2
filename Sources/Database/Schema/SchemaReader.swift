import Basics
import SQLite

extension Schema {
    /// Reads the schema of a connection's main database, but for the columns of views.
    ///
    /// - Throws: What SQLite says of the file, such as SQLITE_NOTADB.
    static func read(_ connection: SQLiteConnection) throws(SQLiteError) -> Schema {
        let version = try connection.integer("PRAGMA main.schema_version") ?? 0
        let found = try entries(connection)
        let fullText = try fullTextTables(connection)
        var tables: [Table] = []
        var unusable: [ByBytes<String>: SQLiteError] = [:]
        for entry in found where entry.type != "view" {
            try Seeding.checkTime(connection)
            // A virtual table of an unknown module has no columns to tell: it isn't shown, and the others are.
            do throws(SQLiteError) {
                let isFullText = fullText.contains(ByBytes(entry.name))
                if let table = try read(entry, isFullText: isFullText, connection) { tables.append(table) }
            } catch {
                guard !error.isInterrupt, !error.isLock else { throw error }
                unusable[entry.name.asName] = error
            }
        }
        try refuseCostlyViews(connection, tables)
        return Schema(
            tables: tables, version: version, unusable: unusable,
            unreadViews: found.filter { $0.type == "view" }.map(\.name))
    }

    /// The schema with the columns of views that were not read yet; the same where there are none of these.
    ///
    /// To tell a view's columns, SQLite prepares all that it stands for, which may take long: it costs the requests
    /// that ask for the view.
    ///
    /// Whether one takes much is told by the same limit whoever asks first, so that the list of tables is the same
    /// then.
    ///
    /// - Parameter names: the views, as names are compared; nil for all that don't take much.
    /// - Throws: What ends the request.
    func readingViews(
        _ names: Set<ByBytes<String>>?, _ connection: SQLiteConnection
    ) throws(SQLiteError) -> Schema {
        let wanted = unreadViews.filter { name in
            names?.contains(name.asName) ?? (self.heavyViews[name.asName] == nil)
        }
        guard !wanted.isEmpty else { return self }
        var tables = tables
        var unusable = unusable
        var heavyViews = heavyViews
        var read: Set<ByBytes<String>> = []
        for name in wanted {
            // A view over a table that is gone has no columns to tell.
            do throws(SQLiteError) {
                var view: Table?
                if heavyViews[name.asName] == nil {
                    // Of many, one that takes much would leave no time for the others.
                    do throws(SQLiteError) {
                        view = try Schema.readView(name, bytes: Schema.listedViewBytes, connection)
                    } catch {
                        guard error.name == "SQLITE_NOMEM" else { throw error }
                        heavyViews[name.asName] = HeavyView(name: name, error: error)
                    }
                }
                if heavyViews[name.asName] != nil {
                    guard names != nil else { continue }
                    view = try Schema.readView(name, bytes: .max, connection)
                }
                if let view { tables.append(view) }
            } catch {
                guard !error.isInterrupt, !error.isLock else { throw error }
                unusable[name.asName] = error
            }
            read.insert(name.asName)
        }
        return Schema(
            tables: tables.sorted { $0.name < $1.name }, version: version, unusable: unusable,
            unreadViews: unreadViews.filter { !read.contains($0.asName) }, heavyViews: heavyViews)
    }

    /// - Parameter bytes: what preparing it may take, where the connection allows no less.
    private static func readView(
        _ name: String, bytes: Int64, _ connection: SQLiteConnection
    ) throws(SQLiteError) -> Table? {
        // While SQLite tells of a view it asks nobody whether to go on.
        try Seeding.checkTime(connection)
        let allowed = connection.preparationBytes
        connection.preparationBytes = min(allowed, bytes)
        defer { connection.preparationBytes = allowed }
        return try read((name: name, type: "view", hasRowID: false, isStrict: false), isFullText: false, connection)
    }

    /// Bytes that telling the columns of a view may take where all views are told of.
    private static let listedViewBytes: Int64 = 4 << 20

    /// Refuses a database with a view whose names SQLite would compare for long without asking anybody: whatever names
    /// that view, a statement of the map's or another view, would have it done.
    private static func refuseCostlyViews(_ connection: SQLiteConnection, _ tables: [Table]) throws(SQLiteError) {
        var counts: [ByBytes<String>: Int] = [:]
        for table in tables { counts[table.name.asName] = table.columns.count }
        let others = try connection.prepare(
            "SELECT name, type, sql FROM main.sqlite_schema WHERE type IN ('table', 'view')")
        var views: [(name: String, sql: String)] = []
        let virtual = Dictionary(
            tables.filter(\.isFullText).map { ($0.name.asciiLowercased, $0.columns.count) }, uniquingKeysWith: max)
        let prefixes = NamePrefixes(virtual.keys)
        while try others.step() {
            try Seeding.checkTime(connection)
            let name = others.string(0)
            if others.string(1) == "view" { views.append((name, others.string(2))) }
            guard counts[name.asName] == nil else { continue }
            // A part of a virtual table has about as many columns as that.
            let count = prefixes.find(name).flatMap { virtual[$0] }
            counts[name.asName] = count.map { $0 + 8 } ?? ViewCost.mostColumns
        }
        for view in views {
            try Seeding.checkTime(connection)
            guard ViewCost(of: view.sql, columnCount: { counts[$0] }).isTooMuch else { continue }
            throw SQLiteError(
                code: 18, message: "the view \(view.name) has too many names for the columns that its tables have")
        }
    }

    /// The tables and views that there are, without shadow tables, by name.
    ///
    /// PRAGMA table_list would tell the same, but prepares all that each view stands for.
    private static func entries(
        _ connection: SQLiteConnection
    ) throws(SQLiteError) -> [(name: String, type: String, hasRowID: Bool, isStrict: Bool)] {
        let list = try connection.prepare(
            "SELECT name, type, sql FROM main.sqlite_schema WHERE type IN ('table', 'view')")
        var found: [(name: String, type: String, hasRowID: Bool, isStrict: Bool)] = []
        var virtual: Set<String> = []
        while try list.step() {
            let name = list.string(0)
            guard !name.asciiLowercased.hasPrefix("sqlite_") else { continue }
            let sql = list.string(2)
            let isVirtual = sql.asciiUppercased.hasPrefix("CREATE VIRTUAL TABLE")
            if isVirtual { virtual.insert(name.asciiLowercased) }
            let words = list.string(1) == "table" && !isVirtual ? TableOptions(sql).words : []
            found.append((name, list.string(1), !words.contains("WITHOUT"), words.contains("STRICT")))
        }
        // Shadow tables have names that begin with that of their virtual table.
        let prefixes = NamePrefixes(virtual)
        var shown: [(name: String, type: String, hasRowID: Bool, isStrict: Bool)] = []
        for entry in found.sorted(by: { $0.name < $1.name }) {
            try Seeding.checkTime(connection)
            let mayBeShadow = entry.type == "table" && prefixes.find(entry.name) != nil
            if mayBeShadow, try isShadow(entry.name, connection) { continue }
            shown.append(entry)
        }
        return shown
    }

    /// Whether a table is part of a virtual table: a connection in defensive mode may not change it.
    private static func isShadow(_ table: String, _ connection: SQLiteConnection) throws(SQLiteError) -> Bool {
        do throws(SQLiteError) { _ = try connection.prepare("DELETE FROM main.\(table.quotedName)") } catch {
            guard !error.isInterrupt, !error.isLock else { throw error }
            return error.message.contains("may not be modified")
        }
        return false
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
        let mayBeRowID = entry.hasRowID && Table.isIntegerKey(key.map(\.index), columns)
        return Table(
            name: entry.name, kind: isView ? .view : .table, columns: columns, primaryKey: key.map(\.index),
            rowID: isView || !entry.hasRowID
                ? nil : ["rowid", "_rowid_", "oid"].first { !names.contains($0.asName) },
            foreignKeys: isView ? [] : try foreignKeys(entry.name, connection), isFullText: isFullText,
            hasKeyIndex: mayBeRowID ? try hasKeyIndex(entry.name, connection) : false)
    }

    /// Whether the primary key of a table has an index of its own.
    private static func hasKeyIndex(_ table: String, _ connection: SQLiteConnection) throws(SQLiteError) -> Bool {
        let list = try connection.prepare("PRAGMA main.index_list(\(table.quotedName))")
        while try list.step() { if list.string(3) == "pk" { return true } }
        return false
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

/// Finds which of some names another one begins with, in time that does not depend on how many there are.
private struct NamePrefixes {
    private let names: Set<String>
    private let lengths: Set<Int>

    /// - Parameter names: in lower case.
    init(_ names: some Collection<String>) {
        self.names = Set(names)
        lengths = Set(names.map(\.utf8.count))
    }

    /// The name that stands before an underscore of `name`, compared without case; nil where there is none.
    func find(_ name: String) -> String? {
        guard !names.isEmpty else { return nil }
        let name = Array(name.asciiLowercased.utf8)
        for index in name.indices where name[index] == UInt8(ascii: "_") && lengths.contains(index) {
            let prefix = String(decoding: name[..<index], as: UTF8.self)
            if names.contains(prefix) { return prefix }
        }
        return nil
    }
}
