public import Archives
import Basics
public import ForwardProxy
import Glibc
import NIOCore

/// Writes down what origins answer, on a thread of its own.
///
/// Exchanges are handed over whole, in the order in which they end; long bodies go to spool files before that. What waits
/// to be written is bounded: beyond the bound exchanges end when there is room again. Where nothing can be written any
/// more, the rest is counted and let go of, and no exchange fails for it.
public final class Recorder: ExchangeRecorder {
    private enum Job {
        case append(Spool, ByteBuffer, taken: @Sendable () -> Void)
        case entry(RecordedExchange, RecordedPieces, weight: Int)
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
        var isEnding = false
        var hasEnded = false
        var hosts: Set<[UInt8]> = []
        var summary = RecorderSummary()
    }

    /// The most that waits: exchanges, and bytes of theirs.
    private static let mostWaiting = 1024
    private static let mostBytes = 8 << 20
    /// Conditions of the lock: there is something to do, and there is nothing left.
    private static let work = 0
    private static let rest = 1

    public let bodyLimit: Int
    private let options: RecorderOptions
    private let lock = ConditionLock(conditions: 2)
    nonisolated(unsafe) private var state = State()
    /// Used by the writer's thread alone; nil from the end on, when others may write there.
    nonisolated(unsafe) private var output: (any RecorderOutput)?
    private let spoolFolder: String

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
        spoolFolder = if case .folder = options.output { path } else { Spool.folder(of: path) }
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
        _ exchange: RecordedExchange, body: RecordedPieces, goOn: @escaping @Sendable () -> Void
    ) -> Bool {
        var weight = 1024 + (exchange.requestBody?.count ?? 0)
        if case .memory(let pieces) = body { weight += pieces.reduce(0) { $0 + $1.readableBytes } }
        return lock.locked {
            guard state.summary.failure == nil, !state.isEnding else {
                count("not written")
                return true
            }
            state.jobs.append(.entry(exchange, body, weight: weight))
            state.waiting += 1
            state.waitingBytes += weight
            lock.wakeOne(of: Recorder.work)
            let hasRoom = hasRoom
            if !hasRoom { state.held.append(goOn) }
            return hasRoom
        }
    }

    public func makeSpool() -> any BodySpool { Spool(self) }

    public func passOver(_ reason: Unrecorded) { lock.locked { count(reason.rawValue) } }

    public func noteTunnel(host: String, port: UInt16) {
        lock.locked { state.summary.tunnels["\(host):\(port)", default: 0] += 1 }
    }

    func append(_ bytes: ByteBuffer, to spool: Spool, taken: @escaping @Sendable () -> Void) {
        let isTaken = lock.locked {
            guard state.summary.failure == nil, !state.isEnding else { return false }
            state.jobs.append(.append(spool, bytes, taken: taken))
            lock.wakeOne(of: Recorder.work)
            return true
        }
        if !isTaken { taken() }
    }

    /// With the lock held.
    private func count(_ reason: String) { state.summary.unrecorded[reason, default: 0] += 1 }

    // MARK: The end

    /// Waits until all exchanges that have ended are written.
    public func flush() {
        lock.locked {
            while !state.jobs.isEmpty || state.isBusy, !state.hasEnded { lock.wait(for: Recorder.rest) }
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
        while let jobs = take() {
            for job in jobs { perform(job) }
        }
        do throws(RecorderFailure) { try output?.finish() } catch { fail(error) }
        output = nil
        let held = lock.locked {
            defer { state.held = [] }
            state.hasEnded = true
            lock.wakeAll()
            return state.held
        }
        for goOn in held { goOn() }
    }

    private func take() -> [Job]? {
        lock.locked {
            state.isBusy = false
            if state.jobs.isEmpty { lock.wakeAll() }
            while state.jobs.isEmpty, !state.isEnding { lock.wait(for: Recorder.work) }
            guard !state.jobs.isEmpty else { return nil }
            defer { state.jobs = [] }
            state.isBusy = true
            return state.jobs
        }
    }

    private func perform(_ job: Job) {
        switch job {
        case .append(let spool, let bytes, let taken):
            do throws(RecorderFailure) { try spool.write(bytes, in: spoolFolder) } catch { fail(error) }
            taken()
        case .entry(let exchange, let body, let weight):
            write(exchange, body)
            let held: [@Sendable () -> Void] = lock.locked {
                state.waiting -= 1
                state.waitingBytes -= weight
                guard state.waiting <= Recorder.mostWaiting / 2, state.waitingBytes <= Recorder.mostBytes / 2 else {
                    return []
                }
                defer { state.held = [] }
                return state.held
            }
            for goOn in held { goOn() }
        }
    }

    private func write(_ exchange: RecordedExchange, _ body: RecordedPieces) {
        guard lock.locked({ state.summary.failure }) == nil else { return lock.locked { count("not written") } }
        let host = RecordedEntry.host(of: exchange.url)
        do throws(RecorderFailure) {
            guard let entry = RecordedEntry(exchange, body, redaction: options.redaction) else {
                return lock.locked { count(Unrecorded.tooLong.rawValue) }
            }
            try output?.append(entry)
            lock.locked {
                state.summary.entries += 1
                state.summary.bytes += exchange.body.storedBytes
                state.summary.credentials += entry.credentials
                state.hosts.insert(host)
            }
        } catch {
            lock.locked { count("not written") }
            fail(error)
        }
    }

    /// Ends the recording, the first time.
    private func fail(_ failure: RecorderFailure) {
        let isFirst = lock.locked {
            defer { state.summary.failure = state.summary.failure ?? failure }
            return state.summary.failure == nil
        }
        if isFirst { options.whenFailed(failure) }
    }
}
