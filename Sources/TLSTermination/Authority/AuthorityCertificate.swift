import Basics
import Crypto
import SwiftASN1
import X509

/// The CA's certificate as trust stores hold it; its key is not needed for that.
public struct AuthorityCertificate: Sendable {
    /// The file that it is kept in.
    public let path: String
    /// The common name, which is unique to each installation.
    public let name: String
    /// In PEM, with a final line feed.
    public let pem: String
    /// The SHA-256 hash, by which it is known everywhere.
    public let fingerprint: [UInt8]
    /// The last second at which it is valid, in seconds since 1970.
    public let notAfter: Int64
    /// Whether name constraints limit it to some hosts.
    public let isLimited: Bool
    private let scope: NameScope

    /// A command of the program that acts on this authority, as messages have it.
    public func command(_ words: String) -> String {
        AuthorityFolder.command(
            words, on: path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/"))
    }

    /// The certificate of a CA that was opened in a folder.
    public init(_ authority: CertificateAuthority, in folder: String) {
        self.init(
            authority.certificate, path: CertificateAuthority.certificatePath(in: folder), pem: authority.pem,
            fingerprint: authority.fingerprint, scope: authority.scope, name: authority.name)
    }

    /// Reads the certificate in a folder, whatever its date, and whether its key is there or not; nil where there is
    /// none.
    ///
    /// - Throws: ``AuthorityFailure`` where the file can't be read, or holds no certificate.
    public static func stored(in folder: String) throws(AuthorityFailure) -> AuthorityCertificate? {
        guard let descriptor = try AuthorityFolderDescriptor(folder),
            let bytes = try AuthorityFiles(descriptor).contents(.certificate)
        else { return nil }
        let path = CertificateAuthority.certificatePath(in: folder)
        do {
            let document = try PEMDocument(pemString: String(decoding: bytes, as: UTF8.self))
            let certificate = try Certificate(pemDocument: document)
            return AuthorityCertificate(
                certificate, path: path, pem: document.pemString + "\n",
                fingerprint: Array(SHA256.hash(data: document.derBytes)),
                scope: try certificate.extensions.nameConstraints.map(NameScope.init) ?? NameScope(),
                name: certificate.authorityName)
        } catch {
            throw AuthorityFailure(.malformed, "\(path) holds no certificate in PEM: \(error)", advice: "remove it")
        }
    }

    private init(
        _ certificate: Certificate, path: String, pem: String, fingerprint: [UInt8], scope: NameScope, name: String
    ) {
        self.path = path
        self.name = name
        self.pem = pem
        self.fingerprint = fingerprint
        self.scope = scope
        notAfter = certificate.notAfterSeconds
        isLimited = certificate.extensions.contains { $0.oid == .X509ExtensionID.nameConstraints }
    }

    /// The fingerprint as people compare it: `3F:2A:…`.
    public var fingerprintText: String { FingerprintText.of(fingerprint) }

    /// The last day of its validity, as `2035-11-19`.
    public var lastDay: String { WallClock.day(notAfter) }

    /// In words, which hosts its name constraints let it sign for.
    public var permitted: String { scope.description }

    /// Whether its name constraints let it sign for a host.
    public func permits(_ host: CertificateHost) -> Bool { scope.contains(host) }
}

extension Certificate {
    /// The common name of the subject, or the whole subject where it has none.
    var authorityName: String {
        for part in subject.reversed() {
            for attribute in part where attribute.type == .RDNAttributeType.commonName {
                return String(attribute.value) ?? String(describing: attribute.value)
            }
        }
        return String(describing: subject)
    }
}

/// Writes fingerprints as people compare them.
public enum FingerprintText {
    /// `3F:2A:…`
    public static func of(_ hash: [UInt8]) -> String {
        hash.map { Hexadecimal.text([$0], .upper) }.joined(separator: ":")
    }
}
