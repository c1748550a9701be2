import Basics
import Synchronization

/// Something to do with a database, by one of its threads.
final class Job: Sendable {
    /// What to do.
    enum Work: Sendable {
        case request(DatabaseRequest)
        /// To see whether the data have changed.
        case check
        /// To close the connection to a file that stands there no more.
        case close
        /// To drop what is in memory.
        case reset
    }

    static let close = Job(.close) { _ in }

    let work: Work
    /// When it was asked for, in nanoseconds of the monotonic clock: waiting counts too.
    let createdAt = monotonicNanoseconds()
    let completion: @Sendable (DatabaseResult) -> Void
    private let cancelled = Atomic<Bool>(false)

    init(_ work: Work, _ completion: @escaping @Sendable (DatabaseResult) -> Void) {
        self.work = work
        self.completion = completion
    }

    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    func cancel() { cancelled.store(true, ordering: .relaxed) }

    var isReset: Bool {
        if case .reset = work { true } else { false }
    }

    var isLook: Bool {
        if case .check = work { true } else { false }
    }

    var isRequest: Bool {
        if case .request = work { true } else { false }
    }

    /// Whether it may change the data.
    var isWrite: Bool {
        switch work {
        case .request(let request): request.isWrite
        case .check, .close: false
        case .reset: true
        }
    }
}

/// A request that is under way: its client's going ends it.
public struct DatabaseTicket: Sendable {
    let job: Job

    /// Ends the request; what comes of it is of no interest any more.
    public func cancel() { job.cancel() }
}
