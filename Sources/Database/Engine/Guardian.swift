import Basics
import Glibc
import SQLite

/// What ends a request's statements: its time, its client, or the lock that it waits for.
final class Guardian {
    private let deadline: UInt64
    private let lockDeadline: UInt64
    private let isCancelled: () -> Bool
    /// Whether another file has taken the place of the one that it reads.
    private let isOutdated: () -> Bool
    /// Told from time to time that the request takes long.
    private let takesLong: (UInt64) -> Void
    private let longFrom: UInt64
    /// Why it ended a statement; nil while it goes on.
    private(set) var hasEnded: End?
    /// Bytes that expressions were looked for in since it was last asked.
    private var searchedBytes = 0

    /// Bytes that expressions are looked for in between two questions: the largest ones take some 10 ms for them.
    private static let searchedBetweenQuestions = 256

    enum End { case time, lock, client, text, file }

    /// Has what ended a statement forgotten: it is asked again.
    func beginsAnew() { hasEnded = nil }

    /// Notes why the statement ends: a text is too long to look for an expression in.
    func refuseLongText() { hasEnded = .text }

    /// - Parameters:
    ///   - now: nanoseconds of the steady clock.
    ///   - takesLong: told the time, again and again, while a request takes longer than most.
    init(
        limits: DatabaseRule.Limits, now: UInt64, takesLong: @escaping (UInt64) -> Void = { _ in },
        isOutdated: @escaping () -> Bool = { false }, isCancelled: @escaping () -> Bool
    ) {
        self.isOutdated = isOutdated
        self.takesLong = takesLong
        longFrom = now &+ ReaderDuty.longTime
        deadline = now &+ limits.time
        lockDeadline = now &+ limits.wait
        self.isCancelled = isCancelled
    }

    func goesOn() -> Bool {
        guard hasEnded != .text else { return false }
        if isCancelled() {
            hasEnded = .client
            return false
        }
        if isOutdated() {
            hasEnded = .file
            return false
        }
        let now = monotonicNanoseconds()
        guard now < deadline else {
            hasEnded = .time
            return false
        }
        if now > longFrom { takesLong(now) }
        return true
    }

    /// Whether a statement goes on that is about to look for an expression in so many bytes.
    func goesOn(searching count: Int) -> Bool {
        searchedBytes += count
        guard searchedBytes >= Guardian.searchedBetweenQuestions else { return true }
        searchedBytes = 0
        return goesOn()
    }

    /// When the request's time is over.
    var preparationDeadline: UInt64 { deadline }

    /// A step begins that may take long and is not asked about meanwhile, such as the counting of a table.
    func beginsLongStep() { takesLong(monotonicNanoseconds()) }

    /// Sleeps a while, longer from time to time.
    ///
    /// - Returns: whether to try for the lock again.
    func waitsForLock(_ attempts: Int) -> Bool {
        guard !isCancelled() else {
            hasEnded = .client
            return false
        }
        guard !isOutdated() else {
            hasEnded = .file
            return false
        }
        let now = monotonicNanoseconds()
        guard now < lockDeadline else {
            hasEnded = .lock
            return false
        }
        takesLong(now)
        usleep(UInt32(min(20_000, 500 << min(attempts, 6))))
        return true
    }
}

extension Session {
    /// What an error of SQLite's means for a request.
    func problem(_ error: SQLiteError) -> Problem { Problem(error, of: name, guardian) }
}

extension Problem {
    /// What an error of SQLite's means for a request.
    ///
    /// - Parameter name: what messages call the database.
    init(_ error: SQLiteError, of name: String, _ guardian: Guardian?) {
        switch guardian?.hasEnded {
        case .time?: self.init(503, "query took too long", "\(name): the query was ended at its limit of time")
        case .client?: self.init(503, "query took too long", "\(name): the client has gone")
        case .text?:
            self.init(
                400, "bad value", "'like' reads texts of at most \(TextMatcher.longestText) bytes, and one is longer")
        case .lock?: self.init(503, "database locked", "\(name): another program holds a lock")
        case .file?:
            self.init(503, "database locked", "\(name): another file has taken its place meanwhile")
            isOfConnection = true
        case nil where error.isConstraint: self.init(error.isOfInput ? 400 : 409, "constraint", error.message)
        case nil where error.isLock: self.init(503, "database locked", "\(name): \(error.message)")
        case nil where error.isFull: self.init(507, "database too large", "\(name): \(error.message)")
        case nil where error.isOfHotJournal:
            self = .hotJournal(name)
        case nil:
            self.init(502, "database error", "\(name): \(error)")
            isOfConnection = error.code == SQLiteError.schemaCode
            isOfFile = ["SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_IOERR", "SQLITE_CANTOPEN"].contains(error.name)
        }
    }
}
