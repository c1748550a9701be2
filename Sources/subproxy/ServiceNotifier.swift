import Glibc

/// Tells the service manager how the program is, where it wants to know. (sd_notify(3), without its library)
struct ServiceNotifier: Sendable {
    /// The address as `sun_path` has it; nil where nobody listens.
    private let path: [UInt8]?

    /// - Parameter socket: the value of NOTIFY_SOCKET: a path, or a name in the abstract namespace behind `@`.
    init(socket: String?) {
        var path = Array((socket ?? "").utf8)
        let isAbstract = path.first == UInt8(ascii: "@")
        guard isAbstract || path.first == UInt8(ascii: "/"), path.count > 1,
            path.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        else {
            self.path = nil
            return
        }
        if isAbstract { path[0] = 0 }
        self.path = path
    }

    /// The one that the environment names.
    static func fromEnvironment() -> ServiceNotifier {
        ServiceNotifier(socket: getenv("NOTIFY_SOCKET").map { String(cString: $0) })
    }

    /// All listeners are bound and the maps are loaded.
    func ready(_ status: String) { send("READY=1\nSTATUS=\(status)") }

    /// The maps are being read anew; ``ready(_:)`` ends it.
    func reloading() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        send("RELOADING=1\nMONOTONIC_USEC=\(now.tv_sec &* 1_000_000 &+ now.tv_nsec / 1000)")
    }

    func stopping() { send("STOPPING=1\nSTATUS=Finishing the exchanges under way") }

    private func send(_ state: String) {
        guard let path else { return }
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = (MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2) &+ path.count
        var text = state
        text.withUTF8 { bytes in
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    _ = sendto(
                        descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL), pointer,
                        socklen_t(length))
                }
            }
        }
    }
}
