import Glibc
import HTTPSemantics
import NIOCore

/// The names under which requests for the proxy itself come: its listeners' addresses and `localhost`.
struct OwnNames: Sendable {
    /// Each with its port.
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
    }

    /// Whether `host[:port]`, compared without case and the root's dot, is one of the names.
    ///
    /// - Parameter isSecure: whether the port that a name without one stands for is https's.
    func contains(_ authority: UnsafeRawBufferPointer, isSecure: Bool) -> Bool {
        guard authority.count < 300 else { return false }
        let named = OwnNames.port(authority)
        let port = named ?? (isSecure ? 443 : 80)
        guard ports.contains(port) else { return false }
        let text = AuthorityText.comparable(authority)
        let end = named == nil ? nil : text.lastIndex(of: UInt8(ascii: ":"))
        let host = String(decoding: text[..<(end ?? text.endIndex)], as: UTF8.self)
        return authorities.contains("\(host):\(port)") || isOwnAddress(host, port)
    }

    /// The port that `host[:port]` names; nil where it names none, 0 for a number that is none.
    private static func port(_ authority: UnsafeRawBufferPointer) -> UInt16? {
        var start = authority.count
        while start > 0, authority[start &- 1].isMember(of: .digit) { start &-= 1 }
        guard start > 0, start < authority.count, authority[start &- 1] == UInt8(ascii: ":") else { return nil }
        let number = UnsafeRawBufferPointer(rebasing: authority[start...]).decimalValue
        return number.flatMap(UInt16.init(exactly:)) ?? 0
    }

    /// Whether a listener on all addresses is reached under this one, which the machine may have got since the start.
    private func isOwnAddress(_ host: String, _ port: UInt16) -> Bool {
        guard openPorts.contains(port) else { return false }
        let isIPv6 = host.hasPrefix("[") && host.hasSuffix("]")
        guard
            let address = try? SocketAddress(
                ipAddress: isIPv6 ? String(host.dropFirst().dropLast()) : host, port: 0),
            isIPv6 == (address.protocol == .inet6), let bytes = AddressBytes(address)
        else { return false }
        return AddressOwnership(of: bytes) == .own
    }
}
