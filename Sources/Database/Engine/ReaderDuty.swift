/// Which of the threads that read are called when something is to be read.
///
/// Most queries take less time than it takes to switch to another thread. So one thread reads what comes, and another
/// is called only where that one is held up: by a long query, by more than a few that wait, or by a lock.
///
/// Answers that are kept wait for a look at the data. While as many threads as may are at queries, one more looks.
struct ReaderDuty {
    /// Threads that are at queries at most.
    static let maximumCount = 4
    /// Queries that wait for a thread that is awake, before another is called.
    static let patience = 8
    /// Nanoseconds from which on a query is a long one.
    static let longTime: UInt64 = 200_000

    private let limit: Int
    /// Threads that there may be beside these.
    private let spare: Int
    /// The threads that there are.
    private(set) var count = 0
    /// Those that wait and have not been called.
    private(set) var asleep = 0
    /// Those that are known to be at a long query.
    private var heldUp = 0
    /// Those that have been called and are not there yet.
    private var called = 0
    /// Those that are at queries.
    private var reading = 0
    /// When one last took a query or was called to take one, in nanoseconds of the monotonic clock.
    private var lastTake: UInt64 = 0

    /// - Parameters:
    ///   - limit: threads that are at queries at most.
    ///   - spare: threads beside these, for looks.
    init(limit: Int = ReaderDuty.maximumCount, spare: Int = 1) {
        self.limit = limit
        self.spare = spare
    }

    /// What has to be done for a query or a look.
    enum Call { case nothing, wake, start }

    /// Whether a thread may begin a query.
    var mayRead: Bool { reading < limit }

    /// A query or a look has been queued.
    ///
    /// - Parameters:
    ///   - waiting: how many wait, with this one.
    ///   - looks: whether a look waits.
    mutating func arrived(waiting: Int, looks: Bool = false, at now: UInt64) -> Call {
        if count > asleep + heldUp, waiting <= ReaderDuty.patience, now &- lastTake < ReaderDuty.longTime {
            return .nothing
        }
        return help(looks: looks, at: now)
    }

    /// Calls one more thread.
    ///
    /// - Parameter looks: whether a look waits.
    mutating func help(looks: Bool = false, at now: UInt64) -> Call {
        guard looks || mayRead else { return .nothing }
        if asleep > 0 {
            asleep -= 1
            called += 1
            lastTake = now
            return .wake
        }
        guard count < (mayRead ? limit : limit + spare) else { return .nothing }
        count += 1
        lastTake = now
        return .start
    }

    /// A thread has taken a query, or a look.
    mutating func took(at now: UInt64, isQuery: Bool = true) {
        lastTake = now
        if isQuery { reading += 1 }
    }

    /// A thread has ended its query.
    mutating func ended() { reading -= 1 }

    /// A thread has begun a query that takes long, or has it begun behind it.
    mutating func isHeldUp(_ value: Bool) { heldUp += value ? 1 : -1 }

    /// A thread has found nothing to do, and waits.
    mutating func sleeps() { asleep += 1 }

    /// Whether a thread that has woken up was called.
    mutating func wasCalled() -> Bool {
        guard called > 0 else { return false }
        called -= 1
        return true
    }

    /// A thread that has not been called waits no longer.
    mutating func rises() { asleep -= 1 }

    /// A thread that was awake has ended, or has not begun.
    mutating func left() { count -= 1 }
}
