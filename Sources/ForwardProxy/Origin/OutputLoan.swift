import Glibc
import Synchronization

/// A client's socket, lent to the transfer thread: a large body goes from libcurl's buffer straight to it, past the
/// event loop, for as long as the socket takes all that comes.
///
/// Nothing may overtake what waits elsewhere. So the event loop lends the socket at a position, the bytes of the body
/// that it has had and that have left; the transfer thread uses it only if it has handed over that many. The first
/// bytes that the socket does not take end the loan, and go the long way with all behind them, under back-pressure. The
/// event loop takes the loan back before it writes to the client again.
final class OutputLoan: Sendable {
    private struct State {
        /// -1 once it is closed.
        var descriptor: CInt
        /// The position at which the socket is lent; nil where it is not.
        var position: Int?
        /// Bytes that were sent and not yet counted by the event loop.
        var sent = 0
        /// Whether the last packet may wait in the socket for more.
        var isCorked = false
    }

    private let state: Mutex<State>

    /// As much as libcurl gives at a time (CURL_MAX_WRITE_SIZE): more may follow.
    private static let largestPart = 16 << 10

    /// - Parameter descriptor: a duplicate of the client's socket, owned by this object: the event loop may close its
    ///   own at any time, and the number be another's.
    init(_ descriptor: CInt) { state = Mutex(State(descriptor: descriptor)) }

    deinit { close() }

    // MARK: The event loop's side

    /// Lends the socket; all before `position` has left.
    func lend(at position: Int) { state.withLock { $0.position = position } }

    /// Ends the loan, if it has not ended yet.
    ///
    /// - Returns: the bytes that were sent meanwhile.
    func takeBack() -> Int {
        state.withLock { state in
            state.position = nil
            defer { state.sent = 0 }
            return state.sent
        }
    }

    /// Closes the duplicate; nothing is sent any more.
    func close() {
        state.withLock { state in
            state.position = nil
            if state.descriptor >= 0 { Glibc.close(state.descriptor) }
            state.descriptor = -1
        }
    }

    // MARK: The transfer thread's side

    /// Sends bytes of the body, if the socket is lent at this position.
    ///
    /// - Returns: how many were taken; if not all, the loan has ended.
    func send(_ bytes: UnsafeRawBufferPointer, at position: Int) -> Int {
        state.withLock { state in
            guard state.position == position else {
                // Other bytes are on their way to the event loop, which did not know.
                state.position = nil
                return 0
            }
            let isCorked = bytes.count >= OutputLoan.largestPart
            let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL) | (isCorked ? CInt(MSG_MORE) : 0)
            // Where it fails, the channel meets the same error and knows what to do.
            let sent = max(0, Glibc.send(state.descriptor, bytes.baseAddress, bytes.count, flags))
            state.sent &+= sent
            state.isCorked = isCorked
            if sent < bytes.count { state.position = nil }
            return sent
        }
    }

    /// Sends the last packet now, if it waits in the socket.
    func push() {
        state.withLock { state in
            guard state.isCorked, state.descriptor >= 0 else { return }
            state.isCorked = false
            // Setting it pushes what waits, also where it was set before (tcp(7)).
            var on: CInt = 1
            setsockopt(state.descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        }
    }
}
