import Glibc
public import NIOCore

/// What a connection to an address is, for the proxy's purposes.
public enum AddressVerdict: Sendable, Equatable {
    case allowed
    /// The address is one that this proxy listens on: a connection would be a loop.
    case ownListener
    /// The address may not be reached through the proxy; the text says why.
    case prohibited(String)
}

/// Which addresses may be connected to, judged on the address itself and never on the text that led to it.
///
/// Link-local and multicast addresses never; the proxy's own listeners never; loopback and private ones only for
/// clients on this machine, unless ``allowsPrivateForRemote`` is set.
public struct AddressPolicy: Sendable {
    /// An address of a listener; a wildcard one covers every local address.
    struct Listener: Sendable, Equatable {
        var address: AddressBytes
        var port: UInt16
    }

    /// Whether clients on other machines may reach loopback and private addresses; the default is no.
    public var allowsPrivateForRemote: Bool
    private var listeners: [Listener] = []
    private var localAddresses: [AddressBytes] = []

    public init(allowsPrivateForRemote: Bool = false) {
        self.allowsPrivateForRemote = allowsPrivateForRemote
    }

    /// Adds an address that this proxy listens on.
    public mutating func addListener(_ address: SocketAddress) {
        guard let port = address.port.flatMap(UInt16.init(exactly:)) else { return }
        let bytes: AddressBytes? = address.withSockAddr { pointer, _ in AddressBytes(pointer) }
        guard let bytes else { return }
        listeners.append(Listener(address: bytes, port: port))
        if bytes.isUnspecified { localAddresses = AddressPolicy.addressesOfInterfaces() }
    }

    /// Judges an address that a connection is about to be made to.
    func judge(_ address: UnsafePointer<sockaddr>, clientIsLocal: Bool) -> AddressVerdict {
        guard let bytes = AddressBytes(address) else { return .prohibited("is not an internet address") }
        let port = AddressBytes.port(address)
        for listener in listeners where listener.port == port {
            if listener.address == bytes { return .ownListener }
            // Connecting to 0.0.0.0 or :: reaches this machine.
            if bytes.isUnspecified { return .ownListener }
            if listener.address.isUnspecified, bytes.isLoopback || localAddresses.contains(bytes) {
                return .ownListener
            }
        }
        if bytes.isMulticast { return .prohibited("is a multicast address") }
        if bytes.isLinkLocal { return .prohibited("is a link-local address") }
        if !clientIsLocal, !allowsPrivateForRemote {
            if bytes.isLoopback || bytes.isUnspecified {
                return .prohibited("is a loopback address, which only clients on this machine may reach")
            }
            if bytes.isPrivate || localAddresses.contains(bytes) {
                return .prohibited("is a private address, which only clients on this machine may reach")
            }
        }
        return .allowed
    }

    private static func addressesOfInterfaces() -> [AddressBytes] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var addresses: [AddressBytes] = []
        var next = list
        while let entry = next {
            if let address = entry.pointee.ifa_addr, let bytes = AddressBytes(address) { addresses.append(bytes) }
            next = entry.pointee.ifa_next
        }
        return addresses
    }
}

/// The 16 bytes of an IP address, IPv4 as IPv4-mapped (RFC 4291 §2.5.5.2), so that both families compare alike.
struct AddressBytes: Sendable, Equatable {
    private let high: UInt64
    private let low: UInt64

    /// The address of an AF_INET or AF_INET6 socket address; nil for other families.
    init?(_ address: UnsafePointer<sockaddr>) {
        switch CInt(address.pointee.sa_family) {
        case AF_INET:
            let ipv4 = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self)
            self.init(ipv4: UInt32(bigEndian: ipv4.sin_addr.s_addr))
        case AF_INET6:
            let ipv6 = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self)
            let halves = withUnsafeBytes(of: ipv6.sin6_addr) { bytes in
                (
                    UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
            // NAT64 (64:ff9b::/96) and IPv4-compatible forms lead to the IPv4 address inside them.
            if halves.0 == 0x0064_ff9b_0000_0000, halves.1 >> 32 == 0 {
                self.init(ipv4: UInt32(truncatingIfNeeded: halves.1))
            } else if halves.0 == 0, halves.1 >> 32 == 0, halves.1 > 1 {
                self.init(ipv4: UInt32(truncatingIfNeeded: halves.1))
            } else {
                self.init(high: halves.0, low: halves.1)
            }
        default: return nil
        }
    }

    init(ipv4: UInt32) { self.init(high: 0, low: 0xffff_0000_0000 | UInt64(ipv4)) }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Whether the peer of a connection is on this machine: a loopback address, or the very address it connected to.
    static func isThisMachine(_ remote: SocketAddress, connectedTo local: SocketAddress?) -> Bool {
        let remote: AddressBytes? = remote.withSockAddr { pointer, _ in AddressBytes(pointer) }
        let local: AddressBytes? = local?.withSockAddr { pointer, _ in AddressBytes(pointer) }
        guard let remote else { return false }
        return remote.isLoopback || remote == local
    }

    static func port(_ address: UnsafePointer<sockaddr>) -> UInt16 {
        switch CInt(address.pointee.sa_family) {
        case AF_INET: UInt16(bigEndian: UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self).sin_port)
        case AF_INET6: UInt16(bigEndian: UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_port)
        default: 0
        }
    }

    /// The IPv4 address, where it is one.
    private var ipv4: UInt32? {
        high == 0 && low >> 32 == 0xffff ? UInt32(truncatingIfNeeded: low) : nil
    }

    var isLoopback: Bool {
        if let ipv4 { return ipv4 >> 24 == 127 }
        return high == 0 && low == 1
    }

    /// `0.0.0.0/8` and `::`.
    var isUnspecified: Bool {
        if let ipv4 { return ipv4 >> 24 == 0 }
        return high == 0 && low == 0
    }

    var isLinkLocal: Bool {
        if let ipv4 { return ipv4 >> 16 == 0xa9fe }
        return high >> 54 == 0x3fa
    }

    /// Multicast, and IPv4's limited broadcast and reserved range (240.0.0.0/4).
    var isMulticast: Bool {
        if let ipv4 { return ipv4 >> 28 >= 0xe }
        return high >> 56 == 0xff
    }

    /// RFC 1918, RFC 6598 and unique local addresses (RFC 4193).
    var isPrivate: Bool {
        if let ipv4 {
            return ipv4 >> 24 == 10 || ipv4 >> 20 == 0xac1 || ipv4 >> 16 == 0xc0a8 || ipv4 >> 22 == 0x191
        }
        return high >> 57 == 0x7e
    }
}
