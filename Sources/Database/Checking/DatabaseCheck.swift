import Basics
import CSQLite
public import Diagnostics
import Glibc
import SQLite

/// Looks whether databases have what rules say of them.
///
/// It opens them for reading, and leaves nothing behind. Blocks: for the time that a request may take, for each rule
/// and for the seeds.
public final class DatabaseCheck {
    /// Something that is wrong with a rule, its database or its seeds.
    public struct Finding: Sendable, Hashable {
        /// Whether requests fail for it; else it is probably not what was meant.
        public var isError: Bool
        /// One sentence without a capital and a full stop.
        public var message: String
        /// The part of the rule's text that it is about; nil for the database.
        public var text: String?
        /// Where in that text, in bytes; nil for all of it.
        public var offset: Int?
        /// A message about a place in a seed, in the place of this one.
        public var diagnostic: Diagnostic?
        /// The seed's contents.
        public var source: [UInt8] = []

        init(_ isError: Bool, _ message: String, text: String? = nil, offset: Int? = nil) {
            self.isError = isError
            self.message = message
            self.text = text
            self.offset = offset
        }
    }

    /// Rows of a table from which on scanning it is warned of.
    static let manyRows = 100_000

    private let name: String
    private let path: String
    /// Whether there is a file.
    private let exists: Bool
    private let seeds: [SeedFile]
    private var session: Session?
    private var hasTried = false
    private var failure: [Finding] = []

    /// - Parameters:
    ///   - path: the database's, absolute, with no symbolic link on it.
    ///   - exists: whether there is a file.
    ///   - name: what messages call it.
    ///   - seeds: the files that make it where there is none.
    public init(path: String, exists: Bool, name: String, seeds: [SeedFile]) {
        self.path = path
        self.exists = exists
        self.name = name
        self.seeds = seeds
    }

    /// What is wrong with the seeds, and with the file.
    ///
    /// - Parameter limits: those of a rule that names the database.
    public func findings(_ limits: DatabaseRule.Limits) -> [Finding] {
        guard !hasTried else { return failure }
        hasTried = true
        let seeded = fill(limits)
        guard exists else {
            session = seeded
            return failure
        }
        let guardian = Guardian(limits: limits, now: monotonicNanoseconds()) { false }
        do throws(SQLiteError) {
            let opened = try Session(try SQLiteConnection.quiet(path), name: name)
            opened.guardian = guardian
            defer { opened.guardian = nil }
            _ = try opened.view(for: DatabaseRule(), looks: true)
            session = opened
        } catch {
            failure.append(Finding(true, Problem(error, of: name, guardian).detail))
        }
        return failure
    }

    /// A database in memory that the seeds have filled; nil where there are none, or something is wrong with them.
    private func fill(_ limits: DatabaseRule.Limits) -> Session? {
        guard !seeds.isEmpty else { return nil }
        let guardian = Guardian(limits: limits, now: monotonicNanoseconds()) { false }
        do throws(SQLiteError) {
            let connection = try SQLiteConnection("", mode: .memory)
            connection.goesOn = { guardian.goesOn() }
            _ = try connection.integer("PRAGMA max_page_count=\(max(1, limits.memory / 4096))")
            do throws(SeedError) {
                try Seeding.run(seeds, on: connection)
            } catch {
                var finding = Finding(true, error.diagnostic.headline)
                if let cause = error.cause, cause.isFull || cause.isInterrupt {
                    finding.message = "the seeds of " + Problem(cause, of: name, guardian).detail
                } else {
                    finding.diagnostic = error.diagnostic
                    finding.source = error.source
                }
                failure.append(finding)
                return nil
            }
            return try Session(connection, name: name)
        } catch {
            failure.append(Finding(true, Problem(error, of: name, guardian).detail))
            return nil
        }
    }

    // MARK: A rule

    /// What is wrong with a rule, as far as its database tells.
    ///
    /// - Parameter statements: those whose rows a template gets.
    public func findings(_ rule: DatabaseRule, statements: [NamedStatement] = []) -> [Finding] {
        var found: [Finding] = []
        if rule.writes == .file { found += writing() }
        _ = findings(rule.limits)
        guard let session else { return found }
        let guardian = Guardian(limits: rule.limits, now: monotonicNanoseconds()) { false }
        session.guardian = guardian
        defer { session.guardian = nil }
        do throws(SQLiteError) {
            let view = try session.view(for: rule, looks: false)
            found += names(rule, view)
            for key in rule.keys where try !isUnique(key, view.schema, session) {
                let columns = key.columns.map { "'\($0)'" }.joined(separator: ", ")
                let message = "'keys': no index keeps \(columns) of \(key.table) unique, so a URL may name several rows"
                found.append(Finding(false, message, text: key.columns.first))
            }
            found += view.unusable.map { Finding(false, "\($0.name) in \(name) can't be used: \($0.error)") }
            let all = (rule.statement.map { [NamedStatement(name: "sql", statement: $0)] } ?? []) + statements
            // An empty one stands for what the map's reader has refused, and told.
            for named in all where !named.statement.sql.isEmpty {
                found += try StatementCheck(session, named, view).findings()
            }
            if rule.writes != .off, rule.statement == nil { found += unwritable(view, session) }
        } catch {
            found.append(Finding(true, Problem(error, of: name, guardian).detail))
        }
        return found
    }

    /// Tables whose rows SQLite can't write, as for a trigger that does what a schema that isn't trusted may not.
    private func unwritable(_ view: SchemaView, _ session: Session) -> [Finding] {
        var found: [Finding] = []
        for shown in view.tables where shown.table.kind == .table {
            let columns = shown.table.columns.filter { !$0.isGenerated }.map { "\($0.name.quotedName)=NULL" }
            var writes = [
                ("added", "INSERT INTO \(shown.name) DEFAULT VALUES"), ("removed", "DELETE FROM \(shown.name)"),
            ]
            if !columns.isEmpty {
                writes.append(("changed", "UPDATE \(shown.name) SET \(columns.joined(separator: ","))"))
            }
            for (verb, sql) in writes {
                do throws(SQLiteError) { _ = try session.connection.prepare(sql) } catch {
                    // It takes more time than there is: nothing is known of the others.
                    guard !error.isInterrupt, !error.isLock else { return found }
                    found.append(Finding(false, "rows of \(shown.table.name) in \(name) can't be \(verb): \(error)"))
                    break
                }
            }
        }
        return found
    }

    /// `writes: file` where nothing can be written.
    private func writing() -> [Finding] {
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        if faccessat(AT_FDCWD, folder + "/", W_OK, AT_EACCESS) != 0 {
            guard errno != ENOENT else {
                return [Finding(false, "'writes: file', but the folder '\(folder)' does not exist", text: "writes")]
            }
            return [Finding(false, "'writes: file', but the folder '\(folder)' can't be written", text: "writes")]
        }
        guard faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0, errno != ENOENT else { return [] }
        return [Finding(false, "'writes: file', but \(name) can't be written", text: "writes")]
    }

    /// Names of `tables`, `keys` and `columns` that are none.
    private func names(_ rule: DatabaseRule, _ view: SchemaView) -> [Finding] {
        var found: [Finding] = []
        // Of what SQLite can't use that is told.
        func isKnown(_ table: String) -> Bool {
            view.schema.isUnread(table) || view.schema.unusable[table.asName] != nil
        }
        for table in rule.tables ?? [] where view.schema.table(table) == nil && !isKnown(table) {
            found.append(unknownTable("tables", table, view.schema))
        }
        for key in rule.keys {
            guard let table = view.schema.table(key.table) else {
                if isKnown(key.table) { continue }
                found.append(unknownTable("keys", key.table, view.schema))
                continue
            }
            for column in key.columns where table.index(of: column) == nil {
                found.append(unknownColumn("keys", column, table, text: column))
            }
        }
        for form in rule.forms {
            guard let table = view.schema.table(form.table) else {
                if isKnown(form.table) { continue }
                found.append(unknownTable("columns", form.table, view.schema))
                continue
            }
            guard table.index(of: form.column) == nil else { continue }
            found.append(unknownColumn("columns", form.column, table, text: "\(form.table).\(form.column)"))
        }
        return found
    }

    /// Whether no two rows of a table have the same key. Of a view nothing is known, and what is no column is an error
    /// anyway.
    private func isUnique(_ key: DatabaseRule.Key, _ schema: Schema, _ session: Session) throws(SQLiteError) -> Bool {
        guard let table = schema.table(key.table), table.kind == .table,
            key.columns.allSatisfy({ table.index(of: $0) != nil })
        else { return true }
        let columns = key.columns.compactMap(table.index(of:))
        if !table.primaryKey.isEmpty, Set(columns).isSuperset(of: table.primaryKey) { return true }
        let names = columns.map { table.columns[$0].name.quotedText }.joined(separator: ",")
        // An expression of an index has no name.
        let found = try session.own(
            """
            SELECT count(*) FROM pragma_index_list(\(table.name.quotedText), 'main') AS found
            WHERE found."unique" AND NOT found.partial AND NOT EXISTS (
              SELECT 1 FROM pragma_index_info(found.name, 'main') AS part
              WHERE part.name IS NULL OR part.name NOT IN (\(names)))
            """)
        return found ?? 0 > 0
    }

    private func unknownTable(_ option: String, _ table: String, _ schema: Schema) -> Finding {
        let hint = didYouMean(table, among: schema.tables.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
        return Finding(true, "'\(option)': \(name) has no table '\(table)'\(hint)", text: table)
    }

    private func unknownColumn(_ option: String, _ column: String, _ table: Table, text: String) -> Finding {
        let hint = didYouMean(column, among: table.columns.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
        return Finding(true, "'\(option)': \(table.name) has no column '\(column)'\(hint)", text: text)
    }
}

/// Looks whether SQLite takes a statement of a rule, and what it costs.
private struct StatementCheck {
    let session: Session
    let statement: DatabaseRule.Statement
    /// What messages call it.
    let name: String
    let view: SchemaView

    init(_ session: Session, _ named: NamedStatement, _ view: SchemaView) {
        self.session = session
        statement = named.statement
        name = named.name
        self.view = view
    }

    /// - Throws: What SQLite says of the statements that ask about it.
    func findings() throws(SQLiteError) -> [DatabaseCheck.Finding] {
        let prepared: SQLiteStatement
        do throws(SQLiteError) {
            prepared = try session.connection.prepare(statement.sql)
        } catch {
            guard !error.isInterrupt, !error.isLock else { throw error }
            return [
                DatabaseCheck.Finding(
                    true, "'\(name)': \(error.message)", text: statement.sql, offset: error.offset)
            ]
        }
        var found: [DatabaseCheck.Finding] = []
        do throws(Problem) { _ = try ResultColumns(prepared, view.rule, called: name) } catch {
            found.append(DatabaseCheck.Finding(true, error.detail, text: statement.sql))
        }
        for table in try scanned() where try hasManyRows(table) {
            found.append(
                DatabaseCheck.Finding(
                    false,
                    "'\(name)' reads all of \(table), which has \(DatabaseCheck.manyRows) rows or more; an index may help",
                    text: statement.sql))
        }
        return found
    }

    /// The tables that the statement reads row by row.
    private func scanned() throws(SQLiteError) -> [String] {
        let plan = try QueryPlan(statement.sql, on: session.connection)
        guard plan.steps.contains(where: { $0.mayReadAll }) else { return [] }
        // The plan may name a table by its alias; the program names what it opens by its first page.
        let program = try session.connection.prepare("EXPLAIN \(statement.sql)")
        var opened: [Int64: Int64] = [:]
        var pages: Set<Int64> = []
        // Where the step before goes to, if it goes on elsewhere in any case.
        var target: Int64?
        while try program.step() {
            let cursor = program.integer(2)
            let operation = program.string(1)
            switch operation {
            case "OpenRead" where program.integer(4) == 0, "OpenWrite" where program.integer(4) == 0:
                opened[cursor] = program.integer(3)
            case "Rewind", "Last", "Count": if let page = opened[cursor] { pages.insert(page) }
            case "Next", "Prev":
                // A loop that is left in front of its next row has read one: min() or max() of what is in order.
                if let target, target > program.integer(0), let page = opened[cursor] { pages.remove(page) }
            default: break
            }
            target = operation == "Goto" ? program.integer(3) : nil
        }
        let list = try session.connection.prepare("SELECT rootpage, tbl_name FROM main.sqlite_schema ORDER BY tbl_name")
        var names: [String] = []
        while try list.step() {
            let name = list.string(1)
            if pages.contains(list.integer(0)), !names.contains(where: name.hasBytes) { names.append(name) }
        }
        return names
    }

    private func hasManyRows(_ table: String) throws(SQLiteError) -> Bool {
        let rows = DatabaseCheck.manyRows
        let count = try session.connection.integer(
            "SELECT count(*) FROM (SELECT 1 FROM main.\(table.quotedName) LIMIT \(rows))")
        return count ?? 0 >= rows
    }
}
