import Glibc

/// Threads for what nobody waits for: they leave the processor to requests.
enum IdleThread {
    /// Starts a thread that does `work` at a low priority (nice 10) and ends; where there is no thread to be had,
    /// nothing is done.
    static func run(_ work: @escaping @Sendable () -> Void) {
        let argument = Unmanaged.passRetained(Work(work)).toOpaque()
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                // On Linux 0 is the calling thread, and not its process.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                work.body()
                return nil
            }, argument)
        guard code == 0 else { return Unmanaged<Work>.fromOpaque(argument).release() }
        pthread_detach(thread)
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
