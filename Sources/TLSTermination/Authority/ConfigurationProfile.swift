import Basics
import Crypto
import SwiftASN1

/// A configuration profile with which iOS, iPadOS and macOS install the CA's certificate.
///
/// Its owner must still switch full trust on: Settings › General › About › Certificate Trust Settings.
public enum ConfigurationProfile {
    /// The media type that makes Safari offer to install it.
    public static let mediaType = "application/x-apple-aspen-config"

    /// Renders the profile, a property list in XML; the same for the same certificate.
    ///
    /// - Parameters:
    ///   - certificate: in DER.
    ///   - name: what the person is shown.
    public static func render(certificate: [UInt8], name: String) -> [UInt8] {
        let hash = Array(SHA256.hash(data: certificate))
        let profile = identifier(hash.prefix(16))
        let payload = identifier(hash.suffix(16))
        let title = escaped(name)
        // The Base64 of the PEM form, without its first and last line.
        let lines = PEMDocument(type: "CERTIFICATE", derBytes: certificate).pemString.split(separator: "\n")
        let data = lines.dropFirst().dropLast().joined(separator: "\n")
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            <key>PayloadContent</key>
            <array>
            <dict>
            <key>PayloadCertificateFileName</key>
            <string>subproxy-ca.cer</string>
            <key>PayloadContent</key>
            <data>
            \(data)
            </data>
            <key>PayloadDescription</key>
            <string>The certificate of a local subproxy, which decrypts chosen hosts.</string>
            <key>PayloadDisplayName</key>
            <string>\(title)</string>
            <key>PayloadIdentifier</key>
            <string>subproxy.ca.\(payload)</string>
            <key>PayloadType</key>
            <string>com.apple.security.root</string>
            <key>PayloadUUID</key>
            <string>\(payload)</string>
            <key>PayloadVersion</key>
            <integer>1</integer>
            </dict>
            </array>
            <key>PayloadDescription</key>
            <string>Lets this device trust the hosts that a local subproxy decrypts.</string>
            <key>PayloadDisplayName</key>
            <string>\(title)</string>
            <key>PayloadIdentifier</key>
            <string>subproxy.profile.\(profile)</string>
            <key>PayloadRemovalDisallowed</key>
            <false/>
            <key>PayloadType</key>
            <string>Configuration</string>
            <key>PayloadUUID</key>
            <string>\(profile)</string>
            <key>PayloadVersion</key>
            <integer>1</integer>
            </dict>
            </plist>

            """
        return Array(text.utf8)
    }

    /// A UUID of version 8 from 16 bytes of a hash (RFC 9562 §5.8).
    private static func identifier(_ hash: ArraySlice<UInt8>) -> String {
        var bytes = Array(hash)
        bytes[6] = bytes[6] & 0x0f | 0x80
        bytes[8] = bytes[8] & 0x3f | 0x80
        let parts = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hexadecimal.text(bytes[$0]) }
        return parts.joined(separator: "-").uppercased()
    }

    /// Text as XML character data; characters that XML 1.0 does not have are left out.
    private static func escaped(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;".unicodeScalars
            case "<": result += "&lt;".unicodeScalars
            case ">": result += "&gt;".unicodeScalars
            case "\u{0}"..."\u{8}", "\u{b}", "\u{c}", "\u{e}"..."\u{1f}", "\u{fffe}", "\u{ffff}": continue
            default: result.append(character)
            }
        }
        return String(result)
    }
}
