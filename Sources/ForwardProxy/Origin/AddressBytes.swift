import Glibc
import NIOCore

/// The 16 bytes of an IP address, IPv4 as IPv4-mapped (RFC 4291 §2.5.5.2), so that both families compare alike.
struct AddressBytes: Sendable, Equatable {
    private let high: UInt64
    private let low: UInt64

    /// The address of an AF_INET or AF_INET6 socket address; nil for other families.
    init?(_ address: UnsafePointer<sockaddr>) {
        // By the places of the parts, which the kernel has fixed (ip(7), ipv6(7)): the structures belong to Glibc or to
        // a module of NIO, whichever is loaded first.
        let bytes = UnsafeRawPointer(address)
        switch CInt(address.pointee.sa_family) {
        case AF_INET:
            self.init(ipv4: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
        case AF_INET6:
            self.init(
                high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)))
        default: return nil
        }
    }

    init?(_ address: SocketAddress) {
        let bytes: AddressBytes? = address.withSockAddr { pointer, _ in AddressBytes(pointer) }
        guard let bytes else { return nil }
        self = bytes
    }

    init(ipv4: UInt32) { self.init(high: 0, low: 0xffff_0000_0000 | UInt64(ipv4)) }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Whether the peer of a connection is on this machine: a loopback address, or the very address it connected to.
    static func isThisMachine(_ remote: SocketAddress, connectedTo local: SocketAddress?) -> Bool {
        guard let remote = AddressBytes(remote) else { return false }
        return remote.isLoopback || remote == local.flatMap { AddressBytes($0) }
    }

    /// Whether a text is an address of loopback.
    static func isLoopback(_ text: String) -> Bool {
        (try? SocketAddress(ipAddress: text, port: 0)).flatMap { AddressBytes($0) }?.isLoopback ?? false
    }

    static func port(_ address: UnsafePointer<sockaddr>) -> UInt16 {
        switch CInt(address.pointee.sa_family) {
        case AF_INET, AF_INET6:
            UInt16(bigEndian: UnsafeRawPointer(address).loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        default: 0
        }
    }

    /// Calls `body` with the bytes as the kernel has them: 4 of an IPv4 address, also of a mapped one, else 16.
    func withKernelForm<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let ipv4 { return withUnsafeBytes(of: ipv4.bigEndian, body) }
        return withUnsafeBytes(of: (high.bigEndian, low.bigEndian), body)
    }

    /// The IPv4 address, where it is one.
    private var ipv4: UInt32? {
        high == 0 && low >> 32 == 0xffff ? UInt32(truncatingIfNeeded: low) : nil
    }

    /// The IPv4 addresses that a translator or a relay on the way may make of an IPv6 one.
    var embedded: [AddressBytes] {
        let last = UInt32(truncatingIfNeeded: low)
        // IPv4-compatible (RFC 4291 §2.5.5.1), without :: and ::1; IPv4-translated (RFC 2765 §2.1).
        if high == 0, low >> 32 == 0, low > 1 { return [AddressBytes(ipv4: last)] }
        if high == 0, low >> 32 == 0xffff_0000 { return [AddressBytes(ipv4: last)] }
        // NAT64's own prefix (RFC 6052 §2.1).
        if high == 0x0064_ff9b_0000_0000, low >> 32 == 0 { return [AddressBytes(ipv4: last)] }
        if isLocalTranslation { return localTranslations }
        // 6to4 (RFC 3056 §2).
        if high >> 48 == 0x2002 { return [AddressBytes(ipv4: UInt32(truncatingIfNeeded: high >> 16))] }
        // Teredo has the client's address with all bits turned over (RFC 4380 §4).
        if high >> 32 == 0x2001_0000 { return [AddressBytes(ipv4: ~last)] }
        return []
    }

    /// `64:ff9b:1::/48`, a network's own prefixes of NAT64 (RFC 8215).
    private var isLocalTranslation: Bool { high >> 16 == 0x0064_ff9b_0001 }

    /// The addresses that stand where prefixes of 96, 64, 56 and 48 bits have them (RFC 6052 §2.2); which of them it is
    /// only the network knows. Those that no host has are what the other bits of the address look like.
    private var localTranslations: [AddressBytes] {
        let candidates = [
            low, low >> 24, (high & 0xff) << 24 | (low >> 32) & 0xff_ffff, (high & 0xffff) << 16 | (low >> 40) & 0xffff,
        ]
        return candidates.map { AddressBytes(ipv4: UInt32(truncatingIfNeeded: $0)) }
            .filter { !$0.isUnspecified && !$0.isMulticast }
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

    /// RFC 1918, RFC 6598, unique local addresses (RFC 4193), site-local ones (RFC 3879), and NAT64 of a network's own.
    var isPrivate: Bool {
        if let ipv4 {
            return ipv4 >> 24 == 10 || ipv4 >> 20 == 0xac1 || ipv4 >> 16 == 0xc0a8 || ipv4 >> 22 == 0x191
        }
        return high >> 57 == 0x7e || high >> 54 == 0x3fb || isLocalTranslation
    }

    /// Where clouds tell a machine of its identity and its secrets, and do what it asks them in plain http.
    var isMetadata: Bool {
        if let ipv4 { return AddressBytes.metadataIPv4.contains(ipv4) }
        return AddressBytes.metadataIPv6.contains { $0 == high && $1 == low }
    }

    /// 169.254.169.254 (AWS, Google, Azure, Oracle and most others), 169.254.170.2 and 169.254.170.23 (AWS's
    /// containers), 100.100.100.200 (Alibaba), 192.0.0.192 (Oracle), 168.63.129.16 (Azure).
    private static let metadataIPv4: [UInt32] = [
        0xa9fe_a9fe, 0xa9fe_aa02, 0xa9fe_aa17, 0x6464_64c8, 0xc000_00c0, 0xa83f_8110,
    ]

    /// fd00:ec2::254 and fd00:ec2::23 (AWS), fd20:ce::254 (Google).
    private static let metadataIPv6: [(UInt64, UInt64)] = [
        (0xfd00_0ec2_0000_0000, 0x254), (0xfd00_0ec2_0000_0000, 0x23), (0xfd20_00ce_0000_0000, 0x254),
    ]
}
