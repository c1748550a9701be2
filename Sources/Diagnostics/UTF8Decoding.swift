import Basics

/// The scalar that begins at a byte, and its length in bytes, if well-formed UTF-8 (Unicode 3.9, table 3-7) stands
/// there; nil where none does, and for an index that is not of the bytes.
@inlinable
public func decodeUTF8(_ bytes: [UInt8], at index: Int) -> (scalar: Unicode.Scalar, length: Int)? {
    guard index >= 0, index < bytes.count else { return nil }
    let first = bytes[index]
    let length: Int
    var value: UInt32
    switch first {
    case 0x00...0x7F: return (Unicode.Scalar(first), 1)
    case 0xC2...0xDF: (length, value) = (2, UInt32(first & 0x1F))
    case 0xE0...0xEF: (length, value) = (3, UInt32(first & 0x0F))
    case 0xF0...0xF4: (length, value) = (4, UInt32(first & 0x07))
    default: return nil
    }
    guard bytes.count - index >= length else { return nil }
    for byte in bytes[(index + 1)..<(index + length)] {
        guard byte & 0xC0 == 0x80 else { return nil }
        value = value << 6 | UInt32(byte & 0x3F)
    }
    let isShortest = length == 2 || (length == 3 ? value >= 0x800 : value >= 0x10000)
    // Unicode.Scalar's initialiser refuses surrogates and what is above U+10FFFF.
    guard isShortest, let scalar = Unicode.Scalar(value) else { return nil }
    return (scalar, length)
}

/// The length of a UTF-8 byte-order mark at the start: 3 or 0.
public func byteOrderMarkLength(_ bytes: [UInt8]) -> Int {
    bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
}

/// A code point the way that Unicode writes it: U+0007, U+1F600.
public func codePoint(_ scalar: Unicode.Scalar) -> String {
    "U+" + Hexadecimal.text(scalar.value, width: 4, .upper)
}
