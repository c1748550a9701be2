import ArgumentParser
import Basics
import Glibc

/// The program: prepares the process, reads the command line, runs the command, and exits with its status.
@main
enum Program {
    static func main() {
        // First of all, so that every thread that anything starts inherits the mask.
        let signals = SignalMask()
        StandardDescriptors.openMissing()
        var process = ProcessContext(signals: signals, limits: ResourceLimits())
        var arguments = Array(CommandLine.arguments.dropFirst())
        process.command = takeCommand(&arguments)
        exit(settled(run(process, arguments)).rawValue)
    }

    /// The status where what a command has printed may be lost: a script that reads it is not told that all is well. A
    /// reader that goes away, as head(1) does, has what it wanted, and is told nothing.
    private static func settled(_ status: ExitStatus) -> ExitStatus {
        guard let failure = StandardStream.outputFailure else { return status }
        if failure.code != EPIPE {
            StandardStream.error.writeLine("subproxy: error: standard output can't be written: \(failure.text)")
        }
        return status == .success ? .ioError : status
    }

    /// Takes what follows `--` from a command line that has other arguments before it: the parser knows of one list.
    private static func takeCommand(_ arguments: inout [String]) -> [String] {
        let names = [ReplayCommand.configuration.commandName, RecordCommand.configuration.commandName]
        guard let name = arguments.first, names.contains(name),
            let terminator = arguments.firstIndex(of: "--")
        else { return [] }
        let command = Array(arguments[(terminator + 1)...])
        arguments.removeSubrange(terminator...)
        return command
    }

    private static func run(_ process: ProcessContext, _ arguments: [String]) -> ExitStatus {
        let root: any ParsableCommand.Type =
            CompletionRoot.isAskedFor(by: arguments) ? CompletionRoot.self : RootCommand.self
        // The parser shows the help of the last command that it knows, whatever follows.
        if arguments.first == "help", let problem = UsageMessage.helpProblem(Array(arguments.dropFirst())) {
            StandardStream.error.writeLine("subproxy: error: \(problem)")
            return .usage
        }
        do {
            if root is RootCommand.Type, let command = RootCommand.parseNamed(arguments) {
                return try command.run(in: process)
            }
            var command = try root.parseAsRoot(arguments)
            if let command = command as? any ProgramCommand { return try command.run(in: process) }
            try command.run()
            return .success
        } catch let failure as CommandFailure {
            if !failure.message.isEmpty { StandardStream.error.writeLine("subproxy: error: \(failure.message)") }
            return failure.status
        } catch {
            return report(error, of: root)
        }
    }

    /// Prints what the parser of the command line has to say: help, version and completion scripts on standard output,
    /// and an error as one line on standard error.
    private static func report(
        _ error: any Error, of root: any ParsableCommand.Type
    ) -> ExitStatus {
        guard root.exitCode(for: error) != .success else {
            let text = root.fullMessage(for: error)
            StandardStream.output.writeLine(root is CompletionRoot.Type ? CompletionScript.completed(text) : text)
            return .success
        }
        let message = UsageMessage.oneLine(
            root.message(for: error), arguments: Array(CommandLine.arguments.dropFirst()))
        StandardStream.error.writeLine("subproxy: error: \(message)")
        return .usage
    }
}

/// What a command is given beside its options.
struct ProcessContext {
    let signals: SignalMask
    let limits: ResourceLimits
    /// What follows `--`, of a command that has a list of arguments before it.
    var command: [String] = []
}

/// A command of this program.
protocol ProgramCommand: ParsableCommand {
    /// Does what the command is for.
    ///
    /// - Returns: the status to exit with.
    /// - Throws: ``CommandFailure``, or what the parser of the command line throws.
    func run(in process: ProcessContext) throws -> ExitStatus
}

/// The program as its user names it, with all its commands.
struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subproxy",
        abstract: "A forward HTTP proxy that answers mapped URLs with local files.",
        usage: """
            subproxy --map <file> [<options of serve>]
            subproxy <subcommand> …
            """,
        discussion: """
            Without a subcommand it serves: requests for URLs that a map names are answered from local files, \
            all others from a cache or by their origin. 'subproxy help serve' lists its options.

            EXAMPLE:
              subproxy --map substitutions.yaml
              curl -x http://127.0.0.1:8888 http://www.example.com/

            EXIT STATUS:
              0   done; 'run' exits with the status of its command
              1   'check' found errors; 'ca' could not do everything, or 'ca doctor' has
                  advice; no such session; no such entry for 'archive cat', or one
                  without a body; a page that was saved lacks something; with
                  --fail-on-miss, something was missed
              64  an option or a session's name can't be used
              65  a map, an archive, the list of 'save -i' or the file of --auth has
                  errors, --tls-cert and --tls-key don't fit, --origin-ca has no
                  certificate, or a file is no session
              66  the file of --auth, --tls-cert, --tls-key or --origin-ca, the folder
                  of --sessions, a session, an archive, or the list of 'save -i' can't
                  be read; 'record --mode none' has no recording
              69  an address can't be listened on, or there is no browser, or no
                  display for it
              71  the system refused something that every start needs, such as a thread
              73  the log file or the file of --report can't be opened, a session, an
                  archive or a picture can't be written, or another recorder writes
                  there
              74  'record' could not write all, or what a command prints, or the file
                  of --report, could not be written whole
              75  'save' took longer than --timeout
              76  the page of 'save' did not load, has an error status, or its browser
                  ended
            """,
        version: "subproxy \(programVersion)",
        subcommands: [
            ServeCommand.self, CheckCommand.self, ExplainCommand.self, RunCommand.self, ReplayCommand.self,
            RecordCommand.self, SaveCommand.self, SessionCommand.self, ArchiveCommand.self, AuthorityCommand.self,
        ],
        defaultSubcommand: ServeCommand.self)
}

/// The program's version.
let programVersion = "0.1.0"
