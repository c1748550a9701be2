import ArgumentParser
import TLSTermination

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
