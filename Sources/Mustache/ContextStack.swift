/// The values that names are looked for in, the innermost one last.
struct ContextStack {
    private var values: [MustacheValue]
    /// Those of them that can have members, as indices of ``values``.
    private var searched: [Int] = []

    /// Where names were found that rows were asked for: row after row has the same columns.
    private var found = [FoundColumn](repeating: FoundColumn(), count: slotCount)

    private struct FoundColumn {
        // Held, so that no others come to have their addresses.
        var template: MustacheTemplate?
        var number: UInt32 = 0
        var rows: MustacheRows?
        var column = 0
    }

    private static let slotCount = 16

    /// Looking a name up in so many contexts counts as much as a tag.
    private static let contextsPerTag = 8

    init(_ values: [MustacheValue]) {
        self.values = values
        for (index, value) in values.enumerated() where value.hasMembers { searched.append(index) }
    }

    mutating func push(_ value: MustacheValue) {
        if value.hasMembers { searched.append(values.count) }
        values.append(value)
    }

    mutating func pop() {
        values.removeLast()
        if searched.last == values.count { searched.removeLast() }
    }

    /// Puts the next element of a list in the place of the one before.
    mutating func replaceLast(_ value: MustacheValue) {
        pop()
        push(value)
    }

    /// The value of a name, or nil where there is none.
    ///
    /// - Parameters:
    ///   - number: The name's number in its template's ``TagProgram/paths``.
    ///   - tags: Grows by what the search costs beyond that of a tag.
    mutating func value(of number: UInt32, in template: MustacheTemplate, _ tags: inout Int) -> MustacheValue? {
        let slot = Int(number) % Self.slotCount
        if case .row(let row) = values.last, found[slot].number == number, found[slot].rows === row.rows,
            found[slot].template === template
        {
            return row.rows.cell(found[slot].column, ofRow: row.index)
        }
        let path = template.program.paths[Int(number)]
        if case .row(let row) = values.last, path.parts.count == 1, let column = row.rows.column(named: path.parts[0]) {
            found[slot] = FoundColumn(template: template, number: number, rows: row.rows, column: column)
            return row.rows.cell(column, ofRow: row.index)
        }
        return value(of: path, &tags)
    }

    private func value(of path: NamePath, _ tags: inout Int) -> MustacheValue? {
        guard let first = path.parts.first else { return values.last }
        var position = searched.count
        while position > 0 {
            position -= 1
            guard let found = values[searched[position]].member(named: first) else { continue }
            tags += (searched.count - position) / Self.contextsPerTag
            if path.parts.count == 1 { return found }
            return path.parts.dropFirst().reduce(found as MustacheValue?) { $0?.member(named: $1) }
        }
        tags += searched.count / Self.contextsPerTag
        return nil
    }
}
