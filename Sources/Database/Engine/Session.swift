import Basics
import SQLite

/// A connection with what is kept beside it: prepared statements, the schema, and what ends a statement.
///
/// One thread at a time uses it.
final class Session {
    let connection: SQLiteConnection
    /// What messages call the database.
    let name: String
    private var statements: [ByBytes<String>: KeptStatement] = [:]
    private var recency: [ByBytes<String>] = []
    private var tableStatements: [TableStatement: KeptStatement] = [:]
    private var ownStatements = [KeptStatement?](repeating: nil, count: OwnStatement.allCases.count)
    private var matchers: [TextMatcher] = []
    private(set) var schema: Schema?
    /// Somebody else has written since the schema was last looked at.
    var schemaMayBeOld = true
    private var views: [(rule: DatabaseRule, view: SchemaView)] = []
    /// The connection's own PRAGMAs and transactions are let through.
    private var isOwn = false
    /// Set by a statement whose rows differ from call to call, at the time that it is prepared.
    private var callsVolatile = false
    /// Whether a statement of the running request gives other rows at each call.
    private(set) var isVolatile = false
    /// The request that runs; asked whether it goes on.
    var guardian: Guardian?

    /// Prepared statements that are kept.
    static let maximumStatementCount = 128
    /// Bytes of a statement's text that is kept prepared.
    private static let largestKept = 4096
    /// Rules whose view of the schema is kept.
    private static let maximumViewCount = 256

    /// - Throws: What SQLite says.
    init(_ connection: SQLiteConnection, name: String) throws(SQLiteError) {
        self.connection = connection
        self.name = name
        connection.defend()
        connection.goesOn = { [unowned self] in guardian?.goesOn() ?? true }
        connection.waitsForLock = { [unowned self] attempts in guardian?.waitsForLock(attempts) ?? false }
        try connection.register("subproxy_matches") { [unowned self] number, text in
            matches(text, Int(clamping: number))
        }
        connection.authorizer = { [unowned self] action in allows(action) }
        connection.preparationDeadline = { [unowned self] in guardian?.preparationDeadline ?? .max }
        connection.restrict()
        try own("PRAGMA cell_size_check=ON")
        try own("PRAGMA foreign_keys=ON")
    }

    // MARK: Statements

    /// Whether a matcher of the statement that runs finds what it looks for; nil where the statement ends.
    private func matches(_ text: UnsafeBufferPointer<UInt8>, _ number: Int) -> Bool? {
        guard matchers.indices.contains(number) else { return false }
        let matcher = matchers[number]
        guard !matcher.isTooLong(text) else {
            guardian?.refuseLongText()
            return nil
        }
        // Between two questions of SQLite's own there may be a hundred texts, each of which takes as long as it is.
        if matcher.isExpression, let guardian, !guardian.goesOn(searching: text.count) { return nil }
        return matcher.matches(text)
    }

    /// A statement that is kept prepared, at its beginning.
    ///
    /// - Throws: What is wrong with it.
    func statement(_ sql: String) throws(SQLiteError) -> SQLiteStatement { try kept(sql).statement }

    /// A statement with its values bound.
    func statement(_ sql: SQLBuilder) throws(SQLiteError) -> SQLiteStatement {
        matchers = sql.matchers
        let statement = try statement(sql.text)
        for (index, value) in sql.values.enumerated() { try statement.bind(value, to: index + 1) }
        return statement
    }

    /// A statement of a table's, with its values bound.
    ///
    /// - Parameters:
    ///   - view: the table.
    ///   - sql: its text, which follows from what it does; made once.
    func statement(
        _ kind: TableStatement.Kind, of view: TableView, columns: UInt64 = 0, _ values: [SQLiteValue],
        _ sql: @autoclosure () -> String
    ) throws(SQLiteError) -> SQLiteStatement {
        if !matchers.isEmpty { matchers = [] }
        let statement = try prepared(TableStatement(kind: kind, view: view, columns: columns), sql())
        for index in values.indices { try statement.bind(values[index], to: index + 1) }
        return statement
    }

    private func prepared(
        _ asked: TableStatement, _ sql: @autoclosure () -> String
    ) throws(SQLiteError) -> SQLiteStatement {
        // One that runs, as of a row that what is added to it is read beside, can't be begun anew.
        if let kept = tableStatements[asked], !kept.statement.isBusy {
            if kept.isVolatile { isVolatile = true }
            return kept.statement
        }
        let made = try kept(sql())
        if tableStatements.count >= Session.maximumStatementCount { tableStatements = [:] }
        tableStatements[asked] = made
        return made.statement
    }

    private func kept(_ sql: String) throws(SQLiteError) -> KeptStatement {
        let key = ByBytes(sql)
        if let kept = statements[key] {
            // One that runs, as of a row that what is added to it is read beside, can't be begun anew.
            if kept.statement.isBusy { return KeptStatement(try connection.prepare(sql), isVolatile: kept.isVolatile) }
            if kept.isVolatile { isVolatile = true }
            return kept
        }
        callsVolatile = false
        let made = KeptStatement(try connection.prepare(sql, isKept: true), isVolatile: callsVolatile)
        if made.isVolatile { isVolatile = true }
        // What is as large as this is hardly asked again, and takes memory.
        guard sql.utf8.count <= Session.largestKept else { return made }
        if recency.count >= Session.maximumStatementCount { statements[recency.removeFirst()] = nil }
        statements[key] = made
        recency.append(key)
        return made
    }

    /// Runs a statement of the proxy's own, which the authorizer lets through.
    @discardableResult
    func own(_ sql: String) throws(SQLiteError) -> Int64? {
        isOwn = true
        defer { isOwn = false }
        return try Session.run(try statement(sql))
    }

    /// The same for one that most requests need.
    @discardableResult
    func own(_ asked: OwnStatement) throws(SQLiteError) -> Int64? {
        isOwn = true
        defer { isOwn = false }
        return try Session.run(try statement(asked))
    }

    private func statement(_ asked: OwnStatement) throws(SQLiteError) -> SQLiteStatement {
        if let kept = ownStatements[asked.number] { return kept.statement }
        let made = KeptStatement(try connection.prepare(asked.rawValue, isKept: true), isVolatile: false)
        ownStatements[asked.number] = made
        return made.statement
    }

    /// How far the log is copied into the file; nil in another journal mode than WAL, or where it can't be told. To be
    /// asked after something was read.
    var logProgress: SQLiteLogProgress? {
        get throws(SQLiteError) {
            isOwn = true
            defer { isOwn = false }
            let mode = try statement(.journalMode)
            defer { mode.reset() }
            return try mode.step() && mode.string(0) == "wal" ? connection.logProgress : nil
        }
    }

    /// What tells the schema that the file has from another one. To be asked within a transaction.
    var schemaMark: SchemaMark {
        get throws(SQLiteError) {
            let version = try own(.schemaVersion) ?? 0
            isOwn = true
            defer { isOwn = false }
            let rows = try statement(.schemaRows)
            defer { rows.reset() }
            var hasher = Hasher()
            while try rows.step() {
                for column in 0..<4 {
                    rows.withText(column) { text in
                        hasher.combine(text.count)
                        hasher.combine(bytes: UnsafeRawBufferPointer(text))
                    }
                }
            }
            return SchemaMark(version: version, digest: hasher.finalize())
        }
    }

    /// The last row's first column; nil where there is no row.
    private static func run(_ statement: SQLiteStatement) throws(SQLiteError) -> Int64? {
        var result: Int64?
        while try statement.step() { result = statement.integer(0) }
        return result
    }

    /// Does something in a transaction: committed if it succeeds, rolled back if not.
    ///
    /// - Parameter begin: how it begins.
    func transaction<Result, Failure: Error>(
        _ begin: OwnStatement, failure: (SQLiteError) -> Failure, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        isVolatile = false
        do throws(SQLiteError) { try own(begin) } catch { throw failure(error) }
        let result: Result
        do throws(Failure) {
            result = try body()
        } catch {
            rollBack()
            throw error
        }
        if guardian?.hasEnded != nil {
            rollBack()
            throw failure(.interrupted)
        }
        do throws(SQLiteError) {
            try own(.commit)
        } catch {
            rollBack()
            throw failure(error)
        }
        return result
    }

    private func rollBack() {
        // A statement that isn't at its beginning would keep it from ending.
        for kept in statements.values { kept.statement.reset() }
        for kept in tableStatements.values { kept.statement.reset() }
        for kept in ownStatements { kept?.statement.reset() }
        guard connection.isInTransaction else { return }
        let current = guardian
        guardian = nil
        _ = try? own("ROLLBACK")
        guardian = current
    }

    // MARK: Schema

    /// The schema as a rule shows it; read anew if it has changed.
    ///
    /// - Parameters:
    ///   - looks: whether to look if it has: after somebody else has written.
    ///   - asked: the views whose columns are needed; the default is all.
    func view(
        for rule: DatabaseRule, looks: Bool, views asked: AskedViews = .all
    ) throws(SQLiteError) -> SchemaView {
        if looks || schemaMayBeOld || schema == nil {
            let version = try own(.schemaVersion) ?? 0
            if schema?.version != version {
                isOwn = true
                defer { isOwn = false }
                schema = try Schema.read(connection)
                views = []
                // Until they are run they tell the columns that the schema had when they were prepared.
                statements = [:]
                recency = []
                tableStatements = [:]
            }
            schemaMayBeOld = false
        }
        if let known = schema, !known.unreadViews.isEmpty {
            isOwn = true
            defer { isOwn = false }
            let completed = try known.readingViews(asked.names, connection)
            if completed !== known {
                schema = completed
                views = []
            }
        }
        if let found = views.first(where: { $0.rule == rule }) { return found.view }
        let made = SchemaView(schema ?? Schema(tables: [], version: 0), rule)
        if views.count >= Session.maximumViewCount { views.removeFirst() }
        views.append((rule, made))
        return made
    }

    // MARK: The authorizer

    /// The functions whose value differs from call to call.
    private static let volatileFunctions: Set<String> = [
        "random", "randomblob", "date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff",
        "current_date", "current_time", "current_timestamp", "changes", "total_changes", "last_insert_rowid",
    ]

    private func allows(_ action: SQLiteAction) -> Bool {
        switch SQLiteActionKind(action.code) {
        case .attach, .detach: return false
        case .transaction: return isOwn
        case .pragma:
            let name = action.first.asciiLowercased
            return isOwn || name == "data_version"
        case .function:
            let name = (action.second ?? "").asciiLowercased
            if Session.volatileFunctions.contains(name) { callsVolatile = true }
            return name != "load_extension"
        case .read: return isOwn || !isPragma(table: action.first)
        case .other: return true
        }
    }

    /// Whether a table is what a PRAGMA tells (https://sqlite.org/pragma.html#pragfunc). SQLite would ask for the
    /// PRAGMA at the first row only, and then the statement would fail that could be prepared.
    private func isPragma(table: String) -> Bool {
        guard table.utf8.dropFirst(6).first == UInt8(ascii: "_") else { return false }
        let name = table.asciiLowercased
        return name != "pragma_data_version" && Session.pragmaTables.contains(name) && schema?.table(table) == nil
            && schema?.isUnread(table) != true
    }

    /// The names of such tables.
    private static let pragmaTables: Set<String> = {
        var names: Set<String> = []
        // By a connection of its own: the authorizer of one may not use it.
        if let connection = try? SQLiteConnection("", mode: .memory),
            let list = try? connection.prepare("PRAGMA pragma_list")
        {
            while (try? list.step()) == true { names.insert("pragma_" + list.string(0).asciiLowercased) }
        }
        return names
    }()
}

/// A statement that is kept prepared.
private final class KeptStatement {
    let statement: SQLiteStatement
    /// Whether its rows differ from call to call.
    let isVolatile: Bool

    init(_ statement: SQLiteStatement, isVolatile: Bool) {
        self.statement = statement
        self.isVolatile = isVolatile
    }
}

/// A statement of the proxy's own that most requests need.
enum OwnStatement: String, CaseIterable {
    case begin = "BEGIN"
    case beginImmediate = "BEGIN IMMEDIATE"
    case commit = "COMMIT"
    case dataVersion = "PRAGMA main.data_version"
    case schemaVersion = "PRAGMA main.schema_version"
    case journalMode = "PRAGMA main.journal_mode"
    case schemaRows = "SELECT type, name, rootpage, sql FROM main.sqlite_schema"

    fileprivate var number: Int {
        switch self {
        case .begin: 0
        case .beginImmediate: 1
        case .commit: 2
        case .dataVersion: 3
        case .schemaVersion: 4
        case .journalMode: 5
        case .schemaRows: 6
        }
    }
}

/// Which schema a file has.
struct SchemaMark: Equatable {
    /// PRAGMA schema_version: SQLite reads the schema anew where it differs, and only there.
    let version: Int64
    /// Of what the schema says. Two files that were made apart can have another one with the same version.
    let digest: Int
}

/// A statement whose text follows from what it does with a table.
struct TableStatement: Hashable {
    enum Kind: UInt8 {
        /// A row by its key.
        case row
        /// A new row.
        case insertion
        /// A row that was just written, by its rowid.
        case written
    }

    let kind: Kind
    /// Held, so that no other comes to have its address.
    let view: TableView
    /// A bit for each column that it names, where that tells it from others of its kind.
    let columns: UInt64

    static func == (one: TableStatement, other: TableStatement) -> Bool {
        one.kind == other.kind && one.view === other.view && one.columns == other.columns
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(view))
        hasher.combine(columns ^ UInt64(kind.rawValue) << 56)
    }
}
