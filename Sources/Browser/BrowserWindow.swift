import Basics
import Glibc

/// A browser with a window, at which a person looks; it has a profile of its own.
public final class BrowserWindow {
    /// How long it has to end when it is asked to.
    private static let endTime = 3000

    private let process: BrowserProcess
    private let interruption: BrowserInterruption

    /// Opens a window at ``BrowserOptions/startPage``.
    ///
    /// - Parameters:
    ///   - interruption: ends ``wait()``.
    ///   - hasDisplay: whether there is anything to show a window on.
    /// - Throws: ``BrowserFailure``: `unavailable` where it can't be started, by root without
    ///   ``BrowserOptions/hasNoSandbox``, and without a display.
    public init(
        _ options: BrowserOptions, interruption: BrowserInterruption, hasDisplay: Bool = BrowserWindow.hasDisplay
    ) throws(BrowserFailure) {
        try BrowserSession.checkProfile(options.userDataFolder)
        try BrowserWindow.check(options, hasDisplay: hasDisplay)
        var options = options
        options.isHeadless = false
        self.interruption = interruption
        let folder = try BrowserFolder(in: options.temporaryFolder)
        do throws(BrowserFailure) {
            process = try BrowserProcess(options, in: folder, socket: -1)
        } catch {
            folder.remove()
            throw error
        }
    }

    /// Looks whether a window can be opened, as far as that is known before.
    ///
    /// - Throws: ``BrowserFailure``: `unavailable`, by root without ``BrowserOptions/hasNoSandbox``, and without a
    ///   display.
    public static func check(
        _ options: BrowserOptions, hasDisplay: Bool = BrowserWindow.hasDisplay
    ) throws(BrowserFailure) {
        try BrowserSession.checkUser(options)
        guard hasDisplay else {
            throw BrowserFailure(.unavailable, "there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set")
        }
    }

    deinit { close() }

    /// Whether a variable names a display.
    public static var hasDisplay: Bool {
        func isSet(_ name: String) -> Bool { getenv(name).map { $0.pointee != 0 } ?? false }
        return isSet("DISPLAY") || isSet("WAYLAND_DISPLAY")
    }

    /// Waits until its last window is closed.
    ///
    /// - Throws: ``BrowserFailure``: `interrupted`, and `ended` where it was never open but has failed.
    public func wait() throws(BrowserFailure) {
        while !process.hasEnded {
            var entry = pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&entry, 1, 50) > 0 { throw BrowserFailure(.interrupted, "interrupted") }
        }
        guard process.status == 0 else {
            let reason = process.folder.lastError.map { ": " + $0 } ?? ""
            throw BrowserFailure(.ended, "the browser has failed\(reason)")
        }
    }

    /// Ends the browser and removes its folder.
    public func close() {
        if !process.hasEnded {
            kill(process.process, SIGTERM)
            _ = process.wait(milliseconds: BrowserWindow.endTime)
        }
        process.end()
    }
}
