import ArgumentParser
import Testing

@testable import subproxy

@Suite("What is said of a command line that can't be used")
struct UsageMessageTests {
    @Test(
        "is one line without a capital and a full stop",
        arguments: [
            ("Missing value for '--map'.", "missing value for '--map'"), ("", "the command line can't be used"),
            ("  Two\n  lines.  ", "two lines"),
            ("Unknown option '--mpa'. Did you mean '--map'?", "unknown option '--mpa'; did you mean '--map'?"),
        ])
    func form(message: String, line: String) { #expect(UsageMessage.oneLine(message, arguments: ["serve"]) == line) }

    @Test(
        "says what an argument without a place was meant to be",
        arguments: [
            (["run", "ls"], "; a command follows '--', as in: subproxy run --map FILE -- COMMAND"),
            (["replay", "x.har", "--", "ls"], "; 'subproxy --help' lists the commands"),
            (["ca", "x"], "; there are path, install, uninstall and doctor"),
            (["ca", "docter"], "; did you mean 'doctor'?"), (["ca", "--json", "docter"], "; did you mean 'doctor'?"),
            (["ca", "doctor", "docter"], ""), (["session", "sav"], "; did you mean 'save'?"),
            (["serve", "m.yaml"], "; a map is named with --map"), (["m.yml"], "; a map is named with --map"),
            (["srve"], "; did you mean 'serve'?"), (["sesion"], "; did you mean 'session'?"),
            (["sav"], "; did you mean 'save'?"), (["hlp"], "; did you mean 'help'?"),
            (["zzzzz"], "; 'subproxy --help' lists the commands"),
        ])
    func hints(arguments: [String], hint: String) {
        let argument = arguments.last ?? ""
        let line = UsageMessage.oneLine("Unexpected argument '\(argument)'", arguments: arguments)
        #expect(line == "unexpected argument '\(argument)'\(hint)")
    }

    @Test(
        "says that a command follows '--' where an option is unknown and none follows, and nothing else",
        arguments: [
            (
                ["record", "-o", "r", "curl", "-s"], "-s",
                "; a command follows '--', as in: subproxy record -o checkout/ -- npm test"
            ),
            (["replay", "x.har", "-s", "--", "curl"], "-s", ""), (["check", "-s"], "-s", ""),
            (["run", "--mpa"], "--mpa'. Did you mean '--map", nil),
        ] as [([String], String, String?)])
    func unknownOption(arguments: [String], option: String, hint: String?) {
        let line = UsageMessage.oneLine("Unknown option '\(option)'", arguments: arguments)
        #expect(line.contains("'--',") == (hint?.isEmpty == false))
        if let hint { #expect(line == "unknown option '\(option)'\(hint)") }
    }

    @Test("suggests the options that every command has", arguments: [("--verison", "--version"), ("--hepl", "--help")])
    func commonOptions(option: String, meant: String) {
        let line = UsageMessage.oneLine("Unknown option '\(option)'", arguments: [option])
        #expect(line == "unknown option '\(option)'; did you mean '\(meant)'?")
    }

    @Test(
        "says that a value is negative where the parser takes it for an option",
        arguments: [
            (["--size", "-5MB"], "--size <size>", "; a size can't be negative"),
            (["--time", "-1s"], "--time <duration>", "; a duration can't be negative"),
            (["--size", "-x"], "--size <size>", ""), (["--size"], "--size <size>", ""),
            (["--map", "-5"], "--map <file>", ""), (["--size", "-"], "--size <size>", ""),
        ])
    func negative(arguments: [String], option: String, hint: String) {
        let line = UsageMessage.oneLine("Missing value for '\(option)'", arguments: arguments)
        #expect(line == "missing value for '\(option)'\(hint)")
    }

    @Test(
        "help is for commands that there are",
        arguments: [
            ([], nil), (["serve"], nil), (["help"], nil), (["ca", "doctor"], nil), (["--version"], nil),
            (["serv"], "there is no command 'serv'; did you mean 'serve'?"),
            (["ca", "docter"], "there is no command 'docter'; did you mean 'doctor'?"),
            (["save", "extra"], "unexpected argument 'extra'"),
        ] as [([String], String?)])
    func helpTopics(topic: [String], problem: String?) { #expect(UsageMessage.helpProblem(topic) == problem) }

    @Test("No line of help that is laid out by itself is broken on a terminal of 80 columns")
    func helpLines() {
        for command in Self.commands {
            for line in command.configuration.discussion.split(separator: "\n") where line.hasPrefix("  ") {
                #expect(line.count < 80, "\(line)")
            }
        }
    }

    @Test("No line of help for a terminal of 80 columns is longer, USAGE included")
    func helpWidth() {
        #expect(Self.commands.count > 20)
        for command in Self.commands {
            let help = RootCommand.helpMessage(for: command, columns: 80)
            #expect(help.contains("USAGE: subproxy"))
            for line in help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        }
    }

    /// Every command, the program itself among them.
    private static var commands: [any ParsableCommand.Type] {
        var found: [any ParsableCommand.Type] = [RootCommand.self]
        var index = 0
        while index < found.count {
            found += found[index].configuration.subcommands
            index += 1
        }
        return found
    }
}
