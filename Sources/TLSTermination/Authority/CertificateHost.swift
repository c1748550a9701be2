import Glibc

/// The host that a certificate is for: a DNS name or an IP address, checked and in one spelling.
///
/// A name is one of LDH labels (RFC 5890 §2.3.1) and underscores, at most 253 bytes long, in lower case and without its
/// final dot. Wildcards and everything else are refused, so that what a client sends can't put a second name into a
/// certificate. A name may not end in a number: some would read it as an IPv4 address, and others would not.
public struct CertificateHost: Sendable, Hashable, CustomStringConvertible {
    /// The name, or the address as inet_ntop(3) writes it; an IPv6 address has no brackets.
    public let text: String
    /// The 4 or 16 bytes of an address; none for a name.
    public let address: [UInt8]

    public var isAddress: Bool { !address.isEmpty }
    public var description: String { text }

    /// Reads a host as CONNECT and SNI name it, an IPv6 address with or without its brackets.
    ///
    /// - Throws: ``CertificateHostRefusal`` if it is neither such a name nor an address.
    public init(_ bytes: some Collection<UInt8>) throws(CertificateHostRefusal) {
        var host = Array(bytes)
        guard !host.isEmpty else { throw .empty }
        // The longest host is a name of 253 bytes and its dot.
        guard host.count <= 254 else { throw .tooLong }
        if host.first == UInt8(ascii: "[") {
            guard host.last == UInt8(ascii: "]") else { throw .malformedAddress }
            host = Array(host.dropFirst().dropLast())
            guard host.contains(UInt8(ascii: ":")) else { throw .malformedAddress }
        }
        if host.contains(UInt8(ascii: ":")) {
            guard let parsed = InternetAddress.bytes(host, AF_INET6) else { throw .malformedAddress }
            self.init(text: InternetAddress.text(parsed), address: parsed)
        } else if let parsed = InternetAddress.bytes(host, AF_INET) {
            self.init(text: InternetAddress.text(parsed), address: parsed)
        } else {
            self.init(text: String(decoding: try CertificateHost.name(host), as: UTF8.self), address: [])
        }
    }

    /// Reads a host from text as from bytes.
    ///
    /// - Throws: ``CertificateHostRefusal`` if it is neither such a name nor an address.
    public init(_ text: String) throws(CertificateHostRefusal) {
        try self.init(Array(text.utf8))
    }

    private init(text: String, address: [UInt8]) {
        self.text = text
        self.address = address
    }

    private static func name(_ host: [UInt8]) throws(CertificateHostRefusal) -> [UInt8] {
        var name = host
        if name.last == UInt8(ascii: ".") { name.removeLast() }
        guard !name.isEmpty else { throw .empty }
        guard name.count <= 253 else { throw .tooLong }
        for index in name.indices {
            switch name[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"), UInt8(ascii: "."):
                continue
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): name[index] |= 0x20
            case UInt8(ascii: "*"): throw .wildcard
            case let byte: throw .forbiddenByte(byte)
            }
        }
        let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        for label in labels {
            guard !label.isEmpty else { throw .emptyLabel }
            guard label.count <= 63 else { throw .longLabel }
            guard label.first != UInt8(ascii: "-"), label.last != UInt8(ascii: "-") else { throw .hyphenAtEdge }
        }
        guard let last = labels.last, !isNumber(last) else { throw .endsInNumber }
        return name
    }

    /// Whether a resolver may take the label for a part of an IPv4 address: digits, or `0x` and hex digits.
    private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        if label.allSatisfy(digits.contains) { return true }
        guard label.starts(with: [UInt8(ascii: "0"), UInt8(ascii: "x")]) else { return false }
        return label.dropFirst(2).allSatisfy {
            digits.contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
        }
    }
}

/// Converts IP addresses between their bytes and their text (`inet_pton`, `inet_ntop`).
enum InternetAddress {
    /// The 4 or 16 bytes of an address, or nil for what is none; zone identifiers are none.
    static func bytes(_ text: [UInt8], _ family: CInt) -> [UInt8]? {
        guard text.count > 1, text.count < 46, !text.contains(0) else { return nil }
        var address = [UInt8](repeating: 0, count: family == AF_INET ? 4 : 16)
        let characters = text.map { CChar(bitPattern: $0) } + [0]
        return inet_pton(family, characters, &address) == 1 ? address : nil
    }

    /// The text of 4 or 16 bytes.
    static func text(_ address: [UInt8]) -> String {
        var characters = [CChar](repeating: 0, count: 46)
        let family = address.count == 4 ? AF_INET : AF_INET6
        _ = inet_ntop(family, address, &characters, socklen_t(characters.count))
        return String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
