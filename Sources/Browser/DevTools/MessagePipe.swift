import Basics
import Glibc

/// One end of a socket over which a browser is sent messages and sends some.
final class MessagePipe {
    private let socket: CInt
    private let interruption: BrowserInterruption
    private var splitter = MessageSplitter()
    private var isAtEnd = false

    /// - Parameter socket: it is closed with this object.
    init(_ socket: CInt, interruption: BrowserInterruption) {
        self.socket = socket
        self.interruption = interruption
    }

    deinit { close(socket) }

    /// Two ends that are closed by exec (socketpair(2)).
    static func ends() throws(BrowserFailure) -> (own: CInt, other: CInt) {
        var ends: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw BrowserFailure(.files, "no socket: \(SystemError().text)")
        }
        // Neither may be one of those that the browser's are copied to.
        let moved = ends.map { fcntl($0, F_DUPFD_CLOEXEC, 10) }
        let failure = SystemError()
        for end in ends { close(end) }
        guard moved[0] >= 0, moved[1] >= 0 else {
            for end in moved where end >= 0 { close(end) }
            throw BrowserFailure(.files, "no socket: \(failure.text)")
        }
        return (moved[0], moved[1])
    }

    /// Sends a message; what comes meanwhile is kept for ``next(until:)``.
    func send(_ message: [UInt8], until deadline: Deadline) throws(BrowserFailure) {
        let message = message + [0]
        var sent = 0
        while sent < message.count {
            let count = message.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
                return Glibc.send(socket, rest.baseAddress, rest.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                guard try wait(for: POLLOUT | POLLIN, until: deadline) else {
                    throw BrowserFailure(.timedOut, "the browser takes no commands")
                }
                try readWhatIsThere()
            } else if errno != EINTR {
                throw MessagePipe.ended
            }
        }
    }

    /// The next message.
    ///
    /// - Returns: nil if none comes in time.
    /// - Throws: ``BrowserFailure`` at the end of all messages, and when interrupted.
    func next(until deadline: Deadline) throws(BrowserFailure) -> [UInt8]? {
        while true {
            if let message = splitter.next() { return message }
            guard !isAtEnd else { throw MessagePipe.ended }
            guard try wait(for: POLLIN, until: deadline) else { return nil }
            try readWhatIsThere()
        }
    }

    static var ended: BrowserFailure { BrowserFailure(.ended, "the browser has ended") }

    private func readWhatIsThere() throws(BrowserFailure) {
        let piece = [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
            let result = recv(socket, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT))
            if result == 0 || result < 0 && errno != EAGAIN && errno != EINTR { isAtEnd = true }
            count = max(result, 0)
        }
        guard splitter.append(piece) else {
            throw BrowserFailure(.misunderstood, "the browser's answer is too large")
        }
    }

    /// Waits until the socket is ready (poll(2)).
    private func wait(for events: CInt, until deadline: Deadline) throws(BrowserFailure) -> Bool {
        while true {
            var entries = [
                pollfd(fd: socket, events: Int16(truncatingIfNeeded: events), revents: 0),
                pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let ready = poll(&entries, 2, CInt(clamping: deadline.milliseconds))
            if ready < 0, errno == EINTR { continue }
            if entries[1].revents != 0 { throw BrowserFailure(.interrupted, "interrupted") }
            if ready == 0 { return false }
            return true
        }
    }
}
