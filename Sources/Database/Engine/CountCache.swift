import Basics
import SQLite
import Synchronization

/// How many rows lists have, while the data stay what they are: each page of a list asks for it.
final class CountCache: Sendable {
    private struct Key: Hashable {
        @ByBytes var sql: String
        let values: [SQLiteValue]
        let texts: [TextMatcher.Asked]

        init(_ sql: SQLBuilder) {
            self.sql = sql.text
            values = sql.values
            texts = sql.matchers.map(\.asked)
        }

        /// Bytes that it takes.
        var size: Int {
            var size = sql.utf8.count
            for value in values {
                switch value {
                case .text(let bytes), .blob(let bytes): size += bytes.count
                case .null, .integer, .real: size += 8
                }
            }
            return texts.reduce(size) { $0 + $1.text.count }
        }
    }

    private struct State {
        /// The state of the data that the counts are of.
        var version: UInt64 = 0
        var counts: [Key: Int64] = [:]
    }

    private let state = Mutex(State())

    /// Counts that are kept.
    static let capacity = 256
    /// Bytes of a statement and its values whose count is kept.
    static let largestKey = 8192

    /// What a statement counted, if the data are in the same state.
    func count(_ sql: SQLBuilder, at version: UInt64) -> Int64? {
        let key = Key(sql)
        return state.withLock { $0.version == version ? $0.counts[key] : nil }
    }

    /// Keeps what a statement counted.
    ///
    /// - Parameter version: the state of the data that it was counted in.
    func keep(_ count: Int64, of sql: SQLBuilder, at version: UInt64) {
        let key = Key(sql)
        guard key.size <= CountCache.largestKey else { return }
        state.withLock { state in
            if state.version != version || state.counts.count >= CountCache.capacity { state.counts = [:] }
            state.version = version
            state.counts[key] = count
        }
    }
}
