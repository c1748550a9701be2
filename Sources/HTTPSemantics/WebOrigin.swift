/// The origin of a URL, as browsers name in `Origin` whose page asks (RFC 6454 §4, §7).
///
/// Origins are equal where scheme, host and port are, however they are written: `http://a` and `http://A:80`.
public struct WebOrigin: Hashable, Sendable {
    /// In lower case.
    public let scheme: String
    /// In lower case, IPv6 addresses with their brackets.
    public let host: String
    /// The port, or that of the scheme; 0 where there is none.
    public let port: UInt16

    /// The origin of a URL.
    public init(_ uri: TargetURI) {
        scheme = uri.schemeText
        host = uri.host
        port = uri.port
    }

    /// Reads `scheme://host[:port]`; nil for another form, such as `null`.
    public init?(_ text: String) {
        let slash = UInt8(ascii: "/")
        guard text.utf8.count(where: { $0 == slash }) == 2, text.utf8.last != slash,
            !text.utf8.contains(where: { [UInt8(ascii: "@"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) }),
            let uri = try? TargetURI(text)
        else { return nil }
        self.init(uri)
    }

    /// Whether it is one of this machine's, by a name that no other machine can have.
    public var isLoopback: Bool {
        (scheme == "http" || scheme == "https") && ["localhost", "127.0.0.1", "[::1]"].contains(host)
    }
}
