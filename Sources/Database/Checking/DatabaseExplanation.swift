import Basics
import SQLite

/// What a database would be asked for a request, and how SQLite would find it. Nothing is run.
public struct DatabaseExplanation: Sendable {
    /// The statement; nil where none would run, or its text depends on the request's body.
    public private(set) var sql: String?
    /// The values for its places, as a JSON array.
    public private(set) var values: String?
    /// SQLite's plan, a step a line.
    public private(set) var plan: [String] = []
    /// What else there is to say: one sentence without a capital and a full stop.
    public private(set) var remark: String?
    /// What the request is refused with; nil where it isn't, as far as is known.
    public private(set) var problem: Problem?
    /// The status of the answer; nil where the data decide.
    public private(set) var status: Int?
    /// What messages call the statement.
    private let called: String

    /// Opens the database for reading, and leaves nothing behind. Blocks.
    ///
    /// - Parameters:
    ///   - request: with a body where that is known: else its media type is empty.
    ///   - path: the database's, absolute, with no symbolic link on it.
    ///   - exists: whether there is a file.
    ///   - name: what messages call it.
    ///   - seeds: the names of the files that make it where there is none.
    ///   - called: what messages call the rule's statement.
    public init(
        _ request: DatabaseRequest, path: String, exists: Bool, name: String, seeds: [String], called: String = "sql"
    ) {
        self.called = called
        let guardian = Guardian(limits: request.rule.limits, now: monotonicNanoseconds()) { false }
        do throws(Problem) {
            if let statement = request.rule.statement { try explain(statement, request) }
            guard exists else {
                if !seeds.isEmpty {
                    let made = request.rule.writes == .file ? "the file" : "one in memory"
                    remark = "\(name) does not exist; \(seeds.joined(separator: ", ")) would make \(made)"
                }
                return
            }
            do throws(SQLiteError) {
                let session = try Session(try SQLiteConnection.quiet(path), name: name)
                session.guardian = guardian
                defer { session.guardian = nil }
                try explain(
                    request, session,
                    try session.view(for: request.rule, looks: true, views: .named(in: request)))
            } catch {
                throw Problem(error, of: name, guardian)
            }
        } catch {
            problem = error
        }
    }

    private mutating func explain(
        _ statement: DatabaseRule.Statement, _ request: DatabaseRequest
    ) throws(Problem) {
        sql = statement.sql
        values = DatabaseExplanation.json(try StatementRunner.values(of: statement.parameters, in: request))
    }

    private mutating func explain(
        _ request: DatabaseRequest, _ session: Session, _ view: SchemaView
    ) throws(SQLiteError) {
        do throws(Problem) {
            if let statement = request.rule.statement {
                let bound = try StatementRunner.values(of: statement.parameters, in: request)
                do throws(SQLiteError) {
                    try explain(statement.sql, bound, session)
                } catch {
                    guard !error.isInterrupt, !error.isLock else { throw session.problem(error) }
                    throw Problem(502, "database error", "'\(called)': \(error)")
                }
                // How many rows there are shows when it runs, and too many of them are 400; one may be none.
                return
            }
            guard let built = try builder(request, session, view) else { return }
            do throws(SQLiteError) { try explain(built.text, built.values, shown: built.shownValues, session) } catch {
                throw session.problem(error)
            }
        } catch {
            problem = error
        }
    }

    /// The statement that reads what a request names; nil where it reads none.
    private mutating func builder(
        _ request: DatabaseRequest, _ session: Session, _ schema: SchemaView
    ) throws(Problem) -> SQLBuilder? {
        let reader = Reader(session, schema, url: request.url, query: request.query)
        let resource = try Resource(try ResourcePath(request.path), in: schema)
        guard request.method == .get else {
            guard request.method != .options else {
                if let wanted = request.wanted, !resource.methods(request.rule.writes).contains(wanted.rawValue) {
                    throw Writer.notAllowed(wanted, resource, request.rule.writes)
                }
                status = 204
                return nil
            }
            guard request.isWrite else { throw reader.readOnly(request.method, resource) }
            guard resource.methods(request.rule.writes).contains(request.method.rawValue) else {
                throw Writer.notAllowed(request.method, resource, request.rule.writes)
            }
            let writer = Writer(session: session, request: request, schema: schema, entityTag: { $0 })
            let explained = try writer.explained(resource)
            remark = explained.remark
            return explained.sql
        }
        let parameters = request.query.isEmpty ? [] : try Parameter.parse(request.query)
        switch resource {
        case .tables:
            status = 200
            remark = "the schema answers"
            return nil
        case .list(let view): return try list(view, parameters, [], reader)
        case .row(let view, let key):
            _ = try reader.joins(ofRow: parameters, view)
            guard let sql = view.row(view.selection, key: key) else { throw Reader.noRow(view, key) }
            return sql
        case .children(let child, let references, let parent, let key):
            guard parent.condition(key: key) != nil else { throw Reader.noRow(parent, key) }
            let names = references.map { "'\(parent.table.columns[$0.target].name)'" }.joined(separator: ", ")
            let first = references.count == 1 ? "value is" : "\(references.count) values are"
            remark = "the first \(first) the \(names) that the row of \(parent.table.name) has"
            return try list(child, parameters, references, reader)
        }
    }

    private mutating func list(
        _ view: TableView, _ parameters: [Parameter], _ references: [ColumnReference], _ reader: Reader
    ) throws(Problem) -> SQLBuilder {
        let query = try ListQuery(
            parameters, of: view, referring: references.map { ColumnValue($0, .null) },
            ignores: { reader.schema.rule.ignores(parameter: $0) })
        let joins = try reader.joins(query.controls.joined, view)
        let most = reader.schema.rule.limits.rows
        let (start, limit) = query.window(upTo: most)
        // Without a page of its own it may have more rows than an answer.
        status = references.isEmpty && joins.isEmpty && limit <= Int64(most) ? 200 : nil
        return query.rows(limit: limit, offset: start)
    }

    private mutating func explain(
        _ sql: String, _ bound: [SQLiteValue], shown: [SQLiteValue]? = nil, _ session: Session
    ) throws(SQLiteError) {
        self.sql = sql
        values = DatabaseExplanation.json(shown ?? bound)
        plan = try QueryPlan(sql, bound, on: session.connection).steps
            .map { String(repeating: "  ", count: $0.depth) + $0.detail }
    }

    private static func json(_ values: [SQLiteValue]) -> String {
        var output = JSONOutput()
        output.append("[")
        for (index, value) in values.enumerated() {
            if index > 0 { output.append(",") }
            switch value {
            case .null: output.append("null")
            case .integer(let integer): output.append(integer)
            case .real(let real): output.append(real)
            case .text(let text): text.withUnsafeBufferPointer { output.append(string: $0) }
            case .blob(let blob): blob.withUnsafeBytes { output.append(base64: $0) }
            }
        }
        output.append("]")
        return String(decoding: output.bytes, as: UTF8.self)
    }
}
