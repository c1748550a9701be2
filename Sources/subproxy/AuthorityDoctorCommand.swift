import ArgumentParser
import Substitution
import TLSTermination

/// `subproxy ca doctor`: who would trust a page of a decrypted host, and what to do for those who wouldn't.
struct AuthorityDoctorCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Say which programs trust the certificate authority, and what to do for the others.",
        discussion: """
            Looks at each trust store, and at what curl, Chromium, Firefox, Python, Node, Java and Go would do in this \
            environment. Changes nothing. Exits with 0 if all that are installed trust it, else with 1.
            """)

    @OptionGroup var authority: AuthorityOptions

    @Option(
        name: .customLong("map"),
        help: ArgumentHelp(
            "Map whose https hosts the certificate authority should be able to sign for; repeatable.",
            valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var maps: [String] = []

    @Flag(help: "Print a JSON object.")
    var json = false

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        let hosts =
            maps.isEmpty
            ? [] : try MappedHosts(try MapSources(maps, process.signals).loadOrFail(), areLimits: false).hosts
        let diagnosis = try Diagnosis(folder: try authority.path(), stored: try authority.stored(), hosts: hosts)
        StandardStream.output.writeLine(json ? diagnosis.json : diagnosis.text)
        return diagnosis.isGood ? .success : .failure
    }
}
