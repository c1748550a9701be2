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
        if url.withUnsafeBytes(isPlain) { return url }
        let bytes = bare(url[...])
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

    /// Without a fragment, white space at the ends, `<` and `>` around it.
    private static func bare(_ url: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = url
        while let first = bytes.first, first <= 0x20 { bytes.removeFirst() }
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        if bytes.first == UInt8(ascii: "<"), bytes.last == UInt8(ascii: ">") { bytes = bytes.dropFirst().dropLast() }
        return bytes.prefix { $0 != UInt8(ascii: "#") }
    }

    /// Whether nothing is to be mended: there is no fragment, and no character that no URL has.
    static func isPlain(_ url: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while url.count &- index >= 8 {
            guard arePlain(url.loadUnaligned(fromByteOffset: index, as: UInt64.self)) else { return false }
            index &+= 8
        }
        while index < url.count {
            guard !isForbidden(url[index]), url[index] != UInt8(ascii: "#") else { return false }
            index &+= 1
        }
        return true
    }

    /// The same of eight characters at once. The highest bit of each byte tells.
    @inline(__always)
    private static func arePlain(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops = ones &* 0x80
        // Of bytes of ASCII.
        @inline(__always)
        func isNot(_ bytes: UInt64, _ character: UInt64) -> UInt64 { (bytes ^ ones &* character) &+ ones &* 0x7F }
        let low = word & ~tops
        let isPrinted = (low &+ ones &* 0x5F) & ~(low &+ ones)
        // `"` and `#` differ in one bit, and so do `<` and `>`.
        let isOther = isNot(low | ones, 0x23) & isNot(low | ones &* 2, 0x3E) & isNot(low, 0x5C)
        return isPrinted & isOther & ~word & tops == tops
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
