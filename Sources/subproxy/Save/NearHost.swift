import ForwardProxy
import Glibc
import HTTPSemantics
import NIOCore

/// A host that has only addresses that not everybody reaches: of this machine, or of a private network.
struct NearHost {
    /// The entry, as of `--resolve`, by which it is asked at the addresses that were found; nil where there is one
    /// already, or its name is an address.
    let entry: String?

    /// Looks its name up. Nil where one of its addresses is another one, or it has none.
    ///
    /// - Parameter resolve: the entries of `--resolve`.
    init?(_ uri: TargetURI, resolve: [String]) {
        let host = String(uri.host.drop { $0 == "[" }.prefix { $0 != "]" })
        let start = "\(host):\(uri.port):"
        if let said = resolve.first(where: { $0.hasPrefix(start) }) {
            let addresses = said.dropFirst(start.count).split(separator: ",")
            guard NearHost.areNear(addresses.map { String($0.drop { $0 == "[" }.prefix { $0 != "]" }) }) else {
                return nil
            }
            entry = nil
            return
        }
        let addresses = NearHost.nearAddresses(of: host)
        guard !addresses.isEmpty else { return nil }
        let isName = (try? SocketAddress(ipAddress: host, port: 0)) == nil
        entry = isName ? start + addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",") : nil
    }

    private static func areNear(_ addresses: [String]) -> Bool {
        !addresses.isEmpty
            && addresses.allSatisfy { address in
                let socket = try? SocketAddress(ipAddress: address, port: 0)
                return socket?.withSockAddr { pointer, _ in AddressPolicy.isNear(pointer) } ?? false
            }
    }

    /// The addresses that a name has, or is (getaddrinfo(3)); none where one of them is one that everybody reaches.
    ///
    /// Without those of a link, which have its name behind a `%`: nothing connects to them.
    private static func nearAddresses(of host: String) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var found: [String] = []
        var next = first
        while let entry = next {
            next = entry.pointee.ai_next
            guard let address = entry.pointee.ai_addr, AddressPolicy.isNear(address) else { return [] }
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let size = socklen_t(text.count)
            guard getnameinfo(address, entry.pointee.ai_addrlen, &text, size, nil, 0, NI_NUMERICHOST) == 0 else {
                return []
            }
            let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            if !bytes.contains(UInt8(ascii: "%")) { found.append(String(decoding: bytes, as: UTF8.self)) }
        }
        return found
    }
}
