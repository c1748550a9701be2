import Glibc

/// Recognises the textual forms of IP addresses, strictly (`inet_pton`, RFC 4291 §2.2).
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

    private static func parse(
        _ bytes: UnsafeRawBufferPointer, _ family: CInt, _ address: UnsafeMutableRawPointer
    ) -> Bool {
        guard bytes.count > 1, bytes.count < 46, !bytes.contains(0) else { return false }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { text in
            for index in 0..<bytes.count { text[index] = CChar(bitPattern: bytes[index]) }
            text[bytes.count] = 0
            guard let base = text.baseAddress else { return false }
            return inet_pton(family, base, address) == 1
        }
    }
}
