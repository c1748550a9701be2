import Basics
import Files
import HTTPSemantics
import NIOCore
import NIOPosix
import Substitution

/// What one event loop has for itself, so that exchanges on several loops never meet: the map in force, answers ready
/// to send, the date, the log's buffer, and the clock that drives timeouts.
final class LoopContext: @unchecked Sendable {
    // Unchecked: everything mutable is touched on `eventLoop` only; other threads just hand the reference back to it.

    let eventLoop: any EventLoop
    let proxy: ProxyCore
    let log: AccessLog
    /// Whether nobody has to prove who he is before he is answered.
    let admitsAll: Bool
    /// Fields that make a request for a mapped URL more than a plain one, so that the ready bytes are not its answer.
    let particular = FieldNameSet(
        .range, .ifRange, .ifMatch, .ifUnmodifiedSince, .cacheControl, .pragma, .origin, .expect)
    /// Those with which a client asks whether what it has is still right.
    let validating = FieldNameSet(.ifNoneMatch, .ifModifiedSince)
    private(set) var answers: AnswerTable
    /// Copies of whole responses that are asked for often.
    let copies = ResponseCopies()
    /// Stored responses that are ready to send.
    let stored: StoredTable
    /// Origin exchanges that go on by themselves, whether or not a client is there.
    var fetches: [ObjectIdentifier: Fetch] = [:]
    /// Those of them that no client has asked for.
    var backgroundFetches: Set<ObjectIdentifier> = []
    var uncollapsible = UncollapsibleKeys()
    /// Decides what requests get, by the map in force.
    private(set) var decider: Decider
    var map: SubstitutionMap { decider.map }
    var tunnelPolicy: TunnelPolicy { decider.tunnels }
    var scratch = LookupScratch()
    /// For look-ups beside that of the request itself, whose captures are still needed.
    var preflightScratch = LookupScratch()
    /// The folders that files were asked from, each with its descriptor.
    var folders: [ByBytes<String>: FolderRoot] = [:]
    /// The proxy's own site.
    var ownRoutes = OwnRoute.all
    var clock = LoopClock()
    private var date = DateStamp(unixSeconds: 0)
    private var connections: [ObjectIdentifier: any TimedConnection] = [:]
    private var ticker: RepeatedTask?
    private(set) var isStopping = false
    private var batchDepth = 0
    private var unflushed: [any BatchedConnection] = []
    /// What this loop's exchanges and transfers add up to.
    var exchangeMetrics = ExchangeMetrics()
    /// What sees this loop's exchanges, in the order in which it is told.
    var observers: [any ExchangeObserver] = [] { didSet { noteObservers() } }
    /// Exchanges that were begun under the eyes of observers, and are not over.
    var observedExchanges = 0 { didSet { noteObservers() } }
    /// Whether there are any of these: all that an exchange pays for where nobody looks on.
    private(set) var isObserved = false
    var transfers = TransferMetrics()
    private var lag = LoopLag()
    /// When timeouts are to be looked at next, in nanoseconds of the monotonic clock.
    private var tickIsDue = UInt64.max
    /// Whether the last tick came so late that timeouts were left to the next one.
    private var wasLate = false
    private var whenEmpty: (() -> Void)?

    /// How often timeouts are looked at.
    static let tick = TimeAmount.milliseconds(250)

    init(eventLoop: any EventLoop, proxy: ProxyCore, map: SubstitutionMap, tunnelPolicy: TunnelPolicy) {
        self.eventLoop = eventLoop
        self.proxy = proxy
        admitsAll = proxy.access == nil
        answers = AnswerTable(limit: proxy.readyAnswersLimit)
        stored = StoredTable(budget: proxy.configuration.cache.memory, loops: proxy.configuration.threads)
        let configuration = proxy.configuration
        decider = Decider(proxy, map, tunnelPolicy)
        log = AccessLog(
            sink: proxy.logSink, format: configuration.logFormat, showsQueryValues: configuration.logsQueryValues)
        log.needsFlush = { [unowned self] in
            eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(10)) { [self] in log.flushDue() }
        }
    }

    /// The Date field of now, formatted once a second.
    func dateStamp() -> DateStamp { dateStamp(at: monotonicNanoseconds()) }

    /// The Date field of a time of the monotonic clock that is now or was a moment ago.
    func dateStamp(at monotonic: UInt64) -> DateStamp { dateStamp(wallSecond(at: monotonic)) }

    /// The Date field of a time in Unix seconds.
    func dateStamp(_ second: Int64) -> DateStamp {
        if date.unixSeconds != second { date = DateStamp(unixSeconds: second) }
        return date
    }

    /// The Unix second of a time of the monotonic clock that is now or was a moment ago.
    @inline(__always)
    func wallSecond(at monotonic: UInt64) -> Int64 {
        Int64(truncatingIfNeeded: clock.wall(at: monotonic) / 1_000_000_000)
    }

    /// Puts another map in force; answers made from the old one are forgotten.
    func adopt(_ map: SubstitutionMap, tunnelPolicy: TunnelPolicy) {
        eventLoop.preconditionInEventLoop()
        decider = Decider(proxy, map, tunnelPolicy)
        folders.removeAll()
        scratch = LookupScratch()
        // Exchanges under way go on with the old map and its table.
        answers = AnswerTable(limit: proxy.readyAnswersLimit)
    }

    /// Performs `body`, and flushes what it writes to clients once at its end.
    func batch(_ body: () -> Void) {
        batchDepth &+= 1
        body()
        batchDepth &-= 1
        guard batchDepth == 0, !unflushed.isEmpty else { return }
        let connections = unflushed
        unflushed.removeAll(keepingCapacity: true)
        for connection in connections { connection.flushIfNeeded() }
    }

    /// Flushes a connection that was written to outside of its own read: at once, or at the end of the batch.
    func flushLater(_ connection: any BatchedConnection) {
        if batchDepth > 0 { unflushed.append(connection) } else { connection.flushIfNeeded() }
    }

    /// The exchange is over: one more in the counts, one line in the log, and its observers are told.
    ///
    /// Every exchange ends here once, but for straight answers that nobody observes: they have no record, and count by
    /// ``finish(_:status:bytes:since:)``.
    func finish(_ record: borrowing ExchangeRecord, client: String) {
        let end = finish(record.outcome, status: record.status, bytes: record.bodyBytes, since: record.startedAt)
        if log.isOn { log.write(record, client: client, duration: end.duration, wall: end.wall) }
        endObservation(of: record, duration: end.duration)
    }

    /// The exchange is over: one more in the counts.
    ///
    /// - Returns: what its line in the log tells of time.
    @inline(__always)
    func finish(_ outcome: Outcome, status: Int, bytes: Int, since start: UInt64) -> (duration: UInt64, wall: UInt64) {
        let now = monotonicNanoseconds()
        let duration = now >= start ? now &- start : 0
        exchangeMetrics.add(outcome, status: status, bytes: bytes, duration: duration)
        return (duration, clock.wall(at: now))
    }

    private func noteObservers() { isObserved = !observers.isEmpty || observedExchanges > 0 }

    /// What this loop has to tell of itself.
    ///
    /// - Parameter asked: the monotonic time at which it was asked.
    func metrics(asked: UInt64) -> LoopMetrics {
        let now = monotonicNanoseconds()
        lag.note(now > asked ? now &- asked : 0, now: now)
        var activities = [Int](repeating: 0, count: ConnectionActivity.allCases.count)
        for connection in connections.values { activities[connection.activity.rawValue] &+= 1 }
        return LoopMetrics(
            exchanges: exchangeMetrics, connections: activities, transfers: transfers, lag: lag.largest(now: now))
    }

    func add(_ connection: any TimedConnection) {
        connections[ObjectIdentifier(connection)] = connection
        if isStopping { connection.stop() }
        guard ticker == nil else { return }
        expectTick()
        ticker = eventLoop.scheduleRepeatedTask(
            initialDelay: LoopContext.tick, delay: LoopContext.tick
        ) { [self] _ in checkTimeouts() }
    }

    func remove(_ connection: any TimedConnection) {
        connections[ObjectIdentifier(connection)] = nil
        guard connections.isEmpty else { return }
        ticker?.cancel()
        ticker = nil
        tickIsDue = .max
        log.flush()
        whenEmpty?()
        whenEmpty = nil
    }

    /// Closes idle connections, lets the others finish, and calls back when none is left.
    func stop(whenEmpty: @escaping () -> Void) {
        isStopping = true
        for connection in connections.values { connection.stop() }
        guard !connections.isEmpty else {
            log.flush()
            return whenEmpty()
        }
        self.whenEmpty = whenEmpty
    }

    /// Cuts every connection that is left.
    func cut() {
        for connection in connections.values { connection.cut() }
        log.flush()
    }

    private func checkTimeouts() {
        let now = monotonicNanoseconds()
        if now > tickIsDue { lag.note(now &- tickIsDue, now: now) }
        // After a stop of the process what has come meanwhile is read first, as it may be in time. Once only: a loop
        // that is always late has timeouts too.
        let isLate = now > tickIsDue && now &- tickIsDue > UInt64(LoopContext.tick.nanoseconds)
        defer { expectTick() }
        guard !isLate || wasLate else {
            wasLate = true
            return
        }
        wasLate = isLate
        for connection in connections.values { connection.check(now: now) }
    }

    private func expectTick() { tickIsDue = monotonicNanoseconds() &+ UInt64(LoopContext.tick.nanoseconds) }
}

extension Decider {
    fileprivate convenience init(_ proxy: ProxyCore, _ map: SubstitutionMap, _ tunnels: TunnelPolicy) {
        self.init(
            map: map, tunnels: tunnels, isOffline: proxy.configuration.isOffline, bypass: proxy.configuration.bypass,
            hasCache: proxy.cache != nil, connectPorts: proxy.configuration.connectPorts, ownNames: proxy.ownNames,
            identity: proxy.identity)
    }
}

/// A client's side that is written to in a batch, and flushed at its end.
protocol BatchedConnection: AnyObject {
    func flushIfNeeded()
}

/// A connection whose timeouts the loop looks after.
protocol TimedConnection: AnyObject {
    var activity: ConnectionActivity { get }
    func check(now: UInt64)
    /// The server stops: close if idle, else after the exchange under way.
    func stop()
    /// Close at once.
    func cut()
}

/// A Date field line for one second, ready to be copied.
struct DateStamp: Equatable {
    let unixSeconds: Int64
    /// `Date: Sat, 21 Nov 2026 14:02:11 GMT` with its CRLF; always of the same length.
    let line: ByteBuffer

    init(unixSeconds: Int64) {
        self.unixSeconds = unixSeconds
        var line = ByteBuffer()
        line.writeStaticString("Date: ")
        line.writeBytes(HTTPDate.bytes(unixSeconds))
        line.writeStaticString("\r\n")
        self.line = line
    }

    static func == (lhs: DateStamp, rhs: DateStamp) -> Bool { lhs.unixSeconds == rhs.unixSeconds }
}
