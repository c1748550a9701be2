import SQLite

/// Answers GET from a connection, inside a transaction.
struct Reader {
    let session: Session
    let schema: SchemaView
    /// Absolute, without the query: what links begin with.
    let url: [UInt8]
    /// The query as it came.
    let query: [UInt8]
    /// Counts that are kept, and the state of the data in this transaction; nil where that isn't known.
    private let counts: (cache: CountCache, version: UInt64)?
    private var limits: DatabaseRule.Limits { schema.rule.limits }

    init(
        _ session: Session, _ schema: SchemaView, url: [UInt8], query: [UInt8],
        counts: (cache: CountCache, version: UInt64)? = nil
    ) {
        self.counts = counts
        self.session = session
        self.schema = schema
        self.url = url
        self.query = query
    }

    /// - Throws: Why there is no answer.
    func answer(_ request: DatabaseRequest) throws(Problem) -> DatabaseAnswer {
        if let statement = schema.rule.statement {
            return try StatementRunner(session, statement, schema.rule).answer(request)
        }
        let resource = try Resource(try ResourcePath(request.path), in: schema)
        guard request.method == .options else {
            guard request.method == .get else { throw readOnly(request.method, resource) }
            return try answer(resource)
        }
        let methods = resource.methods(schema.rule.writes)
        if let wanted = request.wanted, methods.contains(wanted.rawValue) { try checkRow(of: resource) }
        var answer = DatabaseAnswer(204, [])
        answer.fields.append(AnswerField("Allow", methods.joined(separator: ", ")))
        answer.isRepeatable = false
        return answer
    }

    /// - Throws: 404 where a path names a row that there isn't.
    private func checkRow(of resource: Resource) throws(Problem) {
        switch resource {
        case .tables, .list: break
        case .row(let view, let key): _ = try row(view, key, [])
        case .children(_, let references, let parent, let key): _ = try values(references, parent, key)
        }
    }

    func readOnly(_ method: DatabaseRequest.Method, _ resource: Resource) -> Problem {
        let methods = resource.methods(schema.rule.writes).joined(separator: ", ")
        var problem = Problem(
            405, "method not allowed",
            "\(session.name) is read only here; 'writes: memory' or 'writes: file' lets \(method.rawValue) in")
        problem.fields.append(AnswerField("Allow", methods))
        return problem
    }

    /// - Throws: Why there is no answer.
    func answer(_ resource: Resource) throws(Problem) -> DatabaseAnswer {
        let parameters = query.isEmpty ? [] : try Parameter.parse(query)
        switch resource {
        case .tables:
            for parameter in parameters where !schema.rule.ignores(parameter: parameter.name) {
                throw Problem(
                    400, "unknown parameter", "'\(parameter.name)' is no parameter of the list of tables")
            }
            return tables()
        case .list(let view): return try list(view, parameters, referring: [])
        case .row(let view, let key): return try row(view, key, parameters)
        case .children(let child, let references, let parent, let key):
            return try list(child, parameters, referring: try values(references, parent, key))
        }
    }

    // MARK: Tables

    private func tables() -> DatabaseAnswer {
        var output = JSONOutput()
        output.append("[")
        let listed = schema.listed
        for (index, entry) in listed.enumerated() {
            let view = entry.view
            if index > 0 { output.append(",") }
            output.append("{\"name\":")
            output.append(string: entry.name)
            output.append(",\"kind\":")
            output.append(string: (view?.table.kind ?? .view).rawValue)
            output.append(",\"key\":[")
            for (index, name) in (view?.keyNames ?? []).enumerated() {
                if index > 0 { output.append(",") }
                output.append(string: name)
            }
            output.append("],\"columns\":[")
            for (index, column) in (view?.table.columns ?? []).enumerated() {
                if index > 0 { output.append(",") }
                output.append("{\"name\":")
                output.append(string: column.name)
                output.append(",\"type\":")
                output.append(string: column.declaredType)
                output.append("}")
            }
            output.append("]}")
        }
        output.append("]")
        var answer = DatabaseAnswer(200, output.bytes)
        answer.fields.append(AnswerField("X-Total-Count", String(listed.count)))
        answer.note = "\(listed.count) tables"
        return answer
    }

    // MARK: Rows

    private func row(
        _ view: TableView, _ key: [[UInt8]], _ parameters: [Parameter]
    ) throws(Problem) -> DatabaseAnswer {
        let joins = parameters.isEmpty ? [] : try joins(ofRow: parameters, view)
        let values = view.rowValues(key: key)
        let sql = values == nil ? view.row(view.selection, key: key) : nil
        guard values != nil || sql != nil else { throw Reader.noRow(view, key) }
        var output = JSONOutput(limit: limits.bytes)
        var rows = 1
        try run {
            () throws(SQLiteError) in
            let statement: SQLiteStatement
            if let values {
                statement = try session.statement(.row, of: view, values, view.rowSQL)
            } else {
                statement = try session.statement(sql ?? SQLBuilder())
            }
            defer { statement.reset() }
            guard try statement.step() else { return }
            if joins.isEmpty {
                output.append(row: statement, of: view)
            } else {
                rows = try append(statement, of: view, joins, to: &output, rows: rows)
            }
        }
        guard output.count > 0 else { throw Reader.noRow(view, key) }
        guard rows <= limits.rows || joins.isEmpty else {
            throw Problem(
                400, "too many rows",
                "more than \(limits.rows) rows with those that are added; ask for these by a list of their own, in pages"
            )
        }
        try checkSize(output.count)
        var answer = DatabaseAnswer(200, output.bytes)
        answer.note = view.rowNote
        return answer
    }

    static func noRow(_ view: TableView, _ key: [[UInt8]]) -> Problem {
        .noRow(view.table.name + "/" + key.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/"))
    }

    /// The columns of a child, with the values by which its rows refer to a row.
    func values(
        _ references: [ColumnReference], _ parent: TableView, _ key: [[UInt8]]
    ) throws(Problem) -> [ColumnValue] {
        let selection = references.map { parent.sql($0.target) }.joined(separator: ",")
        guard let sql = parent.row(selection, key: key) else { throw Reader.noRow(parent, key) }
        var values: [ColumnValue] = []
        try run { () throws(SQLiteError) in
            let statement = try session.statement(sql)
            if try statement.step() {
                values = references.enumerated().map { ColumnValue($1, statement.value($0)) }
            }
            statement.reset()
        }
        guard !values.isEmpty else { throw Reader.noRow(parent, key) }
        return values
    }

    // MARK: Lists

    private func list(
        _ view: TableView, _ parameters: [Parameter], referring: [ColumnValue]
    ) throws(Problem) -> DatabaseAnswer {
        let query = try ListQuery(
            parameters, of: view, referring: referring, ignores: { schema.rule.ignores(parameter: $0) })
        let joins = try joins(query.controls.joined, view)
        let (start, limit) = query.window(upTo: limits.rows)
        var output = JSONOutput(capacity: 4096, limit: limits.bytes)
        var rows = 0
        var tooLarge = false
        try run { () throws(SQLiteError) in
            let statement = try session.statement(query.rows(limit: limit, offset: start))
            defer { statement.reset() }
            output.append("[")
            while try statement.step() {
                if rows > 0 { output.append(",") }
                rows += 1
                if joins.isEmpty {
                    output.append(row: statement, of: view)
                } else {
                    rows = try append(statement, of: view, joins, to: &output, rows: rows)
                }
                if rows > limits.rows || output.count > limits.bytes {
                    tooLarge = true
                    return
                }
            }
            output.append("]")
        }
        // All rows that match are here unless a part of them was asked for.
        let isWhole = start == 0 && joins.isEmpty && Int64(rows) < limit && !tooLarge
        if tooLarge {
            guard rows > limits.rows else { throw tooManyBytes }
            throw tooManyRows(joins.isEmpty ? try count(query) : nil)
        }
        let total = isWhole ? Int64(rows) : try count(query)
        try checkSize(output.count)
        let pages = Pages(query.controls.part, total: total)
        var answer: DatabaseAnswer
        if let pages, pages.isWrapped {
            var wrapped = JSONOutput(capacity: output.count + 128)
            pages.append(to: &wrapped, rows: output.bytes)
            answer = DatabaseAnswer(200, wrapped.bytes)
        } else {
            answer = DatabaseAnswer(200, output.bytes)
        }
        answer.fields.append(AnswerField("X-Total-Count", String(total)))
        if let links = pages?.links(url: url, query: self.query) { answer.fields.append(AnswerField("Link", links)) }
        answer.note = "\(view.table.name): \(rows) \(rows == 1 ? "row" : "rows")"
        return answer
    }

    private func count(_ query: ListQuery) throws(Problem) -> Int64 {
        let sql = query.count
        if let counts, let known = counts.cache.count(sql, at: counts.version) { return known }
        var count: Int64 = 0
        try run { () throws(SQLiteError) in
            let statement = try session.statement(sql)
            session.guardian?.beginsLongStep()
            if try statement.step() { count = statement.integer(0) }
            statement.reset()
        }
        if let counts, !session.isVolatile { counts.cache.keep(count, of: sql, at: counts.version) }
        return count
    }

    // MARK: Joins

    /// What a row's parameters add to it.
    ///
    /// - Throws: 400 for another parameter, and for what can't be added.
    func joins(ofRow parameters: [Parameter], _ view: TableView) throws(Problem) -> [Join] {
        var controls = Controls()
        for parameter in parameters {
            if parameter.name == "_embed" || parameter.name == "_expand" {
                try controls.take(parameter)
            } else if !schema.rule.ignores(parameter: parameter.name) {
                throw ListQuery.unknownParameter(parameter.name, parameter.name, ["_embed", "_expand"], prefix: "")
            }
        }
        return try joins(controls.joined, view)
    }

    /// - Throws: 400 for what can't be added.
    func joins(_ names: [String], _ view: TableView) throws(Problem) -> [Join] {
        var joins: [Join] = []
        for name in names { joins.append(try Join(name, to: view, in: schema)) }
        return joins
    }

    /// Writes a row with what is added to it.
    ///
    /// - Returns: the number of rows with those that were added.
    private func append(
        _ statement: SQLiteStatement, of view: TableView, _ joins: [Join], to output: inout JSONOutput, rows: Int
    ) throws(SQLiteError) -> Int {
        var rows = rows
        for column in view.forms.indices {
            output.append(bytes: view.prefixes[column])
            if let join = joins.first(where: { $0.replaced == column }) {
                rows = try append(join, statement.value(join.source), to: &output, rows: rows)
            } else {
                output.append(value: statement, column, view.forms[column])
            }
        }
        for join in joins where join.replaced == nil {
            output.append(",")
            output.append(bytes: join.prefix)
            rows = try append(join, statement.value(join.source), to: &output, rows: rows)
        }
        output.append("}")
        return rows
    }

    private func append(
        _ join: Join, _ value: SQLiteValue, to output: inout JSONOutput, rows: Int
    ) throws(SQLiteError) -> Int {
        var rows = rows
        let statement = try session.statement(join.sql)
        try statement.bind(value, to: 1)
        defer { statement.reset() }
        guard join.isList else {
            if value != .null, try statement.step() {
                rows += 1
                output.append(row: statement, of: join.view)
            } else {
                output.append("null")
            }
            return rows
        }
        output.append("[")
        var isFirst = true
        while try statement.step() {
            if !isFirst { output.append(",") }
            isFirst = false
            rows += 1
            output.append(row: statement, of: join.view)
            // Whoever asked for it refuses what has too many.
            guard rows <= limits.rows, output.count <= limits.bytes else { break }
        }
        output.append("]")
        return rows
    }

    // MARK: Errors

    /// - Parameter total: how many there are; nil where those that are added make them too many.
    private func tooManyRows(_ total: Int64?) -> Problem {
        let rows = total.map { "\($0) rows" } ?? "more than \(limits.rows) rows with those that are added"
        return Problem(400, "too many rows", "\(rows); ask for pages, as ?_page=1&_limit=100")
    }

    private var tooManyBytes: Problem {
        Problem(
            400, "answer too large",
            "more than \(limits.bytes) bytes; ask for pages, as ?_page=1&_limit=100")
    }

    private func checkSize(_ count: Int) throws(Problem) {
        if count > limits.bytes { throw tooManyBytes }
    }

    private func run(_ body: () throws(SQLiteError) -> Void) throws(Problem) {
        do throws(SQLiteError) { try body() } catch { throw session.problem(error) }
    }
}
