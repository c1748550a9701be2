public import Basics

/// A statement whose rows are known by a name.
public struct NamedStatement: Sendable, Hashable {
    @ByBytes public private(set) var name: String
    public let statement: DatabaseRule.Statement

    public init(name: String, statement: DatabaseRule.Statement) {
        self.name = name
        self.statement = statement
    }
}

/// What a rule of the map says of a database: its options, read and judged.
public struct DatabaseRule: Sendable, Hashable {
    /// Whether requests may change the data, and where the change goes.
    public enum Writes: String, Sendable, Hashable {
        /// They may not.
        case off
        /// A copy in memory, made by the first of them.
        case memory
        /// The file.
        case file
    }

    /// A table's key that the rule chooses.
    public struct Key: Sendable, Hashable {
        @ByBytes public var table: String
        @ByBytes public var columns: [String]

        public init(table: String, columns: [String]) {
            self.table = table
            self.columns = columns
        }
    }

    /// A column's form that the rule chooses.
    public struct Form: Sendable, Hashable {
        @ByBytes public var table: String
        @ByBytes public var column: String
        public var form: ValueForm

        public init(table: String, column: String, form: ValueForm) {
            self.table = table
            self.column = column
            self.form = form
        }
    }

    /// The tables and views that there are for clients; nil for all.
    @ByBytes public var tables: [String]? = nil
    /// Keys in place of the tables' own.
    public var keys: [Key] = []
    /// Forms in place of those of the declared types.
    public var forms: [Form] = []
    /// The default is `.off`.
    public var writes: Writes = .off
    /// Whether a parameter that is neither column nor control is let pass.
    public var ignoresUnknownParameters = false
    /// The parameters that a request has to have to be the rule's: these are let pass anyway.
    @ByBytes public var conditionNames: [String] = []
    /// The statement that answers in place of a table.
    public var statement: Statement?
    public var limits = Limits()

    public init() {}

    /// Whether a parameter is let pass that is neither column nor control. `_` alone is jQuery's, against caches.
    func ignores(parameter name: String) -> Bool {
        ignoresUnknownParameters || name == "_" || conditionNames.contains { $0.hasBytes(of: name) }
    }

    /// A statement of the rule's.
    public struct Statement: Sendable, Hashable {
        /// What of its rows answers.
        public enum Result: String, Sendable, Hashable { case list, one, value }

        @ByBytes public var sql: String
        public var result: Result
        /// Whether it changes data.
        public let isWrite: Bool
        /// Its parameters with their prefix, as `$1`.
        @ByBytes public private(set) var parameters: [String]

        public init(sql: String, result: Result = .list) {
            self.sql = sql
            self.result = result
            let text = StatementText(sql)
            isWrite = text.isWrite
            parameters = text.parameters
        }
    }

    /// What an answer may cost.
    public struct Limits: Sendable, Hashable {
        /// Rows of an answer.
        public var rows = 10_000
        /// Bytes of an answer.
        public var bytes = 16 << 20
        /// Nanoseconds that a request's statements run.
        public var time: UInt64 = 5_000_000_000
        /// Nanoseconds that a request waits for a lock.
        public var wait: UInt64 = 5_000_000_000
        /// Bytes of a request's body.
        public var body = 1 << 20
        /// Bytes of a database in memory.
        public var memory = 256 << 20

        public init() {}
    }
}
