import CSQLite

extension SQLiteConnection {
    /// A function that tells of a text whether something is so; as SQL, `NAME(number, text)`. With nil it ends the
    /// statement (SQLITE_INTERRUPT).
    public typealias TextPredicate = (_ number: Int64, _ text: UnsafeBufferPointer<UInt8>) -> Bool?

    /// Makes a function of two arguments, an integer and a text, that says 1 or 0; NULL where the text is NULL.
    ///
    /// The schema can't call it (SQLITE_DIRECTONLY).
    ///
    /// - Throws: SQLITE_MISUSE, SQLITE_NOMEM.
    public func register(_ name: String, _ predicate: @escaping TextPredicate) throws(SQLiteError) {
        let context = Unmanaged.passRetained(PredicateBox(predicate)).toOpaque()
        let code = sqlite3_create_function_v2(
            pointer, name, 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, context,
            { context, _, arguments in
                guard let box = sqlite3_user_data(context), let arguments, let text = arguments[1] else { return }
                guard sqlite3_value_type(text) != SQLITE_NULL else { return sqlite3_result_null(context) }
                let start = sqlite3_value_text(text)
                let bytes = UnsafeBufferPointer(
                    start: start, count: start == nil ? 0 : Int(sqlite3_value_bytes(text)))
                let predicate = Unmanaged<PredicateBox>.fromOpaque(box).takeUnretainedValue().predicate
                guard let isSo = predicate(sqlite3_value_int64(arguments[0]), bytes) else {
                    return sqlite3_result_error_code(context, SQLITE_INTERRUPT)
                }
                sqlite3_result_int(context, isSo ? 1 : 0)
            }, nil, nil, { box in box.map { Unmanaged<PredicateBox>.fromOpaque($0).release() } })
        guard code == SQLITE_OK else { throw error(code) }
    }
}

private final class PredicateBox {
    let predicate: SQLiteConnection.TextPredicate
    init(_ predicate: @escaping SQLiteConnection.TextPredicate) { self.predicate = predicate }
}
