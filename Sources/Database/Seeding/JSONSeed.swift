import Diagnostics
import JSON
import SQLite

/// Fills tables from JSON: an object whose members are tables, as json-server's db.json, or an array of the rows of the
/// table of the file's name.
///
/// The file is read twice, row by row: first for the columns that tables have, then for the rows. So all of its syntax
/// is checked before anything is written, and no more than a row is kept.
enum JSONSeed {
    static func run(_ file: SeedFile, on connection: SQLiteConnection) throws(SeedError) {
        var walk = try JSONSeedWalk(file: file, connection: connection)
        var columns = JSONSeedColumns(file: file)
        try walk.run(&columns)
        var filling = JSONSeedFilling(file: file, connection: connection, drafts: columns.drafts)
        try walk.run(&filling)
    }
}

/// A row of a JSON file.
struct JSONSeedRow {
    /// Where it begins.
    var offset = 0
    var members: [(name: [UInt8], offset: Int, value: JSONValue)] = []
}

/// Gets the tables and rows of a JSON file in their order.
protocol JSONSeedVisitor {
    mutating func begin(table name: [UInt8], at offset: Int?) throws(SeedError)
    mutating func visit(_ row: JSONSeedRow) throws(SeedError)
}

/// Goes through the tables and rows of a JSON file.
struct JSONSeedWalk {
    let file: SeedFile
    let connection: SQLiteConnection
    private let start: JSONReader
    private var reader: JSONReader
    private var row = JSONSeedRow()
    private var rows = 0

    /// Rows between two questions whether to go on.
    private static let questionInterval = 1024

    init(file: SeedFile, connection: SQLiteConnection) throws(SeedError) {
        self.file = file
        self.connection = connection
        reader = try file.text { () throws(TextError) in try JSONReader(file.bytes, byteOrderMark: .skipped) }
        start = reader
    }

    mutating func run(_ visitor: inout some JSONSeedVisitor) throws(SeedError) {
        reader = start
        switch reader.peek() {
        case UInt8(ascii: "["): try array(of: file.tableName, at: nil, &visitor)
        case UInt8(ascii: "{"): try tables(&visitor)
        case nil: throw SeedError("a value is missing", in: file, at: reader.offset)
        default: throw SeedError("an object of tables or an array of rows is missing", in: file, at: reader.offset)
        }
        try read { (reader) throws(TextError) in try reader.end() }
    }

    private mutating func read<Result>(
        _ body: (inout JSONReader) throws(TextError) -> Result
    ) throws(SeedError) -> Result {
        do throws(TextError) {
            return try body(&reader)
        } catch {
            throw SeedError(error.message, in: file, at: error.offset)
        }
    }

    private mutating func tables(_ visitor: inout some JSONSeedVisitor) throws(SeedError) {
        try read { (reader) throws(TextError) in try reader.open() }
        var isFirst = true
        while let (name, offset) = try read({ (reader) throws(TextError) in try reader.nextName(isFirst: isFirst) }) {
            isFirst = false
            switch reader.peek() {
            case UInt8(ascii: "["): try array(of: name, at: offset, &visitor)
            case UInt8(ascii: "{"):
                try visitor.begin(table: name, at: offset)
                try readRow(&visitor)
            default:
                let start = reader.offset
                let value = try read { (reader) throws(TextError) in try reader.value() }
                // Names a schema for editors, as json-server's own files do.
                if name.elementsEqual("$schema".utf8), case .string = value { continue }
                throw SeedError("a table is an array of objects or an object, not \(value.kind)", in: file, at: start)
            }
        }
    }

    private mutating func array(
        of name: [UInt8], at offset: Int?, _ visitor: inout some JSONSeedVisitor
    ) throws(SeedError) {
        try visitor.begin(table: name, at: offset)
        try read { (reader) throws(TextError) in try reader.open() }
        var isFirst = true
        while try read({ (reader) throws(TextError) in try reader.nextElement(isFirst: isFirst) }) {
            isFirst = false
            try readRow(&visitor)
        }
    }

    private mutating func readRow(_ visitor: inout some JSONSeedVisitor) throws(SeedError) {
        let first = reader.peek()
        row.offset = reader.offset
        row.members.removeAll(keepingCapacity: true)
        guard first == UInt8(ascii: "{") else {
            let value = try read { (reader) throws(TextError) in try reader.value() }
            throw SeedError("a row is an object, not \(value.kind)", in: file, at: row.offset)
        }
        do throws(TextError) {
            try reader.open()
            while let (name, offset) = try reader.nextName(isFirst: row.members.isEmpty) {
                row.members.append((name, offset, try reader.value()))
            }
        } catch {
            throw SeedError(error.message, in: file, at: error.offset)
        }
        rows &+= 1
        if rows % JSONSeedWalk.questionInterval == 0 {
            try file.database(at: row.offset) { () throws(SQLiteError) in try Seeding.checkTime(connection) }
        }
        try visitor.visit(row)
    }
}

/// Finds out which columns the tables of a JSON file have.
struct JSONSeedColumns: JSONSeedVisitor {
    let file: SeedFile
    private(set) var drafts: [TableDraft] = []
    private var tables: Set<[UInt8]> = []
    private var rows = 0
    /// The last row of the table that had each column.
    private var lastRows: [Int] = []

    init(file: SeedFile) { self.file = file }

    mutating func begin(table name: [UInt8], at offset: Int?) throws(SeedError) {
        try file.value(at: offset) { () throws(ValueError) in try TableDraft.check(name: name, of: "table") }
        guard tables.insert(foldedName(name)).inserted else {
            throw SeedError("the table '\(visibleText(of: name, limit: 40))' comes twice", in: file, at: offset)
        }
        drafts.append(TableDraft())
        lastRows.removeAll(keepingCapacity: true)
    }

    mutating func visit(_ row: JSONSeedRow) throws(SeedError) {
        rows &+= 1
        let table = drafts.count - 1
        for member in row.members {
            let column = try file.value(at: member.offset) { () throws(ValueError) in
                try drafts[table].column(member.name)
            }
            if column == lastRows.count { lastRows.append(0) }
            guard lastRows[column] != rows else {
                let name = visibleText(of: member.name, limit: 40)
                throw SeedError("the column '\(name)' comes twice", in: file, at: member.offset)
            }
            lastRows[column] = rows
            drafts[table].note(member.value, in: column)
        }
    }
}

/// Makes the tables of a JSON file where they aren't there, and inserts the rows.
struct JSONSeedFilling: JSONSeedVisitor {
    let file: SeedFile
    let connection: SQLiteConnection
    /// What is known of the tables, in their order.
    let drafts: [TableDraft]
    private var count = 0
    private var table: SeedTable?
    private var set: [Int] = []
    private var values: [SQLiteValue] = []

    init(file: SeedFile, connection: SQLiteConnection, drafts: [TableDraft]) {
        self.file = file
        self.connection = connection
        self.drafts = drafts
    }

    mutating func begin(table name: [UInt8], at offset: Int?) throws(SeedError) {
        try file.database(at: offset) { () throws(SQLiteError) in
            table = try SeedTable(name, on: connection)
            if table == nil, count < drafts.count {
                try drafts[count].create(name, untyped: .none, on: connection)
                table = try SeedTable(name, on: connection)
            }
        }
        count &+= 1
    }

    mutating func visit(_ row: JSONSeedRow) throws(SeedError) {
        guard table != nil else { return }
        set.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        for member in row.members {
            guard let table, let index = table.index(of: member.name) else {
                let message = table?.unknownColumn(member.name) ?? ""
                throw SeedError(message, in: file, at: member.offset)
            }
            // What is computed is not looked at.
            if table.columns[index].isGenerated { continue }
            try file.value(at: member.offset) { () throws(ValueError) in
                values.append(try table.columns[index].value(of: member.value))
            }
            set.append(index)
        }
        try file.database(at: row.offset) { () throws(SQLiteError) in try table?.insert(set, values) }
    }
}
