import Basics
import HTTPSemantics

/// A name and a password as the Basic scheme carries them (RFC 7617 §2).
public struct BasicCredentials: Equatable, Sendable {
    /// The user's name, without a colon and a byte 0.
    public let name: [UInt8]
    /// The password, without a byte 0.
    public let password: [UInt8]

    /// The most bytes that a field's value may have; longer credentials are not read.
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
        guard let bytes = Base64.decoded(text, .token68), let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            // A byte 0 would be taken for the end of the password.
            !bytes.contains(0)
        else { return nil }
        name = Array(bytes[..<colon])
        password = Array(bytes[(colon &+ 1)...])
    }
}
