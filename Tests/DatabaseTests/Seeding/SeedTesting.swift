import Database
import SQLite
import Testing

/// An empty database in memory, opened as the proxy opens its own.
func emptyDatabase() throws -> SQLiteConnection {
    let connection = try SQLiteConnection("", mode: .memory)
    connection.defend()
    try connection.execute("PRAGMA foreign_keys = ON")
    return connection
}

/// A database that is filled from files, which are given by name and text.
func seeded(_ files: (String, String)...) throws -> SQLiteConnection {
    let connection = try emptyDatabase()
    try Seeding.run(files.map { SeedFile(name: $0.0, bytes: Array($0.1.utf8)) }, on: connection)
    return connection
}

/// What is wrong with files, as it is printed; nil where nothing is.
///
/// The database has to be empty then.
func seedError(_ files: (String, String)...) throws -> String? {
    let connection = try emptyDatabase()
    do throws(SeedError) {
        try Seeding.run(files.map { SeedFile(name: $0.0, bytes: Array($0.1.utf8)) }, on: connection)
        return nil
    } catch {
        #expect(try connection.integer("SELECT count(*) FROM sqlite_schema") == 0)
        #expect(!connection.isInTransaction)
        #expect(try connection.integer("PRAGMA foreign_keys") == 1)
        return error.rendering
    }
}

extension SQLiteConnection {
    /// The rows of a statement as SQLite's quote() writes them, one a line, values separated by `|`.
    func rows(_ sql: String) throws -> [String] {
        let statement = try prepare(sql)
        var rows: [String] = []
        while try statement.step() {
            rows.append(
                (0..<statement.columnCount).map { column in
                    switch statement.value(column) {
                    case .null: "NULL"
                    case .integer(let integer): "\(integer)"
                    case .real(let real): "\(real)"
                    case .text(let text): "'\(String(decoding: text, as: UTF8.self))'"
                    case .blob(let blob): "x\(blob)"
                    }
                }.joined(separator: "|"))
        }
        return rows
    }

    /// The columns of a table with their types: `id INTEGER`.
    func types(of table: String) throws -> String {
        try rows("SELECT trim(name || ' ' || type) FROM pragma_table_info('\(table)')")
            .map { $0.dropFirst().dropLast() }.joined(separator: ", ")
    }
}
