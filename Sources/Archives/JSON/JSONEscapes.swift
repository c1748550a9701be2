import Basics
import Glibc

/// Decodes what is between the quotes of strings of JSON (RFC 8259 §7), piece by piece.
///
/// Nothing is refused: a backslash before another byte than JSON's stands for that byte, and half of a surrogate pair
/// is U+FFFD. Both are counted.
struct JSONEscapes: Sendable {
    private enum State {
        case text
        case escaped
        /// So many digits of `\uXXXX` are there, and this is their value.
        case digits(Int, UInt32)
    }

    private var state = State.text
    /// The first half of a pair that awaits its second.
    private var high: UInt32 = 0
    /// How many escapes there were that JSON does not have, and halves of pairs.
    private(set) var faults = 0

    /// Decodes the next bytes of a string, which may end anywhere.
    mutating func decode(_ bytes: UnsafeRawBufferPointer, into text: inout [UInt8]) {
        // An escape that is none may become four bytes where three stood.
        let piece = [UInt8](unsafeUninitializedCapacity: 2 &* bytes.count &+ 16) { output, count in
            var index = 0
            var unusual: [UInt8] = []
            while index < bytes.count {
                if case .text = state, high == 0 {
                    let plain = JSONEscapes.copyPlain(bytes, from: index, to: output, at: count)
                    index &+= plain
                    count &+= plain
                    guard index < bytes.count else { return }
                    if index &+ 1 < bytes.count, let byte = JSONEscapes.byte(escape: bytes[index &+ 1]) {
                        output[count] = byte
                        count &+= 1
                        index &+= 2
                        continue
                    }
                }
                unusual.removeAll(keepingCapacity: true)
                step(bytes[index], into: &unusual)
                index &+= 1
                for byte in unusual {
                    output[count] = byte
                    count &+= 1
                }
            }
        }
        text += piece
    }

    /// Copies the bytes up to the next backslash.
    ///
    /// - Returns: how many there are.
    @inline(__always)
    private static func copyPlain(
        _ bytes: UnsafeRawBufferPointer, from index: Int, to output: UnsafeMutableBufferPointer<UInt8>, at count: Int
    ) -> Int {
        guard let source = bytes.baseAddress, let target = output.baseAddress else { return 0 }
        let rest = bytes.count &- index
        let found = memchr(source + index, 0x5C, rest).map { UnsafeRawPointer($0) - (source + index) }
        memcpy(target + count, source + index, found ?? rest)
        return found ?? rest
    }

    /// What an escape of two characters stands for, by its second.
    @inline(__always)
    private static func byte(escape letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        default: nil
        }
    }

    /// Ends the string: what awaits more gets none.
    mutating func finish(into text: inout [UInt8]) {
        if case .text = state {} else { fault(into: &text) }
        flush(into: &text)
        state = .text
    }

    /// Decodes a string in place: what it stands for is never longer than how it is written.
    ///
    /// - Returns: the length of the result.
    static func decode(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
        var escapes = JSONEscapes()
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        escapes.decode(UnsafeRawBufferPointer(bytes), into: &text)
        escapes.finish(into: &text)
        let count = min(text.count, bytes.count)
        text.withUnsafeBytes { bytes.copyMemory(from: .init(rebasing: $0[..<count])) }
        return count
    }

    private mutating func step(_ byte: UInt8, into text: inout [UInt8]) {
        switch state {
        case .text where byte == UInt8(ascii: "\\"): state = .escaped
        case .text:
            flush(into: &text)
            text.append(byte)
        case .escaped: escape(byte, into: &text)
        case .digits(let count, let value):
            guard let digit = byte.hexValue else {
                fault(into: &text)
                // The byte is no part of the escape.
                state = byte == UInt8(ascii: "\\") ? .escaped : .text
                if case .text = state { text.append(byte) }
                return
            }
            let unit = value << 4 | UInt32(digit)
            guard count == 3 else {
                state = .digits(count &+ 1, unit)
                return
            }
            state = .text
            add(unit, into: &text)
        }
    }

    private mutating func escape(_ byte: UInt8, into text: inout [UInt8]) {
        state = .text
        guard byte != UInt8(ascii: "u") else {
            state = .digits(0, 0)
            return
        }
        flush(into: &text)
        if let known = JSONEscapes.byte(escape: byte) {
            text.append(known)
        } else {
            faults &+= 1
            text.append(byte)
        }
    }

    /// Adds a unit of UTF-16.
    private mutating func add(_ unit: UInt32, into text: inout [UInt8]) {
        switch unit {
        case 0xDC00...0xDFFF where high != 0:
            append(0x10000 &+ (high &- 0xD800) << 10 &+ (unit &- 0xDC00), to: &text)
            high = 0
        case 0xD800...0xDBFF:
            flush(into: &text)
            high = unit
        case 0xDC00...0xDFFF:
            fault(into: &text)
        default:
            flush(into: &text)
            append(unit, to: &text)
        }
    }

    private mutating func append(_ value: UInt32, to text: inout [UInt8]) {
        guard let scalar = Unicode.Scalar(value) else { return fault(into: &text) }
        text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }

    /// The first half of a pair stands alone where something else than the second follows.
    private mutating func flush(into text: inout [UInt8]) {
        guard high != 0 else { return }
        high = 0
        fault(into: &text)
    }

    private mutating func fault(into text: inout [UInt8]) {
        if high != 0 {
            high = 0
            fault(into: &text)
        }
        faults &+= 1
        text.append(contentsOf: UTF8.encodedReplacementCharacter)
    }
}
