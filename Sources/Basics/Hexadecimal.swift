/// Writes hexadecimal digits, in lower case unless the caller asks for the other; `UInt8.hexValue` reads one.
public enum Hexadecimal {
    /// How the digits above 9 are written.
    public enum Letters: Sendable { case lower, upper }

    /// The digit, in lower case, of the lower four bits.
    @inlinable
    public static func digit(_ value: UInt8) -> UInt8 {
        let value = value & 15
        return value < 10 ? 0x30 &+ value : 0x57 &+ value
    }

    /// Appends two digits a byte, in lower case, in the bytes' order.
    @inlinable
    public static func append(_ bytes: some Sequence<UInt8>, to output: inout [UInt8]) {
        for byte in bytes {
            output.append(digit(byte >> 4))
            output.append(digit(byte))
        }
    }

    /// Two digits a byte, in the bytes' order.
    public static func text(_ bytes: some Sequence<UInt8>, _ letters: Letters = .lower) -> String {
        var digits: [UInt8] = []
        append(bytes, to: &digits)
        let text = String(decoding: digits, as: UTF8.self)
        return letters == .upper ? text.uppercased() : text
    }

    /// A number, with zeros in front where it has fewer digits than `width`.
    public static func text(_ number: some UnsignedInteger, width: Int, _ letters: Letters = .lower) -> String {
        let digits = String(number, radix: 16, uppercase: letters == .upper)
        return String(repeating: "0", count: max(0, width &- digits.utf8.count)) + digits
    }
}

extension UInt8 {
    /// The value of a hexadecimal digit of either case (ASCII), or nil.
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
