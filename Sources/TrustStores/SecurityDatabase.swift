import Basics
import Glibc
import TLSTermination

/// A database of certificates that browsers use (NSS, `cert9.db`), changed with certutil(1).
struct SecurityDatabase: TrustStore {
    /// A file of this name marks a folder that was made here, so that it can be removed again.
    static let markName = ".made-by-subproxy"

    let owner: String
    let path: String
    let tool: SystemTool?

    /// Whether the database is there; else installing makes it.
    var exists: Bool { SecurityDatabase.isThere(path) }

    static func isThere(_ folder: String) -> Bool { LocalFiles.isFile("\(folder)/cert9.db") }

    func state(of certificate: AuthorityCertificate) -> TrustState {
        guard exists else { return .absent }
        guard let tool else { return .unknown(SecurityDatabase.toolIsMissing) }
        switch entries(of: certificate, tool) {
        case .failure(let problem): return .unknown(problem)
        case .success(let entries): return entries.contains(where: \.isTrusted) ? .trusted : .absent
        }
    }

    func install(_ certificate: AuthorityCertificate) -> TrustChange {
        guard let tool else { return .failed(SecurityDatabase.toolIsMissing) }
        if !exists, let problem = make(tool) { return .failed(problem) }
        switch entries(of: certificate, tool) {
        case .failure(let problem): return .failed(problem)
        case .success(let entries) where entries.contains(where: \.isTrusted): return .unchanged
        case .success(let entries):
            let arguments =
                entries.first.map { ["-M", "-n", $0.nickname, "-t", "C,,"] }
                ?? ["-A", "-n", certificate.name, "-t", "C,,", "-i", certificate.path]
            let outcome = tool.run(arguments + database)
            guard outcome.succeeded else {
                return .failed(TrustProblem("certutil failed: \(outcome.complaint)", advice: command(arguments)))
            }
            guard state(of: certificate) == .trusted else {
                return .failed(TrustProblem("certutil has not put the certificate in", advice: command(arguments)))
            }
            return .done
        }
    }

    func uninstall(_ certificate: AuthorityCertificate) -> TrustChange {
        guard exists else { return .unchanged }
        guard let tool else { return .failed(SecurityDatabase.toolIsMissing) }
        switch entries(of: certificate, tool) {
        case .failure(let problem): return .failed(problem)
        case .success(let entries):
            for entry in entries {
                let arguments = ["-D", "-n", entry.nickname]
                let outcome = tool.run(arguments + database)
                guard outcome.succeeded else {
                    return .failed(TrustProblem("certutil failed: \(outcome.complaint)", advice: command(arguments)))
                }
            }
            let isGone = removeIfOurs(tool)
            return entries.isEmpty && !isGone ? .unchanged : .done
        }
    }

    private static let toolIsMissing = TrustProblem(
        "certutil is missing",
        advice: "sudo apt-get install libnss3-tools (Fedora: nss-tools; Arch: nss), then do this again")

    private var database: [String] { ["-d", "sql:\(path)"] }

    private func command(_ arguments: [String]) -> String {
        "certutil " + (arguments + database).map(ShellText.quoted).joined(separator: " ")
    }

    // MARK: What is in it

    private struct Entry {
        var nickname: String
        var isTrusted: Bool
    }

    /// The entries that hold the certificate. A browser that imported it has given it a nickname of its own, which
    /// begins with the certificate's name too.
    private func entries(of certificate: AuthorityCertificate, _ tool: SystemTool) -> Listing {
        let outcome = tool.run(["-L"] + database)
        guard outcome.succeeded else {
            return .failure(TrustProblem("certutil can't read it: \(outcome.complaint)"))
        }
        var found: [Entry] = []
        for line in outcome.lines where line.hasPrefix(certificate.name) {
            guard let (nickname, flags) = SecurityDatabase.columns(line) else { continue }
            let text = tool.run(["-L", "-n", nickname, "-a"] + database)
            guard text.succeeded, CertificateBundle(text.output).contains(certificate) else { continue }
            found.append(Entry(nickname: nickname, isTrusted: flags.prefix { $0 != "," }.contains("C")))
        }
        return .success(found)
    }

    /// The nickname and the trust flags in a line of certutil's list: `nickname      C,,`; nil for the lines above it.
    static func columns(_ line: Substring) -> (nickname: String, flags: String)? {
        let words = line.split(separator: " ")
        guard words.count > 1, let flags = words.last, flags != "SSL,S/MIME,JAR/XPI",
            flags.count(where: { $0 == "," }) == 2
        else { return nil }
        var nickname = line
        while nickname.last == " " { nickname.removeLast() }
        nickname = nickname.dropLast(flags.count)
        while nickname.last == " " { nickname.removeLast() }
        return (String(nickname), String(flags))
    }

    private enum Listing {
        case success([Entry])
        case failure(TrustProblem)
    }

    // MARK: Databases of our own making

    private func make(_ tool: SystemTool) -> TrustProblem? {
        guard LocalFiles.makeFolder(path) else {
            return TrustProblem("\(path) can't be made: \(LocalFiles.text(errno))")
        }
        let outcome = tool.run(["-N", "--empty-password"] + database)
        guard outcome.succeeded, exists else { return TrustProblem("certutil can't make it: \(outcome.complaint)") }
        let mark = Array("subproxy made this database; 'subproxy ca uninstall' removes it while it is empty.\n".utf8)
        _ = LocalFiles.replace("\(path)/\(SecurityDatabase.markName)", with: mark, mode: 0o600)
        return nil
    }

    /// Removes a database that was made here, if nothing else has come into it.
    private func removeIfOurs(_ tool: SystemTool) -> Bool {
        let mark = "\(path)/\(SecurityDatabase.markName)"
        guard LocalFiles.isFile(mark) else { return false }
        let known: Set = [SecurityDatabase.markName, "cert9.db", "key4.db", "pkcs11.txt"]
        let certificates = tool.run(["-L"] + database)
        let keys = tool.run(["-K"] + database)
        guard certificates.succeeded, !certificates.lines.contains(where: { SecurityDatabase.columns($0) != nil }),
            keys.lines.contains(where: { $0.contains("no keys found") }),
            known.isSuperset(of: LocalFiles.names(in: path))
        else { return false }
        for name in known { unlink("\(path)/\(name)") }
        rmdir(path)
        // The folder above was made here too if it is empty now; otherwise it stays.
        if let slash = path.lastIndex(of: "/") { rmdir(String(path[..<slash])) }
        return true
    }
}
