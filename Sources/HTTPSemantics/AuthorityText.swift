/// `host [ ":" port ]` as Host and CONNECT have it, brought into the form in which authorities are compared.
public enum AuthorityText {
    /// The bytes in lower case, without the dot of the root behind a name: `Example.com.:80` is `example.com:80`.
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
        guard end > 1, text[end &- 1] == UInt8(ascii: "."), text[end &- 2] != UInt8(ascii: ".") else { return text }
        text.remove(at: end &- 1)
        return text
    }
}
