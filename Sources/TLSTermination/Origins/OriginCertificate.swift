import Glibc
public import NIOSSL
import SwiftASN1
import X509

/// Checks an origin's certificate beyond what BoringSSL checks, so that a connection of NIOSSL is as strict as one of
/// libcurl: no signature made with SHA-1 or MD5, no RSA key below 2048 bits (SSL_CTX_set_security_level, level 2), and
/// a name that is the very host of the URL (RFC 9110 §4.3.4, §4.3.5).
///
/// NIOSSL's own comparison also takes a certificate for the address that the connection leads to, whatever the URL
/// names.
public enum OriginCertificate {
    /// Why the certificate is not accepted; nil where it is.
    ///
    /// - Parameters:
    ///   - host: the host of the URL: a name without the root's dot, or an IP address, IPv6 without brackets.
    ///   - isAddress: whether it is an address.
    public static func refusal(_ certificate: NIOSSLCertificate, host: String, isAddress: Bool) -> String? {
        // swift-certificates does not read short keys, curves that nobody uses, and SHA-1 with ECDSA.
        guard let bytes = try? certificate.toDERBytes(), let parsed = try? Certificate(derEncoded: bytes) else {
            return "certificate key or signature too weak or not known"
        }
        // A certificate that is trusted by itself is so whatever it is signed with.
        guard parsed.issuer == parsed.subject || signature(bytes).map(weakSignatures.contains) == false else {
            return "certificate has a weak signature"
        }
        guard names(parsed, host, isAddress: isAddress) else {
            return "no alternative certificate subject name matches target host name '\(host)'"
        }
        return nil
    }

    private static func names(_ certificate: Certificate, _ host: String, isAddress: Bool) -> Bool {
        let names = (try? certificate.extensions.subjectAlternativeNames).flatMap { $0 }.map { Array($0) } ?? []
        let text = Array(host.utf8)
        if isAddress {
            let address = InternetAddress.bytes(text, AF_INET) ?? InternetAddress.bytes(text, AF_INET6) ?? []
            return names.contains { name in
                guard case .ipAddress(let octets) = name else { return false }
                return octets.bytes.elementsEqual(address)
            }
        }
        var hasName = false
        for case .dnsName(let name) in names {
            hasName = true
            if matches(name, text) { return true }
        }
        // As libcurl has it, the common name counts where there is no other.
        guard !hasName else { return false }
        let commonNames = certificate.subject.flatMap { Array($0) }.filter { $0.type == .RDNAttributeType.commonName }
        return commonNames.last.map { matches("\($0.value)", text) } ?? false
    }

    /// Whether a name of a certificate is the host's, or has `*` for its first label (RFC 6125 §6.4.3).
    static func matches(_ name: String, _ host: [UInt8]) -> Bool {
        let host = host.map(lowercased)
        let name = name.utf8.map(lowercased)
        guard name.starts(with: "*.".utf8) else { return !host.isEmpty && name == host }
        guard let dot = host.firstIndex(of: 0x2e), dot > 0 else { return false }
        let parent = name.dropFirst()
        // One label that stands for all hosts of a top-level domain is refused.
        return parent.dropFirst().contains(0x2e) && parent.elementsEqual(host[dot...])
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }

    /// MD5 and SHA-1 with RSA (RFC 3279 §2.2.1), SHA-1 with ECDSA (§2.2.3).
    private static let weakSignatures: Set<ASN1ObjectIdentifier> = [
        [1, 2, 840, 113_549, 1, 1, 4], [1, 2, 840, 113_549, 1, 1, 5], [1, 2, 840, 10_045, 4, 1],
    ]

    /// The algorithm that a certificate is signed with (RFC 5280 §4.1.1.2).
    private static func signature(_ certificate: [UInt8]) -> ASN1ObjectIdentifier? {
        guard let node = try? DER.parse(certificate), let parts = children(node), parts.count == 3,
            let identifier = children(parts[1])?.first
        else { return nil }
        return try? ASN1ObjectIdentifier(derEncoded: identifier)
    }

    private static func children(_ node: ASN1Node) -> [ASN1Node]? {
        guard case .constructed(let nodes) = node.content else { return nil }
        return Array(nodes)
    }
}
