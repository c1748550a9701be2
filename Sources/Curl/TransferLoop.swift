import CCurl
import Glibc
import Synchronization

/// The thread that owns libcurl's handles: commands go in through a queue, and delegates are called on it.
public final class TransferLoop: Sendable {
    private enum Command {
        case start(Transfer)
        case resumeReceiving(Transfer)
        case resumeSending(Transfer)
        case cancel(Transfer)
        case stop
    }

    private struct State {
        var commands: [Command] = []
        var isStopped = false
    }

    /// libcurl's version and that of what it is built on (curl_version).
    public static var version: String { String(cString: curl_version()) }

    private let state = Mutex(State())
    private let wakeup: CInt
    private let finished = Mutex<pthread_t?>(nil)

    private static let isInitialised: Bool = curl_global_init(subproxy_global_all) == CURLE_OK

    /// Starts the thread.
    ///
    /// - Parameter turnEnded: called on the thread after each turn, so that what delegates have gathered goes out at
    ///   once.
    /// - Throws: ``TransferLoopError`` where the system gives no descriptor or thread.
    public init(_ configuration: TransferLoopConfiguration, turnEnded: @escaping @Sendable () -> Void) throws {
        guard TransferLoop.isInitialised else { throw TransferLoopError(reason: "libcurl could not be initialised") }
        wakeup = subproxy_eventfd()
        guard wakeup >= 0 else { throw TransferLoopError(reason: "no descriptor for the transfer thread") }
        let wakeup = wakeup
        let thread = try TransferThread.start { [weak self] in
            guard let engine = TransferEngine(configuration, wakeup: wakeup) else { return }
            while let isRunning = self?.perform(engine), isRunning {
                engine.settle()
                turnEnded()
                engine.turn()
                engine.settle()
            }
            engine.cancelAll()
            turnEnded()
        }
        finished.withLock { $0 = thread }
    }

    deinit { close(wakeup) }

    /// Starts a transfer, which goes on until its delegate is told its end.
    public func start(_ request: TransferRequest, delegate: any TransferDelegate) -> Transfer {
        let transfer = Transfer(request, delegate)
        if !send(.start(transfer)) {
            delegate.transferDidFinish(transfer, TransferResult(code: 0, message: "stopped", isCancelled: true))
        }
        return transfer
    }

    /// Lets a transfer receive again whose delegate has paused it.
    public func resumeReceiving(_ transfer: Transfer) { _ = send(.resumeReceiving(transfer)) }

    /// Lets a transfer ask for its body again.
    public func resumeSending(_ transfer: Transfer) { _ = send(.resumeSending(transfer)) }

    /// Ends a transfer; its delegate is told on the thread.
    public func cancel(_ transfer: Transfer) { _ = send(.cancel(transfer)) }

    /// Ends all transfers and the thread, and waits for it; afterwards nothing starts.
    public func shutdown() {
        _ = send(.stop)
        let thread = finished.withLock { thread in
            defer { thread = nil }
            return thread
        }
        if let thread { pthread_join(thread, nil) }
    }

    private func send(_ command: Command) -> Bool {
        let (isTaken, mustWake) = state.withLock { state in
            guard !state.isStopped else { return (false, false) }
            if case .stop = command { state.isStopped = true }
            state.commands.append(command)
            return (true, state.commands.count == 1)
        }
        // The thread empties the queue before it waits, so only the first command of a batch has to wake it.
        if mustWake {
            var one: UInt64 = 1
            _ = write(wakeup, &one, 8)
        }
        return isTaken
    }

    /// Performs what is queued.
    ///
    /// - Returns: whether to go on.
    private func perform(_ engine: TransferEngine) -> Bool {
        let commands = state.withLock { state in
            defer { state.commands.removeAll(keepingCapacity: true) }
            return state.commands
        }
        for command in commands {
            switch command {
            case .start(let transfer): engine.start(transfer)
            case .resumeReceiving(let transfer): engine.resumeReceiving(transfer)
            case .resumeSending(let transfer): engine.resumeSending(transfer)
            case .cancel(let transfer): engine.cancel(transfer)
            case .stop: return false
            }
        }
        return true
    }
}

/// The transfer thread could not be started.
public struct TransferLoopError: Error, CustomStringConvertible {
    public let reason: String
    public var description: String { reason }
}

private enum TransferThread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    static func start(_ run: @escaping @Sendable () -> Void) throws(TransferLoopError) -> pthread_t {
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(Body(run)).toOpaque()
        let result = pthread_create(
            &thread, nil,
            { argument in
                if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            }, argument)
        guard result == 0 else {
            Unmanaged<Body>.fromOpaque(argument).release()
            throw TransferLoopError(reason: "no thread for transfers: \(String(cString: strerror(result)))")
        }
        return thread
    }
}
