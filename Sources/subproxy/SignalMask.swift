import Glibc

/// The signals that the program takes one by one, in the one thread that waits for them.
///
/// They are blocked from the start. A blocked signal is kept until somebody waits for it, also where the program was
/// started with it ignored, as nohup(1) does. (pthread_sigmask(3), sigwaitinfo(2))
struct SignalMask {
    /// A signal that came.
    struct Arrival {
        var number: CInt
        /// Whether a process sent it, and not the terminal or the kernel.
        var isFromProcess: Bool
    }

    /// What is taken; every other signal has its usual effect.
    private static let taken = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGCHLD]
    /// What has no effect: a closed socket and a file that may not grow (RLIMIT_FSIZE) are errors of write(2), and the
    /// others have no meaning here.
    private static let ignored = [SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2]

    /// The mask that the program was started with.
    let inherited: sigset_t
    /// The signals that had their usual effect before this program ignored them.
    let newlyIgnored: sigset_t

    /// Blocks and ignores; must come before any thread is started.
    init() {
        var blocked = sigset_t()
        sigemptyset(&blocked)
        for number in SignalMask.taken { sigaddset(&blocked, number) }
        var previous = sigset_t()
        pthread_sigmask(SIG_BLOCK, &blocked, &previous)
        inherited = previous

        var changed = sigset_t()
        sigemptyset(&changed)
        for number in SignalMask.ignored {
            var current = sigaction()
            sigaction(number, nil, &current)
            guard current.__sigaction_handler.sa_handler == nil else { continue }
            signal(number, SIG_IGN)
            sigaddset(&changed, number)
        }
        newlyIgnored = changed
        // Where SIGCHLD is ignored, the kernel throws a child's status away. (waitpid(2))
        signal(SIGCHLD, SIG_DFL)
    }

    /// Whether a signal is ignored, as it is where the program was started so.
    static func isIgnored(_ number: CInt) -> Bool {
        var current = sigaction()
        sigaction(number, nil, &current)
        // SIG_IGN is the number 1 in the place of a function.
        return unsafeBitCast(current.__sigaction_handler.sa_handler, to: UInt.self) == 1
    }

    /// Gives signals their usual effect again, for commands that have nothing to finish.
    func restore() {
        var mask = inherited
        pthread_sigmask(SIG_SETMASK, &mask, nil)
    }

    /// Runs `body` with signals of their usual effect: a wait that only they can end.
    func restored<Result>(_ body: () -> Result) -> Result {
        var mask = inherited
        var before = sigset_t()
        pthread_sigmask(SIG_SETMASK, &mask, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        return body()
    }

    /// Runs `body` with the signals held back that end the program, so that it can put its files in order; what has come
    /// meanwhile has its effect behind it.
    static func holdingEnds<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var ends = sigset_t()
        sigemptyset(&ends)
        for number in SignalMask.ends { sigaddset(&ends, number) }
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, &ends, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        return try body()
    }

    /// Whether a signal has come that is held back, and would end the program. (sigpending(2))
    static var isAskedToEnd: Bool {
        var pending = sigset_t()
        sigpending(&pending)
        return SignalMask.ends.contains { sigismember(&pending, $0) == 1 && !isIgnored($0) }
    }

    private static let ends = [SIGHUP, SIGINT, SIGTERM]

    /// Waits for the next signal.
    func next() -> Arrival {
        var set = sigset_t()
        sigemptyset(&set)
        for number in SignalMask.taken { sigaddset(&set, number) }
        while true {
            var information = siginfo_t()
            let number = sigwaitinfo(&set, &information)
            // Codes of the kernel's own are positive. (sigaction(2), SI_USER)
            if number > 0 { return Arrival(number: number, isFromProcess: information.si_code <= 0) }
        }
    }
}
