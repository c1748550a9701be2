/// Base64 (RFC 4648).
public enum Base64 {
    /// How a text is written.
    public enum Form: Sendable {
        /// With the padding that belongs to it; line breaks and blanks between the characters are passed over.
        case text
        /// With the padding that belongs to it, and nothing between the characters.
        case exact
        /// Without anything between the characters; the padding may be missing, as in token68 (RFC 9110 §11.2).
        case token68
    }

    /// Decodes a text of the standard alphabet (RFC 4648 §4).
    ///
    /// - Returns: nil for what is no Base64: another character, a wrong length, bits left over.
    public static func decoded(_ text: some Sequence<UInt8>, _ form: Form = .text) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var characters = 0
        var padding = 0
        for character in text {
            switch character {
            case 0x20, 0x09, 0x0A, 0x0D:
                guard form == .text else { return nil }
                continue
            case UInt8(ascii: "="):
                padding &+= 1
                guard padding <= 2 else { return nil }
                continue
            default: break
            }
            guard padding == 0, let value = value(character) else { return nil }
            bits = bits << 6 | value
            characters &+= 1
            if characters % 4 == 0 {
                append(bits, 3, to: &bytes)
                bits = 0
            }
        }
        switch (characters % 4, padding) {
        case (0, 0): break
        case (2, 2) where bits & 15 == 0, (2, 0) where bits & 15 == 0 && form == .token68:
            append(bits >> 4, 1, to: &bytes)
        case (3, 1) where bits & 3 == 0, (3, 0) where bits & 3 == 0 && form == .token68:
            append(bits >> 2, 2, to: &bytes)
        default: return nil
        }
        return bytes
    }

    /// Bytes in the standard alphabet, with padding (RFC 4648 §4).
    public static func text(_ bytes: some Sequence<UInt8>) -> String {
        var output: [UInt8] = []
        append(bytes, character, to: &output)
        while output.count % 4 != 0 { output.append(UInt8(ascii: "=")) }
        return String(decoding: output, as: UTF8.self)
    }

    /// Appends bytes in the alphabet for URLs and file names, without padding (RFC 4648 §5).
    public static func appendURLSafe(_ bytes: some Sequence<UInt8>, to output: inout [UInt8]) {
        append(bytes, urlSafeCharacter, to: &output)
    }

    private static func append(
        _ bytes: some Sequence<UInt8>, _ character: (UInt32) -> UInt8, to output: inout [UInt8]
    ) {
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count &+= 8
            while count >= 6 {
                count &-= 6
                output.append(character(bits >> count & 63))
            }
        }
        if count > 0 { output.append(character(bits << (6 &- count) & 63)) }
    }

    /// Appends the lowest bytes of a number, the highest of them first.
    private static func append(_ bits: UInt32, _ count: UInt32, to bytes: inout [UInt8]) {
        for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: bits >> (8 &* index))) }
    }

    private static func value(_ character: UInt8) -> UInt32? {
        switch character {
        case 0x41...0x5A: UInt32(character &- 0x41)
        case 0x61...0x7A: UInt32(character &- 0x61) &+ 26
        case 0x30...0x39: UInt32(character &- 0x30) &+ 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }

    private static func character(_ bits: UInt32) -> UInt8 {
        switch bits {
        case 62: UInt8(ascii: "+")
        case 63: UInt8(ascii: "/")
        default: urlSafeCharacter(bits)
        }
    }

    private static func urlSafeCharacter(_ bits: UInt32) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: bits)
        return switch value {
        case 0..<26: UInt8(ascii: "A") &+ value
        case 26..<52: UInt8(ascii: "a") &+ (value &- 26)
        case 52..<62: UInt8(ascii: "0") &+ (value &- 52)
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }
}
