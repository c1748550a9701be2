import Basics
import SQLite

extension TableView {
    /// The condition that names a row, and the values to bind; nil where no row can have such a key.
    ///
    /// - Parameter segments: the key's segments, decoded.
    func condition(key segments: [[UInt8]]) -> (sql: String, values: [SQLiteValue])? {
        switch key {
        case .none: return nil
        case .rowID(let name):
            guard let segment = segments.first, let integer = RowKeyText.integer(segment) else { return nil }
            return ("\(self.name).\(name)=?", [.integer(integer)])
        case .columns(let columns):
            var sql = ""
            var values: [SQLiteValue] = []
            for (column, segment) in zip(columns, segments) {
                guard let alternatives = keyValues(column, segment) else { return nil }
                if !sql.isEmpty { sql += " AND " }
                let name = self.sql(column)
                sql += alternatives.count == 1 ? "\(name)=?" : "(\(name)=? OR \(name)=?)"
                values += alternatives
            }
            return (sql, values)
        }
    }

    /// What to bind for the places of ``rowSQL``; nil where no row can have such a key, or a segment has more than one
    /// meaning.
    func rowValues(key segments: [[UInt8]]) -> [SQLiteValue]? {
        switch key {
        case .none: return nil
        case .rowID: return segments.first.flatMap(RowKeyText.integer).map { [.integer($0)] }
        case .columns(let columns):
            guard columns.count == segments.count else { return nil }
            var values: [SQLiteValue] = []
            values.reserveCapacity(columns.count)
            for index in columns.indices {
                guard let found = keyValues(columns[index], segments[index]), found.count == 1 else { return nil }
                values.append(found[0])
            }
            return values
        }
    }

    /// The value that a row with this key has; nil where it can't have any.
    func keyValue(_ column: Int, _ segment: [UInt8]) -> SQLiteValue? { keyValues(column, segment)?.first }

    /// Whether a value that a body brings is that of the URL, whatever its type becomes in the column.
    func isKey(_ value: SQLiteValue, _ column: Int, _ segment: [UInt8]) -> Bool {
        guard let text = RowKeyText.text(value) else { return false }
        if text == segment || booleans(column, segment).contains(value) { return true }
        guard table.columns[column].affinity.isNumeric, let given = SQLNumber(text), let wanted = SQLNumber(segment)
        else {
            return false
        }
        // Whole numbers beyond 2^53 may be the same as doubles.
        if case .integer(let one) = given.value, case .integer(let other) = wanted.value { return one == other }
        return given.value.number == wanted.value.number
    }

    /// Whether a body's value for a column is the one by which a row refers to another: `1.0` is as good as 1 there.
    func refers(_ value: SQLiteValue, _ reference: ColumnValue) -> Bool {
        guard let text = RowKeyText.text(reference.value) else { return value == .null }
        return isKey(value, reference.column, text)
    }

    /// The statement for a column or more of a row; nil where no row can have such a key.
    ///
    /// - Parameters:
    ///   - selection: columns in SQL.
    ///   - segments: the key's segments, decoded.
    func row(_ selection: String, key segments: [[UInt8]]) -> SQLBuilder? {
        guard let found = condition(key: segments) else { return nil }
        var sql = SQLBuilder("SELECT \(selection) FROM \(name) WHERE ")
        sql.append(found.sql, found.values)
        sql.append(" LIMIT 1")
        return sql
    }

    /// What a segment can stand for in a column; nil where it is nothing that the column can have.
    private func keyValues(_ column: Int, _ segment: [UInt8]) -> [SQLiteValue]? {
        if forms[column] == .blob {
            return RowKeyText.blob(segment).map { [.blob($0)] }
        }
        let booleans = booleans(column, segment)
        guard booleans.isEmpty else { return booleans }
        let affinity = table.columns[column].affinity
        guard affinity != .text else { return [.text(segment)] }
        if let integer = RowKeyText.integer(segment) {
            return affinity == .none ? [.integer(integer), .text(segment)] : [.integer(integer)]
        }
        if let number = SQLNumber(segment) {
            // A number has one name: 042, +1 and 1.0 are no row's.
            guard RowKeyText.text(number.value) == segment else { return affinity == .none ? [.text(segment)] : nil }
            // These columns keep a whole number as an integer.
            if case .real(let real) = number.value, affinity == .integer || affinity == .numeric,
                Int64(exactly: real) != nil
            {
                return nil
            }
            return affinity == .none ? [number.value, .text(segment)] : [number.value]
        }
        // In a column of numbers a text with blanks around a number would be made one.
        guard !affinity.isNumeric || segment.trimmed.count == segment.count else { return nil }
        return [.text(segment)]
    }

    /// What `true` and `false` stand for in a column that writes its values so: 1 and 0, or the words themselves.
    private func booleans(_ column: Int, _ segment: [UInt8]) -> [SQLiteValue] {
        guard forms[column] == .boolean else { return [] }
        if segment.elementsEqual("true".utf8) { return [.integer(1), .text(segment)] }
        return segment.elementsEqual("false".utf8) ? [.integer(0), .text(segment)] : []
    }

    /// The row's URL below the table's, such as `42` or `de/1`; nil where the row has no name.
    ///
    /// `.` and `..` name nothing: they are gone from a URL before it is asked for, percent-encoded too (RFC 3986
    /// §6.2.2).
    func keyText(_ values: [SQLiteValue]) -> [UInt8]? {
        var text: [UInt8] = []
        for (index, value) in values.enumerated() {
            if index > 0 { text.append(UInt8(ascii: "/")) }
            guard let segment = RowKeyText.text(value), !segment.isEmpty, !RowKeyText.isDotSegment(segment)
            else { return nil }
            PercentCoding.appendSegment(segment, to: &text)
        }
        return text
    }
}

/// A key's value in a URL.
enum RowKeyText {
    /// An integer as SQLite writes it; nil for another form.
    static func integer(_ text: [UInt8]) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let start = isNegative ? 1 : 0
        guard start < text.count, text[start] != UInt8(ascii: "0") || text.count == 1 else { return nil }
        var value: Int64 = 0
        for digit in text[start...] {
            guard 0x30...0x39 ~= digit else { return nil }
            let number = Int64(digit &- 0x30)
            let (tenfold, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) =
                isNegative ? tenfold.subtractingReportingOverflow(number) : tenfold.addingReportingOverflow(number)
            guard !overflow, !carry else { return nil }
            value = sum
        }
        return value
    }

    /// The bytes of base64url without padding (RFC 4648 §5); nil for another form.
    static func blob(_ text: [UInt8]) -> [UInt8]? {
        guard text.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=") }) else {
            return nil
        }
        let standard = text.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        return Base64.decoded(standard, .token68)
    }

    /// Whether a segment is `.` or `..` (RFC 3986 §5.2.4).
    static func isDotSegment(_ text: [UInt8]) -> Bool {
        text.count <= 2 && !text.isEmpty && text.allSatisfy { $0 == UInt8(ascii: ".") }
    }

    /// A value's text; nil for NULL.
    static func text(_ value: SQLiteValue) -> [UInt8]? {
        switch value {
        case .null: return nil
        case .integer(let integer): return Array(String(integer).utf8)
        case .real(let real):
            var output = JSONOutput()
            output.append(real)
            return output.bytes
        case .text(let text): return text
        case .blob(let blob):
            var text: [UInt8] = []
            Base64.appendURLSafe(blob, to: &text)
            return text
        }
    }
}

extension SQLiteValue {
    /// The value as a double, to compare numbers of both kinds.
    fileprivate var number: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .real(let real): real
        case .null, .text, .blob: nil
        }
    }
}
