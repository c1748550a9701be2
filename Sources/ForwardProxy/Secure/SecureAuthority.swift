import HTTPSemantics

/// The origin that a decrypted tunnel was asked for: requests inside it are for this one and no other.
struct SecureAuthority: Sendable, Equatable {
    /// In lower case, IPv6 addresses with their brackets.
    let host: String
    let port: UInt16

    init(_ authority: Authority) {
        host = authority.host
        port = authority.port
    }

    /// `host`, or `host:port` where the port is not 443.
    var text: String { port == 443 ? host : "\(host):\(port)" }

    /// Whether a Host or `:authority` value names this origin; an omitted port is 443.
    func isNamed(by value: UnsafeRawBufferPointer) -> Bool {
        guard value.count <= 512 else { return false }
        let text = String(decoding: value.map(\.asciiLowercased), as: UTF8.self)
        return text == self.text || text == "\(host):\(port)"
    }

    /// Whether a URI is one of this origin.
    func isOrigin(of uri: TargetURI) -> Bool { uri.scheme == .https && uri.port == port && uri.host == host }
}
