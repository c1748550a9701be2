import SQLite

extension JSONOutput {
    /// Writes the row that a statement stands at.
    ///
    /// - Parameters:
    ///   - joined: what is added, by the place of the column that it takes the place of, else behind the columns.
    @inline(__always)
    mutating func append(row statement: SQLiteStatement, of view: TableView) {
        for column in 0..<view.forms.count {
            append(bytes: view.prefixes[column])
            append(value: statement, column, view.forms[column])
        }
        append(byte: UInt8(ascii: "}"))
    }

    /// Writes a value of the row that a statement stands at.
    @inline(__always)
    mutating func append(value statement: SQLiteStatement, _ column: Int, _ form: ValueForm) {
        // A row may have thousands of values, each as long as SQLite allows.
        guard count <= limit else { return }
        switch statement.storageClass(column) {
        case .null: append("null")
        case .integer:
            let integer = statement.integer(column)
            switch form {
            case .boolean where integer == 0: append("false")
            case .boolean where integer == 1: append("true")
            case .text:
                append(byte: UInt8(ascii: "\""))
                append(integer)
                append(byte: UInt8(ascii: "\""))
            default: append(integer)
            }
        case .real: append(statement.real(column))
        case .text:
            statement.withText(column) { text in
                if form == .json, append(json: text) { return }
                append(string: text)
            }
        case .blob: statement.withBlob(column) { append(base64: $0) }
        }
    }
}
