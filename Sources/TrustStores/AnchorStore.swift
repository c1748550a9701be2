import Basics
import TLSTermination

/// The system's store of Fedora, Arch and others with p11-kit. (trust(1))
struct AnchorStore: TrustStore {
    let surroundings: TrustSurroundings
    let trust: SystemTool

    var owner: String { "system" }
    var path: String { CertificateBundle.systemPath(surroundings) ?? trust.path }

    func state(of certificate: AuthorityCertificate) -> TrustState {
        CertificateBundle.system(surroundings).contains(certificate) ? .trusted : .absent
    }

    func install(_ certificate: AuthorityCertificate) -> TrustChange {
        change("--store", certificate, isDone: .trusted)
    }

    func uninstall(_ certificate: AuthorityCertificate) -> TrustChange {
        change("--remove", certificate, isDone: .absent)
    }

    private func change(_ action: String, _ certificate: AuthorityCertificate, isDone: TrustState) -> TrustChange {
        guard state(of: certificate) != isDone else { return .unchanged }
        guard surroundings.isAdministrator else {
            return .failed(
                TrustProblem(
                    "only root may change it",
                    advice: "sudo \(trust.path) anchor \(action) \(ShellText.quoted(certificate.path))"))
        }
        let outcome = trust.run(["anchor", action, certificate.path])
        guard outcome.succeeded else {
            return .failed(TrustProblem("\(trust.path) anchor failed: \(outcome.complaint)"))
        }
        guard state(of: certificate) == isDone else {
            return .failed(
                TrustProblem("\(trust.path) anchor \(action) has changed nothing", advice: "run update-ca-trust"))
        }
        return .done
    }
}
