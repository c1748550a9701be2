/// Prints values: as JSON, or for a tag, by the escaping.
struct ValuePrinter {
    let escaping: MustacheEscaping
    let valueDepth: Int

    /// What a tag writes for a value; nil is one that is missing.
    func print(_ value: MustacheValue?, isRaw: Bool, to output: inout BoundedOutput) throws(RenderingLimit) {
        if isRaw, escaping == .json { return try printJSON(value ?? .null, isScript: true, to: &output) }
        switch value {
        case nil, .null: break
        case .text(let text): try print(text, isRaw: isRaw, to: &output)
        case .integer(let number): try output.append(number)
        case .real(let number): if number.isFinite { try output.append(number) }
        case .bool(let isTrue): try output.append(isTrue ? "true" : "false")
        case .list, .mapping, .rows, .row, .object:
            // Raw, it may stand in a script of a page, which `</script>` would end.
            let isScript = isRaw && escaping == .html
            if isRaw || escaping == .none {
                return try printJSON(value ?? .null, isScript: isScript, to: &output)
            }
            var json = BoundedOutput(limit: output.remaining)
            do throws(RenderingLimit) {
                try printJSON(value ?? .null, isScript: isScript, to: &json)
            } catch .answerBytes {
                // The limit to name is the answer's own.
                throw output.full
            }
            try print(json.bytes, isRaw: false, to: &output)
        }
    }

    private func print(_ text: [UInt8], isRaw: Bool, to output: inout BoundedOutput) throws(RenderingLimit) {
        switch isRaw ? .none : escaping {
        case .html: try output.appendHTML(text)
        case .json: try output.appendJSONCharacters(text, isScript: true)
        case .none: try output.append(text)
        }
    }

    private func printJSON(
        _ value: MustacheValue, isScript: Bool, depth: Int = 0, to output: inout BoundedOutput
    ) throws(RenderingLimit) {
        switch value {
        case .null: try output.append("null")
        case .bool(let isTrue): try output.append(isTrue ? "true" : "false")
        case .integer(let number): try output.append(number)
        case .real(let number):
            if number.isFinite { try output.append(number) } else { try output.append("null") }
        case .text(let text): try printString(text, isScript: isScript, to: &output)
        case .list(let elements):
            try printList(count: elements.count, isScript, depth, &output) { elements[$0] }
        case .rows(let rows):
            try printList(count: rows.count, isScript, depth, &output) { .row(rows[$0]) }
        case .mapping(let mapping):
            try printObject(mapping.names, isScript, depth, &output) { mapping.values[$0] }
        case .row(let row):
            try printObject(row.rows.columns, isScript, depth, &output) { row.rows.cell($0, ofRow: row.index) }
        case .object(let object):
            let mapping = object.whole
            try printObject(mapping.names, isScript, depth, &output) { mapping.values[$0] }
        }
    }

    private func printString(
        _ text: [UInt8], isScript: Bool, to output: inout BoundedOutput
    ) throws(RenderingLimit) {
        try output.append(UInt8(ascii: "\""))
        try output.appendJSONCharacters(text, isScript: isScript)
        try output.append(UInt8(ascii: "\""))
    }

    private func printList(
        count: Int, _ isScript: Bool, _ depth: Int, _ output: inout BoundedOutput, element: (Int) -> MustacheValue
    ) throws(RenderingLimit) {
        guard depth < valueDepth else { throw .valueDepth(valueDepth) }
        try output.append(UInt8(ascii: "["))
        for index in 0..<count {
            if index > 0 { try output.append(UInt8(ascii: ",")) }
            try printJSON(element(index), isScript: isScript, depth: depth + 1, to: &output)
        }
        try output.append(UInt8(ascii: "]"))
    }

    private func printObject(
        _ names: [[UInt8]], _ isScript: Bool, _ depth: Int, _ output: inout BoundedOutput,
        value: (Int) -> MustacheValue
    ) throws(RenderingLimit) {
        guard depth < valueDepth else { throw .valueDepth(valueDepth) }
        try output.append(UInt8(ascii: "{"))
        for index in names.indices {
            if index > 0 { try output.append(UInt8(ascii: ",")) }
            try printString(names[index], isScript: isScript, to: &output)
            try output.append(UInt8(ascii: ":"))
            try printJSON(value(index), isScript: isScript, depth: depth + 1, to: &output)
        }
        try output.append(UInt8(ascii: "}"))
    }
}
