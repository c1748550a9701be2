/// What a filter asks of a column.
enum Operator: String, Sendable, CaseIterable {
    case eq, ne, lt, lte, gt, gte
    case `in`, contains, startsWith, endsWith, like

    /// The operator of a comparison in SQL.
    var comparison: String? {
        switch self {
        case .lt: "<"
        case .lte: "<="
        case .gt: ">"
        case .gte: ">="
        default: nil
        }
    }

    /// An operator behind `_`: in lower case, as json-server 0.17 has them.
    init?(suffix: some StringProtocol) {
        guard suffix.utf8.allSatisfy({ !(0x41...0x5A).contains($0) }), let found = Operator(rawValue: String(suffix))
        else { return nil }
        self = found
    }
}

/// A column, or a member of the JSON value in one.
struct ColumnPath: Sendable, Equatable {
    var column: Int
    /// Names and indices of members; empty for the column itself.
    var members: [String]
    /// As it was written, for messages.
    var written: String

    /// A column itself.
    init(column: Int, in view: TableView) {
        self.column = column
        members = []
        written = view.table.columns[column].name
    }

    /// - Returns: nil where the table has no such column, or the column has no members.
    init?(_ written: String, in view: TableView) {
        self.written = written
        // A column's own name may have dots.
        if let column = view.table.index(of: written) {
            self.column = column
            members = []
            return
        }
        guard let dot = written.firstIndex(of: ".") else { return nil }
        guard let column = view.table.index(of: String(written[..<dot])), view.forms[column] == .json else {
            return nil
        }
        self.column = column
        members = written[written.index(after: dot)...].split(separator: ".", omittingEmptySubsequences: false)
            .map(String.init)
        guard members.allSatisfy({ !$0.isEmpty }) else { return nil }
    }

    /// Members at most: a JSON value of more levels is written as a text.
    private static let maximumDepth = 64

    /// - Throws: 400 where it leads deeper than JSON values go.
    func checkDepth() throws(Problem) {
        guard members.count <= ColumnPath.maximumDepth else {
            throw .badValue(
                "a path into JSON has \(members.count) members; at most \(ColumnPath.maximumDepth) are followed")
        }
    }
}
