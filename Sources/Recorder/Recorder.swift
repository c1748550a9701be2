import Archives
import Basics
public import ForwardProxy
import Glibc
import NIOCore

/// Writes down what origins answer, on a thread of its own.
///
/// Exchanges are handed over whole, in the order in which they end; long bodies go to spool files before that. What
/// waits to be written is bounded: beyond the bound exchanges end when there is room again. Where nothing can be
/// written any more, the rest is counted and let go of, and no exchange fails for it.
public final class Recorder: ExchangeRecorder {
    private enum Job {
        case append(Spool, ByteBuffer, taken: @Sendable () -> Void)
        case entry(PackedExchange, RecordedPieces, weight: Int)
        case release(SpoolFile)
        case done
    }

    /// Behind the lock.
    private struct State {
        var jobs: [Job] = []
        /// Exchanges that wait to be written, and the bytes of those that are in memory.
        var waiting = 0
        var waitingBytes = 0
        /// Those that end when there is room.
        var held: [@Sendable () -> Void] = []
        var isBusy = false
        /// Whether the writer's thread lets jobs gather, and whether it is not to any longer.
        var isGathering = false
        var isUrgent = false
        var isEnding = false
        /// Whether no job is performed any more.
        var isClosed = false
        var hasEnded = false
        var hosts: Set<[UInt8]> = []
        var summary = RecorderSummary()
    }

    private struct Entry {
        let bytes: Int
        let credentials: Int
        /// Nil where it is that of the one before.
        let host: [UInt8]?
        let span: RecordingOrder.Span
    }

    /// What the writer's thread knows of entries that it has performed since it last told.
    private struct Performed {
        var count = 0
        var weight = 0
        /// Those that may still wait in the output.
        var entries: [Entry] = []
        var unrecorded: [String] = []
        var lastHost: [UInt8]?
        /// How many of the output's entries have been told.
        var told = 0
        var hasFailed = false
    }

    /// The most that waits: exchanges, and bytes of theirs.
    private static let mostWaiting = 1024
    private static let mostBytes = 8 << 20
    /// While exchanges keep coming, they are written together so often, in nanoseconds, or as soon as there are so
    /// many.
    private static let gatherTime: UInt64 = 2_000_000
    private static let mostGathered = 256
    private static let mostGatheredBytes = 1 << 20
    /// So many that were performed are told at once.
    private static let mostUntold = 128
    /// Conditions of the lock: there is something to do, and there is nothing left.
    private static let work = 0
    private static let rest = 1

    public let bodyLimit: Int
    private let options: RecorderOptions
    private let lock = ConditionLock(conditions: 2)
    nonisolated(unsafe) private var state = State()
    /// Used by the writer's thread alone; nil from the end on, when others may write there.
    nonisolated(unsafe) private var output: (any RecorderOutput)?
    nonisolated(unsafe) private var performed = Performed()
    private let spoolFolder: String
    /// Whether entries are brought into an order at the end.
    private let hasOrder: Bool

    /// Opens what is written, goes on with what is there, and starts the thread.
    ///
    /// - Throws: ``RecorderFailure``.
    public init(_ options: RecorderOptions) throws(RecorderFailure) {
        self.options = options
        bodyLimit = options.bodyLimit
        let path = options.output.path
        switch options.output {
        case .folder(let path): output = try FolderOutput(path, options)
        case .har(let path): output = try HAROutput(path, options)
        case .warc(let path, let isCompressed):
            output = try WARCOutput(path, isCompressed: isCompressed, options)
        }
        hasOrder = if case .folder = options.output { true } else { false }
        spoolFolder = hasOrder ? path : Spool.folder(of: path)
        try start()
    }

    private func start() throws(RecorderFailure) {
        // Signals are for the threads that wait for them.
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Recorder>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw .system(SystemError(code).text)
        }
        pthread_detach(thread)
    }

    // MARK: Event loops

    public func admit(goOn: @escaping @Sendable () -> Void) -> Bool {
        lock.locked {
            let hasRoom = hasRoom || state.summary.failure != nil || state.isEnding
            if !hasRoom { state.held.append(goOn) }
            return hasRoom
        }
    }

    /// With the lock held.
    private var hasRoom: Bool { state.waiting < Recorder.mostWaiting && state.waitingBytes < Recorder.mostBytes }

    public func record(
        _ exchange: PackedExchange, body: RecordedPieces, goOn: @escaping @Sendable () -> Void
    ) -> Bool {
        var weight = 1024 + (exchange.requestBody?.count ?? 0)
        if case .memory(let pieces) = body { weight += pieces.reduce(0) { $0 + $1.readableBytes } }
        return lock.locked {
            guard state.summary.failure == nil, !state.isEnding else {
                count("not written")
                return true
            }
            state.waiting += 1
            state.waitingBytes += weight
            let isUrgent =
                state.waiting >= Recorder.mostGathered || state.waitingBytes >= Recorder.mostGatheredBytes
            add(.entry(exchange, body, weight: weight), isUrgent: isUrgent)
            let hasRoom = hasRoom
            if !hasRoom { state.held.append(goOn) }
            return hasRoom
        }
    }

    /// With the lock held.
    private func add(_ job: Job, isUrgent: Bool) {
        state.jobs.append(job)
        if state.isGathering, !isUrgent || state.isUrgent { return }
        if isUrgent { state.isUrgent = true }
        lock.wakeOne(of: Recorder.work)
    }

    public func makeSpool(for exchange: PackedExchange) -> any BodySpool { Spool(exchange, self) }

    public func passOver(_ reason: Unrecorded) { lock.locked { count(reason.rawValue) } }

    public func noteTunnel(host: String, port: UInt16) {
        lock.locked { state.summary.tunnels["\(host):\(port)", default: 0] += 1 }
    }

    func append(_ bytes: ByteBuffer, to spool: Spool, taken: @escaping @Sendable () -> Void) {
        let isTaken = lock.locked {
            guard state.summary.failure == nil, !state.isEnding else { return false }
            add(.append(spool, bytes, taken: taken), isUrgent: true)
            return true
        }
        if !isTaken { taken() }
    }

    /// Closes a file on the writer's thread, for as long as there is one: of a long one that takes a while.
    func letGo(of file: SpoolFile) {
        lock.locked {
            if !state.isClosed { add(.release(file), isUrgent: false) }
        }
    }

    /// With the lock held.
    private func count(_ reason: String) { state.summary.unrecorded[reason, default: 0] += 1 }

    // MARK: The end

    /// Waits until all exchanges that have ended are written.
    public func flush() {
        lock.locked {
            while !state.jobs.isEmpty || state.isBusy, !state.hasEnded {
                state.isUrgent = true
                lock.wakeOne(of: Recorder.work)
                lock.wait(for: Recorder.rest)
            }
        }
    }

    /// Writes what waits, closes what is written, and tells what it was. Nothing is recorded any more.
    public func finish() -> RecorderSummary {
        lock.locked {
            state.isEnding = true
            lock.wakeAll()
            while !state.hasEnded { lock.wait(for: Recorder.rest) }
            var summary = state.summary
            summary.hosts = state.hosts.count
            return summary
        }
    }

    /// How many entries have been written so far.
    public var entryCount: Int { lock.locked { state.summary.entries } }

    // MARK: The writer's thread

    private func run() {
        var jobs: [Job] = []
        while take(&jobs) {
            for index in jobs.indices {
                perform(jobs[index])
                // What it has is let go of at once.
                jobs[index] = .done
                if performed.count >= Recorder.mostUntold { tell() }
            }
            settle()
            tell()
        }
        seePlace()
        output = nil
        let held = lock.locked {
            defer { state.held = [] }
            state.hasEnded = true
            lock.wakeAll()
            return state.held
        }
        for goOn in held { goOn() }
    }

    /// Takes the jobs that wait, once there are any.
    ///
    /// - Parameter jobs: those that were performed, whose memory is used again.
    /// - Returns: false at the end.
    private func take(_ jobs: inout [Job]) -> Bool {
        let hasWorked = !jobs.isEmpty
        jobs.removeAll(keepingCapacity: jobs.capacity <= 4 * Recorder.mostWaiting)
        return lock.locked {
            state.isBusy = false
            if state.jobs.isEmpty { lock.wakeAll() }
            if hasWorked { gather() }
            while state.jobs.isEmpty, !state.isEnding { lock.wait(for: Recorder.work) }
            state.isUrgent = false
            guard !state.jobs.isEmpty else {
                state.isClosed = true
                return false
            }
            swap(&jobs, &state.jobs)
            state.isBusy = true
            return true
        }
    }

    /// Waits a moment for jobs, so that those of a busy time wake this thread once, and are written together. With the
    /// lock held.
    private func gather() {
        let end = monotonicNanoseconds() + Recorder.gatherTime
        state.isGathering = true
        while !state.isUrgent, !state.isEnding, monotonicNanoseconds() < end {
            lock.wait(for: Recorder.work, until: end)
        }
        state.isGathering = false
    }

    private func perform(_ job: Job) {
        switch job {
        case .append(let spool, let bytes, let taken):
            do throws(RecorderFailure) { try spool.write(bytes, in: spoolFolder, for: output) } catch { fail(error) }
            taken()
        case .entry(let exchange, let body, let weight):
            write(exchange, body)
            performed.count += 1
            performed.weight += weight
        case .release, .done: break
        }
    }

    private func write(_ packed: PackedExchange, _ body: RecordedPieces) {
        guard !performed.hasFailed else { return performed.unrecorded.append("not written") }
        do throws(Unrecorded) {
            let entry = try RecordedEntry(packed.exchange(), body, redaction: options.redaction)
            performed.entries.append(
                Entry(
                    bytes: packed.storedBytes, credentials: entry.credentials, host: newHost(of: packed.url),
                    span: RecordingOrder.Span(
                        start: Int64(clamping: packed.startedAt), answered: Int64(clamping: packed.answeredAt))))
            do throws(RecorderFailure) { try output?.append(entry) } catch { fail(error) }
        } catch {
            performed.unrecorded.append(error.rawValue)
        }
    }

    private func newHost(of url: ArraySlice<UInt8>) -> [UInt8]? {
        let host = RecordedEntry.host(of: url)
        if let last = performed.lastHost, host.elementsEqual(last) { return nil }
        performed.lastHost = Array(host)
        return performed.lastHost
    }

    /// Has the output write what waits there.
    private func settle() {
        guard !performed.hasFailed else { return }
        do throws(RecorderFailure) { try output?.settle() } catch { fail(error) }
    }

    /// Fails where what was written is nowhere, or elsewhere, as somebody has removed, moved, replaced or cut it
    /// meanwhile.
    private func seePlace() {
        guard !performed.hasFailed, performed.told > 0, let output else { return }
        do throws(RecorderFailure) {
            if try !output.isInPlace() { fail(.gone) }
        } catch {
            fail(error)
        }
    }

    /// Tells what became of the entries that were performed, and has those go on for which there is room again.
    private func tell() {
        let written = max(0, (output?.entryCount ?? 0) - performed.told)
        let held: [@Sendable () -> Void] = lock.locked {
            for entry in performed.entries.prefix(written) {
                state.summary.entries += 1
                state.summary.bytes += entry.bytes
                state.summary.credentials += entry.credentials
                if let host = entry.host { state.hosts.insert(host) }
                if hasOrder { state.summary.spans.append(entry.span) }
            }
            for reason in performed.unrecorded { count(reason) }
            state.waiting -= performed.count
            state.waitingBytes -= performed.weight
            guard state.waiting <= Recorder.mostWaiting / 2, state.waitingBytes <= Recorder.mostBytes / 2 else {
                return []
            }
            defer { state.held = [] }
            return state.held
        }
        performed.told += written
        performed.entries.removeFirst(min(written, performed.entries.count))
        performed.unrecorded.removeAll(keepingCapacity: true)
        (performed.count, performed.weight) = (0, 0)
        for goOn in held { goOn() }
    }

    /// Ends the recording, the first time. Entries that were appended and are not written will not be.
    private func fail(_ failure: RecorderFailure) {
        guard !performed.hasFailed else { return }
        // What waits may have room where the one that failed has none.
        try? output?.settle()
        // Where what was written is gone, that is the reason of what failed, and none of it counts.
        let isGone = failure == .gone || (try? output?.isInPlace()) == false
        let written = isGone ? 0 : max(0, (output?.entryCount ?? 0) - performed.told)
        let lost = performed.entries.count - written
        if lost > 0 {
            performed.entries.removeLast(lost)
            performed.unrecorded += [String](repeating: "not written", count: lost)
        }
        performed.hasFailed = true
        let failure = isGone ? .gone : failure
        lock.locked {
            state.summary.failure = failure
            if isGone { forgetWritten() }
        }
        options.whenFailed(failure)
    }

    /// Counts none of what was written. With the lock held.
    private func forgetWritten() {
        let written = state.summary.entries
        (state.summary.entries, state.summary.bytes, state.summary.credentials) = (0, 0, 0)
        state.summary.spans = []
        state.hosts = []
        if written > 0 { state.summary.unrecorded["not written", default: 0] += written }
    }
}
