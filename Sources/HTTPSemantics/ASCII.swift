/// What a byte may be part of, one bit a class, for scanning heads and URLs (RFC 9110 §5.6.2, RFC 3986 §2).
public struct ByteClass: OptionSet, Sendable {
    public let rawValue: UInt8

    @inlinable
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A `tchar` of a token (RFC 9110 §5.6.2).
    public static let token = ByteClass(rawValue: 1)
    /// A byte of a field value: HTAB, SP, VCHAR, obs-text (RFC 9110 §5.5).
    public static let fieldValue = ByteClass(rawValue: 2)
    /// An unreserved character of a URI (RFC 3986 §2.3).
    public static let unreserved = ByteClass(rawValue: 4)
    /// A byte of a request target that normalisation leaves as it is: VCHAR but `%`, `#` and `\`.
    public static let plainTarget = ByteClass(rawValue: 8)
    /// A character of a host name as resolvers know it, in lower case: a–z, 0–9, `-`, `.`, `_`.
    public static let lowerHost = ByteClass(rawValue: 16)
    /// A hexadecimal digit.
    public static let hexDigit = ByteClass(rawValue: 32)
    /// An ASCII letter.
    public static let alpha = ByteClass(rawValue: 64)
    /// A decimal digit.
    public static let digit = ByteClass(rawValue: 128)

    @usableFromInline
    static let table: InlineArray<256, UInt8> = {
        var table = InlineArray<256, UInt8>(repeating: 0)
        for byte in UInt8.min...UInt8.max {
            var classes: ByteClass = []
            let isAlpha = (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
            let isDigit = (0x30...0x39).contains(byte)
            if isAlpha { classes.insert(.alpha) }
            if isDigit { classes.insert(.digit) }
            if isAlpha || isDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte) { classes.insert(.token) }
            if byte == 0x09 || (byte >= 0x20 && byte != 0x7f) { classes.insert(.fieldValue) }
            if isAlpha || isDigit || "-._~".utf8.contains(byte) { classes.insert(.unreserved) }
            if byte > 0x20 && byte < 0x7f && !"%#\\".utf8.contains(byte) { classes.insert(.plainTarget) }
            if (0x61...0x7a).contains(byte) || isDigit || "-._".utf8.contains(byte) { classes.insert(.lowerHost) }
            if isDigit || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte) { classes.insert(.hexDigit) }
            table[Int(byte)] = classes.rawValue
        }
        return table
    }()

    /// The classes of `byte`.
    @inlinable
    @inline(__always)
    public static func of(_ byte: UInt8) -> ByteClass { ByteClass(rawValue: table[Int(byte)]) }
}

extension UInt8 {
    /// Whether this byte is of the class.
    @inlinable
    @inline(__always)
    public func isMember(of byteClass: ByteClass) -> Bool { !ByteClass.of(self).isDisjoint(with: byteClass) }

    /// The byte with an ASCII capital made small; every other byte as it is.
    @inlinable
    @inline(__always)
    public var asciiLowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

    /// The value of a hexadecimal digit, or nil.
    @inlinable
    public var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self &- 0x30
        case 0x41...0x46: self &- 0x37
        case 0x61...0x66: self &- 0x57
        default: nil
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether these bytes are `literal`, ASCII letters compared without case. `literal` is in lower case.
    @inlinable
    public func equalsIgnoringCase(_ literal: StaticString) -> Bool {
        guard count == literal.utf8CodeUnitCount else { return false }
        let other = literal.utf8Start
        for index in 0..<count where self[index].asciiLowercased != other[index] { return false }
        return true
    }

    /// Whether these bytes are `literal`, byte for byte.
    @inlinable
    public func equals(_ literal: StaticString) -> Bool {
        elementsEqual(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
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
