import CCurl
import Glibc

/// Finds the sockets of the connections that libcurl keeps.
///
/// libcurl asks whether a request may be sent on a connection (CURLOPT_PREREQFUNCTION), and names it by its addresses
/// alone; CURLINFO_ACTIVESOCKET knows it only when the transfer is over. So the socket is noted with the first request
/// on a connection, and found again with the next.
///
/// Why that matters: what arrives on a connection while no request is under way must not be taken for a response
/// (RFC 9112 §9.2), and libcurl 7.88.1 does take it so. A connection on which anything arrived is not used again.
struct KeptConnections {
    /// A connection as libcurl names it: the text of both addresses, and both ports.
    struct Name: Hashable {
        let localPort: CInt
        private let port: CInt
        private let addresses: UInt64

        init(
            local: UnsafePointer<CChar>, localPort: CInt, remote: UnsafePointer<CChar>, port: CInt
        ) {
            self.localPort = localPort
            self.port = port
            // FNV-1a: it is asked for with each request, and both texts are the kernel's words.
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            KeptConnections.add(local, to: &hash)
            KeptConnections.add(remote, to: &hash)
            addresses = hash
        }
    }

    private var sockets: [Name: CInt] = [:]
    private var names: [CInt: Name] = [:]

    /// The socket of a connection; a new one's is among `opened`.
    mutating func find(_ name: Name, among opened: [CInt]) -> CInt? {
        guard let socket = opened.last else { return sockets[name] }
        // There are several if more than one address was tried at the same time; the local port tells them apart.
        let found = opened.count == 1 ? socket : opened.first { KeptConnections.localPort(of: $0) == name.localPort }
        guard let found else { return nil }
        remove(found)
        sockets[name] = found
        names[found] = name
        return found
    }

    mutating func remove(_ socket: CInt) {
        guard let name = names.removeValue(forKey: socket) else { return }
        if sockets[name] == socket { sockets[name] = nil }
    }

    /// Whether bytes, or the end, have come on a connection.
    static func hasInput(_ socket: CInt) -> Bool {
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT))
        return count >= 0 || errno != EAGAIN
    }

    /// Closes a connection that libcurl holds: its number becomes that of a socket whose other end is closed.
    ///
    /// When libcurl looks for a connection to use, it finds this one dead and drops it. It would take a socket that was
    /// never connected for alive: reading from that is an error, and not the end.
    static func cutOff(_ socket: CInt) {
        var pair: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue) | subproxy_socket_flags, 0, &pair) == 0 else {
            // No descriptor is left.
            _ = shutdown(socket, CInt(SHUT_RDWR))
            return
        }
        _ = subproxy_replace(pair[0], socket)
        close(pair[0])
        close(pair[1])
    }

    private static func add(_ text: UnsafePointer<CChar>, to hash: inout UInt64) {
        var next = text
        while next.pointee != 0 {
            hash = (hash ^ UInt64(UInt8(bitPattern: next.pointee))) &* 0x100_0000_01b3
            next += 1
        }
        hash = hash &* 0x100_0000_01b3
    }

    private static func localPort(of socket: CInt) -> CInt? {
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        guard code == 0 else { return nil }
        // The port stands at the same place in addresses of IPv4 and IPv6.
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                CInt(UInt16(bigEndian: $0.pointee.sin_port))
            }
        }
    }
}
