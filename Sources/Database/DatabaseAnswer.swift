/// What answers a request of a database.
public struct DatabaseAnswer: Sendable {
    /// The status code.
    public var status: Int
    /// The body; empty for none.
    public var body: [UInt8]
    /// The media type of the body; empty where there is none.
    public var type = "application/json"
    /// Fields beside those that every answer has.
    public var fields: [AnswerField] = []
    /// What the log says of it, as `products: 12 rows`.
    public var note = ""
    /// Whether the same request gets the same answer while the data stay what they are.
    public var isRepeatable = true

    /// Whether it says why there is no other answer.
    public private(set) var isProblem = false
    /// Whether it is what GET asks for, and not what came of a change.
    public internal(set) var isRetrieval = true

    /// What the field Location names, as the path of a resource; nil where there is no such field.
    public internal(set) var made: [UInt8]?

    /// What a problem says; empty for others.
    public private(set) var reason = ""

    init(_ status: Int, _ body: [UInt8]) {
        self.status = status
        self.body = body
    }

    /// Takes the field Location away.
    public mutating func removeLocation() {
        made = nil
        fields.removeAll { $0.name == "Location" }
    }

    /// A problem document.
    public init(_ problem: Problem) {
        status = problem.status
        body = problem.document
        type = "application/problem+json"
        fields = problem.fields
        note = problem.status == 502 ? problem.detail : problem.title
        isRepeatable = false
        isProblem = true
        reason = problem.detail
    }
}
