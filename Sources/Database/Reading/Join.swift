import SQLite

/// What `_embed` and `_expand` add to a row: the rows that refer to it, or the row that it refers to.
struct Join {
    /// The member's name, as it was asked for.
    let name: String
    /// The column whose place it takes; nil where it stands behind the columns.
    let replaced: Int?
    /// The table that is added.
    let view: TableView
    /// The column of the row whose value is looked for.
    let source: Int
    /// Whether it is an array.
    let isList: Bool
    /// The statement; its one value is the source's.
    let sql: String
    let prefix: [UInt8]

    /// - Throws: 400 where nothing of the name refers to the table or is referred to.
    init(_ name: String, to view: TableView, in schema: SchemaView) throws(Problem) {
        self.name = name
        replaced = view.table.index(of: name)
        var output = JSONOutput()
        output.append(string: name)
        output.append(byte: UInt8(ascii: ":"))
        prefix = output.bytes
        var reason = "no foreign key of one column joins them"
        if let child = schema.table(name) {
            let keys = schema.foreignKeys(from: child, to: view).filter { $0.columns.count == 1 }
            if keys.count == 1, let reference = schema.reference(by: keys[0], from: child, to: view) {
                self.view = child
                source = reference.target
                isList = true
                let order = child.order.isEmpty ? "" : " ORDER BY \(child.order)"
                sql =
                    "SELECT \(child.selection) FROM \(child.name) WHERE \(child.sql(reference.column))"
                    + "\(reference.before)?\(reference.after)\(order)"
                return
            }
            if keys.count > 1 {
                let columns = keys.compactMap(\.columns.first).map { "'\($0)'" }.joined(separator: ", ")
                reason = "\(child.table.name) has several foreign keys to it: \(columns)"
            }
        }
        let own = view.table.foreignKeys.filter { $0.columns.count == 1 }
        let table = own.filter { $0.table.asName == name.asName }
        let wanted = [name + "id", name + "_id"].map(\.asName)
        // Of several keys to the table none is taken for the others.
        let named =
            table.count == 1 ? table : own.filter { $0.columns.first.map { wanted.contains($0.asName) } ?? false }
        if let key = named.first, let parent = schema.table(key.table),
            let reference = schema.reference(by: key, from: view, to: parent)
        {
            self.view = parent
            source = reference.column
            isList = false
            sql = "SELECT \(parent.selection) FROM \(parent.name) WHERE \(parent.sql(reference.target))=? LIMIT 1"
            return
        }
        if table.count > 1, let parent = table.first?.table {
            let columns = table.compactMap(\.columns.first).map { "'\($0)'" }.joined(separator: ", ")
            reason = "it has several foreign keys to \(parent): \(columns)"
        }
        throw .badValue("'\(name)' can't be added to \(view.table.name): \(reason)")
    }
}
