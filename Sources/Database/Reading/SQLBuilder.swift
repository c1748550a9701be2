import SQLite

/// A statement in the making: text that holds names of the schema and numbered places, and the values for these.
///
/// Nothing that a client sent gets into the text.
struct SQLBuilder {
    private(set) var text: String
    private(set) var values: [SQLiteValue] = []
    /// What the function `subproxy_matches(NUMBER, TEXT)` asks, by number.
    private(set) var matchers: [TextMatcher] = []

    init(_ text: String = "") { self.text = text }

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
        values += other.values
        matchers += other.matchers
    }

    /// Appends a place for the number of a matcher.
    ///
    /// The number is bound, so that the text is that of other requests too.
    mutating func bindMatcher(_ matcher: TextMatcher) {
        bind(.integer(Int64(matchers.count)))
        matchers.append(matcher)
    }
}
