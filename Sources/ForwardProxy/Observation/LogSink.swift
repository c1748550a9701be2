import Dispatch
import Glibc
public import NIOCore
import Synchronization

/// Writes the access log's buffers to a descriptor on a queue of its own, so that no exchange waits for a slow disk, a
/// full one or a blocked pipe.
///
/// What does not fit into the queue, or can't be written, is dropped and counted.
public final class LogSink: Sendable {
    private struct State {
        var waiting: [ByteBuffer] = []
        var waitingBytes = 0
        var droppedBytes = 0
        var droppedLines = 0
        var isScheduled = false
        var isClosed = false
        var descriptor: CInt
        /// The last byte written is not the end of a line.
        var isInsideLine = false
        var tellsOfLoss: (@Sendable () -> Void)?

        mutating func drop(_ loss: Loss) {
            guard loss.bytes > 0 else { return }
            droppedBytes &+= loss.bytes
            droppedLines &+= loss.lines
            // Not on the sink's own queue, which may be blocked for good.
            if let tell = tellsOfLoss.take() { DispatchQueue.global().async(execute: tell) }
        }
    }

    /// How much of a buffer was lost; a line that was written in part counts as lost.
    private struct Loss {
        var bytes = 0
        var lines = 0

        init(_ buffer: ByteBuffer, behind written: Int = 0) {
            buffer.withUnsafeReadableBytes { all in
                for byte in all.dropFirst(written) where byte == UInt8(ascii: "\n") { lines &+= 1 }
                bytes = all.count &- written
            }
        }
    }

    /// What the sink writes to.
    public enum Destination: Sendable {
        /// An open descriptor that somebody else owns, such as standard output; the sink has a duplicate of it.
        case descriptor(CInt)
        /// A file, opened for appending and opened anew by ``reopen(whenFailed:)``.
        case file(String)
    }

    private let destination: Destination
    private let capacity: Int
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "subproxy.access-log")
    private let discards: Atomic<Bool>

    /// Opens the destination.
    ///
    /// - Parameter capacity: bytes that may wait to be written; the default is 4 MiB.
    /// - Throws: `IOError` where the file can't be opened.
    public init(_ destination: Destination, capacity: Int = 4 << 20) throws {
        self.destination = destination
        self.capacity = capacity
        let descriptor: CInt
        switch destination {
        case .descriptor(let open): descriptor = try LogSink.duplicate(open)
        case .file(let path): descriptor = try LogSink.open(path)
        }
        state = Mutex(State(descriptor: descriptor))
        discards = Atomic(LogSink.isNullDevice(descriptor))
    }

    deinit {
        let descriptor = state.withLock(\.descriptor)
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Whether the destination is the null device, so that no lines need to be formatted.
    @inline(__always)
    var isDiscarding: Bool { discards.load(ordering: .relaxed) }

    /// Bytes of log lines that were dropped so far.
    public var droppedBytes: Int { state.withLock(\.droppedBytes) }

    /// Log lines that were dropped so far, including those that were written in part.
    public var droppedLines: Int { state.withLock(\.droppedLines) }

    /// Sets what is called, on any thread, at the first loss of lines.
    public func whenLinesAreLost(_ tell: @escaping @Sendable () -> Void) { state.withLock { $0.tellsOfLoss = tell } }

    /// Queues a buffer of whole lines; never blocks for longer than the lock.
    public func submit(_ buffer: ByteBuffer) {
        let mustSchedule = state.withLock { state in
            guard !state.isClosed, state.waitingBytes &+ buffer.readableBytes <= capacity else {
                state.drop(Loss(buffer))
                return false
            }
            state.waiting.append(buffer)
            state.waitingBytes &+= buffer.readableBytes
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { queue.async { self.drain() } }
    }

    /// Closes and opens the file again, for log rotation; nothing happens for a descriptor.
    ///
    /// - Parameter whenFailed: called on another thread, with the reason, where the file can't be opened; lines go on
    ///   into the one that was open.
    public func reopen(whenFailed: @escaping @Sendable (any Error) -> Void) {
        guard case .file(let path) = destination else { return }
        queue.async {
            let fresh: CInt
            do { fresh = try LogSink.open(path) } catch { return whenFailed(error) }
            let old = self.state.withLock { state -> CInt in
                guard !state.isClosed else { return fresh }
                defer {
                    state.descriptor = fresh
                    state.isInsideLine = false
                }
                return state.descriptor
            }
            Glibc.close(old)
            guard old != fresh else { return }
            self.discards.store(LogSink.isNullDevice(fresh), ordering: .relaxed)
        }
    }

    /// Waits until all submitted buffers are written, but no longer than `seconds`. Buffers that the sink has not begun
    /// to write by then, and later ones, are dropped.
    public func close(waitingAtMost seconds: Double = 1) {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        _ = done.wait(timeout: .now() + seconds)
        state.withLock { $0.isClosed = true }
        // Queued behind the last write, which must not find another file under the descriptor's number.
        queue.async {
            let descriptor = self.state.withLock { state in
                defer { state.descriptor = -1 }
                return state.descriptor
            }
            if descriptor >= 0 { Glibc.close(descriptor) }
        }
    }

    private func drain() {
        while true {
            var (batch, descriptor, isInsideLine) = state.withLock { state in
                defer { state.waiting = [] }
                if state.waiting.isEmpty { state.isScheduled = false }
                return (state.waiting, state.descriptor, state.isInsideLine)
            }
            guard !batch.isEmpty else { return }
            for buffer in batch {
                let isClosed = state.withLock { state in
                    if state.isClosed { state.drop(Loss(buffer)) }
                    return state.isClosed
                }
                guard !isClosed else { continue }
                let loss = Loss(buffer, behind: LogSink.write(buffer, to: descriptor, &isInsideLine))
                state.withLock { state in
                    state.waitingBytes &-= buffer.readableBytes
                    state.isInsideLine = isInsideLine
                    state.drop(loss)
                }
            }
        }
    }

    /// Writes a buffer of whole lines, on a new line if the last one could only be written in part.
    ///
    /// - Returns: how many of its bytes were written.
    private static func write(_ buffer: ByteBuffer, to descriptor: CInt, _ isInsideLine: inout Bool) -> Int {
        if isInsideLine {
            let lineEnd: [UInt8] = [0x0a]
            guard lineEnd.withUnsafeBytes({ writeAll($0, to: descriptor) }) == 1 else { return 0 }
            isInsideLine = false
        }
        return buffer.withUnsafeReadableBytes { bytes in
            let written = writeAll(bytes, to: descriptor)
            if written > 0 { isInsideLine = bytes[written &- 1] != 0x0a }
            return written
        }
    }

    private static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) -> Int {
        var written = 0
        while written < bytes.count, let base = bytes.baseAddress {
            let count = Glibc.write(descriptor, base + written, bytes.count &- written)
            if count > 0 {
                written &+= count
            } else if count < 0, errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&ready, 1, 1000)
            } else if count == 0 || errno != EINTR {
                return written
            }
        }
        return written
    }

    private static func open(_ path: String) throws -> CInt {
        // Not blocking: a FIFO that nobody reads would hold the caller until somebody does.
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        let descriptor = Glibc.open(path, flags, 0o640)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "opening the log file \(path)") }
        return descriptor
    }

    /// A duplicate of a descriptor: its owner may close it, and a late write must not go to the next file that gets the
    /// number.
    private static func duplicate(_ descriptor: CInt) throws -> CInt {
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        // Where the descriptor isn't open, the sink drops all lines.
        guard own >= 0 || errno == EBADF else { throw IOError(errnoCode: errno, reason: "duplicating a descriptor") }
        return own
    }

    private static func isNullDevice(_ descriptor: CInt) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { memory in
            guard let start = memory.baseAddress else { return false }
            let count = readlink(
                "/proc/self/fd/\(descriptor)", start.assumingMemoryBound(to: CChar.self), memory.count)
            return count > 0 && UnsafeRawBufferPointer(start: start, count: count).elementsEqual("/dev/null".utf8)
        }
    }
}
