import Basics
public import NIOCore

extension MessageWriter {
    /// Writes a number in decimal; a negative one as 0.
    public static func writeDecimal(_ number: Int, to buffer: inout ByteBuffer) {
        writeDigits(UInt(max(0, number)), radix: 10, to: &buffer)
    }

    /// Writes a number in hexadecimal, lower case; a negative one as 0.
    public static func writeHexadecimal(_ number: Int, to buffer: inout ByteBuffer) {
        writeDigits(UInt(max(0, number)), radix: 16, to: &buffer)
    }

    private static func writeDigits(_ number: UInt, radix: UInt, to buffer: inout ByteBuffer) {
        var count = 1
        var rest = number / radix
        while rest > 0 {
            count &+= 1
            rest /= radix
        }
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
            var rest = number
            var index = count
            while index > 0 {
                index &-= 1
                bytes[index] = Hexadecimal.digit(UInt8(truncatingIfNeeded: rest % radix))
                rest /= radix
            }
            return count
        }
    }
}
