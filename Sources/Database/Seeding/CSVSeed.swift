import JSON
import SQLite

/// Fills the table of a file's name from CSV with a header.
///
/// An empty field is NULL, one of two quotes the empty text. Empty lines count for nothing, but in a file of one
/// column, where each is a NULL.
struct CSVSeed {
    private let file: SeedFile
    private let connection: SQLiteConnection
    /// A reader that stands behind the header.
    private let rows: CSVReader
    private let header: [(name: [UInt8], offset: Int)]

    /// Rows between two questions whether to go on.
    private static let questionInterval = 1024
    /// SQLite never has more (https://sqlite.org/limits.html).
    private static let maximumColumns = 32767

    static func run(_ file: SeedFile, on connection: SQLiteConnection) throws(SeedError) {
        try file.value(at: nil) { () throws(ValueError) in try TableDraft.check(name: file.tableName, of: "table") }
        try CSVSeed(file, connection).run()
    }

    private init(_ file: SeedFile, _ connection: SQLiteConnection) throws(SeedError) {
        self.file = file
        self.connection = connection
        var reader = try file.text { () throws(TextError) in try CSVReader(file.bytes) }
        var fields: [CSVReader.Field] = []
        let limit = CSVSeed.maximumColumns
        guard let count = try file.text({ () throws(TextError) in try reader.next(&fields, upTo: limit) }) else {
            throw SeedError("a header is missing", in: file, at: 0)
        }
        guard count <= limit else { throw SeedError("more than \(limit) columns", in: file, at: 0) }
        header = fields.map { (reader.text($0), $0.range.lowerBound) }
        rows = reader
    }

    private func run() throws(SeedError) {
        var draft = TableDraft()
        for (index, column) in header.enumerated() {
            let number = try file.value(at: column.offset) { () throws(ValueError) in try draft.column(column.name) }
            guard number == index else { throw SeedError("this column comes twice", in: file, at: column.offset) }
        }
        let table: SeedTable
        if let existing = try existingTable() {
            table = existing
        } else {
            try note(in: &draft)
            try file.database(at: header.first?.offset) { () throws(SQLiteError) in
                try draft.create(file.tableName, untyped: .text, on: connection)
            }
            guard let made = try existingTable() else {
                throw SeedError("the table is not there", in: file, at: nil)
            }
            table = made
        }
        try fill(table)
    }

    private func existingTable() throws(SeedError) -> SeedTable? {
        try file.database(at: nil) { () throws(SQLiteError) in try SeedTable(file.tableName, on: connection) }
    }

    /// Reads the next row.
    ///
    /// - Returns: where it begins; nil at the end.
    private func next(
        _ reader: inout CSVReader, _ fields: inout [CSVReader.Field], _ number: inout Int
    ) throws(SeedError) -> Int? {
        while true {
            let start = reader.offset
            let count = try file.text { () throws(TextError) in try reader.next(&fields, upTo: header.count) }
            guard let count else { return nil }
            if header.count > 1, count == 1, fields[0].isNull { continue }
            guard count == header.count else {
                let fields = count == 1 ? "1 field" : "\(count) fields"
                throw SeedError("\(fields), but the header has \(header.count)", in: file, at: start)
            }
            number &+= 1
            guard number % CSVSeed.questionInterval == 0 else { return start }
            try file.database(at: start) { () throws(SQLiteError) in try Seeding.checkTime(connection) }
            return start
        }
    }

    private func note(in draft: inout TableDraft) throws(SeedError) {
        var reader = rows
        var fields: [CSVReader.Field] = []
        var number = 0
        while try next(&reader, &fields, &number) != nil {
            for (index, field) in fields.enumerated() where !field.isNull {
                draft.note(field: reader.text(field), in: index)
            }
        }
    }

    private func fill(_ table: SeedTable) throws(SeedError) {
        var table = table
        var set: [Int] = []
        for column in header {
            guard let index = table.index(of: column.name) else {
                throw SeedError(table.unknownColumn(column.name), in: file, at: column.offset)
            }
            set.append(index)
        }
        var reader = rows
        var fields: [CSVReader.Field] = []
        var values: [SQLiteValue] = []
        var number = 0
        while let start = try next(&reader, &fields, &number) {
            values.removeAll(keepingCapacity: true)
            for (index, field) in fields.enumerated() {
                try file.value(at: field.range.lowerBound) { () throws(ValueError) in
                    values.append(
                        field.isNull ? .null : try table.columns[set[index]].value(ofField: reader.text(field)))
                }
            }
            try file.database(at: start) { () throws(SQLiteError) in try table.insert(set, values) }
        }
    }
}
