import CLinux
import Glibc
import Synchronization

/// Tells when any of a few files changes: the maps and what they include.
///
/// Edits in place and by rename, deletion and return, and a swap of any symbolic link on the way are seen (inotify(7)).
/// Changes that come shortly after each other are told once. Where inotify can't be had, or does not tell (network file
/// systems), the files are looked at each second.
public final class FileWatcher: Sendable {
    private let loop: WatchLoop
    private let thread: Mutex<pthread_t?>

    /// Starts watching.
    ///
    /// - Parameters:
    ///   - paths: relative ones count from the working directory. A file need not be there.
    ///   - began: the time by `fileNanoseconds()` before the files were read: what has changed since then is told. By
    ///     default only what changes from now on.
    ///   - onChange: called on the watcher's thread; may call ``update(paths:)`` and ``stop()``.
    /// - Throws: ``FileRefusal`` where the system gives no descriptor or thread.
    public convenience init(
        paths: [String], readSince began: UInt64? = nil, timing: FileWatchTiming = .init(),
        onChange: @escaping @Sendable () -> Void
    ) throws(FileRefusal) {
        try self.init(paths: paths, readSince: began, timing: timing, usesNotifications: true, onChange: onChange)
    }

    init(
        paths: [String], readSince began: UInt64? = nil, timing: FileWatchTiming, usesNotifications: Bool,
        onChange: @escaping @Sendable () -> Void
    ) throws(FileRefusal) {
        let wake = linux_eventfd()
        guard wake >= 0 else { throw FileRefusal(errno: -wake) }
        loop = WatchLoop(wake: wake, timing: timing, usesNotifications: usesNotifications, onChange: onChange)
        loop.update(FileWatcher.absolute(paths), readSince: began)
        thread = Mutex(try FileWatcher.start(loop))
    }

    deinit { stop() }

    /// Watches these files from now on, and others no more.
    ///
    /// A file that was watched before is compared with its state when its last change was told, so a change during the
    /// call is told too. Another one is told if it has changed since `began`, as at the start.
    public func update(paths: [String], readSince began: UInt64? = nil) {
        loop.update(FileWatcher.absolute(paths), readSince: began)
    }

    /// Ends the watching and waits for the thread; nothing is told after it returns, but for a call from `onChange`.
    public func stop() {
        loop.stop()
        guard let thread = thread.withLock({ $0.take() }) else { return }
        if pthread_equal(thread, pthread_self()) != 0 {
            pthread_detach(thread)
        } else {
            pthread_join(thread, nil)
        }
    }

    private static func start(_ loop: WatchLoop) throws(FileRefusal) -> pthread_t {
        // Signals are for the threads that wait for them: this one inherits a mask that lets none through.
        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(loop)
        let code = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<WatchLoop>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw FileRefusal(errno: code)
        }
        return thread
    }

    private static func absolute(_ paths: [String]) -> [[UInt8]] {
        paths.filter { !$0.utf8.contains(0) }.map { path in
            if path.utf8.first == UInt8(ascii: "/") { return Array(path.utf8) }
            guard let folder = getcwd(nil, 0) else { return [UInt8(ascii: "/")] + path.utf8 }
            defer { free(folder) }
            let bytes = UnsafeBufferPointer(start: folder, count: strlen(folder)).map(UInt8.init(bitPattern:))
            return bytes + [UInt8(ascii: "/")] + path.utf8
        }
    }
}

/// When a change is told.
public struct FileWatchTiming: Sendable {
    /// Milliseconds without a further change before one is told; the default is 100.
    public var quiet: Int
    /// Milliseconds after which a change is told although more follow; the default is 1000.
    public var latest: Int
    /// Milliseconds between looks where changes are not notified; the default is 1000.
    public var poll: Int

    public init(quiet: Int = 100, latest: Int = 1000, poll: Int = 1000) {
        self.quiet = quiet
        self.latest = latest
        self.poll = poll
    }
}
