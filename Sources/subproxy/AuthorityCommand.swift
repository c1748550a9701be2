import ArgumentParser
import TLSTermination

/// `subproxy ca`: the local certificate authority, and who trusts it.
struct AuthorityCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "ca",
        abstract: "Manage the local certificate authority.",
        discussion: """
            The proxy decrypts the https hosts that a map names, with certificates that its certificate authority \
            signs. The authority is made at first need, for this user alone; clients must trust it.
            """,
        subcommands: [
            AuthorityPathCommand.self, AuthorityInstallCommand.self, AuthorityUninstallCommand.self,
            AuthorityDoctorCommand.self,
        ])

    func run(in process: ProcessContext) throws -> ExitStatus {
        throw ValidationError("say what to do: ca path, ca install, ca uninstall or ca doctor")
    }
}

/// `subproxy ca path`: where the certificate is.
struct AuthorityPathCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "path",
        abstract: "Print the path of the certificate authority's certificate; make both if there is none.")

    @OptionGroup var authority: AuthorityOptions

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        StandardStream.output.writeLine(try authority.open().path)
        return .success
    }
}
