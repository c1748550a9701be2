import Glibc
import ProxyTestKit
import TLSTermination

@testable import TrustStores

/// A machine and a user's home in a folder of a test's own; nothing of the real ones is looked at or changed.
final class FakeMachine: Sendable {
    let sandbox = TemporaryFolder()
    var home: String { sandbox.at("home") }
    var root: String { sandbox.at("root") }
    var tools: String { sandbox.at("bin") }

    init() {
        for folder in [home, "\(root)/etc/ssl/certs", tools] { _ = LocalFiles.makeFolder(folder) }
    }

    /// - Parameters:
    ///   - certutil: whether the real certutil is found.
    ///   - variables: the environment.
    func surroundings(
        certutil: Bool = false, isAdministrator: Bool = true, variables: [String: String] = [:]
    ) -> TrustSurroundings {
        if certutil, let path = FakeMachine.certutil { symlink(path, "\(tools)/certutil") }
        return TrustSurroundings(
            home: home, root: root, toolFolders: [tools], isAdministrator: isAdministrator,
            variables: { variables[$0] })
    }

    func certificate(permitting hosts: [CertificateHost]? = nil) throws -> AuthorityCertificate {
        let folder = sandbox.at("authority")
        return AuthorityCertificate(try CertificateAuthority.open(in: folder, permitting: hosts), in: folder)
    }

    /// Another authority's certificate.
    func otherCertificate() throws -> AuthorityCertificate {
        let folder = sandbox.at("other")
        return AuthorityCertificate(try CertificateAuthority.open(in: folder), in: folder)
    }

    func folder(_ path: String) -> String {
        _ = LocalFiles.makeFolder(path)
        return path
    }

    func write(_ text: String, to path: String, mode: mode_t = 0o644) {
        _ = LocalFiles.replace(path, with: Array(text.utf8), mode: mode)
    }

    /// A program that is found as one of the machine's.
    ///
    /// Another process writes it: a child of this one that was just being made would hold a descriptor to write it, and
    /// nobody could run it meanwhile (execve(2), ETXTBSY).
    func tool(_ name: String, _ script: String) {
        let path = "\(tools)/\(name)"
        let writer = #"rm -f "$0" && printf '%s' "$1" > "$0" && chmod 755 "$0""#
        _ = try? ChildProcess.run(["sh", "-c", writer, path, "#!/bin/sh\n\(script)\n"])
    }

    /// What update-ca-certificates(8) does, in small.
    func addDebianStore() -> String {
        let local = folder(root + LocalCertificates.folder)
        tool(
            "update-ca-certificates",
            """
            echo "$@" >> '\(sandbox.path)/calls'
            cat '\(local)'/*.crt > '\(root)/etc/ssl/certs/ca-certificates.crt' 2>/dev/null
            exit 0
            """)
        return local
    }

    static let certutil = InstalledProgram.path("certutil")

    /// Makes a database as a browser does.
    func addDatabase(_ path: String) throws -> String {
        let made = folder(path)
        _ = try ChildProcess.run([FakeMachine.certutil ?? "", "-N", "--empty-password", "-d", "sql:\(made)"])
        return made
    }

    /// What certutil lists, for a look from outside.
    static func listing(_ database: String) throws -> String {
        try ChildProcess.run([FakeMachine.certutil ?? "", "-L", "-d", "sql:\(database)"]).output
    }
}
