import Glibc
import Synchronization

/// A thread for what nobody waits for: it leaves the processor to requests.
///
/// One piece of work is done at a time; of those that come meanwhile the last alone is done after it.
final class IdleThread: Sendable {
    private struct State {
        var isRunning = false
        var next: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Does `work` at a low priority (nice 10), on a thread that ends when there is no more of it; where there is no
    /// thread to be had, nothing is done.
    func run(_ work: @escaping @Sendable () -> Void) {
        let mustStart = state.withLock { state in
            state.next = work
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart { start() }
    }

    private func start() {
        let argument = Unmanaged.passRetained(self).toOpaque()
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let queue = Unmanaged<IdleThread>.fromOpaque(argument).takeRetainedValue()
                // On Linux 0 is the calling thread, and not its process.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                while let work = queue.takeNext() { work() }
                return nil
            }, argument)
        guard code == 0 else {
            state.withLock { $0 = State() }
            return Unmanaged<IdleThread>.fromOpaque(argument).release()
        }
        pthread_detach(thread)
    }

    /// The work that waits; where there is none, the thread has to end.
    private func takeNext() -> (@Sendable () -> Void)? {
        state.withLock { state in
            state.isRunning = state.next != nil
            return state.next.take()
        }
    }
}
