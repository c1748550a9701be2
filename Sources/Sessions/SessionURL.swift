import HTTPSemantics

/// The URL of a session's entry: an http or https one, whose bytes a field of a message can carry as they are.
public struct SessionURL: Sendable, Equatable {
    public let text: String

    /// The length of a request's target that proxies and servers take.
    static let longest = 32 << 10

    /// Reads a URL as browsers write it: it is kept as it is, but that bytes beyond ASCII, spaces, quotes and angle
    /// brackets behind the host are percent-encoded (URL standard, "fragment percent-encode set" without the backtick).
    ///
    /// - Throws: what is wrong with it, a sentence without a capital and a full stop.
    public init(_ text: String) throws(SessionURLError) {
        let lowercased = text.utf8.prefix(8).map(\.asciiLowercased)
        guard lowercased.starts(with: "http://".utf8) || lowercased.starts(with: "https://".utf8) else {
            throw .otherScheme
        }
        guard text.utf8.count <= SessionURL.longest else { throw .tooLong }
        var bytes: [UInt8] = []
        var slashes = 0
        for byte in text.utf8 {
            // The third slash ends the authority, and so do `?` and `#`.
            if byte == UInt8(ascii: "/") { slashes &+= 1 }
            if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { slashes = 3 }
            switch byte {
            case 0x00..<0x20, 0x7F: throw .controlCharacter
            case 0x20, 0x22, 0x3C, 0x3E, 0x80...:
                guard slashes >= 3 else { throw .badHost }
                bytes += [UInt8(ascii: "%"), SessionURL.digit(byte >> 4), SessionURL.digit(byte & 15)]
            case UInt8(ascii: "\\") where slashes < 3: throw .badHost
            default: bytes.append(byte)
            }
        }
        guard bytes.count <= SessionURL.longest else { throw .tooLong }
        let encoded = String(decoding: bytes, as: UTF8.self)
        try SessionURL.check(bytes)
        self.text = encoded
    }

    /// Checks scheme, host and port, which is the proxy's own reading; backslashes behind them are no matter.
    private static func check(_ bytes: [UInt8]) throws(SessionURLError) {
        let start = bytes.firstRange(of: Array("://".utf8))?.upperBound ?? bytes.endIndex
        let end = bytes[start...].firstIndex { byte in "/?#".utf8.contains(byte) } ?? bytes.endIndex
        do {
            let uri = try TargetURI(String(decoding: bytes[..<end], as: UTF8.self) + "/")
            guard uri.scheme != .other else { throw SessionURLError.otherScheme }
        } catch {
            throw .badHost
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 &+ value : 0x37 &+ value }
}

/// Why a text is not the URL of an entry.
public enum SessionURLError: Error, Sendable, Equatable, CustomStringConvertible {
    case otherScheme, tooLong, controlCharacter, badHost

    public var description: String {
        switch self {
        case .otherScheme: "only http and https URLs can be restored"
        case .tooLong: "the URL is longer than 32 KiB"
        case .controlCharacter: "the URL has a control character in it"
        case .badHost: "the URL has no usable host"
        }
    }
}
