import HTTPSemantics
import NIOCore

/// The value of `--listen`: one or two addresses with a port.
struct ListenAddress: Equatable, Sendable {
    /// The addresses: two for `localhost`.
    let addresses: [SocketAddress]
    /// Whether clients speak TLS with it.
    let isSecure: Bool

    /// Reads an address that may stand behind `http://`, or behind `https://` for one with TLS:
    /// `ADDRESS:PORT`, `[ADDRESS]:PORT` for IPv6, `localhost:PORT`, or a port alone, which is 127.0.0.1's.
    ///
    /// - Parameter hasIPv6: whether the machine has the address ::1, which `localhost` means too.
    /// - Throws: `ListenAddressError`.
    init(_ text: String, hasIPv6: @autoclosure () -> Bool) throws(ListenAddressError) {
        let (scheme, bytes) = ListenAddress.splitScheme(text)
        isSecure = scheme == "https"
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")) else {
            guard !bytes.contains(UInt8(ascii: ".")) else { throw .noPort }
            self.addresses = [try ListenAddress.address("127.0.0.1", try ListenAddress.port(bytes[...]))]
            return
        }
        let host = bytes[..<colon]
        guard !host.contains(UInt8(ascii: ":")) || host.first == UInt8(ascii: "[") else { throw .noBrackets }
        guard bytes.last != UInt8(ascii: "]") else { throw .noPort }
        let port = try ListenAddress.port(bytes[(colon &+ 1)...])
        if host.isEmpty {
            addresses = [try ListenAddress.address("127.0.0.1", port)]
        } else if String(decoding: host, as: UTF8.self).lowercased() == "localhost" {
            let loopbacks = hasIPv6() ? ["127.0.0.1", "::1"] : ["127.0.0.1"]
            var found: [SocketAddress] = []
            for loopback in loopbacks { found.append(try ListenAddress.address(loopback, port)) }
            addresses = found
        } else if host.first == UInt8(ascii: "[") {
            guard host.last == UInt8(ascii: "]") else { throw .noAddress }
            let inner = host.dropFirst().dropLast()
            guard inner.withUnsafeBytes(IPAddressText.isIPv6) else { throw .noAddress }
            addresses = [try ListenAddress.address(String(decoding: inner, as: UTF8.self), port)]
        } else {
            guard host.withUnsafeBytes(IPAddressText.isIPv4) else { throw .noAddress }
            addresses = [try ListenAddress.address(String(decoding: host, as: UTF8.self), port)]
        }
    }

    private static func splitScheme(_ text: String) -> (scheme: String, rest: [UInt8]) {
        for scheme in ["https", "http"] where text.lowercased().hasPrefix("\(scheme)://") {
            let rest = Array(text.utf8.dropFirst(scheme.utf8.count &+ 3))
            return (scheme, rest.last == UInt8(ascii: "/") ? rest.dropLast() : rest)
        }
        return ("http", Array(text.utf8))
    }

    private static func address(_ text: String, _ port: UInt16) throws(ListenAddressError) -> SocketAddress {
        guard let address = try? SocketAddress(ipAddress: text, port: Int(port)) else { throw .noAddress }
        return address
    }

    private static func port(_ digits: ArraySlice<UInt8>) throws(ListenAddressError) -> UInt16 {
        guard let port = DecimalNumber.parse(digits).flatMap(UInt16.init(exactly:)) else { throw .badPort }
        return port
    }
}

/// Why a text is no address to listen on.
enum ListenAddressError: Error, CustomStringConvertible {
    case noPort, badPort, noAddress, noBrackets

    var description: String {
        switch self {
        case .noPort: "the port is missing, as in 127.0.0.1:8888"
        case .badPort: "a port is a number from 0 to 65535"
        case .noAddress: "not an IP address or 'localhost', as in 127.0.0.1:8888 or [::1]:8888"
        case .noBrackets: "an IPv6 address needs brackets, as in [::1]:8888"
        }
    }
}

extension SocketAddress {
    /// Whether only programs of this machine can connect to it: 127.0.0.0/8, ::1, and the former as IPv4-mapped ones.
    var isLoopback: Bool {
        withSockAddr { address, size in
            let bytes = UnsafeRawBufferPointer(start: address, count: size)
            // Offsets of sin_addr and sin6_addr. (ip(7), ipv6(7))
            switch `protocol` {
            case .inet where bytes.count >= 8: return bytes[4] == 127
            case .inet6 where bytes.count >= 24:
                let groups = bytes[8..<24]
                return groups.elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
                    || groups.prefix(13).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127])
            case .unix: return true
            default: return false
            }
        }
    }

    /// Whether it stands for all addresses of the machine: 0.0.0.0 or ::.
    var isUnspecified: Bool { ipAddress == "0.0.0.0" || ipAddress == "::" }

    /// The proxy's URL for clients: `http://127.0.0.1:8888`, `http://[::1]:8888`.
    func proxyURL(isSecure: Bool = false) -> String {
        let scheme = isSecure ? "https" : "http"
        return pathname.map { "\(scheme)+unix:\($0)" } ?? "\(scheme)://\(hostAndPort)"
    }

    /// `127.0.0.1:8888`, `[::1]:8888`
    var hostAndPort: String {
        let host = ipAddress ?? "127.0.0.1"
        return "\(host.contains(":") ? "[\(host)]" : host):\(port ?? 0)"
    }

    /// The URL by which a program of this machine reaches the proxy.
    func localProxyURL(isSecure: Bool = false) -> String {
        guard isUnspecified else { return proxyURL(isSecure: isSecure) }
        let host = `protocol` == .inet6 ? "[::1]" : "127.0.0.1"
        return "\(isSecure ? "https" : "http")://\(host):\(port ?? 0)"
    }

    /// The address by which a program of this machine reaches the proxy, without brackets.
    var localHost: String {
        guard isUnspecified else { return ipAddress ?? "" }
        return `protocol` == .inet6 ? "::1" : "127.0.0.1"
    }
}
