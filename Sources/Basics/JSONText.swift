/// Strings as JSON has them (RFC 8259 §7).
public enum JSONText {
    /// What follows the backslash in the escape of a byte that can't stand in a string as it is; `u` where that is
    /// `\u00` and two digits. Nil for other bytes.
    @inlinable
    public static func escape(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): byte
        case 0x08: UInt8(ascii: "b")
        case 0x09: UInt8(ascii: "t")
        case 0x0A: UInt8(ascii: "n")
        case 0x0C: UInt8(ascii: "f")
        case 0x0D: UInt8(ascii: "r")
        case 0x00..<0x20: UInt8(ascii: "u")
        default: nil
        }
    }

    /// Appends a text in UTF-8 as a string, in its quotes.
    public static func append(string: some Sequence<UInt8>, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        for byte in string {
            guard let letter = escape(of: byte) else {
                json.append(byte)
                continue
            }
            json.append(UInt8(ascii: "\\"))
            json.append(letter)
            if letter == UInt8(ascii: "u") {
                json += [0x30, 0x30, Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte)]
            }
        }
        json.append(UInt8(ascii: "\""))
    }
}
