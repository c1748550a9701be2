import CCurl
import Glibc

/// The descriptors that libcurl waits for, in an epoll(7) set.
///
/// Belongs to the transfer thread. It takes care of four things:
/// - A number may be closed and used anew within a turn. So each use has a generation, and events of an older one are
///   dropped. Events are level-triggered, so none is lost by that.
/// - libcurl stops watching a connection when it becomes idle and watches it again with the next request. If the
///   socket's closing is seen here, it stays in the set meanwhile, which saves two system calls a transfer.
/// - Bytes on an idle connection answer no request (RFC 9112 §9.2), so each event of an idle connection is reported. A
///   connection that a transfer uses and has paused is not idle: its events wait.
/// - A descriptor that was copied stays in the set when the original is closed, so it is taken out before that.
final class SocketPoll {
    private struct Entry {
        /// The events that libcurl waits for, and those that the set reports.
        var wanted: UInt32 = 0
        var registered: UInt32 = 0
        var generation: UInt32 = 0
        /// Whether ``closing(_:)`` will tell the end of this use of the number.
        var closingIsSeen = false
        /// Who uses the connection; nil if it is idle.
        var user: ObjectIdentifier?

        /// Whether what is wanted has changed since the set was told.
        var isChanged = false
        /// Whether bytes were read from it that belong to no response.
        var isSpoiled = false

        var isIdle: Bool { closingIsSeen && user == nil }
    }

    static let eventsPerWait = 256

    private let epoll: CInt
    private let wakeup: CInt
    private var entries: [Entry] = []
    /// Sockets of which the set is to be told before the next wait.
    private var changed: [CInt] = []
    private let events: UnsafeMutablePointer<epoll_event>
    private static let wakeupMark = UInt64.max

    init?(wakeup: CInt) {
        epoll = subproxy_epoll_create()
        guard epoll >= 0 else { return nil }
        guard
            subproxy_epoll_control(
                epoll, subproxy_epoll_add, wakeup, subproxy_epoll_in, SocketPoll.wakeupMark) == 0
        else {
            close(epoll)
            return nil
        }
        self.wakeup = wakeup
        events = .allocate(capacity: SocketPoll.eventsPerWait)
        events.initialize(repeating: epoll_event(), count: SocketPoll.eventsPerWait)
    }

    deinit {
        close(epoll)
        events.deallocate()
    }

    /// Waits for events and hands each to `action` with its CURL_CSELECT bits.
    ///
    /// - Parameters:
    ///   - milliseconds: how long; -1 is for ever.
    ///   - returned: called when the wait is over, before the events.
    ///   - idle: called with each idle connection's socket on which something arrived, or whose end has come.
    func wait(
        _ milliseconds: CInt, returned: () -> Void, idle: (_ socket: CInt) -> Void,
        _ action: (_ socket: CInt, _ bits: CInt) -> Void
    ) {
        applyChanges()
        let count = epoll_wait(epoll, events, CInt(SocketPoll.eventsPerWait), milliseconds)
        returned()
        // EINTR is a wait without events.
        guard count > 0 else { return }
        for index in 0..<Int(count) {
            let mark = subproxy_epoll_data(events + index)
            if mark == SocketPoll.wakeupMark {
                var value: UInt64 = 0
                _ = read(wakeup, &value, 8)
                continue
            }
            let socket = CInt(truncatingIfNeeded: mark & 0x7fff_ffff)
            let entry = entry(socket)
            guard entry.generation == UInt32(truncatingIfNeeded: mark >> 32) else { continue }
            let reported = events[index].events
            // A broken connection counts as every event that is waited for. libcurl is not told to read unless it waits
            // for that: it would read even while it is paused.
            let due = reported & subproxy_epoll_broken != 0 ? entry.wanted : reported & entry.wanted
            guard due != 0 else {
                remove(socket)
                if entry.isIdle { idle(socket) }
                continue
            }
            let bits = (due & subproxy_epoll_in != 0 ? CURL_CSELECT_IN : 0)
            action(socket, bits | (due & subproxy_epoll_out != 0 ? CURL_CSELECT_OUT : 0))
        }
    }

    /// Notes a socket that was opened for libcurl, and who uses its connection.
    func opened(_ socket: CInt, by user: ObjectIdentifier) {
        change(socket) { entry in
            entry = Entry(generation: entry.generation &+ 1, closingIsSeen: true, user: user)
        }
    }

    /// Notes who uses a kept connection from now on.
    func use(_ socket: CInt, by user: ObjectIdentifier) {
        change(socket) { $0.user = user }
    }

    /// Notes that a connection is not used by `user` any more: it is idle, unless somebody else has taken it meanwhile.
    func release(_ socket: CInt, by user: ObjectIdentifier) {
        let entry = entry(socket)
        guard entry.closingIsSeen, entry.user == user else { return }
        change(socket) { $0.user = nil }
        // Also where it was taken out while the transfer was paused.
        guard entry.registered != subproxy_epoll_in, !entry.isChanged else { return }
        register(socket, subproxy_epoll_in)
    }

    /// To be called before such a socket is closed.
    func closing(_ socket: CInt) {
        remove(socket)
        change(socket) { entry in
            entry = Entry(generation: entry.generation &+ 1)
        }
    }

    /// Watches a socket as CURLMOPT_SOCKETFUNCTION says.
    func watch(_ socket: CInt, _ what: CInt) {
        guard socket >= 0 else { return }
        let wanted: UInt32 =
            switch what {
            case CURL_POLL_IN: subproxy_epoll_in
            case CURL_POLL_OUT: subproxy_epoll_out
            case CURL_POLL_INOUT: subproxy_epoll_in | subproxy_epoll_out
            default: 0
            }
        let entry = entry(socket)
        change(socket) { $0.wanted = wanted }
        guard entry.closingIsSeen else {
            // The number may be another's by the time of the next wait.
            if wanted == 0 { remove(socket) } else { register(socket, wanted) }
            return
        }
        // A request that is sent at once is watched for room to send, and in the same turn for its response.
        guard !entry.isChanged else { return }
        change(socket) { $0.isChanged = true }
        changed.append(socket)
    }

    /// Tells the set what libcurl now wants of the sockets for which that has changed.
    private func applyChanges() {
        guard !changed.isEmpty else { return }
        for socket in changed {
            let entry = entry(socket)
            guard entry.isChanged else { continue }
            change(socket) { $0.isChanged = false }
            if entry.wanted != 0 {
                if entry.registered != entry.wanted { register(socket, entry.wanted) }
            } else if entry.registered != subproxy_epoll_in {
                if entry.isIdle { register(socket, subproxy_epoll_in) } else { remove(socket) }
            }
        }
        changed.removeAll(keepingCapacity: true)
    }

    func isIdle(_ socket: CInt) -> Bool { entry(socket).isIdle }

    /// Notes that a connection must not be used again.
    func spoil(_ socket: CInt) {
        change(socket) { $0.isSpoiled = true }
    }

    func isSpoiled(_ socket: CInt) -> Bool { entry(socket).isSpoiled }

    /// Takes a socket that nobody uses out of the set.
    func forget(_ socket: CInt) { remove(socket) }

    private func register(_ socket: CInt, _ wanted: UInt32) {
        let entry = entry(socket)
        let mark = UInt64(entry.generation) << 32 | UInt64(UInt32(bitPattern: socket))
        let first = entry.registered == 0 ? subproxy_epoll_add : subproxy_epoll_modify
        if subproxy_epoll_control(epoll, first, socket, wanted, mark) != 0 {
            // The number was closed and used anew behind libcurl's back, or is in the set already.
            let second = errno == EEXIST ? subproxy_epoll_modify : subproxy_epoll_add
            _ = subproxy_epoll_control(epoll, second, socket, wanted, mark)
        }
        change(socket) { $0.registered = wanted }
    }

    private func remove(_ socket: CInt) {
        guard entry(socket).registered != 0 else { return }
        _ = subproxy_epoll_control(epoll, subproxy_epoll_delete, socket, 0, 0)
        change(socket) { $0.registered = 0 }
    }

    private func entry(_ socket: CInt) -> Entry {
        let index = Int(socket)
        return entries.indices.contains(index) ? entries[index] : Entry()
    }

    private func change(_ socket: CInt, _ body: (inout Entry) -> Void) {
        let index = Int(socket)
        guard index >= 0 else { return }
        while entries.count <= index { entries.append(Entry()) }
        body(&entries[index])
    }
}
