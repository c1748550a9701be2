import CCurl
import Glibc
import Synchronization

/// What the transfer thread is asked to do.
enum Command {
    case start(Transfer)
    case resumeReceiving(Transfer)
    case resumeSending(Transfer)
    case cancel(Transfer)
    /// Closes the connections of a pool.
    case close(ObjectIdentifier)
    case call(@Sendable () -> Void)
    case stop
}

/// The way into the transfer thread: a queue behind a lock, and an eventfd(2) that ends its wait.
///
/// The lock closes one race: the thread notes that it is about to wait, in the same step in which it finds the queue
/// empty. So a command that comes later sees the note and wakes it, and one that came before keeps it from waiting;
/// while the thread is busy, adding a command costs no system call.
final class CommandQueue: Sendable {
    private struct State {
        var commands: [Command] = []
        var threadWaits = false
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Readable when the thread is to look into the queue.
    let descriptor: CInt

    init?() {
        descriptor = subproxy_eventfd()
        guard descriptor >= 0 else { return nil }
    }

    /// - Returns: whether the thread will see the command; false after the end.
    @discardableResult
    func add(_ command: Command) -> Bool {
        let (isTaken, wakes) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.commands.append(command)
            defer { state.threadWaits = false }
            return (true, state.threadWaits)
        }
        if wakes {
            // Not under the lock, which the thread asks for as soon as it wakes.
            var one: UInt64 = 1
            _ = write(descriptor, &one, 8)
        }
        return isTaken
    }

    /// Notes that the thread waits from now on, unless there are commands.
    func mayWait() -> Bool {
        state.withLock { state in
            state.threadWaits = state.commands.isEmpty
            return state.threadWaits
        }
    }

    /// Exchanges the queue for an empty array, whose storage is used from then on.
    func take(_ commands: inout [Command]) {
        state.withLock { state in
            state.threadWaits = false
            swap(&state.commands, &commands)
        }
    }

    /// Takes nothing more, and gives what is left.
    func close() -> [Command] {
        state.withLock { state in
            guard !state.isClosed else { return [] }
            state.isClosed = true
            state.threadWaits = false
            defer { state.commands = [] }
            return state.commands
        }
    }

    // Where there is none, errno says why to whoever asked for the queue.
    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }
}
