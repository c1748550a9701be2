import Basics
import Glibc
import SwiftASN1
import X509

/// What the certificate of a new CA says.
struct AuthorityTemplate {
    static let lifetime: Int64 = 3650 * 86_400
    /// How far clocks of clients may be behind this machine's.
    static let backdating: Int64 = 86_400
    private static let longestCommonName = 64

    /// Whose it is, as `user@machine`.
    var installation: String
    /// The only hosts it may sign for; nil for any.
    var hosts: [CertificateHost]?
    var now: Int64

    /// This process's user and machine.
    static var here: String { "\(Account.current?.name ?? "user-\(geteuid())")@\(Account.machine)" }

    /// Makes a self-signed certificate, in PEM.
    ///
    /// - Throws: ``AuthorityFailure`` where it can't be made or signed.
    func certificate(key: Certificate.PrivateKey, random: RandomBytes) throws(AuthorityFailure) -> String {
        do {
            let subject = try DistinguishedName {
                OrganizationName("subproxy")
                CommonName(commonName(random))
            }
            let certificate = try Certificate(
                serialNumber: CertificateSerial.make(random), publicKey: key.publicKey,
                validity: now - AuthorityTemplate.backdating...now + AuthorityTemplate.lifetime, issuer: subject,
                subject: subject, extensions: extensions(key), issuerKey: key)
            return try certificate.serializeAsPEM().pemString + "\n"
        } catch {
            throw AuthorityFailure(
                .cryptography, "the authority's certificate can't be made: \(error)", advice: "report this as a fault")
        }
    }

    private func extensions(_ key: Certificate.PrivateKey) throws -> Certificate.Extensions {
        try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            SubjectKeyIdentifier(hash: key.publicKey)
            if let hosts { Critical(NameScope.constraints(permitting: hosts)) }
        }
    }

    /// `subproxy CA 3f2a9c1b (user@machine, 2025-11-21)`, with the user and the machine shortened to what fits.
    private func commonName(_ random: RandomBytes) -> String {
        let start = "subproxy CA \(Hexadecimal.text(random.bytes(4))) ("
        let end = ", \(WallClock.day(now)))"
        let room = AuthorityTemplate.longestCommonName - start.utf8.count - end.utf8.count
        let owner = installation.utf8.prefix(room).map { AuthorityTemplate.isPlain($0) ? $0 : UInt8(ascii: "-") }
        return start + String(decoding: owner, as: UTF8.self) + end
    }

    /// Whether a byte needs no escape in any of the places where the name is shown.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "@"):
            true
        default: false
        }
    }
}
