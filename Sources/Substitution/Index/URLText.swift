import Glibc

/// Comparisons of bytes without a String.
enum URLText {
    /// Whether the bytes are the same. (libc: `memcmp`.)
    @inline(__always)
    static func equal(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        guard let first = left.baseAddress, let second = right.baseAddress else { return true }
        return memcmp(first, second, left.count) == 0
    }

    /// Whether `bytes` begin with `prefix`.
    @inline(__always)
    static func hasPrefix(_ bytes: UnsafeRawBufferPointer, _ prefix: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= prefix.count else { return false }
        return equal(UnsafeRawBufferPointer(rebasing: bytes[0..<prefix.count]), prefix)
    }

    /// Where the path of a normalised URL ends: at its first `?`, or its end. (libc: `memchr`.)
    @inline(__always)
    static func pathEnd(_ url: UnsafeRawBufferPointer) -> Int {
        guard let base = url.baseAddress, let mark = memchr(base, 0x3f, url.count) else { return url.count }
        return UnsafeRawPointer(mark) - base
    }

    /// Whether the bytes are the same, ASCII letters compared without case.
    static func equalIgnoringCase(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { lowercased($0) == lowercased($1) }
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }
}
