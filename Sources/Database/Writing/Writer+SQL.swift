import SQLite

/// The statements of writes.
extension Writer {
    /// The statement for a new row.
    ///
    /// - Parameter rowID: the name of the rowid where that is given too, behind the columns.
    static func insertion(_ columns: [Int], _ rowID: String?, into view: TableView) -> String {
        let table = view.table
        let named = columns.map { table.columns[$0].name.quotedName } + (rowID.map { [$0] } ?? [])
        let names = named.joined(separator: ",")
        let places = named.map { _ in "?" }.joined(separator: ",")
        let sql = "INSERT INTO \(view.name)" + (named.isEmpty ? " DEFAULT VALUES" : "(\(names)) VALUES (\(places))")
        guard table.rowID == nil, !table.primaryKey.isEmpty else { return sql }
        return sql + " RETURNING "
            + table.primaryKey.map { table.columns[$0].name.quotedName }.joined(separator: ",")
    }

    /// A bit for each column; nil where one has none.
    static func set(of columns: [Int]) -> UInt64? {
        var set: UInt64 = 0
        for column in columns {
            guard column < 64 else { return nil }
            set |= 1 << UInt64(column)
        }
        return set
    }

    /// - Throws: 400 where a row has no value for a key that nothing else gives one.
    static func checkKeyIsGiven(_ row: BodyReader.Row, _ table: Table) throws(Problem) {
        for column in table.primaryKey where (row[column] ?? .null) == .null {
            let declared = table.columns[column]
            // An INTEGER PRIMARY KEY is the rowid, which SQLite chooses.
            guard !table.hasIntegerKey else { continue }
            guard row[column] == nil, declared.defaultValue != nil else {
                throw .badBody("'\(declared.name)' is the key, and needs a value")
            }
        }
    }

    /// What PUT sets: columns that the body leaves out get their default.
    func replacement(of view: TableView, by row: BodyReader.Row) -> [(column: Int, value: SQLiteValue?)] {
        let keyColumns = Set(keyColumns(view))
        return view.table.columns.indices.compactMap { column in
            guard !keyColumns.contains(column), !view.table.columns[column].isGenerated else { return nil }
            // A primary key beside the rule's key has no default that is another than what it is.
            if row[column] == nil, view.table.primaryKey.contains(column) { return nil }
            return (column, row[column])
        }
    }

    /// What PATCH sets.
    func changes(of view: TableView, by row: BodyReader.Row) -> [(column: Int, value: SQLiteValue?)] {
        let keyColumns = Set(keyColumns(view))
        return row.columns.filter { !keyColumns.contains($0) }.map { ($0, row[$0]) }
    }

    /// The statement that sets columns, up to its condition.
    static func update(_ view: TableView, _ sets: [(column: Int, value: SQLiteValue?)]) -> SQLBuilder {
        var sql = SQLBuilder("UPDATE \(view.name) SET ")
        for (index, set) in sets.enumerated() {
            let column = view.table.columns[set.column]
            sql.append("\(index > 0 ? "," : "")\(column.name.quotedName)=")
            // What is left out gets its default: the schema's own words, which SQLite has no other name for.
            if let value = set.value { sql.bind(value) } else { sql.append(column.defaultExpression) }
        }
        return sql
    }
}

// MARK: Explaining

extension Writer {
    /// The statement that would change data, as far as it is known without running one.
    ///
    /// - Returns: the statement, NULL in the places of values that rows have; nil where its text isn't known, or
    ///   nothing is changed. And what else there is to say.
    /// - Throws: What the request is refused with.
    func explained(_ resource: Resource) throws(Problem) -> (sql: SQLBuilder?, remark: String?) {
        try refuseParameters()
        switch (resource, request.method) {
        case (.row(let view, let key), .delete):
            return try explained(SQLBuilder("DELETE FROM \(view.name)"), view, key)
        case _ where body.type.isEmpty: return (nil, "the SQL of a write depends on its body")
        case (.list(let view), .post): return try explained(insertionInto: view, [], nil)
        case (.children(let child, let references, let parent, _), .post):
            return try explained(insertionInto: child, references, parent)
        case (.row(let view, let key), .put), (.row(let view, let key), .patch):
            var merged: [Int] = []
            var reader = BodyReader(view, body)
            if body.type == "application/merge-patch+json" {
                reader.current = { column throws(Problem) in
                    merged.append(column)
                    return .null
                }
            }
            var row = try reader.row()
            for column in merged { row.set(column, .null) }
            try checkKey(&row, view, key)
            let sets = request.method == .put ? replacement(of: view, by: row) : changes(of: view, by: row)
            guard !sets.isEmpty else { return (nil, "nothing is set") }
            var made = try explained(Writer.update(view, sets), view, key)
            let names = merged.sorted().map { "'\(view.table.columns[$0].name)'" }.joined(separator: ", ")
            let values = merged.count == 1 ? "the value of \(names) is" : "the values of \(names) are"
            if !merged.isEmpty {
                made.remark = ["\(values) merged with what the row has", made.remark].compactMap(\.self)
                    .joined(separator: "; ")
            }
            return made
        default: return (nil, nil)
        }
    }

    /// - Parameter sql: the statement without its condition.
    private func explained(
        _ sql: SQLBuilder, _ view: TableView, _ key: [[UInt8]]
    ) throws(Problem) -> (sql: SQLBuilder?, remark: String?) {
        guard let found = view.condition(key: key) else { throw noRow(view, key) }
        let table = view.table
        let isOwn =
            switch view.key {
            case .rowID: true
            case .columns(let columns):
                columns == table.primaryKey && (table.rowID == nil || table.hasIntegerKey)
            case .none: false
            }
        let places = table.rowID == nil ? max(1, table.primaryKey.count) : 1
        let isKnown = isOwn && found.values.count == places
        var sql = sql
        sql.append(" WHERE ")
        sql.append(view.ownCondition, isKnown ? found.values : Array(repeating: .null, count: places))
        let last = places == 1 ? "the last value names" : "the last \(places) values name"
        return (sql, isKnown ? nil : "\(last) the row, which is read first")
    }

    private func explained(
        insertionInto view: TableView, _ references: [ColumnReference], _ parent: TableView?
    ) throws(Problem) -> (sql: SQLBuilder?, remark: String?) {
        let (rows, _) = try BodyReader(view, body).rows()
        guard var row = rows.first else { return (nil, "no row is inserted") }
        var remarks: [String] = []
        for reference in references {
            row.set(reference.column, .null)
            guard let parent else { continue }
            let target = parent.table.columns[reference.target].name
            remarks.append(
                "the value of '\(view.table.columns[reference.column].name)' is the '\(target)' that the row of "
                    + "\(parent.table.name) has")
        }
        if references.isEmpty { try Writer.checkKeyIsGiven(row, view.table) }
        if rows.count > 1 { remarks.append("this is the first of \(rows.count) rows") }
        let columns = row.columns
        var sql = SQLBuilder()
        sql.append(Writer.insertion(columns, nil, into: view), columns.map { row[$0] ?? .null })
        return (sql, remarks.isEmpty ? nil : remarks.joined(separator: "; "))
    }
}
