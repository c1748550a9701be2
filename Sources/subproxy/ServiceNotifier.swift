import Basics
import Glibc
import Synchronization

/// Tells the service manager the program's state, if it wants to know. (sd_notify(3), without its library)
///
/// The socket is opened at the start, so that a message gets out even when no descriptor is left. After the message
/// that the program stops no other is sent.
final class ServiceNotifier: Sendable {
    /// What the manager was told that the service does.
    private struct State {
        var isStopping = false
        var work = ""
        /// What went wrong in the last reload; nil where nothing did.
        var failure: String?

        /// One line of both.
        var text: String {
            guard let failure else { return work }
            return "\(work); the last reload failed: \(failure)"
        }
    }

    private let descriptor: CInt
    /// The address as `sun_path` has it; empty where nobody listens.
    private let path: [UInt8]
    private let state = Mutex(State())
    /// Whether a sign of life has yet to be sent.
    private let owesSign = Atomic<Bool>(false)

    /// How long a message may wait for room in the manager's queue, in seconds.
    private static let patience = 5

    /// - Parameter socket: the value of NOTIFY_SOCKET: a path, or a name in the abstract namespace behind `@`.
    init(socket name: String?) {
        var path = Array((name ?? "").utf8)
        let isAbstract = path.first == UInt8(ascii: "@")
        guard isAbstract || path.first == UInt8(ascii: "/"), path.count > 1,
            path.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        else {
            self.path = []
            descriptor = -1
            return
        }
        if isAbstract { path[0] = 0 }
        self.path = path
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var limit = timeval(tv_sec: ServiceNotifier.patience, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// All listeners are bound and the maps are loaded.
    func ready(_ work: String) {
        tell { state in
            state.work = work
            return "READY=1\nSTATUS=\(state.text)"
        }
    }

    /// The maps are being read anew; ``reloaded(_:failure:)`` ends it.
    func reloading() {
        tell { _ in
            "RELOADING=1\nMONOTONIC_USEC=\(monotonicNanoseconds() / 1000)"
        }
    }

    /// The maps have been read.
    ///
    /// - Parameter failure: why the old ones are still in force; nil where the new ones are.
    func reloaded(_ work: String, failure: String?) {
        tell { state in
            state.work = work
            state.failure = failure
            return "READY=1\nSTATUS=\(state.text)"
        }
    }

    /// Every thread that serves has taken a turn lately. Never waits: while another message does, that one's thread
    /// sends the sign behind it.
    func alive() {
        guard descriptor >= 0 else { return }
        owesSign.store(true, ordering: .sequentiallyConsistent)
        sendOwed(CInt(MSG_DONTWAIT))
    }

    private func sendOwed(_ flags: CInt) {
        // Whoever has the lock comes here when it has given it back.
        while owesSign.load(ordering: .sequentiallyConsistent) {
            let hadLock: Bool? = state.withLockIfAvailable { state in
                if owesSign.exchange(false, ordering: .sequentiallyConsistent), !state.isStopping {
                    send("WATCHDOG=1", flags)
                }
                return true
            }
            guard hadLock == true else { return }
        }
    }

    /// Exchanges under way are being finished; it is the last message.
    ///
    /// - Parameter seconds: how long that may take.
    func stopping(within seconds: Int64) {
        tell { state in
            state.isStopping = true
            return """
                STOPPING=1
                EXTEND_TIMEOUT_USEC=\(seconds.multipliedReportingOverflow(by: 1_000_000).partialValue)
                STATUS=Finishing the exchanges under way
                """
        }
    }

    /// Sends what `message` makes, under the lock, so that messages arrive in the order of what they tell.
    private func tell(_ message: (inout State) -> String) {
        guard descriptor >= 0 else { return }
        state.withLock { state in
            guard !state.isStopping else { return }
            send(message(&state))
        }
        sendOwed(0)
    }

    private func send(_ message: String, _ flags: CInt = 0) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = (MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2) &+ path.count
        var text = message
        text.withUTF8 { bytes in
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    _ = sendto(
                        descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL) | flags, pointer,
                        socklen_t(length))
                }
            }
        }
    }
}
