import Glibc

/// Recognises the textual forms of IP addresses, strictly (`inet_pton`, RFC 4291 §2.2), and those of hosts in URLs that
/// stand for one.
public enum IPAddressText {
    /// Whether `bytes` are an IPv6 address without brackets and zone.
    public static func isIPv6(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var address = in6_addr()
        return parse(bytes, AF_INET6, &address)
    }

    /// Whether `bytes` are an IPv4 address of four decimal numbers.
    public static func isIPv4(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var address = in_addr()
        return parse(bytes, AF_INET, &address)
    }

    /// Whether a host is none that ``normalHost(_:)`` writes in another way, but for its case.
    static func isNormal(_ host: UnsafeRawBufferPointer) -> Bool {
        guard let first = host.first else { return true }
        if first == UInt8(ascii: "[") { return normalHost(host).elementsEqual(host) }
        // No name of the public tree ends in a number, and an address begins with one.
        return first &- 0x30 > 9 || isIPv4(host) || address(host) == nil
    }

    /// A host as it is compared, and sent on: in lower case; an address of IPv6 as `inet_ntop` writes it (RFC 5952),
    /// and one of IPv4 as four decimal numbers, whatever form it has that resolvers and the URL standard take
    /// (`inet_aton`): `127.1`, `0x7f.1`, `2130706433`.
    ///
    /// - Parameter host: an address of IPv6 in brackets; any bytes.
    public static func normalHost(_ host: UnsafeRawBufferPointer) -> [UInt8] {
        let lower = host.map(\.asciiLowercased)
        if host.first == UInt8(ascii: "["), host.last == UInt8(ascii: "]"), host.count > 2 {
            var address = in6_addr()
            let inner = UnsafeRawBufferPointer(rebasing: host[1..<(host.count - 1)])
            guard parse(inner, AF_INET6, &address) else { return lower }
            return [UInt8(ascii: "[")] + text(AF_INET6, &address) + [UInt8(ascii: "]")]
        }
        guard let first = host.first, first &- 0x30 <= 9, var address = address(host) else { return lower }
        return text(AF_INET, &address)
    }

    /// The address of IPv4 that a host stands for.
    private static func address(_ host: UnsafeRawBufferPointer) -> in_addr? {
        var address = in_addr()
        return withText(host) { inet_aton($0, &address) == 1 } ? address : nil
    }

    private static func text(_ family: CInt, _ address: UnsafeRawPointer) -> [UInt8] {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            guard let base = text.baseAddress, inet_ntop(family, address, base, socklen_t(text.count)) != nil else {
                return []
            }
            return text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        }
    }

    private static func parse(
        _ bytes: UnsafeRawBufferPointer, _ family: CInt, _ address: UnsafeMutableRawPointer
    ) -> Bool {
        withText(bytes) { inet_pton(family, $0, address) == 1 }
    }

    /// Calls `body` with a text of the length that an address may have.
    private static func withText(_ bytes: UnsafeRawBufferPointer, _ body: (UnsafePointer<CChar>) -> Bool) -> Bool {
        guard !bytes.isEmpty, bytes.count < 46, !bytes.contains(0) else { return false }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { text in
            for index in 0..<bytes.count { text[index] = CChar(bitPattern: bytes[index]) }
            text[bytes.count] = 0
            guard let base = text.baseAddress else { return false }
            return body(base)
        }
    }
}
