import HTTPSemantics

/// The value of Host: `uri-host [ ":" port ]`, or nothing (RFC 9110 §7.2).
enum HostField {
    /// Whether `value` is empty, or a host with an optional port.
    ///
    /// Of the grammar's registered names only those are taken that can be in the DNS, with `_`: no percent-encoding and
    /// no sub-delimiters, which no client sends and which parsers read differently.
    static func isValid(_ value: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        if value.first == UInt8(ascii: "[") {
            while index < value.count, value[index] != UInt8(ascii: "]") { index &+= 1 }
            guard index < value.count, IPAddressText.isIPv6(value.rebased(1..<index)) else { return false }
            index &+= 1
        } else {
            while index < value.count, isNameByte(value[index]) { index &+= 1 }
            if index == value.count { return true }
            if index == 0 { return value.isEmpty }
        }
        guard index < value.count else { return true }
        guard value[index] == Byte.colon else { return false }
        index &+= 1
        guard value.count &- index <= 5 else { return false }
        var port = 0
        while index < value.count {
            let digit = value[index] &- 0x30
            guard digit < 10 else { return false }
            port = port &* 10 &+ Int(digit)
            index &+= 1
        }
        return port <= 65535
    }

    @inline(__always)
    private static func isNameByte(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2e || byte == 0x2d || byte == 0x5f
    }
}
