import Basics
import Glibc
import TLSTermination

/// The system's store of Debian, Ubuntu and Alpine: a folder for certificates of the machine's own, and a program that
/// gathers them. (update-ca-certificates(8))
struct LocalCertificates: TrustStore {
    static let folder = "/usr/local/share/ca-certificates"

    let surroundings: TrustSurroundings
    let update: SystemTool

    var owner: String { "system" }
    var path: String { surroundings.root + LocalCertificates.folder }

    private func file(for certificate: AuthorityCertificate) -> String {
        "\(path)/subproxy-\(Hexadecimal.text(certificate.fingerprint.prefix(8))).crt"
    }

    func state(of certificate: AuthorityCertificate) -> TrustState {
        CertificateBundle.system(surroundings).contains(certificate) ? .trusted : .absent
    }

    func install(_ certificate: AuthorityCertificate) -> TrustChange {
        let file = file(for: certificate)
        if state(of: certificate) == .trusted, files(with: certificate).contains(file) { return .unchanged }
        let commands = "install -m 644 \(ShellText.quoted(certificate.path)) \(file) && \(update.path)"
        guard surroundings.isAdministrator else {
            return .failed(TrustProblem("only root may change it", advice: sudo(commands)))
        }
        let code = LocalFiles.replace(file, with: Array(certificate.pem.utf8), mode: 0o644)
        guard code == 0 else {
            return .failed(TrustProblem("\(file) can't be made: \(LocalFiles.text(code))", advice: commands))
        }
        let outcome = update.run([], seconds: 300)
        guard outcome.succeeded else {
            return .failed(TrustProblem("\(update.path) failed: \(outcome.complaint)", advice: "run \(update.path)"))
        }
        guard state(of: certificate) == .trusted else {
            return .failed(
                TrustProblem("\(update.path) has not taken the certificate up", advice: "run \(update.path) --verbose"))
        }
        return .done
    }

    func uninstall(_ certificate: AuthorityCertificate) -> TrustChange {
        let files = files(with: certificate)
        guard !files.isEmpty || state(of: certificate) == .trusted else { return .unchanged }
        // Without --fresh the links to the file stay, and programs that read the folder would still trust it.
        let commands =
            (files.isEmpty ? [] : ["rm -f \(files.map(ShellText.quoted).joined(separator: " "))"])
            + ["\(update.path) --fresh"]
        guard surroundings.isAdministrator else {
            return .failed(
                TrustProblem("only root may change it", advice: sudo(commands.joined(separator: " && "))))
        }
        for file in files where unlink(file) != 0 {
            return .failed(TrustProblem("\(file) can't be removed: \(LocalFiles.text(errno))"))
        }
        let outcome = update.run(["--fresh"], seconds: 300)
        forgetInJava(files)
        guard outcome.succeeded else {
            return .failed(
                TrustProblem("\(update.path) failed: \(outcome.complaint)", advice: "run \(update.path) --fresh"))
        }
        guard state(of: certificate) == .absent else {
            return .failed(
                TrustProblem(
                    "the certificate is among those that the system trusts for another reason than subproxy's",
                    advice: "look for it in /etc/ca-certificates.conf and \(path)"))
        }
        return .done
    }

    /// The files of ours that hold the certificate.
    private func files(with certificate: AuthorityCertificate) -> [String] {
        LocalFiles.names(in: path).filter { $0.hasPrefix("subproxy-") && $0.hasSuffix(".crt") }
            .map { "\(path)/\($0)" }
            .filter { CertificateBundle(at: $0)?.contains(certificate) == true }
    }

    /// Takes the certificate out of the store that Debian makes for Java, from which `--fresh` removes nothing.
    private func forgetInJava(_ files: [String]) {
        let store = surroundings.root + "/etc/ssl/certs/java/cacerts"
        guard LocalFiles.isFile(store), let keytool = surroundings.tool("keytool") else { return }
        for file in files {
            let name = file.split(separator: "/").last?.dropLast(".crt".count) ?? ""
            _ = keytool.run(
                ["-delete", "-keystore", store, "-storepass", "changeit", "-alias", "debian:\(name).pem"])
        }
    }

    private func sudo(_ commands: String) -> String { "sudo sh -c \(ShellText.quoted(commands))" }
}
