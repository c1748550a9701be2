import Basics
import SQLite

/// A table as a rule shows it: how values are written, which columns name a row, and the SQL that never changes.
final class TableView: Sendable {
    /// What names a row in a URL.
    enum RowKey: Sendable, Hashable {
        case rowID(String)
        case columns([Int])
        /// There are no rows to ask for, as of a view.
        case none
    }

    let table: Table
    /// For each column how its values are written.
    let forms: [ValueForm]
    let key: RowKey
    /// What stands before each column's value: `{"id":`, `,"name":`.
    let prefixes: [[UInt8]]
    /// The columns in SQL, with the table's name before each.
    let selection: String
    /// The table's name in SQL.
    let name: String
    /// The statement for a row, with a place for each of the key's columns; empty where rows can't be asked for.
    let rowSQL: String
    /// What names a row alone: its rowid, else the columns of its primary key.
    let ownCondition: String
    /// What the log says of a row.
    let rowNote: String
    /// SQL by which rows are in order unless a request says how; empty where the order is as it comes.
    let order: String

    init(_ table: Table, keys: [DatabaseRule.Key], forms: [DatabaseRule.Form]) {
        self.table = table
        let name = table.name.quotedName
        self.name = name
        let lowercased = table.name.asName
        self.forms = table.columns.map { column in
            forms.last { $0.table.asName == lowercased && $0.column.asName == column.name.asName }?
                .form ?? ValueForm(declaredType: column.declaredType)
        }
        prefixes = table.columns.enumerated().map { index, column in
            var output = JSONOutput()
            output.append(byte: index == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
            output.append(string: column.name)
            output.append(byte: UInt8(ascii: ":"))
            return output.bytes
        }
        selection = table.columns.map { "\(name).\($0.name.quotedName)" }.joined(separator: ",")
        let chosen = keys.last { $0.table.asName == lowercased }?.columns.compactMap { table.index(of: $0) }
        if let chosen, !chosen.isEmpty {
            key = .columns(chosen)
        } else if !table.primaryKey.isEmpty {
            key = .columns(table.primaryKey)
        } else if let rowID = table.rowID {
            key = .rowID(rowID)
        } else {
            key = .none
        }
        rowNote = table.name + ": 1 row"
        let own = table.primaryKey.map { "\(name).\(table.columns[$0].name.quotedName)=?" }
        ownCondition =
            table.rowID == nil && !own.isEmpty
            ? own.joined(separator: " AND ") : "\(name).\(table.rowID ?? "rowid")=?"
        let places: [String] =
            switch key {
            case .none: []
            case .rowID(let rowID): ["\(name).\(rowID)=?"]
            case .columns(let columns): columns.map { "\(name).\(table.columns[$0].name.quotedName)=?" }
            }
        let condition = places.joined(separator: " AND ")
        rowSQL = places.isEmpty ? "" : "SELECT \(selection) FROM \(name) WHERE \(condition) LIMIT 1"
        if let rowID = table.rowID {
            order = "\(name).\(rowID)"
        } else {
            order = table.primaryKey.map { "\(name).\(table.columns[$0].name.quotedName)" }.joined(separator: ",")
        }
    }

    /// The number of segments that name a row.
    var keyCount: Int {
        switch key {
        case .rowID: 1
        case .columns(let columns): columns.count
        case .none: 0
        }
    }

    /// A column in SQL.
    func sql(_ column: Int) -> String { "\(name).\(table.columns[column].name.quotedName)" }

    /// The names of what names a row in a URL.
    var keyNames: [String] {
        switch key {
        case .columns(let columns): columns.map { table.columns[$0].name }
        case .rowID(let name): [name]
        case .none: []
        }
    }

    /// The columns' names, for problems.
    var columnNames: [String] { table.columns.map(\.name) }
}

/// A schema as a rule shows it.
final class SchemaView: Sendable {
    let schema: Schema
    let rule: DatabaseRule
    /// Those that there are for clients, in the order of their names.
    let tables: [TableView]
    private let indices: [ByBytes<String>: Int]

    init(_ schema: Schema, _ rule: DatabaseRule) {
        self.schema = schema
        self.rule = rule
        let shown = rule.tables.map { Set($0.map(\.asName)) }
        tables = schema.tables
            .filter { shown?.contains($0.name.asName) ?? true }
            .map { TableView($0, keys: rule.keys, forms: rule.forms) }
        var indices: [ByBytes<String>: Int] = [:]
        for (index, view) in tables.enumerated() { indices[view.table.name.asName] = index }
        self.indices = indices
    }

    /// A table by its name, without ASCII case.
    func table(_ name: String) -> TableView? { indices[name.asName].map { tables[$0] } }

    /// What the list of tables has, by name: of a view that takes much to prepare only its name, also where a request
    /// has had its columns read.
    var listed: [(name: String, view: TableView?)] {
        let shown = rule.tables.map { Set($0.map(\.asName)) }
        let heavy = schema.heavyViews.filter { shown?.contains($0.key) ?? true }
        guard !heavy.isEmpty else { return tables.map { ($0.table.name, $0) } }
        let others = tables.filter { schema.heavyViews[$0.table.name.asName] == nil }
        return (others.map { ($0.table.name, $0) } + heavy.values.map { ($0.name, nil) })
            .sorted { $0.name < $1.name }
    }

    /// Views and virtual tables that there would be for clients if SQLite could use them.
    var unusable: [(name: String, error: SQLiteError)] {
        let shown = rule.tables.map { Set($0.map(\.asName)) }
        return schema.unusable.merging(schema.heavyViews.mapValues(\.error)) { first, _ in first }.filter {
            shown?.contains($0.key) ?? true
        }
        .map { ($0.key.wrappedValue, $0.value) }.sorted { $0.name < $1.name }
    }

    /// The names of the tables, for problems.
    var names: [String] {
        let shown = rule.tables.map { Set($0.map(\.asName)) }
        let unread = schema.unreadViews.filter { shown?.contains($0.asName) ?? true }
        return unread.isEmpty ? tables.map(\.table.name) : (tables.map(\.table.name) + unread).sorted()
    }

    /// The foreign keys by which rows of `child` refer to rows of `parent`.
    func foreignKeys(from child: TableView, to parent: TableView) -> [ForeignKey] {
        child.table.foreignKeys.filter { $0.table.asName == parent.table.name.asName }
    }

    /// The columns of a foreign key with those that they refer to; nil where there are no such.
    func references(by key: ForeignKey, from child: TableView, to parent: TableView) -> [ColumnReference]? {
        let targets = key.targets.isEmpty ? parent.table.primaryKey : key.targets.compactMap(parent.table.index(of:))
        let columns = key.columns.compactMap(child.table.index(of:))
        guard columns.count == key.columns.count, columns.count == targets.count, !columns.isEmpty else { return nil }
        return zip(columns, targets).map { column, target in
            let collation = parent.table.columns[target].collation
            let isOwn = child.table.columns[column].collation.asName == collation.asName
            let affinity = parent.table.columns[target].affinity
            let isLoose = child.table.columns[column].affinity == .none && (affinity.isNumeric || affinity == .text)
            return ColumnReference(
                column: column, target: target, collation: isOwn ? nil : collation, affinity: isLoose ? affinity : nil)
        }
    }

    /// The same of a foreign key of one column.
    func reference(by key: ForeignKey, from child: TableView, to parent: TableView) -> ColumnReference? {
        key.columns.count == 1 ? references(by: key, from: child, to: parent)?.first : nil
    }
}
