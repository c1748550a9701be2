import SQLite

/// How SQLite would run a statement (https://sqlite.org/eqp.html).
struct QueryPlan {
    struct Step: Equatable {
        /// Steps that it is part of.
        var depth: Int
        /// As SQLite says it: `SEARCH products USING INTEGER PRIMARY KEY (rowid=?)`.
        var detail: String

        /// Whether all rows of a table may be read: SQLite calls it a search too where min() or max() looks for one
        /// among all.
        var mayReadAll: Bool {
            detail.hasPrefix("SCAN ") || (detail.hasPrefix("SEARCH ") && !detail.contains(" USING "))
        }
    }

    let steps: [Step]

    /// Asks SQLite; the statement isn't run.
    ///
    /// - Parameter values: what is bound, on which the plan may depend.
    /// - Throws: What is wrong with the statement.
    init(_ sql: String, _ values: [SQLiteValue] = [], on connection: SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.prepare("EXPLAIN QUERY PLAN \(sql)")
        for (index, value) in values.prefix(statement.parameterCount).enumerated() {
            try statement.bind(value, to: index + 1)
        }
        var depths: [Int64: Int] = [:]
        var steps: [Step] = []
        while try statement.step() {
            let depth = depths[statement.integer(1)].map { $0 + 1 } ?? 0
            depths[statement.integer(0)] = depth
            steps.append(Step(depth: depth, detail: statement.string(3)))
        }
        self.steps = steps
    }
}
