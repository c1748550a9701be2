import Glibc

/// What a byte may be part of, for scanning heads and URLs (RFC 9110 §5.6.2, RFC 3986 §2).
///
/// Two 64-bit words hold the answer for the 128 ASCII bytes, so that a scan reads no table in memory.
public struct ByteClass: Sendable, Equatable {
    @usableFromInline let low: UInt64
    @usableFromInline let high: UInt64
    /// Whether the bytes that are not ASCII are members.
    @usableFromInline let upper: Bool

    @inlinable
    @inline(__always)
    init(low: UInt64, high: UInt64, upper: Bool = false) {
        self.low = low
        self.high = high
        self.upper = upper
    }

    /// A `tchar` of a token (RFC 9110 §5.6.2).
    @inlinable public static var token: ByteClass { .init(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe) }
    /// A byte of a field value: HTAB, SP, VCHAR, obs-text (RFC 9110 §5.5).
    @inlinable public static var fieldValue: ByteClass {
        .init(low: 0xffff_ffff_0000_0200, high: 0x7fff_ffff_ffff_ffff, upper: true)
    }
    /// An unreserved character of a URI (RFC 3986 §2.3).
    @inlinable public static var unreserved: ByteClass {
        .init(low: 0x03ff_6000_0000_0000, high: 0x47ff_fffe_87ff_fffe)
    }
    /// A byte of a request target that normalisation leaves as it is: VCHAR but `%`, `#` and `\`.
    @inlinable public static var plainTarget: ByteClass {
        .init(low: 0xffff_ffd6_0000_0000, high: 0x7fff_ffff_efff_ffff)
    }
    /// The same without `/` and `?`.
    @inlinable public static var plainSegment: ByteClass {
        .init(low: 0x7fff_7fd6_0000_0000, high: 0x7fff_ffff_efff_ffff)
    }
    /// A character of a host name as resolvers know it, in lower case: a–z, 0–9, `-`, `.`, `_`.
    @inlinable public static var lowerHost: ByteClass {
        .init(low: 0x03ff_6000_0000_0000, high: 0x07ff_fffe_8000_0000)
    }
    /// A hexadecimal digit.
    @inlinable public static var hexDigit: ByteClass { .init(low: 0x03ff_0000_0000_0000, high: 0x0000_007e_0000_007e) }
    /// An ASCII letter.
    @inlinable public static var alpha: ByteClass { .init(low: 0, high: 0x07ff_fffe_07ff_fffe) }
    /// A decimal digit.
    @inlinable public static var digit: ByteClass { .init(low: 0x03ff_0000_0000_0000, high: 0) }
    /// A letter or a digit.
    @inlinable public static var alphanumeric: ByteClass {
        .init(low: 0x03ff_0000_0000_0000, high: 0x07ff_fffe_07ff_fffe)
    }
}

extension UInt8 {
    /// Whether this byte is of the class.
    @inlinable
    @inline(__always)
    public func isMember(of byteClass: ByteClass) -> Bool {
        let word = self & 0x40 == 0 ? byteClass.low : byteClass.high
        return self < 0x80 ? (word &>> UInt64(self & 0x3f)) & 1 != 0 : byteClass.upper
    }

    /// The byte with an ASCII capital made small; every other byte as it is.
    @inlinable
    @inline(__always)
    public var asciiLowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}

extension UInt64 {
    /// Each of the eight bytes, an ASCII capital as the small letter.
    @inlinable
    @inline(__always)
    var asciiLowercasedBytes: UInt64 {
        let low = self & 0x7F7F_7F7F_7F7F_7F7F
        let isFromA = low &+ 0x3F3F_3F3F_3F3F_3F3F
        let isBehindZ = low &+ 0x2525_2525_2525_2525
        let isCapital = (isFromA ^ isBehindZ) & ~self & 0x8080_8080_8080_8080
        return self | isCapital &>> 2
    }
}

extension UnsafeRawBufferPointer {
    /// Whether these bytes are `literal`, ASCII letters compared without case. `literal` is in lower case.
    @inlinable
    public func equalsIgnoringCase(_ literal: StaticString) -> Bool {
        guard count == literal.utf8CodeUnitCount else { return false }
        let other = UnsafeRawPointer(literal.utf8Start)
        guard count >= 8 else {
            for index in 0..<count where self[index].asciiLowercased != literal.utf8Start[index] { return false }
            return true
        }
        var index = 0
        while true {
            let word = loadUnaligned(fromByteOffset: index, as: UInt64.self).asciiLowercasedBytes
            guard word == other.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
            guard index &+ 8 < count else { return true }
            // The last eight bytes, some of them for the second time.
            index = Swift.min(index &+ 8, count &- 8)
        }
    }

    /// Whether these bytes are `literal`, byte for byte.
    @inlinable
    public func equals(_ literal: StaticString) -> Bool {
        elementsEqual(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    /// Whether these bytes begin with `literal`, byte for byte.
    @inlinable
    public func begins(with literal: StaticString) -> Bool {
        let length = literal.utf8CodeUnitCount
        guard count >= length else { return false }
        let other = literal.utf8Start
        for index in 0..<length where self[index] != other[index] { return false }
        return true
    }

    /// Whether these bytes are the same as others. (libc: `memcmp`.)
    public func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        guard let first = baseAddress, let second = other.baseAddress else { return true }
        return memcmp(first, second, count) == 0
    }

    /// How many bytes at the beginning are the same as those of others.
    public func commonPrefix(with other: UnsafeRawBufferPointer) -> Int {
        let end = Swift.min(count, other.count)
        var index = 0
        while end &- index >= 8 {
            let difference =
                UInt64(littleEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
                ^ UInt64(littleEndian: other.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            guard difference == 0 else { return index &+ difference.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < end, self[index] == other[index] { index &+= 1 }
        return index
    }

    /// The bytes of `range`, which is inside.
    @inlinable
    @inline(__always)
    public func rebased(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range])
    }

    /// The bytes without SP and HTAB at both ends (OWS, RFC 9110 §5.6.3).
    @inlinable
    public var trimmingOptionalWhitespace: UnsafeRawBufferPointer {
        var start = 0
        var end = count
        while start < end, self[start] == 0x20 || self[start] == 0x09 { start &+= 1 }
        while end > start, self[end &- 1] == 0x20 || self[end &- 1] == 0x09 { end &-= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    /// The decimal number that these bytes are, digits only (`1*DIGIT`), or nil where they are none or it overflows.
    @inlinable
    public var decimalValue: Int? {
        guard count > 0 else { return nil }
        var value = 0
        for byte in self {
            guard byte.isMember(of: .digit) else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int(byte &- 0x30))
            guard !overflow, !carry else { return nil }
            value = sum
        }
        return value
    }
}

extension [UInt8] {
    mutating func append(_ literal: StaticString) {
        append(contentsOf: UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    /// Appends the digits of `value`, with `-` where it is negative.
    mutating func append(decimal value: Int) {
        if value < 0 { append(0x2d) }
        let start = count
        var rest = value.magnitude
        repeat {
            append(0x30 &+ UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        self[start...].reverse()
    }
}
