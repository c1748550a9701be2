import Basics

/// Writes one log line into memory that was sized for it; what would not fit is left out.
///
/// A line is some fifteen pieces, and a buffer that may grow at each of them costs more than the pieces do.
struct LogLine {
    private let memory: UnsafeMutableRawBufferPointer
    private(set) var count: Int

    /// - Parameter count: bytes of the line that the memory has already.
    init(_ memory: UnsafeMutableRawBufferPointer, count: Int = 0) {
        self.memory = memory
        self.count = count
    }

    @inline(__always)
    mutating func write(_ byte: UInt8) {
        guard count < memory.count else { return }
        memory[count] = byte
        count &+= 1
    }

    @inline(__always)
    mutating func write(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, let start = memory.baseAddress, bytes.count <= memory.count &- count
        else { return }
        (start + count).copyMemory(from: source, byteCount: bytes.count)
        count &+= bytes.count
    }

    @inline(__always)
    mutating func write(_ text: StaticString) {
        write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Writes a decimal number; a negative one as 0.
    @inline(__always)
    mutating func writeDecimal(_ number: Int) {
        guard number < 10 else { return writeLong(UInt(bitPattern: number)) }
        write(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: max(0, number)))
    }

    /// Writes a number of two digits or more.
    private mutating func writeLong(_ number: UInt) {
        var width = 2
        var bound: UInt = 100
        // 10^19 is the largest power of ten below 2^64.
        while width < 20, number >= bound {
            width &+= 1
            bound &*= 10
        }
        writeDigits(number, width)
    }

    /// Writes the last `width` digits of a number, zeros in front.
    @inline(__always)
    mutating func writeDigits(_ number: UInt, _ width: Int) {
        guard width <= memory.count &- count else { return }
        var rest = number
        var index = count &+ width
        while index > count {
            index &-= 1
            memory[index] = 0x30 &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        count &+= width
    }

    /// Writes tenths as a decimal number with one place: 31 is `3.1`.
    mutating func writeTenths(_ tenths: Int) {
        writeDecimal(tenths / 10)
        write(UInt8(ascii: "."))
        writeDecimal(tenths % 10)
    }

    /// Writes thousandths as a decimal number with three places.
    mutating func writeThousandths(_ thousandths: Int) {
        writeDecimal(thousandths / 1000)
        write(UInt8(ascii: "."))
        writeDigits(UInt(max(0, thousandths % 1000)), 3)
    }

    /// Writes a number of bytes for people: `812B`, `3.1kB`, `1.2MB`, decimal units.
    mutating func writeByteCount(_ bytes: Int) {
        switch bytes {
        case ..<1000:
            writeDecimal(bytes)
            write(UInt8(ascii: "B"))
        case ..<1_000_000:
            writeTenths(bytes / 100)
            write("kB")
        case ..<1_000_000_000:
            writeTenths(bytes / 100_000)
            write("MB")
        default:
            writeTenths(bytes / 100_000_000)
            write("GB")
        }
    }

    /// Writes bytes so that neither a terminal nor a JSON reader is led astray: control characters, those that turn the
    /// direction of a text, quotes, backslashes and bytes that are no UTF-8 become escapes, `\x1b` or in JSON `\u001b`.
    /// One byte makes six at the most.
    mutating func writeEscaped(_ bytes: UnsafeRawBufferPointer, isJSON: Bool) {
        guard !bytes.isPlainText else { return write(bytes) }
        let isUTF8 = String(validating: bytes, as: UTF8.self) != nil
        var hidden = 0
        for (index, byte) in bytes.enumerated() {
            if isUTF8, hidden == 0, let character = bytes.hiddenCharacter(at: index) {
                hidden = character.length
                if isJSON {
                    write("\\u")
                    for shift in [12, 8, 4, 0] as [UInt16] {
                        write(Hexadecimal.digit(UInt8(character.code >> shift & 15)))
                    }
                }
            }
            guard hidden == 0 else {
                hidden &-= 1
                guard !isJSON else { continue }
                write("\\x")
                write(Hexadecimal.digit(byte >> 4))
                write(Hexadecimal.digit(byte & 15))
                continue
            }
            switch byte {
            case 0x80... where isUTF8: write(byte)
            case 0x22, 0x5c:
                write(UInt8(ascii: "\\"))
                write(byte)
            case 0x20..<0x7f: write(byte)
            default:
                write(isJSON ? "\\u00" : "\\x")
                write(Hexadecimal.digit(byte >> 4))
                write(Hexadecimal.digit(byte))
            }
        }
    }

    mutating func writeEscaped(_ text: String, isJSON: Bool) {
        var text = text
        text.withUTF8 { writeEscaped(UnsafeRawBufferPointer($0), isJSON: isJSON) }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether all bytes are printable ASCII but `"` and `\`; eight at a time.
    fileprivate var isPlainText: Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var index = 0
        guard count >= 8 else { return allSatisfy(UnsafeRawBufferPointer.isPlain) }
        while index < count {
            // The last eight bytes, some of them for the second time.
            index = Swift.min(index, count &- 8)
            let word = loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let quote = word ^ ones &* 0x22
            let backslash = word ^ ones &* 0x5c
            let delete = word ^ ones &* 0x7f
            let special = (quote &- ones) | (backslash &- ones) | (delete &- ones) | (word &- ones &* 0x20) | word
            // A set bit may be a borrow's; it only sends the word to the exact test.
            if special & (ones &* 0x80) != 0,
                !self[index..<index &+ 8].allSatisfy(UnsafeRawBufferPointer.isPlain)
            {
                return false
            }
            index &+= 8
        }
        return true
    }

    /// A character of UTF-8 beyond ASCII that a terminal obeys and doesn't show: a control character (U+0080 to
    /// U+009F), or one that ends a line or turns its direction (U+2028 to U+202E, U+2066 to U+2069). Nil for all
    /// others.
    fileprivate func hiddenCharacter(at index: Int) -> (code: UInt16, length: Int)? {
        switch self[index] {
        case 0xc2 where index &+ 1 < count && self[index &+ 1] < 0xa0: return (UInt16(self[index &+ 1]), 2)
        case 0xe2 where index &+ 2 < count:
            let code = 0x2000 | UInt16(self[index &+ 1] & 0x3f) << 6 | UInt16(self[index &+ 2] & 0x3f)
            return (0x2028...0x202e).contains(code) || (0x2066...0x2069).contains(code) ? (code, 3) : nil
        default: return nil
        }
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte < 0x7f && byte != 0x22 && byte != 0x5c }
}
