/// `host [ ":" port ]` as Host and CONNECT have it, brought into the form in which authorities are compared.
public enum AuthorityText {
    /// The bytes in lower case, without the dot of the root behind a name, and with an address in one form:
    /// `Example.com.:80` is `example.com:80`, and `127.1` is `127.0.0.1`.
    ///
    /// Nothing is checked: bytes that are not an authority do not become one.
    public static func comparable(_ bytes: some Collection<UInt8>) -> [UInt8] {
        // As bytes that lie together, which nearly all are, they need no call for each.
        bytes.withContiguousStorageIfAvailable { comparable(UnsafeRawBufferPointer($0)) } ?? trimmed(Array(bytes))
    }

    /// The same of bytes that lie together.
    public static func comparable(_ bytes: UnsafeRawBufferPointer) -> [UInt8] { trimmed([UInt8](bytes)) }

    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        var text = bytes
        for index in text.indices { text[index] = text[index].asciiLowercased }
        // An IPv6 address, which has colons too, has a "]" before that of its port.
        let end = text.lastIndex(of: UInt8(ascii: ":")) ?? text.endIndex
        if end > 1, text[end &- 1] == UInt8(ascii: "."), text[end &- 2] != UInt8(ascii: ".") {
            text.remove(at: end &- 1)
        }
        return mayBeAddress(text.first) ? withNormalHost(text) : text
    }

    /// Whether a host that begins so may be an address.
    public static func mayBeAddress(_ first: UInt8?) -> Bool {
        first.map { $0 == UInt8(ascii: "[") || $0 &- 0x30 <= 9 } ?? false
    }

    private static func withNormalHost(_ text: [UInt8]) -> [UInt8] {
        let isBracketed = text.first == UInt8(ascii: "[")
        let end = text.firstIndex(of: UInt8(ascii: isBracketed ? "]" : ":")).map { isBracketed ? $0 + 1 : $0 }
        let host = text[..<(end ?? text.endIndex)]
        return host.withUnsafeBytes { IPAddressText.normalHost($0) } + text[host.endIndex...]
    }
}
