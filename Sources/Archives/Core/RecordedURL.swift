import Glibc
public import HTTPSemantics
import NIOCore

/// Mends URLs as writers of archives write them.
enum RecordedURL {
    /// Whether it begins with a scheme.
    static func hasScheme(_ url: [UInt8]) -> Bool { url.withUnsafeBytes(URIReference.isAbsolute) }

    /// Without a fragment, white space at the ends, `<` and `>` around it; other characters that no URL has are
    /// percent-encoded.
    static func repaired(_ url: [UInt8]) -> [UInt8] {
        if url.withUnsafeBytes({ bytes in bytes.allSatisfy { !isForbidden($0) && $0 != 0x23 } }) { return url }
        var bytes = url[...]
        while let first = bytes.first, first <= 0x20 { bytes.removeFirst() }
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        if bytes.first == UInt8(ascii: "<"), bytes.last == UInt8(ascii: ">") { bytes = bytes.dropFirst().dropLast() }
        if let fragment = bytes.firstIndex(of: UInt8(ascii: "#")) { bytes = bytes[..<fragment] }
        guard bytes.contains(where: isForbidden) else { return Array(bytes) }
        var repaired: [UInt8] = []
        for byte in bytes {
            guard isForbidden(byte) else {
                repaired.append(byte)
                continue
            }
            let digits = Array("0123456789ABCDEF".utf8)
            repaired += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return repaired
    }

    private static func isForbidden(_ byte: UInt8) -> Bool {
        guard byte > 0x20, byte < 0x7F else { return true }
        return byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "<")
            || byte == UInt8(ascii: ">")
    }
}

extension TargetURI {
    /// As archives have it in their index: quotes and angle brackets, which no URL has and some clients send, are
    /// percent-encoded, as browsers do.
    public var asArchived: TargetURI {
        let isOther = withBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return memchr(start, 0x22, bytes.count) != nil || memchr(start, 0x3C, bytes.count) != nil
                || memchr(start, 0x3E, bytes.count) != nil
        }
        guard isOther else { return self }
        let repaired = RecordedURL.repaired(withBytes { Array($0) })
        return (try? TargetURI(absolute: ByteBuffer(bytes: repaired))) ?? self
    }
}
