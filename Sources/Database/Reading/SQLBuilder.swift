import SQLite

/// A statement in the making: text that holds names of the schema and numbered places, and the values for these.
///
/// Nothing that a client sent gets into the text.
struct SQLBuilder {
    private(set) var text: String
    private(set) var values: [SQLiteValue] = []
    /// What the function `subproxy_matches(NUMBER, TEXT)` asks, by number.
    private(set) var matchers: [TextMatcher] = []
    /// The places of the matchers' numbers among the values.
    private var matcherPlaces: [Int] = []

    /// The values as a reader is shown them: what a matcher looks for in the place of its number.
    var shownValues: [SQLiteValue] {
        var shown = values
        for (place, matcher) in zip(matcherPlaces, matchers) { shown[place] = .text(matcher.written) }
        return shown
    }

    init(_ text: String = "") { self.text = text }

    /// Bytes of the texts and BLOBs among the values.
    private var valueBytes: Int {
        var bytes = 0
        for value in values {
            switch value {
            case .text(let text): bytes += text.count
            case .blob(let blob): bytes += blob.count
            case .null, .integer, .real: break
            }
        }
        return bytes
    }

    /// Bytes of values at most: a path to a member of JSON stands there in each form that it may mean.
    private static let maximumValueBytes = 4 << 20

    /// Looks whether SQLite takes a statement with this part, which is a request's.
    ///
    /// - Parameter rest: the bytes of the statement's other parts.
    /// - Throws: 400 where it is too long.
    func checkLength(beside rest: Int = 0) throws(Problem) {
        guard text.utf8.count + rest <= SQLiteConnection.maximumStatementBytes,
            valueBytes <= SQLBuilder.maximumValueBytes
        else {
            throw .badValue("the conditions, or the columns to sort by, are too long for one statement; ask for fewer")
        }
    }

    /// Appends SQL, never what a client sent.
    mutating func append(_ sql: String) { text += sql }

    /// Appends a place for a value.
    mutating func bind(_ value: SQLiteValue) {
        text += "?"
        values.append(value)
    }

    /// Appends SQL with places of its own, and the values for them.
    mutating func append(_ sql: String, _ values: [SQLiteValue]) {
        text += sql
        self.values += values
    }

    /// Appends another statement's part, with its values.
    ///
    /// Matchers stand in the condition alone, which is the first part that has values.
    mutating func append(_ other: SQLBuilder) {
        text += other.text
        matcherPlaces += other.matcherPlaces.map { $0 + values.count }
        values += other.values
        matchers += other.matchers
    }

    /// Appends a place for the number of a matcher.
    ///
    /// The number is bound, so that the text is that of other requests too.
    mutating func bindMatcher(_ matcher: TextMatcher) {
        matcherPlaces.append(values.count)
        bind(.integer(Int64(matchers.count)))
        matchers.append(matcher)
    }
}
