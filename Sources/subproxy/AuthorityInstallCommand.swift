import ArgumentParser
import Substitution
import TLSTermination
import TrustStores

/// `subproxy ca install`: makes the programs of this machine and user trust the authority.
struct AuthorityInstallCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Make this machine's programs and this user's browsers trust the certificate authority.",
        usage: "subproxy ca install [<options>]",
        discussion: """
            Puts the certificate into the system's store, which needs root, and into the databases of browsers, which \
            needs certutil. Stores that have it already are left alone. Exits with 0 if it is in all stores, otherwise \
            with 1.
            """)

    @OptionGroup var authority: AuthorityOptions
    @OptionGroup var stores: TrustStoreOptions

    @Flag(help: "If the certificate authority is made now, limit it to the https hosts of --map and names below them.")
    var onlyMapped = false

    @Option(
        name: .customLong("map"),
        help: ArgumentHelp("Substitution map of --only-mapped; repeatable.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var maps: [String] = []

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        guard onlyMapped || maps.isEmpty else {
            throw ValidationError("--map is for --only-mapped, which is not given")
        }
        guard !onlyMapped || !maps.isEmpty else {
            throw ValidationError("--only-mapped needs the map whose hosts are meant; use --map FILE")
        }
        if authority.folder == nil, let user = AuthorityFolder.environmentVariable("SUDO_USER"), user != "root" {
            StandardStream.error.writeLine(
                "subproxy: warning: with sudo this is root's authority, not \(user)'s, whose proxy has another one")
        }
        let certificate = onlyMapped ? try limited(process) : try authority.open()
        var report = TrustReport(certificate)
        let found = stores.find(in: .ofThisProcess)
        for store in found {
            report.add(store, store.install(certificate), done: "installed", unchanged: "already there")
        }
        if found.isEmpty { report.note("no trust store is known here: give clients \(certificate.path) themselves") }
        if report.hasChanged { report.note("browsers that run have to be started anew") }
        StandardStream.output.writeLine(report.text)
        return report.hasFailed ? .failure : .success
    }

    /// The authority, limited to the map's hosts where it is made now.
    private func limited(_ process: ProcessContext) throws -> AuthorityCertificate {
        let hosts = try MappedHosts(try MapSources(maps, process.signals).loadOrFail())
        guard hosts.tooWide.isEmpty else {
            for line in hosts.tooWide { StandardStream.error.writeLine(line) }
            throw CommandFailure(
                status: .dataError, message: "an authority that may sign for all of that would be limited to nothing")
        }
        let previous = try authority.stored()
        let certificate = try authority.open(permitting: hosts.hosts)
        guard previous != nil else { return certificate }
        StandardStream.error.writeLine(
            "subproxy: there is an authority already, which keeps its limits (\(certificate.limits))")
        let refused = hosts.hosts.filter { !certificate.permits($0) }
        if !refused.isEmpty {
            StandardStream.error.writeLine(
                """
                subproxy: it may not sign for \(refused.map(\.text).joined(separator: ", ")); to have another made: \
                \(certificate.command("ca uninstall --delete"))
                """)
        }
        return certificate
    }
}
