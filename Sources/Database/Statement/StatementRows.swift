public import JSON

/// The rows that a statement gives a template.
public struct StatementRows: Sendable {
    /// A value as JSON would have it.
    public enum Cell: Sendable {
        case null
        case bool(Bool)
        case integer(Int64)
        case real(Double)
        /// UTF-8; a BLOB is Base64 of it.
        case text([UInt8])
        case json(JSONValue)

        /// Bytes that it counts for, at least; a JSON value counts for its text.
        var size: Int {
            switch self {
            case .text(let text): text.count
            case .json: 64
            case .null, .bool, .integer, .real: 8
            }
        }
    }

    /// What the template calls them.
    public let name: String
    /// Whether they are a list, one row, or one value.
    public let result: DatabaseRule.Statement.Result
    public let columns: [String]
    /// The cells, row by row.
    public internal(set) var cells: [Cell] = []
    public internal(set) var count = 0

    init(name: String, result: DatabaseRule.Statement.Result, columns: [String]) {
        self.name = name
        self.result = result
        self.columns = columns
    }

    static func base64(_ bytes: [UInt8]) -> [UInt8] {
        var output = JSONOutput()
        bytes.withUnsafeBytes { output.append(base64: $0) }
        return Array(output.bytes.dropFirst().dropLast())
    }
}
