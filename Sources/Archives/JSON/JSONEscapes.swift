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
        var index = 0
        while index < bytes.count {
            if case .text = state {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[index...])
                let plain = JSONEscapes.plainLength(rest)
                if plain > 0 {
                    flush(into: &text)
                    text.append(contentsOf: rest[..<plain])
                    index &+= plain
                    continue
                }
            }
            step(bytes[index], into: &text)
            index &+= 1
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

    private static func plainLength(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let start = bytes.baseAddress, let found = memchr(start, 0x5C, bytes.count) else { return bytes.count }
        return UnsafeRawPointer(found) - start
    }

    private mutating func step(_ byte: UInt8, into text: inout [UInt8]) {
        switch state {
        case .text: state = .escaped
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
        switch byte {
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        default:
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
