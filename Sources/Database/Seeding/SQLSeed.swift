import CSQLite
import JSON
import SQLite

/// Runs scripts.
///
/// A script's own transactions are savepoints in the transaction of all seeds: BEGIN makes one, COMMIT and ROLLBACK
/// end it. Double-quoted names that are none stand for strings, as in the sqlite3 program.
struct SQLSeed {
    private let file: SeedFile
    private let connection: SQLiteConnection
    private let guardian = ScriptGuardian()
    /// Where the script's BEGIN is that no COMMIT or ROLLBACK has followed yet.
    private var begin: Int?
    /// The most bytes that the database may have.
    private let byteLimit: Int64

    /// Statements between two questions whether to go on.
    private static let questionInterval = 256

    /// - Parameter byteLimit: the most bytes that the database may have, whatever size of pages the script chooses.
    static func run(_ file: SeedFile, on connection: SQLiteConnection, byteLimit: Int64) throws(SeedError) {
        if let invalid = firstInvalidUTF8(file.bytes) { throw SeedError("this is not UTF-8", in: file, at: invalid) }
        if let null = file.bytes.firstIndex(of: 0) {
            throw SeedError("a script has no NUL byte", in: file, at: null)
        }
        var seed = SQLSeed(file: file, connection: connection, byteLimit: byteLimit)
        let guardian = seed.guardian
        connection.authorizer = { action in guardian.allows(action) }
        connection.allowDoubleQuotedStrings(true)
        defer {
            connection.authorizer = nil
            connection.allowDoubleQuotedStrings(false)
        }
        try seed.run()
    }

    private init(file: SeedFile, connection: SQLiteConnection, byteLimit: Int64) {
        self.file = file
        self.connection = connection
        self.byteLimit = byteLimit
    }

    private mutating func run() throws(SeedError) {
        try file.database(at: nil) { () throws(SQLiteError) in
            try limitPages(of: "temp")
        }
        var splitter = ScriptSplitter(file.bytes)
        var count = 0
        while let range = splitter.next() {
            var start = range.lowerBound
            // What the splitter takes for one statement may be several to SQLite, never a part of one.
            while start < range.upperBound { start += try runFirst(of: start..<range.upperBound) }
            count &+= 1
            if count % SQLSeed.questionInterval == 0 { try checkTime(at: start) }
        }
        if let begin { throw SeedError("this transaction has no COMMIT", in: file, at: begin) }
        try file.database(at: nil) { () throws(SQLiteError) in try dropTemporary() }
    }

    /// Runs the first statement of a part of the script.
    ///
    /// - Returns: the length of what was read.
    private mutating func runFirst(of range: Range<Int>) throws(SeedError) -> Int {
        let start = range.lowerBound
        file.progress?.note(start)
        let text = String(decoding: file.bytes[range], as: UTF8.self)
        do throws(SQLiteError) {
            var length = 0
            guardian.begin()
            defer { guardian.end() }
            guard let statement = try connection.prepare(first: text, isKept: false, length: &length) else {
                return range.count
            }
            if let transaction = guardian.transaction {
                guardian.end()
                try run(transaction, at: start)
            } else {
                while try statement.step() {}
                guardian.end()
                if guardian.changesPages { try limitPages(of: "main") }
            }
            return max(length, 1)
        } catch {
            let place = start &+ (error.offset ?? 0)
            if let refusal = guardian.refusal {
                throw SeedError(refusal, in: file, at: place, cause: error)
            }
            throw SeedError(error, in: file, at: place)
        }
    }

    /// Does for BEGIN, COMMIT or ROLLBACK what it means within the transaction of all seeds.
    private mutating func run(_ transaction: String, at offset: Int) throws(SQLiteError) {
        let savepoint = quotedIdentifier(Array(ScriptGuardian.savepoint.utf8))
        if transaction == "BEGIN" {
            guard begin == nil else { throw misuse("cannot start a transaction within a transaction") }
            try connection.execute("SAVEPOINT \(savepoint)")
            begin = offset
            return
        }
        guard begin != nil else { throw misuse("cannot end a transaction: no BEGIN came before") }
        if transaction == "ROLLBACK" { try connection.execute("ROLLBACK TO \(savepoint)") }
        try connection.execute("RELEASE \(savepoint)")
        begin = nil
    }

    private func misuse(_ message: String) -> SQLiteError { SQLiteError(code: SQLITE_ERROR, message: message) }

    private func checkTime(at offset: Int) throws(SeedError) {
        try file.database(at: offset) { () throws(SQLiteError) in try Seeding.checkTime(connection) }
    }

    /// Keeps a schema within the limit by its number of pages.
    private func limitPages(of schema: String) throws(SQLiteError) {
        let pageSize = max(try connection.integer("PRAGMA page_size") ?? 1, 1)
        try connection.execute("PRAGMA \(schema).max_page_count = \(max(byteLimit / pageSize, 1))")
    }

    /// Drops what a script has made for itself only, which the sqlite3 program does at its end.
    private func dropTemporary() throws(SQLiteError) {
        let list = try connection.prepare(
            """
            SELECT type, name FROM sqlite_temp_schema WHERE type IN ('table', 'view', 'trigger')
            AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type DESC
            """)
        var drops: [String] = []
        while try list.step() {
            let name = list.withText(1) { quotedIdentifier(Array($0)) }
            drops.append("DROP \(list.string(0)) IF EXISTS temp.\(name)")
        }
        for drop in drops { try connection.execute(drop) }
    }
}

/// Judges what a script does, as a connection's authorizer.
final class ScriptGuardian {
    /// The savepoint that stands for a script's transaction.
    static let savepoint = "subproxy seed"
    static let pragmas = ["foreign_keys", "user_version", "application_id", "page_size", "encoding"]

    /// Whether it is a statement of the script's that is judged; what isn't is allowed.
    private var judges = false
    /// Why the statement is refused.
    private(set) var refusal: String?
    /// BEGIN, COMMIT or ROLLBACK, where the statement is one of these.
    private(set) var transaction: String?
    /// Whether the statement may change the size of pages.
    private(set) var changesPages = false

    /// Begins to judge another statement.
    func begin() {
        judges = true
        refusal = nil
        transaction = nil
        changesPages = false
    }

    /// Ends with a statement; what it was is still known.
    func end() { judges = false }

    func allows(_ action: SQLiteAction) -> Bool {
        guard judges else { return true }
        switch action.code {
        case SQLITE_ATTACH: return refuse("ATTACH")
        case SQLITE_DETACH: return refuse("DETACH")
        case SQLITE_PRAGMA: return allows(pragma: action.first, argument: action.second)
        case SQLITE_FUNCTION:
            let isLoading = foldedName((action.second ?? "").utf8).elementsEqual("load_extension".utf8)
            return isLoading ? refuse("load_extension") : true
        case SQLITE_SAVEPOINT:
            let isOwn = foldedName((action.second ?? "").utf8).elementsEqual(ScriptGuardian.savepoint.utf8)
            return isOwn ? refuse("the savepoint '\(ScriptGuardian.savepoint)'") : true
        case SQLITE_TRANSACTION:
            transaction = action.first
            return true
        default: return true
        }
    }

    private func allows(pragma name: String, argument: String?) -> Bool {
        let folded = String(decoding: foldedName(name.utf8), as: UTF8.self)
        // FTS5 asks for it.
        if folded == "data_version", argument == nil { return true }
        if folded == "page_size" { changesPages = true }
        if ScriptGuardian.pragmas.contains(folded) { return true }
        return refuse("PRAGMA \(name); it can use \(ScriptGuardian.pragmas.joined(separator: ", "))")
    }

    private func refuse(_ what: String) -> Bool {
        refusal = refusal ?? "a seed can't use \(what)"
        return false
    }
}
