import JSON
import SQLite

extension ConditionCompiler {
    /// Levels of `_where` at most.
    static let maximumDepth = 8

    /// Appends a condition in JSON, as json-server 1.0 has it.
    ///
    /// - Throws: 400 where it is of another form.
    mutating func append(where json: [UInt8]) throws(Problem) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONReader.value(json)
        } catch {
            throw .badValue("'_where' is no JSON: \(error.description(in: json))")
        }
        try append(condition: value, depth: 1)
    }

    /// An object: members that all hold.
    private mutating func append(condition: JSONValue, depth: Int) throws(Problem) {
        guard depth <= ConditionCompiler.maximumDepth else {
            throw .badValue("'_where' has more than \(ConditionCompiler.maximumDepth) levels")
        }
        guard case .object(let object) = condition else {
            throw .badValue("'_where' is an object of columns, 'and' and 'or', not \(condition.kind)")
        }
        // What holds anyway has its place in the statement too.
        if object.members.isEmpty { try countOne() }
        append("(1")
        for member in object.members {
            append(" AND ")
            let name = String(decoding: member.name, as: UTF8.self)
            if name == "and" || name == "or", view.table.index(of: name) == nil {
                try append(all: name == "and", member.value, depth: depth)
            } else {
                try append(member: name, member.value, depth: depth)
            }
        }
        append(")")
    }

    private mutating func append(all: Bool, _ value: JSONValue, depth: Int) throws(Problem) {
        guard case .array(let conditions) = value else {
            throw .badValue("'\(all ? "and" : "or")' of '_where' is an array of objects, not \(value.kind)")
        }
        if conditions.isEmpty { try countOne() }
        append(all ? "(1" : "(0")
        for condition in conditions {
            append(all ? " AND " : " OR ")
            try append(condition: condition, depth: depth + 1)
        }
        append(")")
    }

    /// What a column, or a member of one, has to fulfil.
    private mutating func append(member name: String, _ value: JSONValue, depth: Int) throws(Problem) {
        guard depth <= ConditionCompiler.maximumDepth else {
            throw .badValue("'_where' has more than \(ConditionCompiler.maximumDepth) levels")
        }
        guard let path = ColumnPath(name, in: view) else { throw ListQuery.unknownColumn(name, view) }
        try path.checkDepth()
        guard case .object(let operators) = value else { return try append(path, .eq, json: value) }
        if operators.members.isEmpty { try countOne() }
        append("(1")
        for member in operators.members {
            append(" AND ")
            let word = String(decoding: member.name, as: UTF8.self)
            if let operation = Operator(rawValue: word) {
                try append(path, operation, json: member.value)
            } else if view.forms[path.column] == .json {
                try append(member: name + "." + word, member.value, depth: depth + 1)
            } else {
                throw ListQuery.unknownParameter(word, word, Operator.allCases.map(\.rawValue), prefix: "")
            }
        }
        append(")")
    }

    /// A comparison with a value that has its type.
    private mutating func append(_ path: ColumnPath, _ operation: Operator, json: JSONValue) throws(Problem) {
        if operation == .in {
            guard case .array(let elements) = json else {
                throw .badValue("'in' of '\(path.written)' is an array, not \(json.kind)")
            }
            guard elements.count <= ConditionCompiler.maximumListCount else {
                throw .badValue(
                    "'\(path.written)' has \(elements.count) values; at most \(ConditionCompiler.maximumListCount) are compared"
                )
            }
            try countOne()
            let operand = Operand(path, in: view)
            var sought = SoughtValues()
            for element in elements { try sought.add(json: element, of: operand) }
            append(operand, isOneOf: sought)
            return
        }
        switch operation {
        case .eq, .ne:
            try countOne()
            append(operation == .ne ? "NOT coalesce(" : "(")
            try appendEquality(path, json)
            append(operation == .ne ? ",0)" : ")")
        default:
            guard let text = json.scalarText else {
                throw .badValue("'\(operation.rawValue)' of '\(path.written)' is a text or a number, not \(json.kind)")
            }
            if case .bool = json, Operand(path, in: view).form != .boolean {
                throw .badValue("'\(operation.rawValue)' of '\(path.written)' is a text or a number, not \(json.kind)")
            }
            try append(path, operation, text)
        }
    }

    private mutating func appendEquality(_ path: ColumnPath, _ json: JSONValue) throws(Problem) {
        let operand = Operand(path, in: view)
        var sought = SoughtValues()
        try sought.add(json: json, of: operand)
        for (index, value) in sought.values.enumerated() {
            if index > 0 { append(" OR ") }
            append(operand, equalsValue: value)
        }
        if sought.hasNull {
            appendIsNull(operand)
        }
        for type in sought.types { append(operand, isOfType: type) }
    }
}

extension JSONValue {
    /// The text of a string, a number or a boolean; nil for others.
    var scalarText: [UInt8]? {
        switch self {
        case .string(let string): string
        case .number(let number): number.text
        case .bool(let bool): Array((bool ? "true" : "false").utf8)
        case .null, .array, .object: nil
        }
    }
}

extension JSONNumber {
    /// As SQLite keeps it: a whole number within 64 bits is an integer; nil beyond a double's range.
    var sqlValue: SQLiteValue? {
        if let integer { return .integer(integer) }
        return real.map { .real($0) }
    }
}
