/// The rows of a query, which have their columns' names in common.
public final class MustacheRows: Sendable {
    /// The number of rows.
    public let count: Int
    /// All cells, row by row.
    let cells: [MustacheValue]
    let members: MemberNames

    /// Rows from the names of their columns, in UTF-8, and their cells, one row after the other; cells of an unfinished
    /// last row are left out.
    public init(columns: [[UInt8]], cells: [MustacheValue]) {
        members = MemberNames(columns)
        self.cells = cells
        count = columns.isEmpty ? 0 : cells.count / columns.count
    }

    /// The names of the columns, in UTF-8.
    public var columns: [[UInt8]] { members.names }

    /// A row by its number, counted from 0; it must be less than ``count``.
    public subscript(index: Int) -> MustacheRow { MustacheRow(rows: self, index: index) }

    func cell(_ column: Int, ofRow index: Int) -> MustacheValue { cells[index &* columns.count &+ column] }

    func column(named name: [UInt8]) -> Int? { members.position(of: name) }
}

/// A row of a query.
public struct MustacheRow: Sendable {
    /// The rows that it is one of.
    public let rows: MustacheRows
    /// Its number among them, counted from 0.
    public let index: Int

    /// The cell of a column, or nil; of columns with one name the last one's.
    public func member(named name: [UInt8]) -> MustacheValue? {
        rows.column(named: name).map { rows.cell($0, ofRow: index) }
    }
}
