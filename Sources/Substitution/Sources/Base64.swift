/// Decodes Base64 (RFC 4648 §4), strictly but for line breaks and blanks between its characters.
enum Base64 {
    /// The bytes, or nil for what is no Base64: another character, a wrong length, bits left over.
    static func decoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var characters = 0
        var padding = 0
        for character in text {
            switch character {
            case 0x20, 0x09, 0x0A, 0x0D: continue
            case UInt8(ascii: "="):
                padding += 1
                guard padding <= 2 else { return nil }
                continue
            default: break
            }
            guard padding == 0, let value = value(character) else { return nil }
            bits = bits << 6 | value
            characters += 1
            if characters % 4 == 0 {
                bytes += [UInt8(bits >> 16 & 255), UInt8(bits >> 8 & 255), UInt8(bits & 255)]
                bits = 0
            }
        }
        switch (characters % 4, padding) {
        case (0, 0): return bytes
        case (2, 2) where bits & 15 == 0: return bytes + [UInt8(bits >> 4)]
        case (3, 1) where bits & 3 == 0: return bytes + [UInt8(bits >> 10), UInt8(bits >> 2 & 255)]
        default: return nil
        }
    }

    private static func value(_ character: UInt8) -> UInt32? {
        switch character {
        case 0x41...0x5A: UInt32(character - 0x41)
        case 0x61...0x7A: UInt32(character - 0x61) + 26
        case 0x30...0x39: UInt32(character - 0x30) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
