import Crypto
import SwiftASN1
public import X509

/// The local certificate authority: the key and the certificate that sign the certificates of decrypted hosts.
///
/// ECDSA P-256, made at first need for 3,650 days and kept in a folder as `ca-key.pem` (PKCS #8, mode 0600) and
/// `ca.pem` (mode 0644). Its certificate is unique to each installation, may sign certificates of servers but no
/// further CAs (path length 0), and may be limited to some hosts.
public struct CertificateAuthority: Sendable {
    public let certificate: Certificate
    /// The certificate in DER.
    public let der: [UInt8]
    /// The certificate in PEM, with a final line feed.
    public let pem: String
    /// The last second at which it is valid, in seconds since 1970.
    public let notAfter: Int64

    /// The SHA-256 hash of the public key (SubjectPublicKeyInfo in DER, RFC 5280 §4.1.2.7), by which programs can be
    /// told to trust it.
    public let keyHash: [UInt8]

    /// The folder that it was opened in.
    let folder: String
    let key: Certificate.PrivateKey
    let scope: NameScope

    /// Opens the CA in a folder, and makes one where there is none.
    ///
    /// Of several processes that do so at once all get the same. Blocks on the file system.
    ///
    /// - Parameters:
    ///   - path: the folder, as ``AuthorityFolder`` finds it; made with mode 0700 if missing.
    ///   - hosts: with a new CA, the only names and addresses it may sign for, and all names below those;
    ///     nil for any. A CA that is there already keeps its own limits: see ``permits(_:)``.
    ///   - now: the time in seconds since 1970.
    /// - Throws: ``AuthorityFailure``. What is there is never replaced.
    public static func open(
        in path: String, permitting hosts: [CertificateHost]? = nil, now: Int64 = WallClock.system(),
        random: RandomBytes = .system
    ) throws(AuthorityFailure) -> CertificateAuthority {
        let files = AuthorityFiles(try .making(path))
        try files.sweepDrafts()
        if let authority = try stored(files, now: now) { return authority }
        let keyBytes: [UInt8]
        if let present = try files.contents(.key) {
            keyBytes = present
        } else {
            let made = P256.Signing.PrivateKey().pemRepresentation + "\n"
            keyBytes = try files.publish(Array(made.utf8), as: .key, random: random)
        }
        let key = try parseKey(keyBytes, files)
        let template = AuthorityTemplate(installation: AuthorityTemplate.here, hosts: hosts, now: now)
        let made = try template.certificate(key: key, random: random)
        let bytes = try files.publish(Array(made.utf8), as: .certificate, random: random)
        return try CertificateAuthority(key: key, certificate: bytes, files, now: now)
    }

    /// Opens the CA in a folder if there is one, and makes nothing.
    ///
    /// - Throws: ``AuthorityFailure``, as ``open(in:permitting:now:random:)`` does.
    public static func existing(
        in path: String, now: Int64 = WallClock.system()
    ) throws(AuthorityFailure) -> CertificateAuthority? {
        guard let folder = try AuthorityFolderDescriptor(path) else { return nil }
        return try stored(AuthorityFiles(folder), now: now)
    }

    /// Removes the CA's files from a folder; the next use makes another one.
    ///
    /// - Throws: ``AuthorityFailure`` if the folder is not this user's alone, or a file can't be removed.
    public static func remove(from path: String) throws(AuthorityFailure) {
        guard let folder = try AuthorityFolderDescriptor(path) else { return }
        try AuthorityFiles(folder).removeAll()
    }

    /// The path of the certificate in a folder.
    public static func certificatePath(in folder: String) -> String {
        "\(folder)/\(AuthorityFiles.File.certificate.rawValue)"
    }

    /// The common name, which is unique to each installation.
    public var name: String { certificate.authorityName }

    /// The SHA-256 hash of the certificate, by which stores and tools name it.
    public var fingerprint: [UInt8] { Array(SHA256.hash(data: der)) }

    /// Whether the certificate's name constraints let it sign for a host.
    public func permits(_ host: CertificateHost) -> Bool { scope.contains(host) }

    /// The commands that have another one made in its place; a proxy that runs keeps this one.
    var renewal: String {
        AuthorityFolder.command("ca uninstall --delete", on: folder) + ", then "
            + AuthorityFolder.command("ca install", on: folder) + ", and start the proxy anew"
    }

    private static func stored(_ files: AuthorityFiles, now: Int64) throws(AuthorityFailure) -> CertificateAuthority? {
        // The certificate is read first: it is made last, so one without a key is not a matter of timing.
        guard let certificate = try files.contents(.certificate) else { return nil }
        guard let key = try files.contents(.key) else {
            throw AuthorityFailure(
                .keyMissing, "\(files.path(.certificate)) is there, but its key \(files.path(.key)) is missing",
                advice: "put the key back, or have a new authority made: \(removal(files))")
        }
        return try CertificateAuthority(key: try parseKey(key, files), certificate: certificate, files, now: now)
    }

    private static func parseKey(
        _ bytes: [UInt8], _ files: AuthorityFiles
    ) throws(AuthorityFailure) -> Certificate.PrivateKey {
        do {
            return try Certificate.PrivateKey(pemEncoded: String(decoding: bytes, as: UTF8.self))
        } catch {
            // The library's own text is left out: nothing of a key may get into a log.
            throw AuthorityFailure(
                .malformed, "\(files.path(.key)) holds no private key in PEM", advice: startOver(files))
        }
    }

    private static func removal(_ files: AuthorityFiles) -> String {
        AuthorityFolder.command("ca uninstall --delete", on: files.folder.path)
    }

    private static func startOver(_ files: AuthorityFiles) -> String {
        "to have a new authority made: \(removal(files))"
    }

    private init(
        key: Certificate.PrivateKey, certificate bytes: [UInt8], _ files: AuthorityFiles, now: Int64
    ) throws(AuthorityFailure) {
        let path = files.path(.certificate)
        let startOver = CertificateAuthority.startOver(files)
        do {
            let document = try PEMDocument(pemString: String(decoding: bytes, as: UTF8.self))
            certificate = try Certificate(pemDocument: document)
            der = document.derBytes
            pem = document.pemString + "\n"
            scope = try certificate.extensions.nameConstraints.map(NameScope.init) ?? NameScope()
            notAfter = certificate.notAfterSeconds
            keyHash = Array(SHA256.hash(data: try certificate.publicKey.serializeAsPEM().derBytes))
            guard case .isCertificateAuthority = try certificate.extensions.basicConstraints,
                try certificate.extensions.keyUsage?.keyCertSign ?? true
            else {
                throw AuthorityFailure(
                    .notAuthority, "\(path) may not sign other certificates", advice: startOver)
            }
        } catch let failure as AuthorityFailure {
            throw failure
        } catch {
            throw AuthorityFailure(.malformed, "\(path) holds no certificate in PEM: \(error)", advice: startOver)
        }
        guard key.publicKey == certificate.publicKey else {
            throw AuthorityFailure(
                .mismatch, "\(path) and \(files.path(.key)) don't belong together", advice: startOver)
        }
        guard now <= notAfter else {
            throw AuthorityFailure(
                .expired, "\(path) expired on \(WallClock.day(notAfter))", advice: startOver)
        }
        guard now >= certificate.notBeforeSeconds else {
            throw AuthorityFailure(
                .notYetValid, "\(path) is not valid before \(WallClock.day(certificate.notBeforeSeconds))",
                advice: "set this machine's clock, which says \(WallClock.day(now))")
        }
        self.key = key
        folder = files.folder.path
    }
}
