import CCurl
import Glibc
import Synchronization

/// The thread that owns libcurl's handles: commands go in through a queue, and delegates are called on it.
///
/// Any thread may use it. It ends with ``shutdown()``, or when it is released. libcurl itself is opened on the thread,
/// at the first transfer.
public final class TransferLoop: Sendable {
    /// libcurl's version and that of what it is built on (curl_version).
    public static var version: String { String(cString: curl_version()) }

    private let commands: CommandQueue
    private let thread: Mutex<pthread_t?>

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - configuration: what holds for all transfers.
    ///   - turnEnded: called on the thread at the end of each turn in which a delegate was called, so that what
    ///     delegates have gathered goes out at once.
    /// - Throws: ``TransferLoopError`` where the system gives no descriptor or thread.
    public init(
        _ configuration: TransferLoopConfiguration = TransferLoopConfiguration(),
        turnEnded: @escaping @Sendable () -> Void = {}
    ) throws(TransferLoopError) {
        if Library.mustBeInitialisedEarly, let problem = Library.problem { throw TransferLoopError(reason: problem) }
        guard let commands = CommandQueue() else {
            throw TransferLoopError(
                reason: "no descriptor for the transfer thread: \(String(cString: strerror(errno)))")
        }
        guard let body = TransferThreadStart(configuration, commands, turnEnded: turnEnded) else {
            throw TransferLoopError(
                reason: "no descriptor for the transfer thread: \(String(cString: strerror(errno)))")
        }
        self.commands = commands
        thread = Mutex(try TransferLoop.start(body))
    }

    deinit { shutdown() }

    /// Starts a transfer, which goes on until its delegate is told its end.
    ///
    /// The delegate may be called before this returns. After ``shutdown()`` the transfer is cancelled on the calling
    /// thread.
    @discardableResult
    public func start(_ request: TransferRequest, delegate: any TransferDelegate) -> Transfer {
        let transfer = Transfer(request, delegate, commands)
        if !commands.add(.start(transfer)) { transfer.finish(.cancelled) }
        return transfer
    }

    /// Connections for some transfers of this loop alone.
    public func makePool() -> ConnectionPool { ConnectionPool(commands) }

    /// As ``Transfer/resumeReceiving()``.
    public func resumeReceiving(_ transfer: Transfer) { transfer.resumeReceiving() }

    /// As ``Transfer/resumeSending()``.
    public func resumeSending(_ transfer: Transfer) { transfer.resumeSending() }

    /// As ``Transfer/cancel()``.
    public func cancel(_ transfer: Transfer) { transfer.cancel() }

    /// Calls `body` on the thread, at its next turn.
    ///
    /// - Returns: whether it will be called; it isn't after ``shutdown()``.
    public func perform(_ body: @escaping @Sendable () -> Void) -> Bool { commands.add(.call(body)) }

    /// Cancels all transfers, closes all connections, and waits for the thread's end; afterwards nothing starts.
    ///
    /// On the transfer thread itself it doesn't wait.
    public func shutdown() {
        guard
            let thread = thread.withLock({ thread in
                defer { thread = nil }
                return thread
            })
        else { return }
        commands.add(.stop)
        if pthread_equal(thread, pthread_self()) != 0 { pthread_detach(thread) } else { pthread_join(thread, nil) }
    }

    private static func start(_ body: TransferThreadStart) throws(TransferLoopError) -> pthread_t {
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(body).toOpaque()
        // The thread inherits the mask: signals are for other threads, and a connection that is closed while OpenSSL
        // writes to it is an error here and not the process's end (SIGPIPE goes to the thread that writes).
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        let code = pthread_create(
            &thread, nil,
            { argument in
                subproxy_name_thread("transfers")
                if let argument { Unmanaged<TransferThreadStart>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            }, argument)
        pthread_sigmask(SIG_SETMASK, &before, nil)
        guard code == 0 else {
            Unmanaged<TransferThreadStart>.fromOpaque(argument).release()
            throw TransferLoopError(reason: "no thread for transfers: \(String(cString: strerror(code)))")
        }
        return thread
    }
}

/// The transfer thread could not be started.
public struct TransferLoopError: Error, CustomStringConvertible {
    public let reason: String
    public var description: String { reason }
}
