import Basics
import JSON
import SQLite

/// Answers from a statement of the rule's.
struct StatementRunner {
    let session: Session
    let statement: DatabaseRule.Statement
    let rule: DatabaseRule

    init(_ session: Session, _ statement: DatabaseRule.Statement, _ rule: DatabaseRule) {
        self.session = session
        self.statement = statement
        self.rule = rule
    }

    /// - Throws: 400 for what the request brings, 404 without a row, 502 for a statement that SQLite refuses.
    func answer(_ request: DatabaseRequest) throws(Problem) -> DatabaseAnswer {
        let prepared: SQLiteStatement
        do throws(SQLiteError) {
            prepared = try session.statement(statement.sql)
            prepared.unbind()
        } catch {
            throw refused(error, called: "sql")
        }
        try bind(prepared, request)
        defer { prepared.reset() }
        guard prepared.columnCount > 0 else {
            try run { () throws(SQLiteError) in while try prepared.step() {} }
            var answer = DatabaseAnswer(204, [])
            answer.type = ""
            answer.note = "sql: \(session.connection.changes) changed"
            return answer
        }
        switch statement.result {
        case .list: return try list(prepared)
        case .one: return try one(prepared)
        case .value: return try value(prepared)
        }
    }

    /// The rows, for a template.
    ///
    /// - Throws: as for an answer; 404 where one row is wanted and there is none.
    func rows(_ request: DatabaseRequest, name: String) throws(Problem) -> StatementRows {
        let prepared: SQLiteStatement
        do throws(SQLiteError) {
            prepared = try session.statement(statement.sql)
            prepared.unbind()
        } catch {
            throw refused(error, called: name)
        }
        try bind(prepared, request)
        defer { prepared.reset() }
        let columns = try ResultColumns(prepared, rule, called: name)
        var rows = StatementRows(name: name, result: statement.result, columns: columns.names)
        var bytes = 0
        try run { () throws(SQLiteError) in
            reading: while try prepared.step() {
                for column in columns.names.indices {
                    // Looked at before it is read: a JSON value takes many times its text in memory.
                    let size = prepared.byteCount(column)
                    guard bytes + size <= rule.limits.bytes else {
                        bytes += size
                        break reading
                    }
                    let cell = columns.cell(prepared, column)
                    bytes += max(size, cell.size)
                    rows.cells.append(cell)
                }
                rows.count += 1
                guard statement.result == .list, rows.count <= rule.limits.rows, bytes <= rule.limits.bytes else {
                    break
                }
            }
        }
        guard rows.count <= rule.limits.rows, bytes <= rule.limits.bytes else {
            throw Problem(400, "too many rows", "'\(name)' gives more than a page may have; it may have a LIMIT")
        }
        guard statement.result != .one || rows.count > 0 else {
            throw Problem(404, "no such row", "'\(name)' finds no row")
        }
        return rows
    }

    // MARK: Parameters

    private func bind(_ prepared: SQLiteStatement, _ request: DatabaseRequest) throws(Problem) {
        guard prepared.parameterCount > 0 else { return }
        let names = (1...prepared.parameterCount).map { prepared.parameterName($0) ?? "" }
        let values = try StatementRunner.values(of: names, in: request)
        try run { () throws(SQLiteError) in
            for (index, value) in values.enumerated() { try prepared.bind(value, to: index + 1) }
        }
    }

    /// What a request brings for a statement's parameters; NULL where it brings nothing.
    ///
    /// - Parameter names: with their prefixes.
    /// - Throws: 400 for what can't be read, or is given twice.
    static func values(of names: [String], in request: DatabaseRequest) throws(Problem) -> [SQLiteValue] {
        let parameters = request.query.isEmpty ? [] : try Parameter.parse(request.query)
        var members: [(name: String, value: SQLiteValue)]?
        var values: [SQLiteValue] = []
        for name in names {
            let key = String(name.dropFirst())
            var value = SQLiteValue.null
            switch name.first {
            case "$":
                if let capture = request.captures.first(where: { $0.name.hasBytes(of: key) }) {
                    guard capture.value.isUTF8 else { throw .badValue("the URL has bytes that are not UTF-8") }
                    value = .text(capture.value)
                }
            case ":":
                let found = parameters.filter { $0.name.hasBytes(of: key) }
                guard found.count <= 1 else { throw .badValue("'\(key)' is given twice") }
                value = found.first.map { .text($0.value) } ?? .null
            case "@":
                if members == nil { members = try StatementRunner.members(of: request.body) }
                value = members?.first { $0.name.hasBytes(of: key) }?.value ?? .null
            default: break
            }
            values.append(value)
        }
        return values
    }

    /// The members of a body, as values.
    private static func members(of body: DatabaseRequest.Body) throws(Problem) -> [(name: String, value: SQLiteValue)] {
        switch body.type {
        case "application/json":
            guard case .object(let object) = try BodyReader.json(body.bytes) else {
                throw .badBody("the body is an object")
            }
            var members: [(name: String, value: SQLiteValue)] = []
            for member in object.members {
                members.append((String(decoding: member.name, as: UTF8.self), try StatementRunner.value(member.value)))
            }
            return members
        case "application/x-www-form-urlencoded":
            return try BodyReader.form(body.bytes).map { (String(decoding: $0.name, as: UTF8.self), .text($0.value)) }
        default: return []
        }
    }

    private static func value(_ json: JSONValue) throws(Problem) -> SQLiteValue {
        switch json {
        case .null: return .null
        case .bool(let bool): return .integer(bool ? 1 : 0)
        case .string(let text): return .text(text)
        case .number(let number):
            guard let value = number.sqlValue else { throw .badBody("a number beyond a double's range") }
            return value
        case .array, .object: return .text(json.text)
        }
    }

    // MARK: Rows

    private func list(_ prepared: SQLiteStatement) throws(Problem) -> DatabaseAnswer {
        let columns = try ResultColumns(prepared, rule)
        var output = JSONOutput(capacity: 4096, limit: rule.limits.bytes)
        var rows = 0
        var tooLarge = false
        output.append("[")
        try run { () throws(SQLiteError) in
            while try prepared.step() {
                if rows > 0 { output.append(",") }
                rows += 1
                columns.append(prepared, to: &output)
                if rows > rule.limits.rows || output.count > rule.limits.bytes {
                    tooLarge = true
                    return
                }
            }
        }
        output.append("]")
        guard !tooLarge else {
            throw rows > rule.limits.rows
                ? Problem(400, "too many rows", "more than \(rule.limits.rows) rows; the statement may have a LIMIT")
                : Problem(
                    400, "answer too large", "more than \(rule.limits.bytes) bytes; the statement may have a LIMIT")
        }
        var answer = DatabaseAnswer(200, output.bytes)
        answer.note = "sql: \(rows) \(rows == 1 ? "row" : "rows")"
        return answer
    }

    private func one(_ prepared: SQLiteStatement) throws(Problem) -> DatabaseAnswer {
        let columns = try ResultColumns(prepared, rule)
        var output = JSONOutput(limit: rule.limits.bytes)
        try run { () throws(SQLiteError) in
            if try prepared.step() { columns.append(prepared, to: &output) }
            if statement.isWrite { while try prepared.step() {} }
        }
        guard output.count > 0 else { throw Problem(404, "no such row", "the statement finds no row") }
        try checkSize(output.count)
        var answer = DatabaseAnswer(200, output.bytes)
        answer.note = "sql: 1 row"
        return answer
    }

    private func value(_ prepared: SQLiteStatement) throws(Problem) -> DatabaseAnswer {
        var found = SQLiteValue.null
        try run { () throws(SQLiteError) in
            if try prepared.step() { found = prepared.value(0) }
            if statement.isWrite { while try prepared.step() {} }
        }
        var answer: DatabaseAnswer
        switch found {
        case .null: throw Problem(404, "no such row", "the statement finds no value")
        case .blob(let bytes):
            answer = DatabaseAnswer(200, bytes)
            answer.type = "application/octet-stream"
        case .text, .integer, .real:
            answer = DatabaseAnswer(200, RowKeyText.text(found) ?? [])
            answer.type = "text/plain; charset=utf-8"
        }
        try checkSize(answer.body.count)
        answer.note = "sql: 1 value"
        return answer
    }

    private func checkSize(_ count: Int) throws(Problem) {
        guard count <= rule.limits.bytes else {
            throw Problem(400, "answer too large", "more than \(rule.limits.bytes) bytes")
        }
    }

    private func run(_ body: () throws(SQLiteError) -> Void) throws(Problem) {
        do throws(SQLiteError) { try body() } catch {
            guard error.name == "SQLITE_MISMATCH", !statement.isWrite else { throw session.problem(error) }
            throw .badValue(
                "LIMIT or OFFSET of the statement is no whole number, as where a parameter is missing or another text")
        }
    }

    /// What SQLite doesn't prepare is wrong in the map, unless its time was over.
    private func refused(_ error: SQLiteError, called name: String) -> Problem {
        session.guardian?.hasEnded == nil
            ? Problem(502, "database error", "'\(name)': \(error)") : session.problem(error)
    }
}

/// The columns of a statement's rows.
struct ResultColumns {
    private let prefixes: [[UInt8]]
    private let forms: [ValueForm]
    let names: [String]

    /// - Parameter called: what messages call the statement.
    /// - Throws: 502 for two columns of one name.
    init(_ statement: SQLiteStatement, _ rule: DatabaseRule, called: String = "sql") throws(Problem) {
        var prefixes: [[UInt8]] = []
        var forms: [ValueForm] = []
        var names: Set<ByBytes<String>> = []
        for column in 0..<statement.columnCount {
            let name = statement.columnName(column)
            guard names.insert(name.asName).inserted else {
                throw Problem(
                    502, "database error", "'\(called)' has two columns '\(name)'; give one another name with AS")
            }
            var output = JSONOutput()
            output.append(byte: column == 0 ? UInt8(ascii: "{") : UInt8(ascii: ","))
            output.append(string: name)
            output.append(byte: UInt8(ascii: ":"))
            prefixes.append(output.bytes)
            let origin = statement.origin(column)
            let chosen = rule.forms.last { form in
                form.table.asName == origin?.table.asName && form.column.asName == origin?.column.asName
            }
            forms.append(chosen?.form ?? ValueForm(declaredType: statement.declaredType(column) ?? ""))
        }
        self.prefixes = prefixes
        self.forms = forms
        self.names = (0..<statement.columnCount).map { statement.columnName($0) }
    }

    /// A value of the row that a statement stands at.
    func cell(_ statement: SQLiteStatement, _ column: Int) -> StatementRows.Cell {
        switch (statement.value(column), forms[column]) {
        case (.null, _): .null
        case (.integer(let integer), .boolean) where integer == 0 || integer == 1: .bool(integer == 1)
        case (.integer(let integer), .text): .text(Array(String(integer).utf8))
        case (.integer(let integer), _): .integer(integer)
        case (.real(let real), _): .real(real)
        case (.text(let text), .json):
            if let value = try? JSONReader.value(text) { .json(value) } else { .text(text) }
        case (.text(let text), _): .text(text.isUTF8 ? text : Array(String(decoding: text, as: UTF8.self).utf8))
        case (.blob(let blob), _): .text(StatementRows.base64(blob))
        }
    }

    func append(_ statement: SQLiteStatement, to output: inout JSONOutput) {
        for column in forms.indices {
            output.append(bytes: prefixes[column])
            output.append(value: statement, column, forms[column])
        }
        output.append("}")
    }
}
