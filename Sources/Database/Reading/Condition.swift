import Basics
import JSON
import SQLite

/// Compiles what filters ask of columns to SQL.
struct ConditionCompiler {
    let view: TableView
    private(set) var sql = SQLBuilder()
    private(set) var count = 0

    /// Conditions of a request at most; a parameter that is repeated counts each time.
    static let maximumCount = 100
    /// Values of one `in` at most.
    static let maximumListCount = 1000

    init(_ view: TableView) { self.view = view }

    /// Counts one condition more.
    ///
    /// - Throws: 400 where there are too many, or those before are too long.
    mutating func countOne() throws(Problem) {
        try sql.checkLength()
        count += 1
        guard count <= ConditionCompiler.maximumCount else {
            throw .badValue("more than \(ConditionCompiler.maximumCount) conditions")
        }
    }

    mutating func append(_ text: String) { sql.append(text) }
    mutating func bind(_ value: SQLiteValue) { sql.bind(value) }

    mutating func append(_ operand: Operand) { operand.sql(&sql) }

    /// Appends that one of several conditions holds; of none that it doesn't.
    ///
    /// They stand in groups: SQLite limits how deep an expression is (SQLITE_LIMIT_EXPR_DEPTH), and each OR is a level.
    mutating func appendAny(
        _ count: Int, _ one: (inout ConditionCompiler, Int) throws(Problem) -> Void
    ) throws(Problem) {
        sql.append("(0")
        for index in 0..<count {
            if index % 64 == 0 { sql.append(index == 0 ? " OR (0" : ") OR (0") }
            sql.append(" OR ")
            try one(&self, index)
        }
        sql.append(count > 0 ? "))" : ")")
    }

    /// Appends that a text stands in a column, which is part of one search and doesn't count.
    mutating func appendSearched(_ column: Int, _ text: [UInt8]) {
        let operand = Operand(ColumnPath(column: column, in: view), in: view)
        sql.append("(typeof(")
        operand.sql(&sql)
        sql.append(")<>'blob' AND ")
        append(operand, like: .contains, text)
        sql.append(")")
    }

    /// Appends a condition on a column by a value of the query.
    ///
    /// - Parameter name: what messages call the condition; nil for the column with its operator.
    /// - Throws: 400 where the column can't be compared so, or with that.
    mutating func append(
        _ path: ColumnPath, _ operation: Operator, _ value: [UInt8], called name: String? = nil
    ) throws(Problem) {
        try countOne()
        let operand = Operand(path, in: view)
        switch operation {
        case .eq: try append(operand, equals: value)
        case .ne:
            sql.append("NOT coalesce(")
            try append(operand, equals: value)
            sql.append(",0)")
        case .in: try append(operand, isIn: value)
        case .lt, .lte, .gt, .gte:
            try append(operand, operation, value, called: name ?? "\(path.written):\(operation.rawValue)")
        case .contains, .startsWith, .endsWith:
            try refuseBlob(operand, operation)
            append(operand, like: operation, value)
        case .like:
            try refuseBlob(operand, operation)
            match(operand, try TextMatcher(expression: value))
        }
    }

    private mutating func match(_ operand: Operand, _ matcher: TextMatcher) {
        sql.append("subproxy_matches(")
        sql.bindMatcher(matcher)
        sql.append(",")
        operand.sql(&sql)
        sql.append(")")
    }

    /// Appends `expression LIKE …` for a text anywhere, at the beginning or at the end.
    private mutating func append(_ operand: Operand, like operation: Operator, _ value: [UInt8]) {
        // LIKE takes time in the product of both texts' lengths, and can't be ended meanwhile.
        match(operand, TextMatcher(operation, value))
    }

    private func refuseBlob(_ operand: Operand, _ operation: Operator) throws(Problem) {
        guard operand.form == .blob else { return }
        throw .badValue(
            "'\(operand.path.written)' is a BLOB, which is compared with eq, ne and in alone, not \(operation.rawValue)"
        )
    }

    // MARK: Equality

    private mutating func append(_ operand: Operand, equals value: [UInt8]) throws(Problem) {
        if value.elementsEqual("null".utf8) {
            sql.append("(")
            appendIsNull(operand)
            sql.append(")")
            return
        }
        sql.append("(")
        for (index, alternative) in try operand.alternatives(value).enumerated() {
            if index > 0 { sql.append(" OR ") }
            append(operand, equalsValue: alternative)
        }
        if let type = operand.booleanType(value) {
            sql.append(" OR ")
            append(operand, isOfType: type ? "true" : "false")
        }
        sql.append(")")
    }

    /// Appends that an operand equals a value as it is stored; `AND` is its weakest operator.
    mutating func append(_ operand: Operand, equalsValue value: SQLiteValue) {
        operand.sql(&sql)
        sql.append("=")
        sql.bind(value)
        if operand.mayBeBoolean(value) { appendIsNoBoolean(operand) }
    }

    /// Appends `AND …`: that a member which equals a number is neither true nor false, which SQLite gives as 1 and 0.
    private mutating func appendIsNoBoolean(_ operand: Operand) {
        sql.append(" AND ")
        operand.sqlOfType(&sql)
        sql.append(" NOT IN ('true','false')")
    }

    /// Appends that an operand is NULL, or is shown as null; `OR` is its weakest operator.
    mutating func appendIsNull(_ operand: Operand) {
        operand.sql(&sql)
        sql.append(" IS NULL")
        guard operand.form == .json else { return }
        sql.append(" OR ")
        operand.sql(&sql)
        sql.append("='null'")
    }

    /// Appends that a member of a JSON value has a type (https://sqlite.org/json1.html#jtype).
    mutating func append(_ operand: Operand, isOfType type: StaticString) {
        operand.sqlOfType(&sql)
        sql.append("='\(type)'")
    }

    private mutating func append(_ operand: Operand, isIn list: [UInt8]) throws(Problem) {
        let items = list.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map(Array.init).map(
            \.trimmed)
        guard items.count <= ConditionCompiler.maximumListCount else {
            throw .badValue(
                "'\(operand.path.written)' has \(items.count) values; at most \(ConditionCompiler.maximumListCount) are compared"
            )
        }
        var sought = SoughtValues()
        for item in items { try sought.add(text: item, of: operand) }
        append(operand, isOneOf: sought)
    }

    /// Appends that an operand equals one of several values.
    mutating func append(_ operand: Operand, isOneOf sought: SoughtValues) {
        let numbers = sought.values.filter { operand.mayBeBoolean($0) }
        sql.append("(")
        append(operand, isOneOf: sought.values.filter { !operand.mayBeBoolean($0) })
        if !numbers.isEmpty {
            sql.append(" OR ")
            append(operand, isOneOf: numbers)
            appendIsNoBoolean(operand)
        }
        if sought.hasNull {
            sql.append(" OR ")
            appendIsNull(operand)
        }
        for type in sought.types {
            sql.append(" OR ")
            append(operand, isOfType: type)
        }
        sql.append(")")
    }

    private mutating func append(_ operand: Operand, isOneOf values: [SQLiteValue]) {
        guard !values.isEmpty else { return sql.append("0") }
        operand.sql(&sql)
        sql.append(" IN (")
        for (index, value) in values.enumerated() {
            if index > 0 { sql.append(",") }
            sql.bind(value)
        }
        sql.append(")")
    }

    // MARK: Order

    private mutating func append(
        _ operand: Operand, _ operation: Operator, _ value: [UInt8], called name: String
    ) throws(Problem) {
        try refuseBlob(operand, operation)
        let comparison = operation.comparison ?? "="
        guard operand.hasNoAffinity else {
            if operand.affinity == .integer || operand.affinity == .real, operand.form != .boolean {
                guard SQLNumber(value) != nil else {
                    throw .badValue("'\(name)' needs a number, not '\(String(decoding: value, as: UTF8.self))'")
                }
            }
            operand.sql(&sql)
            sql.append(comparison)
            sql.bind(try operand.alternatives(value).first ?? .null)
            return
        }
        // Each storage class is compared with the value in its form.
        sql.append("(typeof(")
        operand.sql(&sql)
        sql.append(")='text' AND ")
        operand.sql(&sql)
        sql.append(comparison)
        sql.bind(.text(value))
        if let number = SQLNumber(value) {
            sql.append(" OR typeof(")
            operand.sql(&sql)
            sql.append(") IN ('integer','real') AND ")
            operand.sql(&sql)
            sql.append(comparison)
            sql.bind(number.value)
            if !operand.path.members.isEmpty { appendIsNoBoolean(operand) }
        }
        sql.append(")")
    }
}

/// What is compared: a column, or a member of the JSON value in one.
struct Operand {
    let path: ColumnPath
    let affinity: Affinity
    let form: ValueForm
    private let column: String

    init(_ path: ColumnPath, in view: TableView) {
        self.path = path
        let isMember = !path.members.isEmpty
        affinity = isMember ? .none : view.table.columns[path.column].affinity
        form = isMember ? .plain : view.forms[path.column]
        column = view.sql(path.column)
    }

    /// Whether values are compared as they are stored.
    var hasNoAffinity: Bool { affinity == .none && form != .boolean && form != .blob }

    /// Appends the expression.
    func sql(_ sql: inout SQLBuilder) {
        guard !path.members.isEmpty else { return sql.append(column) }
        self.sql("json_extract", &sql)
    }

    /// Appends the type of a member.
    func sqlOfType(_ sql: inout SQLBuilder) { self.sql("json_type", &sql) }

    /// Appends what a function tells of the member: of the paths at most one leads to something.
    private func sql(_ function: String, _ sql: inout SQLBuilder) {
        guard JSONPath.canName(path.members) else { return sql.append("NULL") }
        let paths = JSONPath.texts(path.members)
        sql.append("CASE WHEN json_valid(\(column)) THEN \(paths.count > 1 ? "coalesce(" : "")")
        for (index, path) in paths.enumerated() {
            sql.append("\(index > 0 ? "," : "")\(function)(\(column),")
            sql.bind(.text(path))
            sql.append(")")
        }
        sql.append(paths.count > 1 ? ") END" : " END")
    }

    /// Whether a value means true or false of a member.
    func booleanType(_ value: [UInt8]) -> Bool? {
        guard !path.members.isEmpty else { return nil }
        if value.elementsEqual("true".utf8) { return true }
        return value.elementsEqual("false".utf8) ? false : nil
    }

    /// Whether true or false of a member would equal a value.
    func mayBeBoolean(_ value: SQLiteValue) -> Bool {
        guard !path.members.isEmpty else { return false }
        switch value {
        case .integer(let integer): return integer == 0 || integer == 1
        case .real(let real): return real == 0 || real == 1
        case .null, .text, .blob: return false
        }
    }

    /// The values that equal a value of the query.
    ///
    /// - Throws: 400 where it is none that the column has.
    func alternatives(_ value: [UInt8]) throws(Problem) -> [SQLiteValue] {
        switch form {
        case .boolean:
            switch String(decoding: value, as: UTF8.self) {
            case "true", "1": return [.integer(1)]
            case "false", "0": return [.integer(0)]
            case let other: throw .badValue("'\(path.written)' is true or false, not '\(other)'")
            }
        case .blob:
            guard let bytes = Base64.decoded(value, .exact) else {
                throw .badValue("'\(path.written)' is a BLOB, and is compared with Base64 (RFC 4648)")
            }
            return [.blob(bytes)]
        case .plain, .json, .text:
            var values: [SQLiteValue] = [.text(value)]
            if affinity == .none, let number = SQLNumber(value) { values.append(number.value) }
            // A string of a JSON column is kept with its quotes, and shown without.
            if form == .json { values.append(.text(JSONValue.string(value).text)) }
            return values
        }
    }
}

/// A path into a JSON value as SQLite reads it (https://sqlite.org/json1.html §3.3).
enum JSONPath {
    /// Whether a path can lead to members of these names.
    ///
    /// SQLite knows no escape for a quote, or knows them by its version; it reads no NUL.
    static func canName(_ members: [String]) -> Bool {
        members.allSatisfy { member in
            !member.utf8.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 == 0 }
        }
    }

    /// Paths at most: a path has two forms for each of its members that is digits.
    static let maximumCount = 64

    /// The paths that members may mean: digits are an index where an array is, and a name where an object is.
    ///
    /// Beyond ``maximumCount`` they are indices only.
    static func texts(_ members: [String]) -> [String] {
        var paths = ["$"]
        for member in members {
            let name = ".\"\(member)\""
            let isIndex = member.utf8.count <= 9 && member.utf8.allSatisfy { (0x30...0x39).contains($0) }
            let named = isIndex && paths.count * 2 <= maximumCount ? paths.map { $0 + name } : []
            // In their place: copies at each member would take time in the square of the path's length.
            for place in paths.indices { paths[place] += isIndex ? "[\(member)]" : name }
            paths += named
        }
        return paths
    }
}

/// A text in the form of a number, as SQLite's affinity takes it.
struct SQLNumber {
    let value: SQLiteValue

    init?(_ text: [UInt8]) {
        var index = 0
        func isDigit(_ position: Int) -> Bool { position < text.count && (0x30...0x39).contains(text[position]) }
        if index < text.count, text[index] == UInt8(ascii: "-") || text[index] == UInt8(ascii: "+") { index += 1 }
        let begin = index
        while isDigit(index) { index += 1 }
        var digits = index - begin
        var isInteger = true
        if index < text.count, text[index] == UInt8(ascii: ".") {
            isInteger = false
            index += 1
            let fraction = index
            while isDigit(index) { index += 1 }
            digits += index - fraction
        }
        guard digits > 0 else { return nil }
        if index < text.count, text[index] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            index += 1
            if index < text.count, text[index] == UInt8(ascii: "-") || text[index] == UInt8(ascii: "+") { index += 1 }
            guard isDigit(index) else { return nil }
            while isDigit(index) { index += 1 }
        }
        guard index == text.count else { return nil }
        let string = String(decoding: text, as: UTF8.self)
        if isInteger, let integer = Int64(string) {
            value = .integer(integer)
        } else {
            // Swift's Double takes ".5" and "5." as strtod does.
            guard let real = Double(string) else { return nil }
            value = .real(real)
        }
    }
}

extension [UInt8] {
    /// Without blanks at both ends.
    var trimmed: [UInt8] {
        guard let first = firstIndex(where: { $0 != 0x20 && $0 != 0x09 }),
            let last = lastIndex(where: { $0 != 0x20 && $0 != 0x09 })
        else { return [] }
        return Array(self[first...last])
    }
}
