/// Writes strings of structured fields, as for `detail="…"` in Cache-Status and `details` in Proxy-Status.
public enum StructuredString {
    /// Appends `bytes` as an sf-string, quotes around it (RFC 9651 §3.3.3, §4.1.6).
    ///
    /// `"` and `\` get a backslash. Bytes that are not printable ASCII can't be in an sf-string and become `?`.
    public static func append(_ bytes: some Sequence<UInt8>, to out: inout [UInt8]) {
        // As bytes that lie together, which nearly all are, they need no call for each.
        let written: Void? = bytes.withContiguousStorageIfAvailable { append($0, to: &out) }
        if written == nil { append(Array(bytes), to: &out) }
    }

    /// The same of bytes that lie together.
    public static func append(_ bytes: UnsafeBufferPointer<UInt8>, to out: inout [UInt8]) {
        out.reserveCapacity(out.count &+ bytes.count &+ 2)
        out.append(0x22)
        for byte in bytes {
            switch byte {
            case 0x22, 0x5c:
                out.append(0x5c)
                out.append(byte)
            case 0x20...0x7e: out.append(byte)
            default: out.append(UInt8(ascii: "?"))
            }
        }
        out.append(0x22)
    }

    /// An sf-string as an array of its own.
    public static func bytes(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        append(bytes, to: &out)
        return out
    }
}
