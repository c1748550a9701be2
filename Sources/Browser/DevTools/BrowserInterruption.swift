import Basics
import CLinux
import Glibc

/// Ends what a browser is waited for, from any thread: a signal has come.
public final class BrowserInterruption: Sendable {
    /// Readable once it is interrupted (eventfd(2)); negative where there is none, and nothing can be interrupted.
    let descriptor: CInt

    public init() { descriptor = linux_eventfd() }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether it has been interrupted.
    public var isInterrupted: Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return descriptor >= 0 && poll(&polled, 1, 0) > 0
    }

    /// Makes every wait end with ``BrowserFailure/Kind/interrupted``, this one and those to come.
    public func interrupt() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }
}
