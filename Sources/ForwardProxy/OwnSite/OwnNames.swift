import Glibc
import HTTPSemantics
import NIOCore

/// The names under which requests for the proxy itself come: its listeners' addresses and `localhost`.
struct OwnNames: Sendable {
    private var authorities: Set<String> = []
    /// The ports that the listeners have; most requests are for another one.
    private var ports: Set<UInt16> = []
    /// The ports of listeners on 0.0.0.0 or ::, which all addresses of this machine lead to.
    private var openPorts: Set<UInt16> = []

    /// Adds the names under which a listener's address is asked for.
    mutating func add(listener address: SocketAddress) {
        guard let port = address.port.flatMap(UInt16.init(exactly:)), let text = address.ipAddress else { return }
        add(host: address.protocol == .inet6 ? "[\(text)]" : text, port: port)
        guard let bytes = AddressBytes(address), bytes.isLoopback || bytes.isUnspecified else { return }
        for name in ["localhost", "127.0.0.1", "[::1]"] { add(host: name, port: port) }
        guard bytes.isUnspecified else { return }
        openPorts.insert(port)
        var name = [CChar](repeating: 0, count: 256)
        if gethostname(&name, 255) == 0 {
            let host = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            add(host: host.lowercased(), port: port)
        }
    }

    private mutating func add(host: String, port: UInt16) {
        ports.insert(port)
        authorities.insert("\(host):\(port)")
        if port == 80 { authorities.insert(host) }
    }

    /// Whether `host[:port]`, compared without case and the root's dot, is one of the names.
    func contains(_ authority: UnsafeRawBufferPointer) -> Bool {
        guard authority.count < 300, ports.contains(OwnNames.port(authority)) else { return false }
        let text = String(decoding: AuthorityText.comparable(authority), as: UTF8.self)
        return authorities.contains(text) || isOwnAddress(text)
    }

    /// The port that `host[:port]` names, by default http's; 0 for a number that is none.
    private static func port(_ authority: UnsafeRawBufferPointer) -> UInt16 {
        var start = authority.count
        while start > 0, authority[start &- 1].isMember(of: .digit) { start &-= 1 }
        guard start > 0, start < authority.count, authority[start &- 1] == UInt8(ascii: ":") else { return 80 }
        let number = UnsafeRawBufferPointer(rebasing: authority[start...]).decimalValue
        return number.flatMap(UInt16.init(exactly:)) ?? 0
    }

    /// Whether a listener on all addresses is reached under this one, which the machine may have got since the start.
    private func isOwnAddress(_ authority: String) -> Bool {
        guard !openPorts.isEmpty else { return false }
        let end = authority.utf8.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        let colon = authority.utf8[end...].firstIndex(of: UInt8(ascii: ":"))
        let host = authority[..<(colon ?? authority.endIndex)]
        guard let port = colon.map({ UInt16(authority[$0...].dropFirst()) }) ?? 80, openPorts.contains(port) else {
            return false
        }
        let isIPv6 = host.hasPrefix("[") && host.hasSuffix("]")
        guard let address = try? SocketAddress(ipAddress: String(isIPv6 ? host.dropFirst().dropLast() : host), port: 0),
            isIPv6 == (address.protocol == .inet6), let bytes = AddressBytes(address)
        else { return false }
        return AddressOwnership(of: bytes) == .own
    }
}
