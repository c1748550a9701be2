/// A request of a database.
public struct DatabaseRequest: Sendable {
    public enum Method: String, Sendable, Hashable {
        case get = "GET", options = "OPTIONS", post = "POST", put = "PUT", patch = "PATCH", delete = "DELETE"

        /// Whether it leaves the data as they are.
        public var isReading: Bool { self == .get || self == .options }
    }

    /// HEAD is asked as GET.
    public var method: Method
    /// The rule that answers.
    public var rule: DatabaseRule
    /// TABLE, TABLE/KEY or TABLE/KEY/CHILDREN, as it came.
    public var path: [UInt8]
    /// The query as it came, without `?`.
    public var query: [UInt8]
    /// The URL of the request, absolute and without its query.
    public var url: [UInt8]
    /// What a write brings.
    public var body = Body()
    /// Of OPTIONS, a method: if the resource answers it, the row that the path names has to be there too.
    public var wanted: Method?
    /// Statements whose rows are wanted, in place of an answer.
    public var statements: [NamedStatement] = []
    /// The captures of the rule's key, by number and by name, decoded.
    public var captures: [(name: String, value: [UInt8])] = []

    public init(
        _ method: Method, rule: DatabaseRule, path: [UInt8], query: [UInt8] = [], url: [UInt8] = []
    ) {
        self.method = method
        self.rule = rule
        self.path = path
        self.query = query
        self.url = url
    }

    /// Whether it may change the data.
    public var isWrite: Bool {
        guard statements.isEmpty else { return false }
        return rule.statement.map(\.isWrite) ?? (!method.isReading && rule.writes != .off)
    }

    /// What a write brings.
    public struct Body: Sendable {
        /// The media type, without parameters, in lower case; empty for none.
        public var type = ""
        public var bytes: [UInt8] = []
        /// What If-Match names; nil where there is no such field.
        public var ifMatch: EntityTags?
        /// What If-None-Match names; nil where there is no such field.
        public var ifNoneMatch: EntityTags?
        /// The entity tag that the rule gives all of its answers; nil where each has one of its own.
        public var ruleTag: [UInt8]?
        /// `Prefer: return=…`; nil for none (RFC 7240).
        public var prefersMinimal: Bool?

        public init() {}
    }
}

/// What comes of a request.
public enum DatabaseResult: Sendable {
    /// - Parameter version: the state of the data that the answer is of; nil where it is not to be given again.
    case answer(DatabaseAnswer, version: UInt64?)
    /// - Parameter version: as for an answer.
    case rows([StatementRows], version: UInt64?)
    /// There is no file, and nothing to make it of.
    case missing
    /// The file is not given out.
    case refused(String)
}
