public import Crypto
import SwiftASN1
public import X509

/// Makes the certificates of decrypted hosts, all for one ECDSA P-256 key, which is kept in memory only.
///
/// A certificate has the host as its only subject alternative name, of the right kind, and may only authenticate a
/// server. It begins a day before now, so that clients' clocks may be behind, and ends after 198 days in all, or with
/// the CA if that is earlier.
public struct LeafIssuer: Sendable {
    /// Browsers' limits on lifetimes fall; 199 days is the next.
    static let lifetime: Int64 = 198 * 86_400
    static let backdating: Int64 = 86_400
    /// How long before its end a certificate is replaced.
    static let renewalMargin: Int64 = 30 * 86_400
    private static let longestCommonName = 64

    public let certificateAuthority: CertificateAuthority
    let key: P256.Signing.PrivateKey
    private let publicKey: Certificate.PublicKey
    private let authorityKeyIdentifier: AuthorityKeyIdentifier
    private let random: RandomBytes

    /// An issuer that signs with this CA, for a new key unless one is given.
    ///
    /// - Throws: ``AuthorityFailure`` if the CA's certificate can't be read.
    public init(
        certificateAuthority: CertificateAuthority, key: P256.Signing.PrivateKey = P256.Signing.PrivateKey(),
        random: RandomBytes = .system
    ) throws(AuthorityFailure) {
        self.certificateAuthority = certificateAuthority
        self.key = key
        self.random = random
        publicKey = Certificate.PublicKey(key.publicKey)
        do {
            // A CA that was made elsewhere may have no identifier of its own; the rule for making one is the
            // same.
            let certificate = certificateAuthority.certificate
            let own = try certificate.extensions.subjectKeyIdentifier
            authorityKeyIdentifier = AuthorityKeyIdentifier(
                keyIdentifier: (own ?? SubjectKeyIdentifier(hash: certificate.publicKey)).keyIdentifier)
        } catch {
            throw AuthorityFailure(
                .malformed, "the authority's certificate can't be read: \(error)", advice: "have a new one made")
        }
    }

    /// Makes a certificate for a host; costs a signature.
    ///
    /// - Parameter now: the time in seconds since 1970.
    /// - Throws: ``AuthorityFailure`` where the CA may not sign for the host, or has expired.
    public func leaf(for host: CertificateHost, now: Int64 = WallClock.system()) throws(AuthorityFailure)
        -> LeafCertificate
    {
        guard certificateAuthority.permits(host) else {
            throw AuthorityFailure(
                .hostNotPermitted, "the certificate authority is limited to other hosts than \(host)",
                advice: "have one made that permits it: \(certificateAuthority.renewal)")
        }
        guard now <= certificateAuthority.notAfter else {
            throw AuthorityFailure(
                .expired, "the certificate authority expired on \(WallClock.day(certificateAuthority.notAfter))",
                advice: "have a new one made: \(certificateAuthority.renewal)")
        }
        let start = now - LeafIssuer.backdating
        // The last second belongs to the validity.
        let planned = start + LeafIssuer.lifetime - 1
        let end = min(planned, certificateAuthority.notAfter)
        do {
            let certificate = try Certificate(
                serialNumber: CertificateSerial.make(random), publicKey: publicKey, validity: start...end,
                issuer: certificateAuthority.certificate.subject, subject: try subject(host),
                extensions: try extensions(host), issuerKey: certificateAuthority.key)
            var serializer = DER.Serializer()
            try serializer.serialize(certificate)
            return LeafCertificate(
                host: host, certificate: certificate, der: serializer.serializedBytes, validity: start...end,
                // If the CA ends first, another leaf would end no later.
                renewal: end == planned ? end - LeafIssuer.renewalMargin : end)
        } catch {
            throw AuthorityFailure(
                .cryptography, "the certificate for \(host) can't be made: \(error)", advice: "report this as a fault")
        }
    }

    private func subject(_ host: CertificateHost) throws -> DistinguishedName {
        guard hasSubject(host) else { return DistinguishedName() }
        return try DistinguishedName { CommonName(host.text) }
    }

    /// Verifiers without a SAN of names to look at may hold an address in the common name against constraints on names.
    private func hasSubject(_ host: CertificateHost) -> Bool {
        !host.isAddress && host.text.utf8.count <= LeafIssuer.longestCommonName
    }

    private func extensions(_ host: CertificateHost) throws -> Certificate.Extensions {
        let name =
            host.isAddress
            ? GeneralName.ipAddress(ASN1OctetString(contentBytes: host.address[...])) : .dnsName(host.text)
        let names = SubjectAlternativeNames([name])
        return try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            try ExtendedKeyUsage([.serverAuth])
            authorityKeyIdentifier
            // RFC 5280 §4.2.1.6: critical where the subject is empty.
            if hasSubject(host) { names } else { Critical(names) }
        }
    }
}

/// A certificate for one host, signed by the local CA.
public struct LeafCertificate: Sendable {
    public let host: CertificateHost
    public let certificate: Certificate
    /// The certificate in DER.
    public let der: [UInt8]
    /// The first and the last second at which it is valid, in seconds since 1970.
    public let validity: ClosedRange<Int64>
    /// The last second at which it is used without having another made.
    let renewal: Int64

    /// Whether it can be used at a time: it is valid, and not so near its end that another one should be made.
    public func isUsable(at now: Int64) -> Bool { now >= validity.lowerBound && now <= renewal }
}

/// Makes serial numbers: positive, 16 bytes, 126 of their bits random (RFC 5280 §4.1.2.2 allows 20 bytes).
enum CertificateSerial {
    static func make(_ random: RandomBytes) -> Certificate.SerialNumber {
        var bytes = random.bytes(16)
        // A fixed length and no sign bit: the first two bits are 01.
        if let first = bytes.first { bytes[0] = first & 0x3f | 0x40 }
        return Certificate.SerialNumber(bytes: bytes)
    }
}
