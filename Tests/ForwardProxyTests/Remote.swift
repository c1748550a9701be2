// Its headers have sockaddr_in too, which the compiler may take for that of Glibc, depending on what else it compiles.
import CNIOLinux
import Glibc
import ProxyTestKit

/// A client that looks like one on another machine: it comes to loopback from an address of another interface.
enum Remote {
    /// An IPv4 address of this machine that is not loopback.
    private static let address: sockaddr_in? = {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next {
            next = entry.pointee.ifa_next
            guard let address = entry.pointee.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET) else {
                continue
            }
            let ipv4 = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self)
            if UInt32(bigEndian: ipv4.sin_addr.s_addr) >> 24 != 127 { return ipv4 }
        }
        return nil
    }()

    static var exists: Bool { address != nil }

    /// Connects to a port of 127.0.0.1.
    static func connect(port: UInt16) throws -> Socket {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0, var source = address else { throw Socket.Failure.failed("socket", code: errno) }
        let socket = Socket(taking: descriptor)
        socket.setTimeout(Int(Wait.limit))
        source.sin_port = 0
        var target = sockaddr_in()
        target.sin_family = sa_family_t(AF_INET)
        target.sin_port = port.bigEndian
        target.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &source) { source in
            withUnsafePointer(to: &target) { target -> CInt in
                source.withMemoryRebound(to: sockaddr.self, capacity: 1) { source in
                    target.withMemoryRebound(to: sockaddr.self, capacity: 1) { target in
                        bind(descriptor, source, length) == 0 ? Glibc.connect(descriptor, target, length) : -1
                    }
                }
            }
        }
        guard result == 0 else { throw Socket.Failure.failed("connect", code: errno) }
        return socket
    }
}
