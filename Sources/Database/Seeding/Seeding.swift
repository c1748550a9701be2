import CSQLite
import Diagnostics
public import SQLite

/// Fills databases from files.
public enum Seeding {
    /// Runs or reads files in their order, all in one transaction.
    ///
    /// Foreign keys aren't enforced meanwhile, so that tables may come in any order; before the end all of them are
    /// checked.
    ///
    /// Of the connection's settings, `authorizer` is put back, `goesOn` is kept, and asked between the rows too. PRAGMA
    /// max_page_count holds for temporary tables as well; where a script sets the size of pages, it is changed, so that
    /// the limit in bytes stays. Double-quoted names don't stand for strings afterwards, as
    /// ``SQLiteConnection/defend()`` has it.
    ///
    /// - Parameter connection: a connection to an empty database, outside of a transaction.
    /// - Throws: What is wrong with the first file that something is wrong with. The database is as it was.
    public static func run(_ files: [SeedFile], on connection: SQLiteConnection) throws(SeedError) {
        guard let first = files.first, let last = files.last else { return }
        let authorizer = connection.authorizer
        connection.authorizer = nil
        defer { connection.authorizer = authorizer }
        let enforces = try first.database(at: nil) { () throws(SQLiteError) in
            try connection.integer("PRAGMA foreign_keys") == 1
        }
        // Within the transaction, to ask for it would settle the size of pages.
        let byteLimit = try first.database(at: nil) { () throws(SQLiteError) in
            try (connection.integer("PRAGMA max_page_count") ?? 0) &* (connection.integer("PRAGMA page_size") ?? 0)
        }
        defer { if enforces { try? connection.execute("PRAGMA foreign_keys = ON") } }
        try first.database(at: nil) { () throws(SQLiteError) in
            // Within a transaction it can't be changed.
            try connection.execute("PRAGMA foreign_keys = OFF")
            try begin(on: connection)
        }
        // There is no transaction any more where it was committed, or where SQLite itself has rolled it back.
        defer { if connection.isInTransaction { try? connection.execute("ROLLBACK") } }
        for file in files { try run(file, on: connection, byteLimit: byteLimit) }
        let open = try last.database(at: nil) { () throws(SQLiteError) in try OpenReference(in: connection) }
        if let open {
            let place = place(of: open, files, on: connection, byteLimit: byteLimit)
            throw SeedError(open.error, in: place?.file ?? last, at: place?.offset)
        }
        try last.database(at: nil) { () throws(SQLiteError) in try connection.execute("COMMIT") }
    }

    /// Not IMMEDIATE: the first write decides the size of the pages and the encoding, which a script may set.
    private static func begin(on connection: SQLiteConnection) throws(SQLiteError) {
        try connection.execute("BEGIN")
    }

    /// Finds the row or the statement that a reference comes from: runs all files again, and looks which of them last
    /// sets the row. To note that the first time would cost all seeds time and memory.
    ///
    /// - Returns: nil where it isn't found.
    private static func place(
        of open: OpenReference, _ files: [SeedFile], on connection: SQLiteConnection, byteLimit: Int64
    ) -> (file: SeedFile, offset: Int)? {
        guard let row = open.row, (try? connection.execute("ROLLBACK")) != nil, (try? begin(on: connection)) != nil
        else { return nil }
        let progress = SeedProgress()
        var found: (file: SeedFile, offset: Int)?
        defer {
            connection.onRowChange = nil
            progress.hasRun = nil
        }
        var watch: RowWatch?
        if case .key(let key) = row { watch = RowWatch(key, in: connection) }
        for var file in files {
            if case .number(let number) = row {
                connection.onRowChange = { table, changed in
                    guard changed == number, table == open.table else { return }
                    found = (file, progress.offset)
                }
            }
            progress.hasRun = { if watch?.isSet() == true { found = (file, progress.offset) } }
            file.progress = progress
            guard (try? run(file, on: connection, byteLimit: byteLimit)) != nil else { return nil }
            progress.hasRun?()
        }
        return found
    }

    private static func run(
        _ file: SeedFile, on connection: SQLiteConnection, byteLimit: Int64
    ) throws(SeedError) {
        switch SeedFile.kind(of: file.name) {
        case .sql: try SQLSeed.run(file, on: connection, byteLimit: byteLimit)
        case .json: try JSONSeed.run(file, on: connection)
        case .csv: try CSVSeed.run(file, on: connection)
        case nil: throw SeedError("a seed is a file of .sql, .json or .csv", in: file, at: nil)
        }
    }

    /// Asks whether to go on, for work that SQLite has no part in.
    static func checkTime(_ connection: SQLiteConnection) throws(SQLiteError) {
        guard connection.goesOn?() ?? true else { throw SQLiteError.interrupted }
    }
}
