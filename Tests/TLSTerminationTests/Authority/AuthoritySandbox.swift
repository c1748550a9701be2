import Crypto
import Glibc
import ProxyTestKit
import SwiftASN1
import X509

@testable import TLSTermination

/// A folder of a test's own for a certificate authority.
final class AuthoritySandbox: Sendable {
    /// 2025-11-21 12:00 UTC.
    static let noon: Int64 = 1_763_726_400

    private let folder = TemporaryFolder()

    var path: String { folder.path }

    func at(_ name: String) -> String { folder.at(name) }

    func authority(
        permitting hosts: [CertificateHost]? = nil, now: Int64 = noon
    ) throws(AuthorityFailure) -> CertificateAuthority {
        try CertificateAuthority.open(in: path, permitting: hosts, now: now)
    }

    func leaf(_ host: String, now: Int64 = noon) throws -> LeafCertificate {
        try LeafIssuer(certificateAuthority: try authority(now: now)).leaf(for: try CertificateHost(host), now: now)
    }

    func files() throws -> AuthorityFiles { AuthorityFiles(try .making(path)) }

    /// The names in the folder, sorted.
    func names() throws -> [String] {
        guard let descriptor = try AuthorityFolderDescriptor(path) else { return [] }
        return try descriptor.names().filter { $0 != "." && $0 != ".." }.sorted()
    }

    func write(_ text: String, to name: String, mode: mode_t = 0o600) {
        let descriptor = Glibc.open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        _ = Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        fchmod(descriptor, mode)
        close(descriptor)
    }

    func text(of name: String) throws -> String { try folder.text(of: name) }

    /// The permission bits of a file, or of the folder for the empty name.
    func mode(of name: String) -> mode_t {
        var status = stat()
        return lstat(at(name), &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    /// What `openssl x509` prints of a certificate in DER.
    func printed(_ der: [UInt8]) throws -> String {
        write(LeafText.pem(der), to: "printed.pem")
        return try ChildProcess.run(["openssl", "x509", "-in", at("printed.pem"), "-noout", "-text"]).output
    }

    /// Whether `openssl verify` takes a certificate in DER for a host at a time, by the strict rules, and what it says.
    func verify(_ der: [UInt8], for host: String, at time: Int64 = noon) throws -> (isValid: Bool, message: String) {
        write(LeafText.pem(der), to: "verified.pem")
        let address = (try CertificateHost(host)).isAddress
        let process = try ChildProcess.run([
            "openssl", "verify", "-CAfile", at("ca.pem"), "-x509_strict", "-purpose", "sslserver", "-attime", "\(time)",
            address ? "-verify_ip" : "-verify_hostname", host, at("verified.pem"),
        ])
        return (process.status == 0, process.output + process.error)
    }
}

/// PEM of certificates in DER.
enum LeafText {
    static func pem(_ der: [UInt8]) -> String {
        (try? Certificate(derEncoded: der).serializeAsPEM().pemString + "\n") ?? ""
    }
}
