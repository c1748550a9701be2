import CSQLite

/// A compiled statement.
public final class SQLiteStatement {
    let pointer: OpaquePointer
    /// The connection, which lives as long as its statements.
    private let connection: SQLiteConnection

    init(_ pointer: OpaquePointer, _ connection: SQLiteConnection) {
        self.pointer = pointer
        self.connection = connection
    }

    deinit { sqlite3_finalize(pointer) }

    // MARK: What it is

    /// Whether it writes nothing to the database (sqlite3_stmt_readonly()).
    public var isReadOnly: Bool { sqlite3_stmt_readonly(pointer) != 0 }
    /// Whether it stands at a row, or before its end (sqlite3_stmt_busy()).
    public var isBusy: Bool { sqlite3_stmt_busy(pointer) != 0 }
    /// The number of columns of its rows; 0 for one that has none.
    public var columnCount: Int { Int(sqlite3_column_count(pointer)) }
    /// The highest number of a parameter.
    public var parameterCount: Int { Int(sqlite3_bind_parameter_count(pointer)) }

    /// A parameter's name with its prefix, as `:name`; nil for one that is `?`.
    ///
    /// - Parameter number: counted from 1.
    public func parameterName(_ number: Int) -> String? {
        sqlite3_bind_parameter_name(pointer, CInt(clamping: number)).map { String(cString: $0) }
    }

    /// A column's name.
    public func columnName(_ column: Int) -> String {
        sqlite3_column_name(pointer, CInt(clamping: column)).map { String(cString: $0) } ?? ""
    }

    /// The type that the table's declaration gives a column; nil for an expression.
    public func declaredType(_ column: Int) -> String? {
        sqlite3_column_decltype(pointer, CInt(clamping: column)).map { String(cString: $0) }
    }

    /// The table and the column that a column of the rows comes from; nil for an expression, and where the library
    /// doesn't tell.
    public func origin(_ column: Int) -> (table: String, column: String)? {
        guard let table = sqlite3_column_table_name(pointer, CInt(clamping: column)),
            let name = sqlite3_column_origin_name(pointer, CInt(clamping: column))
        else { return nil }
        return (String(cString: table), String(cString: name))
    }

    // MARK: Running

    /// Goes on to the next row.
    ///
    /// - Returns: whether there is one. After the last one, or an error, the statement is back at its beginning.
    /// - Throws: What it failed for.
    public func step() throws(SQLiteError) -> Bool {
        connection.isEnded = false
        let code = sqlite3_step(pointer)
        if code == SQLITE_ROW { return true }
        guard code == SQLITE_DONE else {
            let error = connection.error(code)
            sqlite3_reset(pointer)
            throw error
        }
        sqlite3_reset(pointer)
        return false
    }

    /// Goes back to the beginning, and lets go of what it holds of the database. Values stay bound.
    public func reset() { sqlite3_reset(pointer) }

    /// Makes every parameter NULL.
    public func unbind() { sqlite3_clear_bindings(pointer) }

    /// Binds a value; the bytes of texts and blobs are copied.
    ///
    /// - Parameter number: the parameter's, counted from 1.
    /// - Throws: SQLITE_RANGE, SQLITE_TOOBIG or SQLITE_NOMEM.
    public func bind(_ value: SQLiteValue, to number: Int) throws(SQLiteError) {
        let index = CInt(clamping: number)
        let code: CInt
        switch value {
        case .null: code = sqlite3_bind_null(pointer, index)
        case .integer(let integer): code = sqlite3_bind_int64(pointer, index, integer)
        case .real(let real): code = sqlite3_bind_double(pointer, index, real)
        case .text(let text):
            code = text.withUnsafeBytes { bytes in
                // A NULL pointer would bind NULL instead of an empty text.
                guard let base = bytes.baseAddress else {
                    return "".withCString { subproxy_sqlite_bind_text(pointer, index, $0, 0) }
                }
                return subproxy_sqlite_bind_text(pointer, index, base, UInt64(bytes.count))
            }
        case .blob(let blob):
            code = blob.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress else { return sqlite3_bind_zeroblob(pointer, index, 0) }
                return subproxy_sqlite_bind_blob(pointer, index, base, UInt64(bytes.count))
            }
        }
        guard code == SQLITE_OK else { throw connection.error(code) }
    }

    // MARK: The row

    /// The storage class of a value.
    public enum StorageClass: Sendable { case null, integer, real, text, blob }

    /// The storage class of the row's value; to be asked before the value.
    @inline(__always)
    public func storageClass(_ column: Int) -> StorageClass {
        switch sqlite3_column_type(pointer, CInt(truncatingIfNeeded: column)) {
        case SQLITE_INTEGER: .integer
        case SQLITE_FLOAT: .real
        case SQLITE_TEXT: .text
        case SQLITE_BLOB: .blob
        default: .null
        }
    }

    /// The value as an integer; 0 where it is none.
    @inline(__always)
    public func integer(_ column: Int) -> Int64 { sqlite3_column_int64(pointer, CInt(truncatingIfNeeded: column)) }

    /// The value as a double.
    @inline(__always)
    public func real(_ column: Int) -> Double { sqlite3_column_double(pointer, CInt(truncatingIfNeeded: column)) }

    /// The bytes of a text, in UTF-8 if the database keeps what it promises; valid until the next step.
    @inline(__always)
    public func withText<Result>(_ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        let index = CInt(truncatingIfNeeded: column)
        let start = sqlite3_column_text(pointer, index)
        return body(
            UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(pointer, index))))
    }

    /// The bytes of a blob; valid until the next step.
    @inline(__always)
    public func withBlob<Result>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let index = CInt(truncatingIfNeeded: column)
        let start = sqlite3_column_blob(pointer, index)
        return body(
            UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(pointer, index))))
    }

    /// The bytes of a text or a blob; 0 for other values.
    public func byteCount(_ column: Int) -> Int {
        switch storageClass(column) {
        case .text: withText(column) { $0.count }
        case .blob: withBlob(column) { $0.count }
        case .null, .integer, .real: 0
        }
    }

    /// The value, copied.
    public func value(_ column: Int) -> SQLiteValue {
        switch storageClass(column) {
        case .null: .null
        case .integer: .integer(integer(column))
        case .real: .real(real(column))
        case .text: .text(withText(column) { Array($0) })
        case .blob: .blob(withBlob(column) { Array($0) })
        }
    }

    /// The text of a value, whatever it is; invalid UTF-8 is replaced.
    public func string(_ column: Int) -> String { withText(column) { String(decoding: $0, as: UTF8.self) } }
}

/// A value of SQLite's (https://sqlite.org/datatype3.html §2).
public enum SQLiteValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    /// UTF-8.
    case text([UInt8])
    case blob([UInt8])

    /// A text.
    public static func text(_ string: String) -> SQLiteValue { .text(Array(string.utf8)) }
}
