import HTTPSemantics

/// The origin that a decrypted tunnel was asked for: requests in the tunnel must be for it.
///
/// It is compared with the origin of each request byte by byte, without allocating. A class, so that a request copies
/// one reference.
final class SecureAuthority: Sendable {
    /// `host:port`, in lower case and without a dot at the host's end; IPv6 addresses have their brackets.
    private let named: [UInt8]
    private let hostLength: Int
    private let port: UInt16
    /// What is spoken in the tunnel: https, or http where the client does not begin with TLS.
    let scheme: URIScheme
    /// As in a URI: `host`, or `host:port` where the port is not the scheme's own.
    let bytes: [UInt8]
    /// The user's name that the tunnel was asked for with (Proxy-Authorization); nil where it was asked for without.
    let user: [UInt8]?

    init(_ authority: Authority, user: [UInt8]? = nil, scheme: URIScheme = .https) {
        self.user = user
        self.scheme = scheme
        let host = authority.host.utf8.map(\.asciiLowercased)
        port = authority.port
        hostLength = host.count
        named = host + ":\(port)".utf8
        bytes = port == scheme.defaultPort ? host : named
    }

    /// ``bytes`` as text.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Whether a Host or `:authority` value names this origin. An omitted port is the scheme's own; a dot at the host's
    /// end is ignored.
    func isNamed(by value: UnsafeRawBufferPointer) -> Bool {
        if value.count == bytes.count || value.count == named.count,
            zip(value, named).allSatisfy({ $0.asciiLowercased == $1 })
        {
            return true
        }
        // The root's dot is one byte more; an address may have any length.
        guard
            value.count == bytes.count &+ 1 || value.count == named.count &+ 1
                || AuthorityText.mayBeAddress(value.first)
        else { return false }
        let comparable = AuthorityText.comparable(value)
        return comparable == bytes || comparable == named
    }

    /// Whether a URI is one of this origin.
    func isOrigin(of uri: TargetURI) -> Bool {
        guard uri.scheme == scheme, uri.port == port, uri.hostRange.count == hostLength else { return false }
        return uri.withBytes { bytes in
            bytes[uri.hostRange.clamped(to: 0..<bytes.count)].elementsEqual(named.prefix(hostLength))
        }
    }
}
