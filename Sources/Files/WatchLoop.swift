import Basics
import Glibc
import Synchronization

/// What a ``FileWatcher``'s thread does. It holds this and not the watcher, so that dropping the watcher ends it.
final class WatchLoop: Sendable {
    private let wake: CInt
    private let timing: FileWatchTiming
    private let usesNotifications: Bool
    private let onChange: @Sendable () -> Void
    private let wanted = Mutex(Wanted())

    /// What other threads ask for.
    private struct Wanted {
        var files: [[UInt8]: State] = [:]
        /// Counts calls of `update`.
        var generation = 0
        var isStopped = false
    }

    /// The state of a file when a change was last told.
    private struct State {
        /// nil where there is no file.
        var identity: FileIdentity?
        /// Whether a later write is sure to show in the identity.
        var isSettled: Bool

        static func now(_ path: [UInt8]) -> State {
            let time = wallNanoseconds()
            var status = stat()
            guard (path + [0]).withCString({ stat($0, &status) }) == 0 else {
                return State(identity: nil, isSettled: true)
            }
            let identity = FileIdentity(status)
            return State(identity: identity, isSettled: identity.isSettled(at: time))
        }

        /// The same for who has read the file from `began` on, by the clock of files' times: where it may have changed
        /// since then, no state that a file is in, so that the change is told.
        func asRead(since began: UInt64?) -> State {
            guard let began, let identity, identity.mayHaveChanged(since: began) else { return self }
            return State(identity: nil, isSettled: false)
        }
    }

    /// A change that is not told yet: monotonic nanoseconds of the first and the last sign of it.
    private struct Pending {
        let first: UInt64
        var last: UInt64

        func deadline(_ timing: FileWatchTiming) -> UInt64 {
            min(last &+ milliseconds(timing.quiet), first &+ milliseconds(timing.latest))
        }
    }

    /// Takes the descriptor over, one of eventfd(2).
    init(
        wake: CInt, timing: FileWatchTiming, usesNotifications: Bool, onChange: @escaping @Sendable () -> Void
    ) {
        self.wake = wake
        self.timing = timing
        self.usesNotifications = usesNotifications
        self.onChange = onChange
    }

    deinit { close(wake) }

    func update(_ paths: [[UInt8]], readSince began: UInt64?) {
        let states = paths.map { ($0, State.now($0)) }
        wanted.withLock { wanted in
            let known = wanted.files
            wanted.files = Dictionary(
                states.map { ($0, known[$0] ?? $1.asRead(since: began)) }, uniquingKeysWith: { first, _ in first })
            wanted.generation &+= 1
        }
        wakeUp()
    }

    func stop() {
        wanted.withLock { $0.isStopped = true }
        wakeUp()
    }

    /// Watches until stopped.
    func run() {
        var watches = FolderWatches(usesNotifications: usesNotifications)
        var armed = 0
        var pending: Pending?
        var looked = monotonicNanoseconds()
        while true {
            let wanted = wanted.withLock { $0 }
            if wanted.isStopped { return }
            if wanted.generation != armed {
                armed = wanted.generation
                watches.arm(Array(wanted.files.keys))
                // What changed between the update and the arming was not notified.
                if differs(wanted.files, isNotified: false) { note(&pending) }
            }
            let nextLook = looked &+ UInt64(clamping: timing.poll) &* 1_000_000
            wait(watches.descriptor, until: pending?.deadline(timing) ?? (watches.needsPolling ? nextLook : nil))
            let now = monotonicNanoseconds()
            // Also where events of other files in the folders end each wait.
            let mustLook = watches.needsPolling && pending == nil && now >= nextLook
            if mustLook { looked = now }
            if watches.drain() || (mustLook && differs(wanted.files, isNotified: false)) { note(&pending) }
            guard let due = pending?.deadline(timing), monotonicNanoseconds() >= due else { continue }
            pending = nil
            // Armed before the files are looked at: a later change is notified, an earlier one seen.
            watches.arm(Array(wanted.files.keys))
            tellIfChanged()
        }
    }

    private func note(_ pending: inout Pending?) {
        let now = monotonicNanoseconds()
        pending = Pending(first: pending?.first ?? now, last: now)
    }

    /// Waits for an event, a wake-up or the time.
    private func wait(_ notifications: CInt, until deadline: UInt64?) {
        var timeout: CInt = -1
        if let deadline {
            let now = monotonicNanoseconds()
            timeout = deadline <= now ? 0 : CInt(clamping: (deadline &- now) / 1_000_000 &+ 1)
        }
        // poll(2) passes over a negative descriptor.
        var descriptors = [
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
            pollfd(fd: notifications, events: Int16(POLLIN), revents: 0),
        ]
        let count = poll(&descriptors, nfds_t(descriptors.count), timeout)
        var value: UInt64 = 0
        if count > 0 { _ = read(wake, &value, MemoryLayout<UInt64>.size) }
    }

    private func differs(_ files: [[UInt8]: State], isNotified: Bool) -> Bool {
        files.contains { path, state in isChange(state, State.now(path), isNotified) }
    }

    /// - Parameter isNotified: the kernel said that something was done, which may not show in the identity if that is
    ///   fresh.
    private func isChange(_ old: State, _ new: State, _ isNotified: Bool) -> Bool {
        old.identity != new.identity || (isNotified && !old.isSettled)
    }

    private func tellIfChanged() {
        let paths = wanted.withLock { Array($0.files.keys) }
        let states = paths.map { ($0, State.now($0)) }
        let isChanged = wanted.withLock { wanted in
            var isChanged = false
            for (path, new) in states {
                guard let old = wanted.files[path] else { continue }
                if isChange(old, new, true) { isChanged = true }
                wanted.files[path] = new
            }
            return isChanged && !wanted.isStopped
        }
        if isChanged { onChange() }
    }

    private func wakeUp() {
        var one: UInt64 = 1
        _ = write(wake, &one, MemoryLayout<UInt64>.size)
    }
}

private func milliseconds(_ count: Int) -> UInt64 { UInt64(clamping: count) &* 1_000_000 }
