import CSQLite

/// A connection to a database.
///
/// It has no lock (SQLITE_OPEN_NOMUTEX): one thread at a time uses it and its statements.
public final class SQLiteConnection {
    /// How a database is opened.
    public enum Mode: Sendable {
        /// For reading; the file must exist.
        case readOnly
        /// For reading and writing; the file must exist.
        case readWrite
        /// For reading and writing; the file is made where there is none.
        case create
        /// In memory, for this connection alone.
        case memory
    }

    let pointer: OpaquePointer
    /// Judges what statements do while they are prepared; nil allows everything.
    public var authorizer: ((SQLiteAction) -> Bool)? {
        didSet { installAuthorizer() }
    }
    /// Asked each ``progressInterval`` steps of the virtual machine whether the statement goes on, and while one is
    /// prepared as often as there is an ``authorizer`` to ask. A statement that doesn't fails with SQLITE_INTERRUPT.
    public var goesOn: (() -> Bool)? {
        didSet { installProgress() }
    }
    /// Asked whether to try again for a lock, with how often it was tried; sleeps meanwhile.
    public var waitsForLock: ((Int) -> Bool)? {
        didSet { installBusyHandler() }
    }
    /// Told of each row that is inserted or updated, by its table's name and its rowid; of tables WITHOUT ROWID
    /// nothing. It asks the connection nothing.
    public var onRowChange: ((_ table: String, _ rowid: Int64) -> Void)? {
        didSet { installUpdateHook() }
    }

    /// Whether ``goesOn`` has ended the statement that runs or is prepared, whatever SQLite makes of that.
    var isEnded = false
    /// What the authorizer was asked.
    private var actionCount = 0

    /// What is let go when the connection has been closed.
    public var companion: AnyObject?

    /// The bytes that preparing a statement may take. The default is no limit.
    public var preparationBytes = Int64.max
    /// When preparing a statement has to end, in nanoseconds of the monotonic clock; nil for no limit. SQLite before
    /// 3.41 doesn't ask ``goesOn`` meanwhile, so that it is ended by giving it no more memory.
    public var preparationDeadline: (() -> UInt64)?

    /// Steps of the virtual machine between two questions: some 20 µs.
    public static let progressInterval: CInt = 1000

    /// Opens a database. A symbolic link on its path is refused (SQLITE_OPEN_NOFOLLOW).
    ///
    /// - Parameters:
    ///   - path: the file's path, or with `isURI` a `file:` URI (https://sqlite.org/uri.html); not read for `.memory`.
    /// - Throws: What SQLite says, or why it can't be used itself. A file that is no database is found out at the first
    ///   statement only.
    public init(_ path: String, mode: Mode, isURI: Bool = false) throws(SQLiteError) {
        if let problem = subproxy_sqlite_problem() {
            throw SQLiteError(code: SQLITE_CANTOPEN, message: "SQLite can't be used: \(String(cString: problem))")
        }
        subproxy_sqlite_watch_memory()
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW
        switch mode {
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        case .readWrite: flags |= SQLITE_OPEN_READWRITE
        case .create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .memory: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY
        }
        if isURI { flags |= SQLITE_OPEN_URI }
        var opened: OpaquePointer?
        var name = path
        if case .memory = mode { name = ":memory:" }
        let code = sqlite3_open_v2(name, &opened, flags, nil)
        guard let opened, code == SQLITE_OK else {
            let error = SQLiteError(
                code: code, message: opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory")
            sqlite3_close_v2(opened)
            throw error
        }
        pointer = opened
    }

    deinit { sqlite3_close_v2(pointer) }

    /// Makes the connection safe to use on a database that somebody else wrote (https://sqlite.org/security.html).
    public func defend() {
        _ = subproxy_sqlite_configure(pointer, SQLITE_DBCONFIG_DEFENSIVE, 1)
        _ = subproxy_sqlite_configure(pointer, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        _ = subproxy_sqlite_configure(pointer, SQLITE_DBCONFIG_DQS_DML, 0)
        _ = subproxy_sqlite_configure(pointer, SQLITE_DBCONFIG_DQS_DDL, 0)
        _ = subproxy_sqlite_configure(pointer, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
    }

    /// Leaves the log of a database in WAL mode as it is when the last connection ends.
    public func keepsLog() { _ = subproxy_sqlite_configure(pointer, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1) }

    /// Lets double-quoted names stand for strings, as scripts for older versions of SQLite write them.
    public func allowDoubleQuotedStrings(_ allows: Bool) {
        _ = subproxy_sqlite_configure(pointer, SQLITE_DBCONFIG_DQS_DML, allows ? 1 : 0)
        _ = subproxy_sqlite_configure(pointer, SQLITE_DBCONFIG_DQS_DDL, allows ? 1 : 0)
    }

    /// Sets a limit of SQLITE_LIMIT_…; it can't be set above the library's own.
    public func setLimit(_ limit: CInt, to value: Int) {
        sqlite3_limit(pointer, limit, CInt(clamping: value))
    }

    /// Compiles the first statement of a text.
    ///
    /// - Parameter isKept: it will be used for long (SQLITE_PREPARE_PERSISTENT).
    /// - Returns: the statement; nil where the text has none. What follows it isn't looked at.
    /// - Throws: What is wrong with it.
    public func prepare(first sql: String, isKept: Bool = false) throws(SQLiteError) -> SQLiteStatement? {
        var length = 0
        return try prepare(first: sql, isKept: isKept, length: &length)
    }

    /// Compiles the first statement of a text, and says where it ends.
    ///
    /// - Parameter length: set to the length of what was read of the text, in bytes.
    /// - Throws: What is wrong with it.
    public func prepare(
        first sql: String, isKept: Bool, length: inout Int
    ) throws(SQLiteError) -> SQLiteStatement? {
        var sql = sql
        var read = 0
        let result = sql.withUTF8 { text -> Result<SQLiteStatement?, SQLiteError> in
            // The bytes of Swift's strings have no NUL behind them: the length is given.
            var statement: OpaquePointer?
            var tail: UnsafePointer<CChar>?
            let flags = isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
            var end: CInt = 0
            guard let base = text.baseAddress else { return .success(nil) }
            let code = base.withMemoryRebound(to: CChar.self, capacity: text.count) { characters in
                isEnded = false
                subproxy_sqlite_begin_budget(preparationBytes, preparationDeadline?() ?? .max)
                let code = sqlite3_prepare_v3(
                    pointer, characters, CInt(clamping: text.count), flags, &statement, &tail)
                end = subproxy_sqlite_end_budget()
                read = tail.map { $0 - characters } ?? text.count
                return code
            }
            defer { isEnded = false }
            guard code == SQLITE_OK else { return .failure(preparationError(end) ?? error(code)) }
            return .success(statement.map { SQLiteStatement($0, self) })
        }
        length = read
        return try result.get()
    }

    /// What a limit of the preparing ended it with; nil where none did.
    private func preparationError(_ end: CInt) -> SQLiteError? {
        switch Int(end) {
        case SUBPROXY_SQLITE_TIME:
            // Whoever ends statements learns that the time is over.
            _ = goesOn?()
            return .interrupted
        case SUBPROXY_SQLITE_BYTES:
            return SQLiteError(
                code: SQLITE_NOMEM, message: "preparing the statement takes more than \(preparationBytes >> 20) MiB")
        default: return nil
        }
    }

    /// Compiles a statement.
    ///
    /// - Throws: What is wrong with it; a text without a statement is an error too.
    public func prepare(_ sql: String, isKept: Bool = false) throws(SQLiteError) -> SQLiteStatement {
        guard let statement = try prepare(first: sql, isKept: isKept) else {
            throw SQLiteError(code: SQLITE_MISUSE, message: "not a statement")
        }
        return statement
    }

    /// Runs a statement to its end; its rows are dropped.
    ///
    /// - Throws: What is wrong with it, or what it failed for.
    public func execute(_ sql: String) throws(SQLiteError) {
        let statement = try prepare(sql)
        while try statement.step() {}
    }

    /// The first column of the first row, an integer; nil where there is no row.
    ///
    /// - Throws: What is wrong with the statement, or what it failed for.
    public func integer(_ sql: String) throws(SQLiteError) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    /// The collation that a column of a table in the main database is declared with, or has by default; nil where there
    /// is no such column.
    public func collation(of column: String, in table: String) -> String? {
        var collation: UnsafePointer<CChar>?
        let code = sqlite3_table_column_metadata(pointer, "main", table, column, nil, &collation, nil, nil, nil)
        return code == SQLITE_OK ? collation.map { String(cString: $0) } : nil
    }

    /// The rows that the last statement inserted, updated or deleted itself, without those of triggers.
    public var changes: Int { Int(sqlite3_changes64(pointer)) }
    /// The rows that all statements inserted, updated or deleted, with those of triggers.
    public var totalChanges: Int64 { sqlite3_total_changes64(pointer) }
    /// The rowid of the last row inserted.
    public var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(pointer) }
    /// Whether BEGIN was not followed by COMMIT or ROLLBACK.
    public var isInTransaction: Bool { sqlite3_get_autocommit(pointer) == 0 }
    /// Whether the main database can't be written by this connection.
    public var isReadOnly: Bool { sqlite3_db_readonly(pointer, "main") == 1 }

    /// How far the log is copied into the main database's file; nil where that can't be told. To be asked only of a
    /// connection that has read from the file in WAL mode.
    public var logProgress: SQLiteLogProgress? {
        var progress = subproxy_sqlite_log_progress()
        guard subproxy_sqlite_log_progress(pointer, &progress) else { return nil }
        return SQLiteLogProgress(progress)
    }

    /// Copies another connection's main database over this one's, page by page.
    ///
    /// - Parameter pages: asked with the number of all pages after each thousand of them; false ends the copying.
    /// - Throws: What SQLite says; SQLITE_INTERRUPT where it was ended.
    public func copy(from source: SQLiteConnection, pages: (Int) -> Bool) throws(SQLiteError) {
        guard let backup = sqlite3_backup_init(pointer, "main", source.pointer, "main") else {
            throw error(sqlite3_extended_errcode(pointer))
        }
        var code = SQLITE_OK
        var attempts = 0
        while code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_LOCKED {
            code = sqlite3_backup_step(backup, 1000)
            guard pages(Int(sqlite3_backup_pagecount(backup))) else {
                code = SQLITE_INTERRUPT
                break
            }
            if code == SQLITE_BUSY || code == SQLITE_LOCKED {
                guard waitsForLock?(attempts) ?? false else { break }
                attempts += 1
            }
        }
        let end = sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE else {
            throw end == SQLITE_OK
                ? SQLiteError(code: code, message: String(cString: sqlite3_errstr(code))) : error(end)
        }
    }

    /// The error that the last call left behind.
    func error(_ code: CInt) -> SQLiteError {
        guard !isEnded else {
            isEnded = false
            return .interrupted
        }
        let offset = Int(subproxy_sqlite_error_offset(pointer))
        return SQLiteError(
            code: code, message: String(cString: sqlite3_errmsg(pointer)), offset: offset < 0 ? nil : offset)
    }

    // MARK: Callbacks

    private var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// Asks whether a statement goes on.
    private func asksToGoOn() -> Bool {
        guard let goesOn, !goesOn() else { return true }
        isEnded = true
        return false
    }

    /// Whether the statement that is being prepared goes on: SQLite before 3.41 asks nobody else meanwhile.
    private func goesOnPreparing() -> Bool {
        actionCount &+= 1
        return actionCount & 15 != 0 || asksToGoOn()
    }

    private func installAuthorizer() {
        guard authorizer != nil else {
            sqlite3_set_authorizer(pointer, nil, nil)
            return
        }
        sqlite3_set_authorizer(
            pointer,
            { context, code, first, second, database, trigger in
                guard let context else { return SQLITE_DENY }
                let connection = Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue()
                guard connection.goesOnPreparing() else { return SQLITE_DENY }
                let action = SQLiteAction(code: code, first: first, second: second, trigger: trigger)
                return connection.authorizer?(action) ?? true ? SQLITE_OK : SQLITE_DENY
            }, context)
    }

    private func installProgress() {
        guard goesOn != nil else { return sqlite3_progress_handler(pointer, 0, nil, nil) }
        sqlite3_progress_handler(
            pointer, SQLiteConnection.progressInterval,
            { context in
                guard let context else { return 1 }
                let connection = Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue()
                return connection.asksToGoOn() ? 0 : 1
            }, context)
    }

    private func installUpdateHook() {
        guard onRowChange != nil else {
            sqlite3_update_hook(pointer, nil, nil)
            return
        }
        sqlite3_update_hook(
            pointer,
            { context, action, _, table, rowid in
                guard let context, let table, action != SQLITE_DELETE else { return }
                let connection = Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue()
                connection.onRowChange?(String(cString: table), rowid)
            }, context)
    }

    private func installBusyHandler() {
        guard waitsForLock != nil else {
            sqlite3_busy_handler(pointer, nil, nil)
            return
        }
        sqlite3_busy_handler(
            pointer,
            { context, count in
                guard let context else { return 0 }
                let connection = Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue()
                return connection.waitsForLock?(Int(count)) ?? false ? 1 : 0
            }, context)
    }
}

/// What a statement is about to do, as an authorizer is asked (https://sqlite.org/c3ref/c_alter_table.html).
public struct SQLiteAction: Sendable {
    /// SQLITE_READ, SQLITE_FUNCTION and so on.
    public let code: CInt
    /// The first name that belongs to the action, such as a table's or a PRAGMA's; empty where there is none.
    public let first: String
    /// The second name, such as a column's, a function's, or a PRAGMA's argument; nil where there is none.
    public let second: String?
    /// The trigger or view that does it; nil where the statement itself does.
    public let trigger: String?

    init(
        code: CInt, first: UnsafePointer<CChar>?, second: UnsafePointer<CChar>?, trigger: UnsafePointer<CChar>?
    ) {
        self.code = code
        self.first = first.map { String(cString: $0) } ?? ""
        self.second = second.map { String(cString: $0) }
        self.trigger = trigger.map { String(cString: $0) }
    }
}

/// The kinds of action that an authorizer of this program tells apart.
public enum SQLiteActionKind: Sendable {
    case attach, detach, pragma, function, transaction, read, other

    public init(_ code: CInt) {
        switch code {
        case SQLITE_ATTACH: self = .attach
        case SQLITE_DETACH: self = .detach
        case SQLITE_PRAGMA: self = .pragma
        case SQLITE_FUNCTION: self = .function
        case SQLITE_TRANSACTION, SQLITE_SAVEPOINT: self = .transaction
        case SQLITE_READ: self = .read
        default: self = .other
        }
    }
}

extension SQLiteConnection {
    /// Bytes of a statement's text at most, where ``restrict()`` was called.
    public static let maximumStatementBytes = 128 << 10

    /// Lowers the library's limits to what requests of the network may cost.
    public func restrict() {
        setLimit(SQLITE_LIMIT_LENGTH, to: 64 << 20)
        // Some steps of preparing a statement take as many comparisons as it has terms, for each, and ask for nothing
        // meanwhile: of so much text they take a second.
        setLimit(SQLITE_LIMIT_SQL_LENGTH, to: SQLiteConnection.maximumStatementBytes)
        preparationBytes = 128 << 20
        setLimit(SQLITE_LIMIT_EXPR_DEPTH, to: 1000)
        setLimit(SQLITE_LIMIT_COMPOUND_SELECT, to: 100)
        setLimit(SQLITE_LIMIT_VDBE_OP, to: 1 << 20)
        setLimit(SQLITE_LIMIT_FUNCTION_ARG, to: 100)
        setLimit(SQLITE_LIMIT_ATTACHED, to: 0)
        setLimit(SQLITE_LIMIT_TRIGGER_DEPTH, to: 100)
        setLimit(SQLITE_LIMIT_WORKER_THREADS, to: 0)
    }
}
