import ArgumentParser
import TLSTermination
import TrustStores

/// `subproxy ca uninstall`: takes the authority out of all trust stores.
struct AuthorityUninstallCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "uninstall",
        abstract: "Undo what install did.",
        usage: "subproxy ca uninstall [--ca-dir <folder>] [--stores <list> | --delete]",
        discussion: """
            Takes the certificate out of all stores, and removes databases that install has made and nobody has used. \
            Other certificates are never touched. Exits with 0 if the certificate is in no store any more, else with 1.
            """)

    @OptionGroup var authority: AuthorityOptions
    @OptionGroup var stores: TrustStoreOptions

    @Flag(
        help:
            "Then remove the key and the certificate too, once it is out of all stores; the next use makes another authority. Not with --stores."
    )
    var delete = false

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        guard !delete || stores.stores == nil else {
            throw ValidationError("--delete goes with all stores: without the certificate nothing finds what is left")
        }
        let folder = try authority.path()
        let certificate: AuthorityCertificate?
        do {
            certificate = try AuthorityCertificate.stored(in: folder)
        } catch  where delete && error.code == .malformed {
            try remove(folder)
            throw CommandFailure(
                status: .failure, message: "\(error.message); the files are deleted, but no store was searched")
        } catch {
            throw CommandFailure(status: .failure, message: "\(error)")
        }
        guard let certificate else {
            if delete { try remove(folder) }
            StandardStream.output.writeLine("there is no certificate authority in \(folder)")
            return .success
        }
        var report = TrustReport(certificate)
        for store in stores.find(in: .ofThisProcess) {
            report.add(store, store.uninstall(certificate), done: "removed", unchanged: "not there")
        }
        if delete {
            if report.hasFailed {
                report.note("the key and the certificate stay until it is out of all stores")
            } else {
                try remove(folder)
                report.note("the key and the certificate are deleted")
            }
        }
        StandardStream.output.writeLine(report.text)
        return report.hasFailed ? .failure : .success
    }

    private func remove(_ folder: String) throws {
        do {
            try CertificateAuthority.remove(from: folder)
        } catch {
            throw CommandFailure(status: .failure, message: "\(error)")
        }
    }
}
