import SQLite

/// Answers what changes data, inside a transaction.
struct Writer {
    let session: Session
    let request: DatabaseRequest
    let schema: SchemaView
    private let makeTag: ([UInt8]) -> [UInt8]

    /// - Parameter entityTag: makes the entity tag of an answer.
    init(
        session: Session, request: DatabaseRequest, schema: SchemaView, entityTag: @escaping ([UInt8]) -> [UInt8]
    ) {
        self.session = session
        self.request = request
        self.schema = schema
        makeTag = entityTag
    }

    /// The entity tag that GET gets with a body.
    private func entityTag(_ answer: [UInt8]) -> [UInt8] { body.ruleTag ?? makeTag(answer) }

    var body: DatabaseRequest.Body { request.body }

    /// - Throws: Why nothing was changed.
    func answer() throws(Problem) -> DatabaseAnswer {
        if let statement = request.rule.statement {
            return try StatementRunner(session, statement, request.rule).answer(request)
        }
        let resource = try Resource(try ResourcePath(request.path), in: schema)
        switch (resource, request.method) {
        case (.list(let view), .post) where view.table.kind == .table:
            try checkPreconditions(of: resource)
            return try insert(view, referring: [])
        case (.children(let child, let references, let parent, let key), .post) where child.table.kind == .table:
            let values = try reader.values(references, parent, key)
            try checkPreconditions(of: resource)
            return try insert(child, referring: values)
        case (.row(let view, let key), .put) where view.table.kind == .table: return try replace(view, key)
        case (.row(let view, let key), .patch) where view.table.kind == .table: return try patch(view, key)
        case (.row(let view, let key), .delete) where view.table.kind == .table: return try delete(view, key)
        default: throw Writer.notAllowed(request.method, resource, request.rule.writes)
        }
    }

    /// 405 with the methods that the resource has.
    static func notAllowed(
        _ method: DatabaseRequest.Method, _ resource: Resource, _ writes: DatabaseRule.Writes
    ) -> Problem {
        let methods = resource.methods(writes)
        var problem = Problem(
            405, "method not allowed", "\(method.rawValue) does nothing here; \(methods.joined(separator: ", ")) do")
        problem.fields.append(AnswerField("Allow", methods.joined(separator: ", ")))
        return problem
    }

    /// A write has no parameters.
    func refuseParameters() throws(Problem) {
        guard !request.query.isEmpty, !request.rule.ignoresUnknownParameters else { return }
        for parameter in try Parameter.parse(request.query) where !request.rule.ignores(parameter: parameter.name) {
            throw Problem(400, "unknown parameter", "'\(parameter.name)' is no parameter of a write")
        }
    }

    // MARK: POST

    private func insert(_ view: TableView, referring: [ColumnValue]) throws(Problem) -> DatabaseAnswer {
        try refuseParameters()
        let (rows, isArray) = try BodyReader(view, body).rows()
        // The limits are those of an answer.
        let isShown = body.prefersMinimal != true
        guard rows.count <= request.rule.limits.rows || !isShown else {
            throw Problem(
                400, "too many rows", "\(rows.count) rows; at most \(request.rule.limits.rows) are inserted at once")
        }
        var bytes = 0
        var written: [FoundRow] = []
        for var row in rows {
            for reference in referring {
                if let given = row[reference.column], !view.refers(given, reference) {
                    throw .badBody("'\(view.table.columns[reference.column].name)' is another than that of the URL")
                }
                row.set(reference.column, reference.value)
            }
            let made = try insert(row, into: view)
            guard isShown || !isArray else { continue }
            written.append(made)
            guard isShown else { continue }
            bytes += made.row.count
            guard bytes <= request.rule.limits.bytes else {
                throw Problem(
                    400, "answer too large", "more than \(request.rule.limits.bytes) bytes; insert fewer at once")
            }
        }
        var answer: DatabaseAnswer
        if isArray {
            var output = JSONOutput()
            output.append("[")
            for (index, row) in written.enumerated() {
                if index > 0 { output.append(",") }
                output.append(bytes: row.row)
            }
            output.append("]")
            answer = created(output.bytes)
        } else {
            answer = created(written.first?.row ?? [])
            if let row = written.first {
                addEntityTag(of: row.row, to: &answer)
                if let key = row.key { addLocation(of: key, in: view, to: &answer) }
            }
        }
        answer.note = "\(view.table.name): \(rows.count) inserted"
        return answer
    }

    /// Inserts a row.
    ///
    /// - Returns: the row as it then is, and its key's URL.
    private func insert(_ row: BodyReader.Row, into view: TableView, rowID: Int64? = nil) throws(Problem) -> FoundRow {
        let table = view.table
        try Writer.checkKeyIsGiven(row, table)
        // A row without a value for a key of the rule's would have no URL, unless a trigger gives one.
        let lacking = keyColumns(view).filter { column in
            guard (row[column] ?? .null) == .null, !table.primaryKey.contains(column) else { return false }
            let declared = table.columns[column]
            return declared.affinity == .text && !declared.isGenerated
                && (row[column] != nil || declared.defaultValue == nil)
        }
        let columns = row.columns
        var given = columns.map { row[$0] ?? .null }
        let rowIDName = rowID == nil ? nil : table.rowID
        if let rowID, rowIDName != nil { given.append(.integer(rowID)) }
        let key = table.primaryKey
        let returns = table.rowID == nil && !key.isEmpty
        var values: [SQLiteValue] = []
        try change(view) { () throws(SQLiteError) in
            let statement: SQLiteStatement
            if rowIDName == nil, let set = Writer.set(of: columns) {
                statement = try session.statement(
                    .insertion, of: view, columns: set, given, Writer.insertion(columns, nil, into: view))
            } else {
                statement = try session.statement(Writer.insertion(columns, rowIDName, into: view))
                for (index, value) in given.enumerated() { try statement.bind(value, to: index + 1) }
            }
            while try statement.step() {
                if returns { values = key.indices.map { statement.value($0) } }
            }
        }
        if !returns { values = [.integer(session.connection.lastInsertRowID)] }
        let found =
            session.connection.changes > 0 || table.isFullText
            ? try read(view, view.ownCondition, values, kind: .written) : nil
        guard let found else {
            throw Problem(
                409, "constraint",
                "the row was not stored: a trigger of \(table.name), or a conflict clause of its schema, dropped it")
        }
        for column in lacking {
            let name = table.columns[column].name
            let condition = "(\(view.ownCondition)) AND \(name.quotedName) IS NULL"
            guard try read(view, condition, values, needsText: false) != nil else {
                continue
            }
            throw .badBody("'\(name)' is the key, and needs a value")
        }
        return found
    }

    // MARK: PUT, PATCH, DELETE

    private func replace(_ view: TableView, _ key: [[UInt8]]) throws(Problem) -> DatabaseAnswer {
        try refuseParameters()
        guard let found = view.condition(key: key) else { throw noRow(view, key) }
        let before = try read(view, found.sql, found.values)
        var row = try BodyReader(view, body).row()
        try checkKey(&row, view, key)
        guard let before else {
            guard body.ifNoneMatch?.isAny == true, body.ifMatch == nil else {
                throw noRow(view, key)
            }
            let rowID = if case .rowID = view.key { RowKeyText.integer(key.first ?? []) } else { Int64?.none }
            let written = try insert(row, into: view, rowID: rowID)
            var answer = created(written.row)
            addEntityTag(of: written.row, to: &answer)
            answer.note = "\(view.table.name): 1 inserted"
            return answer
        }
        try checkPreconditions(before.row)
        return try update(view, (before.condition, before.values), replacement(of: view, by: row))
    }

    private func patch(_ view: TableView, _ key: [[UInt8]]) throws(Problem) -> DatabaseAnswer {
        try refuseParameters()
        guard let found = view.condition(key: key), let before = try read(view, found.sql, found.values) else {
            throw noRow(view, key)
        }
        try checkPreconditions(before.row)
        var reader = BodyReader(view, body)
        if body.type == "application/merge-patch+json" {
            reader.current = { column throws(Problem) in
                try value(view, column, before.condition, before.values)
            }
        }
        var row = try reader.row()
        try checkKey(&row, view, key)
        return try update(view, (before.condition, before.values), changes(of: view, by: row))
    }

    private func update(
        _ view: TableView, _ found: (sql: String, values: [SQLiteValue]), _ sets: [(column: Int, value: SQLiteValue?)]
    ) throws(Problem) -> DatabaseAnswer {
        var found = found
        if !sets.isEmpty {
            // Beside a key of the rule's, what names the row alone may be what changes.
            let own =
                view.table.rowID.map { [$0] } ?? view.table.primaryKey.map { view.table.columns[$0].name.quotedName }
            let changesOwn = sets.contains { view.table.primaryKey.contains($0.column) }
            var sql = Writer.update(view, sets)
            sql.append(" WHERE ")
            sql.append(found.sql, found.values)
            if changesOwn { sql.append(" RETURNING \(own.joined(separator: ","))") }
            try change(view) { () throws(SQLiteError) in
                let statement = try session.statement(sql)
                while try statement.step() {
                    if changesOwn { found = (view.ownCondition, own.indices.map { statement.value($0) }) }
                }
            }
            guard session.connection.changes > 0 || view.table.isFullText else {
                throw Problem(
                    409, "constraint",
                    "the row was not changed: a trigger of \(view.table.name), or a conflict clause of its schema, "
                        + "dropped the change")
            }
        }
        guard let after = try read(view, found.sql, found.values) else {
            throw Problem(409, "constraint", "a trigger of \(view.table.name) dropped the row")
        }
        var answer = changed(after.row)
        addEntityTag(of: after.row, to: &answer)
        answer.note = "\(view.table.name): 1 updated"
        return answer
    }

    private func delete(_ view: TableView, _ key: [[UInt8]]) throws(Problem) -> DatabaseAnswer {
        try refuseParameters()
        let needsText = body.prefersMinimal != true || body.ifMatch != nil || body.ifNoneMatch != nil
        guard let found = view.condition(key: key),
            let before = try read(view, found.sql, found.values, needsText: needsText)
        else { throw noRow(view, key) }
        try checkPreconditions(before.row)
        try change(view) { () throws(SQLiteError) in
            let statement = try session.statement("DELETE FROM \(view.name) WHERE \(before.condition)")
            for (index, value) in before.values.enumerated() { try statement.bind(value, to: index + 1) }
            while try statement.step() {}
        }
        guard try read(view, before.condition, before.values, needsText: false) == nil else {
            throw Problem(409, "constraint", "a trigger of \(view.table.name) kept the row")
        }
        var answer = changed(before.row)
        answer.note = "\(view.table.name): 1 deleted"
        return answer
    }

    // MARK: Rows

    /// A row as GET answers it, and its key's URL.
    ///
    /// - Parameters:
    ///   - kind: what the statement does, where its text is the same for all of this kind.
    ///   - needsText: whether the row's text is asked for, and not only which one it is.
    private func read(
        _ view: TableView, _ condition: String, _ values: [SQLiteValue], kind: TableStatement.Kind? = nil,
        needsText: Bool = true
    ) throws(Problem) -> FoundRow? {
        var result: FoundRow?
        // Its tag is that of its text, so it is read also where no answer has it.
        let most = request.rule.limits.bytes
        let limit = body.prefersMinimal == true ? max(most, 64 << 20) : most
        var isTooLarge = false
        func sql() -> String {
            let extra = view.table.rowID.map { ",\(view.name).\($0)" } ?? ""
            return "SELECT \(view.selection)\(extra) FROM \(view.name) WHERE \(condition) LIMIT 1"
        }
        try run { () throws(SQLiteError) in
            let statement: SQLiteStatement
            if let kind {
                statement = try session.statement(kind, of: view, values, sql())
            } else {
                statement = try session.statement(sql())
                for (index, value) in values.enumerated() { try statement.bind(value, to: index + 1) }
            }
            defer { statement.reset() }
            guard try statement.step() else { return }
            var output = JSONOutput(limit: limit)
            if needsText { output.append(row: statement, of: view) }
            isTooLarge = output.count > limit
            var found = FoundRow(row: output.bytes, key: nil, condition: condition, values: values)
            switch view.key {
            case .rowID: found.key = view.keyText([statement.value(view.forms.count)])
            case .columns(let columns): found.key = view.keyText(columns.map { statement.value($0) })
            case .none: break
            }
            // A key of the rule's, or one of a column without a type, may name several rows: this one is meant.
            if view.table.rowID != nil {
                found.condition = view.ownCondition
                found.values = [statement.value(view.forms.count)]
            } else if !view.table.primaryKey.isEmpty {
                found.condition = view.ownCondition
                found.values = view.table.primaryKey.map { statement.value($0) }
            }
            result = found
        }
        guard !isTooLarge else {
            let way =
                body.prefersMinimal == true
                ? "; a larger 'limits: { bytes }' allows that"
                : "; with 'Prefer: return=minimal' the answer is without it"
            throw Problem(400, "answer too large", "the row has more than \(limit) bytes\(way)")
        }
        return result
    }

    /// A row that is there.
    private struct FoundRow {
        /// As GET answers it.
        var row: [UInt8]
        /// Its URL below the table's; nil where it has none.
        var key: [UInt8]?
        /// What names this row alone.
        var condition: String
        var values: [SQLiteValue]
    }

    private func value(
        _ view: TableView, _ column: Int, _ condition: String, _ values: [SQLiteValue]
    ) throws(Problem) -> SQLiteValue {
        var result = SQLiteValue.null
        try run { () throws(SQLiteError) in
            let statement = try session.statement(
                "SELECT \(view.sql(column)) FROM \(view.name) WHERE \(condition) LIMIT 1")
            for (index, value) in values.enumerated() { try statement.bind(value, to: index + 1) }
            if try statement.step() { result = statement.value(0) }
            statement.reset()
        }
        let most = request.rule.limits.bytes
        if case .text(let text) = result, text.count > most {
            throw Problem(
                400, "answer too large",
                "'\(view.table.columns[column].name)' has more than \(most) bytes, and can't be patched in part")
        }
        return result
    }

    func keyColumns(_ view: TableView) -> [Int] {
        if case .columns(let columns) = view.key { columns } else { [] }
    }

    /// Refuses a body whose key is another than the URL's, and gives it the URL's.
    func checkKey(
        _ row: inout BodyReader.Row, _ view: TableView, _ key: [[UInt8]]
    ) throws(Problem) {
        for (index, column) in keyColumns(view).enumerated() {
            if let given = row[column], !view.isKey(given, column, key[index]) {
                throw .badBody("'\(view.table.columns[column].name)' is another than that of the URL")
            }
            if let value = view.keyValue(column, key[index]) { row.set(column, value) }
        }
    }

    private var reader: Reader { Reader(session, schema, url: request.url, query: []) }

    /// Compares with the list that a POST goes to: it is what the conditions are about (RFC 9110 §13.1).
    private func checkPreconditions(of list: Resource) throws(Problem) {
        let conditions = [body.ifMatch, body.ifNoneMatch].compactMap { $0 }
        guard !conditions.isEmpty else { return }
        // The list is there, whatever its tag is; one that GET refuses has none.
        var tag = body.ruleTag ?? []
        if tag.isEmpty, !conditions.allSatisfy(\.isAny) {
            do throws(Problem) { tag = entityTag(try reader.answer(list).body) } catch {
                guard error.status == 400 else { throw error }
            }
        }
        try checkPreconditions(tag: tag, "list")
    }

    private func checkPreconditions(_ row: [UInt8]) throws(Problem) {
        guard body.ifMatch != nil || body.ifNoneMatch != nil else { return }
        try checkPreconditions(tag: entityTag(row), "row")
    }

    private func checkPreconditions(tag: [UInt8], _ name: String) throws(Problem) {
        let said = tag.isEmpty ? "" : ": \(String(decoding: tag, as: UTF8.self))"
        if let ifMatch = body.ifMatch, !ifMatch.contains(tag, weakly: false) {
            throw Problem(
                412, "precondition failed", "the \(name) is another now\(said)")
        }
        if let ifNoneMatch = body.ifNoneMatch, ifNoneMatch.contains(tag, weakly: true) {
            throw Problem(412, "precondition failed", "the \(name) exists\(said)")
        }
    }

    func noRow(_ view: TableView, _ key: [[UInt8]]) -> Problem {
        .noRow(view.table.name + "/" + key.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/"))
    }

    private func run(_ body: () throws(SQLiteError) -> Void) throws(Problem) {
        do throws(SQLiteError) { try body() } catch { throw session.problem(error) }
    }

    /// Runs a statement that changes a table.
    private func change(_ view: TableView, _ body: () throws(SQLiteError) -> Void) throws(Problem) {
        do throws(SQLiteError) { try body() } catch {
            // FTS5 has no error of its own for a table without its content, whose rows it can't change.
            if view.table.isFullText, error.message.contains("contentless") {
                throw Problem(409, "constraint", error.message)
            }
            if error.isFull, hasNoIDLeft(view) {
                throw Problem(
                    409, "constraint", "\(error.message): \(view.table.name) has AUTOINCREMENT, and no number is left")
            }
            throw session.problem(error)
        }
    }

    /// Whether AUTOINCREMENT has given the last rowid that there is, for which SQLite has no error of its own
    /// (https://sqlite.org/autoinc.html §3).
    private func hasNoIDLeft(_ view: TableView) -> Bool {
        guard
            let statement = try? session.statement(
                "SELECT seq FROM main.sqlite_sequence WHERE name=\(view.table.name.quotedText)"),
            (try? statement.step()) == true
        else { return false }
        defer { statement.reset() }
        return statement.integer(0) == .max
    }

    // MARK: Answers

    private func created(_ row: [UInt8]) -> DatabaseAnswer { preferred(DatabaseAnswer(201, row)) }

    private func changed(_ row: [UInt8]) -> DatabaseAnswer {
        preferred(DatabaseAnswer(body.prefersMinimal == true ? 204 : 200, row))
    }

    private func preferred(_ answer: DatabaseAnswer) -> DatabaseAnswer {
        guard let isMinimal = body.prefersMinimal else { return answer }
        var answer = answer
        if isMinimal {
            answer.body = []
            answer.type = ""
        }
        answer.fields.append(
            AnswerField("Preference-Applied", isMinimal ? "return=minimal" : "return=representation"))
        return answer
    }

    private func addEntityTag(of row: [UInt8], to answer: inout DatabaseAnswer) {
        answer.fields.append(AnswerField("ETag", String(decoding: entityTag(row), as: UTF8.self)))
    }

    /// Says which URL a row of a table has, if the requests' URLs end with what they name.
    private func addLocation(of key: [UInt8], in view: TableView, to answer: inout DatabaseAnswer) {
        var url = request.url
        while url.last == UInt8(ascii: "/") { url.removeLast() }
        var path = request.path
        while path.last == UInt8(ascii: "/") { path.removeLast() }
        if path.contains(UInt8(ascii: "/")) {
            // Of children: the table's own URL stands beside that of the parent.
            var table: [UInt8] = []
            PercentCoding.appendSegment(view.table.name.utf8, to: &table)
            if url.count > path.count, url.suffix(path.count).elementsEqual(path) {
                url.removeLast(path.count)
                url += table
            }
            path = table
        }
        let row = [UInt8(ascii: "/")] + key
        answer.made = path + row
        answer.fields.append(AnswerField("Location", String(decoding: url + row, as: UTF8.self)))
    }
}
