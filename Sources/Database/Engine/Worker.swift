import Basics
import Glibc
import SQLite

/// A thread of a database, with its connection.
final class Worker {
    let database: Database
    let writes: Bool
    /// The connection to the file.
    var opened: OpenedFile?
    /// What is in memory; only the thread that writes has it.
    var memory: Memory?
    /// It has called for help with what it does.
    private var isHeldUp = false
    /// What it does is a query, or was.
    private var hasRead = false
    private var weight = ThreadWeight()
    /// When it began what it does, in nanoseconds of the monotonic clock.
    private var began: UInt64 = 0

    struct Memory {
        let session: Session
        /// The seeds' state where it was made from them; nil for a copy of the file.
        let seeds: [UInt64]?
        /// It has what no file and no seed has.
        var isWritten = false
    }

    /// - Parameter former: what a thread of its own would have, where the one that makes it has stepped back.
    init(_ database: Database, writes: Bool, former: ThreadWeight.Former? = nil) {
        self.database = database
        self.writes = writes
        weight.inherit(former)
    }

    func run() {
        // A thread that can't get its weight back does what waits, and leaves the rest to another one.
        while let job = database.take(
            writes: writes, wasHeldUp: isHeldUp, hasRead: hasRead, staysAround: weight.restore(),
            opening: opened?.opening.number)
        {
            isHeldUp = false
            hasRead = !writes && job.isRequest
            began = monotonicNanoseconds()
            perform(job)
        }
        closeFile()
        memory = nil
        database.leave()
    }

    /// What it does takes long: others can do what waits.
    private func callHelp(at now: UInt64) {
        guard !writes else { return }
        database.callHelp(at: now, isFirst: !isHeldUp, former: weight.former)
        isHeldUp = true
        guard now > began, now &- began > database.patience else { return }
        weight.lower()
        weight.giveWay(at: now)
    }

    private func perform(_ job: Job) {
        guard !job.isCancelled else {
            return job.completion(.answer(DatabaseAnswer(.busy(database.file.name)), version: nil))
        }
        switch job.work {
        case .check:
            let waiters = database.takeCheckWaiters()
            let hasLooked = check()
            for waiter in waiters { waiter(hasLooked) }
            job.completion(.missing)
        case .close: closeFile()
        case .reset:
            memory = nil
            database.setInMemory(false, isFixed: false)
            job.completion(.missing)
        case .request(let request):
            do throws(Failure) {
                job.completion(try answer(request, job))
            } catch {
                switch error {
                case .problem(let problem): job.completion(.answer(DatabaseAnswer(problem), version: nil))
                case .missing: job.completion(.missing)
                case .refused(let why): job.completion(.refused(why))
                case .needsWriter: database.hand(overToWriter: job)
                }
            }
        }
    }

    enum Failure: Error {
        case problem(Problem), missing, refused(String)
        /// There is no file, and the thread that writes makes what answers from seeds.
        case needsWriter
    }

    // MARK: Answers

    private func answer(_ request: DatabaseRequest, _ job: Job) throws(Failure) -> DatabaseResult {
        let guardian = Guardian(
            limits: request.rule.limits, now: job.createdAt,
            takesLong: { [unowned self] now in callHelp(at: now) }, isOutdated: { [unowned self] in isOutdated },
            isCancelled: { job.isCancelled })
        guard monotonicNanoseconds() &- job.createdAt < max(request.rule.limits.wait, request.rule.limits.time) else {
            throw .problem(
                Problem(503, "database locked", "\(database.file.name): others took too long, and it was not begun"))
        }
        do throws(Failure) {
            return try request.isWrite ? write(request, guardian) : read(request, guardian)
        } catch {
            guard case .problem(let problem) = error, problem.isOfConnection else { throw error }
            closeFile()
            guardian.beginsAnew()
            return try request.isWrite ? write(request, guardian) : read(request, guardian)
        }
    }

    private func write(_ request: DatabaseRequest, _ guardian: Guardian) throws(Failure) -> DatabaseResult {
        let session = try writable(request, guardian)
        session.guardian = guardian
        defer { session.guardian = nil }
        var answer: DatabaseAnswer
        do throws(Problem) {
            answer = try session.transaction(.beginImmediate, failure: session.problem) { () throws(Problem) in
                let view: SchemaView
                do throws(SQLiteError) {
                    if memory == nil, let opened, try opened.hasChanged() { noteChange() }
                    view = try session.view(for: request.rule, looks: true, views: .named(in: request))
                } catch {
                    throw session.problem(error)
                }
                return try Writer(session: session, request: request, schema: view, entityTag: database.entityTag)
                    .answer()
            }
        } catch {
            throw .problem(outgrown(error, session))
        }
        database.version.change()
        if memory == nil {
            noteLog()
            opened?.hasCommitted()
        } else {
            memory?.isWritten = true
        }
        answer.isRetrieval = false
        return .answer(answer, version: nil)
    }

    private func read(_ request: DatabaseRequest, _ guardian: Guardian) throws(Failure) -> DatabaseResult {
        let started = monotonicNanoseconds()
        let session = try readable(guardian)
        // Read before the transaction begins: what changes from here on makes the answer one of an old state.
        let before = database.version.current
        // The state may be that of a write to memory, which this doesn't see.
        let isLate = memory == nil && database.hasMovedToMemory
        session.guardian = guardian
        defer { session.guardian = nil }
        var state: UInt64? = before
        var hasChanged = false
        do throws(Problem) {
            var rows: [StatementRows] = []
            let answer = try session.transaction(.begin, failure: session.problem) { () throws(Problem) in
                let view: SchemaView
                do throws(SQLiteError) {
                    if memory == nil, let opened, try opened.hasChanged() {
                        state = database.version.change(from: before)
                        hasChanged = true
                    }
                    if isLate { state = nil }
                    view = try session.view(
                        for: request.rule, looks: state != before || memory != nil, views: .named(in: request))
                } catch {
                    throw session.problem(error)
                }
                guard request.statements.isEmpty else {
                    for named in request.statements {
                        let runner = StatementRunner(session, named.statement, request.rule)
                        rows.append(try runner.rows(request, name: named.name))
                    }
                    return DatabaseAnswer(200, [])
                }
                return try Reader(
                    session, view, url: request.url, query: request.query,
                    counts: state.map { (database.counts, $0) }
                ).answer(request)
            }
            // A log that wasn't there, or is another one now, comes with a change of the data.
            if hasChanged { noteLog() }
            database.version.checked(at: started)
            guard request.statements.isEmpty else { return .rows(rows, version: session.isVolatile ? nil : state) }
            return .answer(answer, version: answer.isRepeatable && !session.isVolatile ? state : nil)
        } catch {
            if error.isOfFile { closeFile() }
            throw .problem(error)
        }
    }

    /// - Returns: whether it is known now what the data are.
    private func check() -> Bool {
        let started = monotonicNanoseconds()
        let guardian = Guardian(
            limits: DatabaseRule.Limits(), now: started, takesLong: { [unowned self] now in callHelp(at: now) },
            isOutdated: { [unowned self] in isOutdated }, isCancelled: { false })
        do throws(Failure) {
            let session = try readable(guardian)
            session.guardian = guardian
            defer { session.guardian = nil }
            guard memory == nil, let opened else {
                database.version.checked(at: started)
                return true
            }
            do throws(SQLiteError) {
                try session.transaction(.begin, failure: { $0 }) { () throws(SQLiteError) in
                    if try opened.hasChanged() { noteChange() }
                }
            } catch {
                throw .problem(session.problem(error))
            }
        } catch {
            if case .problem(let problem) = error, problem.isOfConnection { closeFile() }
            // Whatever keeps it from being looked at: answers that are kept can't be told to be the newest.
            database.version.change()
            return false
        }
        database.version.checked(at: started)
        return true
    }

    // MARK: Writing

    /// A connection to write to.
    private func writable(_ request: DatabaseRequest, _ guardian: Guardian) throws(Failure) -> Session {
        if request.rule.writes == .memory {
            if let session = try inMemory(guardian) { return session }
            try copyToMemory(guardian)
            guard let memory else { throw .missing }
            return memory.session
        }
        let look: DatabaseFileLook
        do throws(DatabaseFileProblem) {
            look = try database.file.look()
        } catch {
            guard case .missing = error, let seeds = database.seeds else { throw failure(error) }
            look = try makeFile(seeds, guardian)
        }
        return try openFile(look, writes: true, guardian)
    }

    func makeFile(_ seeds: SeedSource, _ guardian: Guardian) throws(Failure) -> DatabaseFileLook {
        let path: String
        do throws(DatabaseFileProblem) { path = try database.file.path() } catch { throw failure(error) }
        do throws(Problem) {
            try Worker.refuseLeftLog(path, name: database.file.name) { !hasFile }
            try Worker.makeFile(path, seeds, name: database.file.name, guardian)
        } catch {
            throw .problem(error)
        }
        do throws(DatabaseFileProblem) { return try database.file.look() } catch { throw failure(error) }
    }

    private func copyToMemory(_ guardian: Guardian) throws(Failure) {
        let source = try readable(guardian)
        guard memory == nil else { return }
        source.guardian = guardian
        defer { source.guardian = nil }
        do throws(SQLiteError) {
            let connection = try SQLiteConnection("", mode: .memory)
            let pageSize = try source.own("PRAGMA main.page_size") ?? 4096
            let limit = database.memoryPages(of: pageSize)
            connection.waitsForLock = { guardian.waitsForLock($0) }
            var isTooLarge = false
            do throws(SQLiteError) {
                try connection.copy(from: source.connection) { pages in
                    isTooLarge = Int64(pages) > limit
                    return !isTooLarge && guardian.goesOn()
                }
            } catch {
                guard isTooLarge else { throw error }
                let size = (try source.own("PRAGMA main.page_count") ?? 0) * pageSize
                throw SQLiteError(code: 13, message: tooLarge(size))
            }
            memory = Memory(session: try inMemory(connection), seeds: nil)
        } catch {
            throw .problem(
                error.isFull ? Problem(507, "database too large", error.message) : problem(error, guardian))
        }
        database.setInMemory(true, isFixed: true)
    }

    func fillMemory(_ source: SeedSource, _ guardian: Guardian) throws(Failure) {
        let state = source.state
        let connection: SQLiteConnection
        do throws(SQLiteError) {
            connection = try SQLiteConnection("", mode: .memory)
            connection.goesOn = { guardian.goesOn() }
            // For as long as the seeds name no other size of pages.
            _ = try connection.integer("PRAGMA max_page_count=\(database.memoryPages(of: 4096))")
        } catch {
            throw .problem(problem(error, guardian))
        }
        do throws(Problem) {
            try source.fill(connection, name: database.file.name, guardian)
        } catch {
            throw .problem(error.status == 507 ? Problem(507, error.title, tooLarge(nil)) : error)
        }
        do throws(SQLiteError) {
            memory = Memory(session: try inMemory(connection), seeds: state)
        } catch {
            throw .problem(
                error.isFull
                    ? Problem(507, "database too large", tooLarge(nil))
                    : problem(error, guardian))
        }
        database.setInMemory(true, isFixed: false)
    }

    private func inMemory(_ connection: SQLiteConnection) throws(SQLiteError) -> Session {
        let session = try Session(connection, name: database.file.name)
        let pages = database.memoryPages(of: try session.own("PRAGMA main.page_size") ?? 4096)
        _ = try session.own("PRAGMA main.max_page_count=\(pages)")
        return session
    }

    func problem(_ error: SQLiteError, _ guardian: Guardian) -> Problem {
        Problem(error, of: database.file.name, guardian)
    }

    /// The problem, with the limit where the database in memory has reached it.
    private func outgrown(_ problem: Problem, _ session: Session) -> Problem {
        guard problem.status == 507, memory != nil, let pages = try? session.own("PRAGMA main.page_count"),
            let pageSize = try? session.own("PRAGMA main.page_size")
        else { return problem }
        // What is there is what was before: the write is taken back.
        return Problem(
            507, problem.title,
            "the write does not fit: \(database.file.name) has \(ByteCount.measured(pages * pageSize)), and \(limit)")
    }

    private var limit: String {
        "'limits: { memory: … }' is \(ByteCount.written(Int64(database.memoryLimit)))"
    }

    private func tooLarge(_ size: Int64?) -> String {
        let name = database.file.name
        let has = size.map { "\(name) has \(ByteCount.measured($0))" } ?? "\(name) outgrows its limit"
        return "\(has); \(limit)"
    }
}
