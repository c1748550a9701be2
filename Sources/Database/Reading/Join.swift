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
        if let child = schema.table(name), let key = schema.foreignKey(from: child, to: view),
            let source = schema.target(of: key, in: view), let column = child.table.index(of: key.column)
        {
            self.view = child
            self.source = source
            isList = true
            let order = child.order.isEmpty ? "" : " ORDER BY \(child.order)"
            sql = "SELECT \(child.selection) FROM \(child.name) WHERE \(child.sql(column))=?\(order)"
            return
        }
        let wanted = [name, name + "id", name + "_id"].map(\.asName)
        for key in view.table.foreignKeys {
            guard key.table.asName == wanted[0] || wanted[1...].contains(key.column.asName),
                let parent = schema.table(key.table), let target = schema.target(of: key, in: parent),
                let source = view.table.index(of: key.column)
            else { continue }
            self.view = parent
            self.source = source
            isList = false
            sql = "SELECT \(parent.selection) FROM \(parent.name) WHERE \(parent.sql(target))=? LIMIT 1"
            return
        }
        throw .badValue(
            "'\(name)' can't be added to \(view.table.name): no foreign key of one column joins them")
    }
}
