import HTTPSemantics

/// A name and a password as the Basic scheme carries them (RFC 7617 §2).
public struct BasicCredentials: Equatable, Sendable {
    /// The user's name, without a colon and a byte 0.
    public let name: [UInt8]
    /// The password, without a byte 0.
    public let password: [UInt8]

    /// The most bytes that a field's value may have; credentials that are longer are nobody's.
    public static let limit = 2048

    /// Reads them from a field.
    ///
    /// - Parameter value: the value of Authorization or Proxy-Authorization.
    /// - Returns: nil where it is of another scheme, or no name and password can be read from it.
    public init?(_ value: UnsafeRawBufferPointer) {
        guard value.count <= BasicCredentials.limit, value.count > 6,
            UnsafeRawBufferPointer(rebasing: value[..<5]).equalsIgnoringCase("basic"), value[5] == 0x20
        else { return nil }
        let text = value[6...].drop { $0 == 0x20 }
        guard let bytes = Base64.decode(text), let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            // A byte 0 would be taken for the end of the password.
            !bytes.contains(0)
        else { return nil }
        name = Array(bytes[..<colon])
        password = Array(bytes[(colon &+ 1)...])
    }
}

/// Base64 (RFC 4648 §4), decoded strictly but for the padding, which may be missing.
enum Base64 {
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        var length = 0
        for character in text {
            length &+= 1
            if character == UInt8(ascii: "=") {
                padding &+= 1
                continue
            }
            guard padding == 0, let value = value(of: character) else { return nil }
            bits = bits << 6 | value
            count &+= 6
            if count >= 8 {
                count &-= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        // What is left over must be the zeros that fill the last character up.
        guard count < 6, bits & ((1 << UInt32(count)) &- 1) == 0, padding == 0 || length % 4 == 0, padding < 3 else {
            return nil
        }
        return bytes
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case 0x41...0x5a: UInt32(character &- 0x41)
        case 0x61...0x7a: UInt32(character &- 0x61 &+ 26)
        case 0x30...0x39: UInt32(character &- 0x30 &+ 52)
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
