import ForwardProxy
import Glibc
import NIOCore

/// A descriptor that a service manager has passed, with the name that it gave it. (sd_listen_fds_with_names(3))
struct PassedDescriptor: Equatable {
    /// The number of the first one: SD_LISTEN_FDS_START.
    static let first: CInt = 3

    let number: CInt
    let name: String

    /// The descriptors that are for this process; each is closed by exec from now on.
    ///
    /// - Parameter variable: gives a variable of the environment.
    static func all(
        _ variable: (String) -> String?, process: pid_t
    ) throws(PassedDescriptorError) -> [PassedDescriptor] {
        guard let owner = variable("LISTEN_PID"), DecimalNumber.parse(owner.utf8) == Int(process),
            let text = variable("LISTEN_FDS"), let count = DecimalNumber.parse(text.utf8), count > 0
        else { return [] }
        guard count <= 1024 else { throw .tooMany(count) }
        let names = (variable("LISTEN_FDNAMES") ?? "").split(separator: ":", omittingEmptySubsequences: false)
        var found: [PassedDescriptor] = []
        for index in 0..<count {
            let number = first &+ CInt(index)
            guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0 else { throw .notOpen(number) }
            found.append(PassedDescriptor(number: number, name: index < names.count ? String(names[index]) : ""))
        }
        return found
    }

    /// The listener that it is: with TLS where its name is `https`.
    func listener() throws(PassedDescriptorError) -> PassedListener {
        guard option(SO_TYPE) == CInt(SOCK_STREAM.rawValue) else { throw .notStream(self) }
        guard option(SO_ACCEPTCONN) == 1 else { throw .notListening(self) }
        guard let address = address() else { throw .unknownFamily(self) }
        return PassedListener(descriptor: number, address: address, isSecure: name == "https")
    }

    private func option(_ option: CInt) -> CInt? {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(number, SOL_SOCKET, option, &value, &length) == 0 ? value : nil
    }

    /// What it is bound to: an address of IPv4 or IPv6, or a path. (getsockname(2), unix(7))
    private func address() -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            let result = storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(number, $0, &length)
            }
            guard result == 0 else { return nil }
            let pointer = UnsafeRawPointer(storage)
            switch CInt(storage.pointee.ss_family) {
            case AF_INET: return SocketAddress(pointer.loadUnaligned(as: sockaddr_in.self))
            case AF_INET6: return SocketAddress(pointer.loadUnaligned(as: sockaddr_in6.self))
            case AF_UNIX: return SocketAddress(pointer.loadUnaligned(as: sockaddr_un.self))
            default: return nil
            }
        }
    }
}

/// Why a passed descriptor can't be listened on.
enum PassedDescriptorError: Error, Equatable, CustomStringConvertible {
    case tooMany(Int)
    case notOpen(CInt)
    case notStream(PassedDescriptor)
    case notListening(PassedDescriptor)
    case unknownFamily(PassedDescriptor)

    var description: String {
        switch self {
        case .tooMany(let count): "LISTEN_FDS says \(count) descriptors; more than 1024 are none"
        case .notOpen(let number): "LISTEN_FDS says that descriptor \(number) is passed, but it is not open"
        case .notStream(let descriptor): "\(descriptor.text) is no stream socket; use ListenStream= in the socket unit"
        case .notListening(let descriptor): "\(descriptor.text) does not listen; use Accept=no in the socket unit"
        case .unknownFamily(let descriptor): "\(descriptor.text) is of no family that is known: IPv4, IPv6 or a path"
        }
    }
}

extension PassedDescriptor {
    fileprivate var text: String { "the passed descriptor \(number)\(name.isEmpty ? "" : " '\(name)'")" }
}
