import Basics
import Glibc
import SQLite

/// A database that answers requests: a file, or what stands in memory in its place.
///
/// It is opened at the first request. Up to four threads read and one writes, each with a connection of its own, and
/// one more looks whether the data have changed where the four take long;
/// what is in memory is read by the thread that writes it. The threads wait for work. They end with the database, or
/// after a minute without a request, and their connections with them; what is in memory stays.
public final class Database: @unchecked Sendable {
    // The lock guards what follows it; the rest is never changed, or belongs to a thread.
    let file: any DatabaseFile
    /// The state of the data.
    public let version = DataVersion()
    /// How many rows lists have in that state.
    let counts = CountCache()
    /// Makes the entity tag of an answer, with its quotes.
    let entityTag: @Sendable ([UInt8]) -> [UInt8]
    /// What the database is made from where there is no file.
    let seeds: SeedSource?
    /// The bytes that a database in memory may have.
    let memoryLimit: Int
    /// Nanoseconds that a query runs before its thread steps back.
    let patience: UInt64
    /// Where changes go, by all the rules that name it.
    let writes: DatabaseRule.Writes

    /// Requests that wait at most, beside those that run.
    static let maximumWaitingCount = 256
    /// Nanoseconds without a request after which threads and connections end.
    static let idleTime: UInt64 = 60_000_000_000

    private let lock = ConditionLock(conditions: 2)
    /// What the threads that read wait for, and what the one that writes waits for.
    private static let (reading, writing) = (0, 1)
    private var readQueue = JobQueue()
    /// Looks, before what is to be read.
    private var lookQueue = JobQueue()
    private var writeQueue = JobQueue()
    private var readers: ReaderDuty
    private var hasWriter = false
    /// Threads that take nothing any more, and still close their connections.
    private var leaving = 0
    private var isClosed = false
    /// When it was last asked something.
    private var usedAt: UInt64
    private let now: @Sendable () -> UInt64
    /// Which file was read last, and the log that belonged to it; nil where there was none.
    private var lastLog: (file: DatabaseFileIdentity, log: LogIdentity?)?
    /// Those who wait for the look that is queued.
    private var checkWaiters: [@Sendable (Bool) -> Void] = []
    /// Whether what answers is in memory.
    private var isInMemory = false
    /// The log of a file that another one was copied over.
    private var leftLog: LogIdentity?
    /// The connections to the file.
    let openings = Openings()

    /// - Parameters:
    ///   - seeds: what it is made from where there is no file.
    ///   - entityTag: makes the entity tag of a body, with its quotes.
    public convenience init(
        _ file: any DatabaseFile, seeds: SeedSource? = nil, writes: DatabaseRule.Writes = .off, memoryLimit: Int,
        entityTag: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) {
        self.init(
            file, seeds: seeds, writes: writes, memoryLimit: memoryLimit, entityTag: entityTag,
            now: { monotonicNanoseconds() })
    }

    /// - Parameters:
    ///   - now: nanoseconds of the monotonic clock.
    ///   - readers: which of the threads that read are called.
    ///   - patience: nanoseconds that a query runs before its thread steps back.
    init(
        _ file: any DatabaseFile, seeds: SeedSource? = nil, writes: DatabaseRule.Writes = .off, memoryLimit: Int,
        entityTag: @escaping @Sendable ([UInt8]) -> [UInt8], now: @escaping @Sendable () -> UInt64,
        readers: ReaderDuty = ReaderDuty(), patience: UInt64 = ThreadWeight.patience
    ) {
        self.readers = readers
        self.patience = patience
        self.file = file
        self.seeds = seeds
        self.memoryLimit = memoryLimit
        self.writes = writes
        self.entityTag = entityTag
        self.now = now
        usedAt = now()
    }

    /// What messages call it.
    public var name: String { file.name }

    // MARK: Asking

    /// Has a request answered.
    ///
    /// - Parameter completion: called once, by another thread or by this one.
    /// - Returns: what ends it.
    @discardableResult
    public func submit(
        _ request: DatabaseRequest, _ completion: @escaping @Sendable (DatabaseResult) -> Void
    ) -> DatabaseTicket {
        enqueue(Job(.request(request), completion))
    }

    /// Looks whether the data have changed, for answers that are kept.
    ///
    /// - Parameter completion: told whether it was looked; if not, nothing is known.
    public func check(_ completion: @escaping @Sendable (Bool) -> Void) {
        let isFirst = lock.locked { () -> Bool in
            checkWaiters.append(completion)
            return checkWaiters.count == 1
        }
        // One look serves all that wait for it.
        guard isFirst else { return }
        enqueue(
            Job(.check) { [self] result in
                guard case .missing = result else { return takeCheckWaiters().forEach { $0(false) } }
            })
    }

    /// Those who wait for a look that begins now; who comes later waits for another.
    func takeCheckWaiters() -> [@Sendable (Bool) -> Void] {
        lock.locked { () -> [@Sendable (Bool) -> Void] in
            defer { checkWaiters = [] }
            return checkWaiters
        }
    }

    /// Drops what is in memory, so that the file or its seeds answer again.
    public func reset(_ completion: @escaping @Sendable () -> Void) {
        enqueue(Job(.reset) { _ in completion() })
    }

    /// Lets the threads end when they have done what they have begun; what waits is refused.
    public func close() {
        let waiting = lock.locked { () -> [Job] in
            isClosed = true
            let waiting = lookQueue.removeAll() + readQueue.removeAll() + writeQueue.removeAll()
            lock.wakeAll()
            return waiting
        }
        for job in waiting { job.completion(.answer(DatabaseAnswer(.closed(file.name)), version: nil)) }
    }

    /// Waits until the threads of a database that is closed have ended, and with them its connections: the last one of
    /// them moves what is in the `-wal` file to the database's own.
    ///
    /// - Parameter limit: nanoseconds that it waits at most.
    public func waitForEnd(limit: UInt64) {
        let start = monotonicNanoseconds()
        while threadCount > 0, monotonicNanoseconds() &- start < limit { usleep(1000) }
    }

    /// The threads that there are.
    var threadCount: Int { lock.locked { readers.count + leaving + (hasWriter ? 1 : 0) } }

    /// Lets threads look whether they have been idle for long, which they do by themselves later.
    func sweep() { lock.locked { lock.wakeAll() } }

    @discardableResult
    private func enqueue(_ job: Job) -> DatabaseTicket {
        enum Next { case wait, startReader, startWriter, refuse(Problem) }
        let next = lock.locked { () -> Next in
            guard !isClosed else { return .refuse(.closed(file.name)) }
            guard readQueue.count + writeQueue.count < Database.maximumWaitingCount || job.isReset else {
                return .refuse(.busy(file.name))
            }
            usedAt = now()
            if job.isWrite || isInMemory {
                writeQueue.append(job)
                if !hasWriter {
                    hasWriter = true
                    return .startWriter
                }
                lock.wakeOne(of: Database.writing)
                return .wait
            }
            if job.isLook { lookQueue.append(job) } else { readQueue.append(job) }
            switch readers.arrived(
                waiting: readQueue.count + lookQueue.count, looks: lookQueue.count > 0, at: job.createdAt)
            {
            case .start: return .startReader
            case .wake: lock.wakeOne(of: Database.reading)
            case .nothing: break
            }
            return .wait
        }
        switch next {
        case .wait: break
        case .refuse(let problem): job.completion(.answer(DatabaseAnswer(problem), version: nil))
        case .startReader: startThread(writes: false)
        case .startWriter: startThread(writes: true)
        }
        return DatabaseTicket(job: job)
    }

    // MARK: Threads

    /// Calls another thread for what waits, from one that reads and whose query takes long.
    ///
    /// - Parameters:
    ///   - isFirst: whether it is the first time that this query does.
    ///   - former: what it had, where it has stepped back.
    func callHelp(at now: UInt64, isFirst: Bool, former: ThreadWeight.Former?) {
        let starts = lock.locked { () -> Bool in
            if isFirst { readers.isHeldUp(true) }
            guard readQueue.count + lookQueue.count > 0 else { return false }
            switch readers.help(looks: lookQueue.count > 0, at: now) {
            case .start: return true
            case .wake: lock.wakeOne(of: Database.reading)
            case .nothing: break
            }
            return false
        }
        if starts { startThread(writes: false, former: former) }
    }

    private func startThread(writes: Bool, former: ThreadWeight.Former? = nil) {
        let worker = Worker(self, writes: writes, former: former)
        let argument = Unmanaged.passRetained(worker).toOpaque()
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Worker>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, argument)
        guard code != 0 else {
            pthread_detach(thread)
            return
        }
        Unmanaged<Worker>.fromOpaque(argument).release()
        let stranded = lock.locked { () -> [Job] in
            if writes {
                hasWriter = false
                return writeQueue.removeAll()
            }
            readers.left()
            lock.wakeAll()
            guard readers.count > 0 else { return lookQueue.removeAll() + readQueue.removeAll() }
            if case .wake = readers.help(looks: lookQueue.count > 0, at: monotonicNanoseconds()) {
                lock.wakeOne(of: Database.reading)
            }
            return []
        }
        for job in stranded { job.completion(.answer(DatabaseAnswer(.busy(file.name)), version: nil)) }
    }

    /// The next thing to do for a thread, which waits for it; nil where the thread has to end.
    ///
    /// - Parameters:
    ///   - wasHeldUp: whether it has called for help with what it did last.
    ///   - hasRead: whether that was a query.
    ///   - staysAround: whether it waits for more when nothing is there to do.
    ///   - opening: the number of the file that its connection is to.
    func take(writes: Bool, wasHeldUp: Bool, hasRead: Bool, staysAround: Bool, opening: UInt64? = nil) -> Job? {
        lock.locked {
            if wasHeldUp { readers.isHeldUp(false) }
            if hasRead { readers.ended() }
            while true {
                if isOutdated(opening) { return .close }
                if writes, let job = writeQueue.removeFirst() { return job }
                if !writes, let job = lookQueue.removeFirst() ?? nextQuery() {
                    guard isInMemory else {
                        readers.took(at: monotonicNanoseconds(), isQuery: !job.isLook)
                        return job
                    }
                    // The data have moved to memory since it was asked.
                    writeQueue.append(job)
                    lock.wakeOne(of: Database.writing)
                    continue
                }
                if isClosed || isIdle(writes: writes) || !staysAround {
                    // The last connection to close moves the log into the file, which those that read can't.
                    guard writes, readers.count + leaving > 0 else {
                        // From here on another thread is started for what comes.
                        if writes { hasWriter = false } else { readers.left() }
                        leaving += 1
                        return nil
                    }
                    lock.wait(for: Database.writing)
                } else if writes, isInMemory {
                    lock.wait(for: Database.writing)
                } else if writes {
                    lock.wait(for: Database.writing, until: idleEnd)
                } else {
                    sleep(opening)
                }
            }
        }
    }

    /// What is to be read next, where another thread may.
    private func nextQuery() -> Job? { isInMemory || readers.mayRead ? readQueue.removeFirst() : nil }

    /// Whether another file stands there than the one that a connection is to.
    private func isOutdated(_ opening: UInt64?) -> Bool { opening.map { $0 != openings.current } ?? false }

    /// Has a thread that reads wait until it is called, or has to close its connection or to end. To be called with the
    /// lock held.
    private func sleep(_ opening: UInt64?) {
        readers.sleeps()
        var isCalled = false
        repeat {
            lock.wait(for: Database.reading, until: idleEnd)
            isCalled = readers.wasCalled()
        } while !isCalled && !isClosed && !isIdle(writes: false) && !isOutdated(opening)
        if !isCalled { readers.rises() }
    }

    /// When a thread that waits has to look again whether nobody has asked: by the clock that it waits by, which need
    /// not be the database's own. To be asked with the lock held.
    private var idleEnd: UInt64 {
        let passed = min(now() &- usedAt, Database.idleTime)
        return monotonicNanoseconds() &+ max(Database.idleTime &- passed, 1_000_000)
    }

    /// Whether nobody has asked a thread for long. What is in memory stays with the one that writes. To be asked with
    /// the lock held.
    private func isIdle(writes: Bool) -> Bool {
        !(writes && isInMemory) && now() &- usedAt >= Database.idleTime
    }

    /// A thread has closed its connection, and ends.
    func leave() {
        lock.locked {
            leaving -= 1
            lock.wakeAll()
        }
    }

    /// Moves what answers to memory, or back to the file.
    ///
    /// - Parameter isFixed: nobody but this process can change it.
    func setInMemory(_ value: Bool, isFixed: Bool) {
        version.setFixed(isFixed)
        lock.locked { isInMemory = value }
        version.change()
    }

    /// How many pages a database in memory may have; one at least, since to SQLite 0 changes nothing.
    func memoryPages(of size: Int64) -> Int64 { max(1, Int64(memoryLimit) / max(size, 512)) }

    /// Whether what answers is in memory by now.
    var hasMovedToMemory: Bool { lock.locked { isInMemory } }

    /// Has all connections to a file closed, as another one stands in its place. What is under way is ended.
    ///
    /// - Parameters:
    ///   - number: the file's.
    ///   - path: where it is, if another one was copied over it; nil if that has a name of its own.
    func endOpenings(_ number: UInt64, over path: String?) {
        let log = path.flatMap { LogIdentity(ofFile: $0 + "-wal") }
        lock.locked {
            guard openings.end(number) else { return }
            if path != nil { leftLog = log }
            lock.wakeAll()
        }
        version.change()
    }

    /// Notes the log that belongs to a file.
    func note(log: LogIdentity?, of file: DatabaseFileIdentity, number: UInt64 = 0) {
        lock.locked {
            guard number == openings.current else { return }
            lastLog = (file, log)
            leftLog = nil
        }
    }

    /// Whether a log belongs to another file than the one that stands at the path now.
    func isForeign(log: LogIdentity?, of file: DatabaseFileIdentity) -> Bool {
        lock.locked {
            guard let log else { return false }
            return log == leftLog || lastLog.map { $0.file != file && $0.log == log } ?? false
        }
    }

    /// Hands a job to the thread that writes: what it reads can't be had otherwise.
    func hand(overToWriter job: Job) {
        let mustStart = lock.locked { () -> Bool in
            usedAt = now()
            writeQueue.append(job)
            defer { hasWriter = true }
            lock.wakeOne(of: Database.writing)
            return !hasWriter
        }
        if mustStart { startThread(writes: true) }
    }
}

/// Jobs in the order that they came in.
struct JobQueue {
    /// Those before the first one are taken, and nil: what a request has brought isn't kept behind its end.
    private var jobs: [Job?] = []
    private var first = 0

    var count: Int { jobs.count - first }

    mutating func append(_ job: Job) { jobs.append(job) }

    mutating func removeFirst() -> Job? {
        guard first < jobs.count else { return nil }
        let job = jobs[first]
        jobs[first] = nil
        first += 1
        if first > 64, first * 2 > jobs.count {
            jobs.removeFirst(first)
            first = 0
        }
        return job
    }

    mutating func removeAll() -> [Job] {
        let waiting = jobs[first...].compactMap { $0 }
        jobs = []
        first = 0
        return waiting
    }
}
