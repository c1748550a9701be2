import Basics
import Diagnostics
import SQLite

/// A column's place in its table, and the value that a row has there.
struct ColumnValue {
    let column: Int
    let value: SQLiteValue
    /// What stands before and behind the value's place where the column is compared with it, in SQL.
    let before: String
    let after: String

    init(_ column: Int, _ value: SQLiteValue) {
        self.column = column
        self.value = value
        (before, after) = ("=", "")
    }

    /// The value that a row's column refers to.
    init(_ reference: ColumnReference, _ value: SQLiteValue) {
        column = reference.column
        self.value = value
        (before, after) = (reference.before, reference.after)
    }
}

/// A request for rows of a table: its parameters, read by the table's columns.
struct ListQuery {
    let view: TableView
    /// What follows WHERE; empty where every row matches.
    let condition: SQLBuilder
    /// What follows ORDER BY; empty where the order is as it comes.
    let order: SQLBuilder
    let controls: Controls

    /// - Parameters:
    ///   - referring: columns whose values the rows have to have, for children.
    /// - Throws: 400 for what the table hasn't, and what can't be compared.
    init(
        _ parameters: [Parameter], of view: TableView, referring: [ColumnValue] = [],
        ignores: (_ parameter: String) -> Bool
    ) throws(Problem) {
        self.view = view
        var controls = Controls()
        var filters: [Filter] = []
        for parameter in parameters {
            switch try ListQuery.meaning(of: parameter.name, in: view) {
            case .filter(let path, let operation):
                try path.checkDepth()
                // More filters than there may be aren't put together: they are refused, or `_where` takes their place.
                if filters.count <= ConditionCompiler.maximumCount,
                    let index = filters.firstIndex(where: {
                        $0.path.column == path.column && $0.path.members.hasBytes(of: path.members)
                            && $0.operation == operation
                    })
                {
                    filters[index].parameters.append(parameter)
                } else {
                    filters.append(Filter(path: path, operation: operation, parameters: [parameter]))
                }
            case .control: try controls.take(parameter)
            case .unknown(let problem): if !ignores(parameter.name) { throw problem() }
            }
        }
        try controls.settle()
        var compiler = ConditionCompiler(view)
        var parts = 0
        func separate() {
            if parts > 0 { compiler.append(" AND ") }
            parts += 1
        }
        for reference in referring {
            separate()
            compiler.append(view.sql(reference.column) + reference.before)
            compiler.bind(reference.value)
            compiler.append(reference.after)
        }
        // A condition in JSON takes the place of the filters.
        for filter in filters where controls.condition == nil {
            separate()
            // Of a parameter that comes several times any holds, of `ne` all.
            compiler.append("(")
            for (index, parameter) in filter.parameters.enumerated() {
                if index > 0 { compiler.append(filter.operation == .ne ? " AND " : " OR ") }
                try compiler.append(filter.path, filter.operation, parameter.value, called: parameter.name)
            }
            compiler.append(")")
        }
        if let condition = controls.condition {
            separate()
            try compiler.append(where: condition)
        }
        var isRanked = false
        if let search = controls.search {
            isRanked = view.table.isFullText && !ListQuery.words(search).isEmpty
            if !(view.table.isFullText && ListQuery.words(search).isEmpty) {
                separate()
                try compiler.append(search: search)
            }
        }
        condition = compiler.sql
        order = try ListQuery.order(controls.orders, in: view, isRanked: isRanked)
        self.controls = controls
        // What the table's own names make too long is nothing that a request could help.
        if compiler.count > 0 || !controls.orders.isEmpty {
            try condition.checkLength(
                beside: view.selection.utf8.count + view.name.utf8.count + order.text.utf8.count + 64)
        }
    }

    private struct Filter {
        var path: ColumnPath
        var operation: Operator
        var parameters: [Parameter]
    }

    // MARK: Names

    private enum Meaning {
        case filter(ColumnPath, Operator)
        case control
        /// What is wrong is worded only where somebody is told.
        case unknown(() -> Problem)
    }

    /// What a parameter's name means: a column, a control, a column with an operator.
    private static func meaning(of name: String, in view: TableView) throws(Problem) -> Meaning {
        if let path = ColumnPath(name, in: view) {
            // Which members a JSON value has is told by no schema: an operator behind a member is one.
            if !path.members.isEmpty, let filter = withOperator(name, in: view) { return filter }
            return .filter(path, .eq)
        }
        if Controls.names.contains(name) { return .control }
        if let colon = name.lastIndex(of: ":") {
            let column = String(name[..<colon])
            let word = String(name[name.index(after: colon)...])
            guard let path = ColumnPath(column, in: view) else { return .unknown { unknownColumn(column, view) } }
            guard let operation = Operator(rawValue: word) else {
                return .unknown {
                    unknownParameter(name, word, Operator.allCases.map(\.rawValue), prefix: column + ":")
                }
            }
            return .filter(path, operation)
        }
        if let filter = withOperator(name, in: view) { return filter }
        if name.hasPrefix("_") { return .unknown { unknownParameter(name, name, Controls.names, prefix: "") } }
        return .unknown { unknownColumn(name, view) }
    }

    /// A column with an operator behind `:` or `_`.
    private static func withOperator(_ name: String, in view: TableView) -> Meaning? {
        if let colon = name.lastIndex(of: ":"),
            let operation = Operator(rawValue: String(name[name.index(after: colon)...])),
            let path = ColumnPath(String(name[..<colon]), in: view)
        {
            return .filter(path, operation)
        }
        if let underscore = name.lastIndex(of: "_"), underscore != name.startIndex,
            let operation = Operator(suffix: name[name.index(after: underscore)...]),
            let path = ColumnPath(String(name[..<underscore]), in: view)
        {
            return .filter(path, operation)
        }
        return nil
    }

    static func unknownColumn(_ name: String, _ view: TableView) -> Problem {
        let hint = didYouMean(name, among: view.columnNames).map { "; did you mean '\($0)'?" } ?? ""
        return Problem(
            400, "unknown column", "\(view.table.name) has no column '\(name)'\(hint)",
            names: ("columns", view.columnNames))
    }

    static func unknownParameter(_ name: String, _ word: String, _ known: [String], prefix: String) -> Problem {
        let hint = didYouMean(word, among: known).map { "; did you mean '\(prefix)\($0)'?" } ?? ""
        return Problem(400, "unknown parameter", "'\(name)' is no parameter\(hint)")
    }

    // MARK: Order

    private static func order(
        _ orders: [Controls.Order], in view: TableView, isRanked: Bool
    ) throws(Problem) -> SQLBuilder {
        var sql = SQLBuilder()
        guard orders.count <= ConditionCompiler.maximumCount else {
            throw .badValue(
                "'_sort' has \(orders.count) columns; at most \(ConditionCompiler.maximumCount) are sorted by")
        }
        for order in orders {
            guard let path = ColumnPath(order.name, in: view) else { throw unknownColumn(order.name, view) }
            try path.checkDepth()
            try sql.checkLength()
            if !sql.text.isEmpty { sql.append(",") }
            Operand(path, in: view).sql(&sql)
            if order.isDescending { sql.append(" DESC") }
        }
        if orders.isEmpty, isRanked { sql.append("rank") }
        if !view.order.isEmpty { sql.append(sql.text.isEmpty ? view.order : "," + view.order) }
        return sql
    }

    /// The words of a search, without blanks.
    static func words(_ search: [UInt8]) -> [[UInt8]] {
        search.split { $0 == 0x20 || (0x09...0x0D).contains($0) || $0 == 0 }.map(Array.init)
    }

    // MARK: SQL

    /// The place of the first row that is read, and how many are: one more than there may be shows that there are too
    /// many.
    func window(upTo most: Int) -> (start: Int64, limit: Int64) {
        let part = Window(controls.part)
        return (part.start, min(part.count ?? .max, Int64(most) &+ 1))
    }

    /// The statement for the rows.
    ///
    /// - Parameters:
    ///   - limit: the rows at most.
    ///   - offset: the rows that are passed over.
    func rows(limit: Int64, offset: Int64) -> SQLBuilder {
        var sql = SQLBuilder("SELECT \(view.selection) FROM \(view.name)")
        if !condition.text.isEmpty {
            sql.append(" WHERE ")
            sql.append(condition)
        }
        if !order.text.isEmpty {
            sql.append(" ORDER BY ")
            sql.append(order)
        }
        sql.append(" LIMIT ")
        sql.bind(.integer(limit))
        if offset > 0 {
            sql.append(" OFFSET ")
            sql.bind(.integer(offset))
        }
        return sql
    }

    /// The statement for the number of rows that match.
    var count: SQLBuilder {
        var sql = SQLBuilder("SELECT count(*) FROM \(view.name)")
        if !condition.text.isEmpty {
            sql.append(" WHERE ")
            sql.append(condition)
        }
        return sql
    }
}

extension ConditionCompiler {
    /// Appends that a text stands in any column but BLOBs; in a full-text table that all its words do.
    mutating func append(search: [UInt8]) throws(Problem) {
        try countOne()
        if view.table.isFullText {
            // Each word is a string of FTS5's language, so nothing in it is an operator.
            let words = ListQuery.words(search).map { quotedIdentifier($0) }
            append("\(view.name) MATCH ")
            bind(.text(words.joined(separator: " ")))
            return
        }
        let columns = view.table.columns.indices.filter { view.forms[$0] != .blob }
        try appendAny(columns.count) { (compiler, index) throws(Problem) in
            compiler.appendSearched(columns[index], search)
        }
    }
}
