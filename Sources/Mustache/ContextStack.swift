/// The values that names are looked for in, the innermost one last.
struct ContextStack {
    private var values: [MustacheValue]
    /// Those of them that can have members, as indices of ``values``.
    private var searched: [Int] = []
    /// The members of the last one, where it is a mapping or a row: their names, and where their values begin.
    private var names: MemberNames?
    private var cells: [MustacheValue] = []
    private var start = 0

    /// Where names were found: row after row has the same ones.
    private var found = [FoundMember](repeating: FoundMember(), count: slotCount)

    private struct FoundMember {
        // Held, so that no others come to have their addresses.
        var template: MustacheTemplate?
        var names: MemberNames?
        var number: UInt32 = 0
        var position = 0
    }

    private static let slotCount = 16

    /// Looking a name up in so many contexts counts as much as a tag.
    private static let contextsPerTag = 8

    init(_ values: [MustacheValue]) {
        self.values = values
        for (index, value) in values.enumerated() where value.hasMembers { searched.append(index) }
        noteLast()
    }

    mutating func push(_ value: MustacheValue) {
        if value.hasMembers { searched.append(values.count) }
        values.append(value)
        noteLast()
    }

    mutating func pop() {
        drop()
        noteLast()
    }

    private mutating func drop() {
        values.removeLast()
        if searched.last == values.count { searched.removeLast() }
    }

    /// Puts the next element of a list in the place of the one before.
    mutating func replaceLast(_ value: MustacheValue) {
        drop()
        push(value)
    }

    /// Puts the next row in the place of the one before.
    mutating func replaceLast(_ row: MustacheRow) {
        values[values.count - 1] = .row(row)
        start = row.index &* row.rows.members.names.count
    }

    private mutating func noteLast() {
        switch values.last {
        case .mapping(let mapping): (names, cells, start) = (mapping.members, mapping.values, 0)
        case .row(let row):
            (names, cells) = (row.rows.members, row.rows.cells)
            start = row.index &* row.rows.members.names.count
        default: (names, cells, start) = (nil, [], 0)
        }
    }

    /// The value of a name, or nil where there is none.
    ///
    /// - Parameters:
    ///   - number: The name's number in its template's ``TagProgram/paths``.
    ///   - tags: Grows by what the search costs beyond that of a tag.
    mutating func value(of number: UInt32, in template: MustacheTemplate, _ tags: inout Int) -> MustacheValue? {
        guard let names else { return value(of: template.program.paths[Int(number)], &tags) }
        let slot = Int(number) % Self.slotCount
        if found[slot].number == number, found[slot].names === names, found[slot].template === template {
            return cells[start &+ found[slot].position]
        }
        let path = template.program.paths[Int(number)]
        guard path.parts.count == 1, let position = names.position(of: path.parts[0]) else {
            return value(of: path, &tags)
        }
        found[slot] = FoundMember(template: template, names: names, number: number, position: position)
        return cells[start &+ position]
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
