import ArgumentParser
import Diagnostics

/// Makes one clear line of what the parser of the command line says.
enum UsageMessage {
    /// How commands that run another one are called with it.
    private static let examples = [
        "run": "run --map FILE -- COMMAND", "record": "record -o checkout/ -- npm test",
        "replay": "replay checkout.har -- npm test",
    ]

    /// The message in this program's form: one line, no capital, no full stop before a suggestion.
    ///
    /// - Parameter arguments: the command line without the program's name.
    static func oneLine(_ message: String, arguments: [String]) -> String {
        let words = message.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard let first = words.first else { return "the command line can't be used" }
        var line = first.lowercased() + words.dropFirst()
        if let range = line.firstRange(of: ". Did you mean") { line.replaceSubrange(range, with: "; did you mean") }
        if line.last == "." { line.removeLast() }
        return line + hint(line, arguments)
    }

    /// What is said of a command that is named without the `--` before it; empty for commands that run none.
    static func terminatorHint(_ command: String) -> String {
        examples[command].map { "; a command follows '--', as in: subproxy \($0)" } ?? ""
    }

    /// What is wrong with what `help` is asked about; nil where that is a command, or nothing.
    ///
    /// - Parameter topic: the words behind `help`.
    static func helpProblem(_ topic: [String]) -> String? {
        var command: any ParsableCommand.Type = RootCommand.self
        for word in topic where !word.hasPrefix("-") && word != "help" {
            let below = command.configuration.subcommands
            if let next = below.first(where: { $0.configuration.commandName == word }) {
                command = next
            } else {
                return below.isEmpty
                    ? "unexpected argument '\(word)'" : "there is no command '\(word)'\(hint(word, below))"
            }
        }
        return nil
    }

    /// A suggestion for an argument or an option that is not expected, and for a value that is missing.
    private static func hint(_ line: String, _ arguments: [String]) -> String {
        let parts = line.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, !line.contains("; did you mean") else { return "" }
        if parts[0] == "missing value for " { return negativeHint(parts[1], arguments) }
        // The parser knows these without looking among them for a suggestion.
        if parts[0] == "unknown option ", let near = didYouMean(String(parts[1]), among: ["--version", "--help"]) {
            return "; did you mean '\(near)'?"
        }
        let command = arguments.first ?? ""
        let isUnexpected = parts[0].contains("unexpected argument")
        if isUnexpected || parts[0] == "unknown option ", !arguments.contains("--"), examples[command] != nil {
            return terminatorHint(command)
        }
        guard isUnexpected else { return "" }
        let argument = String(parts[1])
        let below = RootCommand.configuration.subcommands.first { $0.configuration.commandName == command }?
            .configuration.subcommands
        if let below, !below.isEmpty {
            return arguments.dropFirst().first { !$0.hasPrefix("-") } == argument ? hint(argument, below) : ""
        }
        if argument.hasSuffix(".yaml") || argument.hasSuffix(".yml") { return "; a map is named with --map" }
        return hint(argument, RootCommand.configuration.subcommands)
    }

    /// A suggestion for the name of a command that there is none of.
    private static func hint(_ name: String, _ commands: [any ParsableCommand.Type]) -> String {
        let names = commands.compactMap { $0.configuration.commandName }
        let isRoot = names.contains(ServeCommand.configuration.commandName ?? "")
        if let near = didYouMean(name, among: isRoot ? names + ["help"] : names) { return "; did you mean '\(near)'?" }
        if isRoot { return "; 'subproxy --help' lists the commands" }
        return "; there are \(names.dropLast().joined(separator: ", ")) and \(names.last ?? "")"
    }

    /// What is said where the parser takes a negative number for an option.
    ///
    /// - Parameter option: `--cache-memory <size>`.
    private static func negativeHint(_ option: Substring, _ arguments: [String]) -> String {
        let words = option.split(separator: " ")
        guard words.count == 2, ["<size>", "<duration>", "<number>"].contains(words[1]),
            let index = arguments.firstIndex(of: String(words[0])), arguments.indices.contains(index + 1),
            arguments[index + 1].hasPrefix("-"), arguments[index + 1].dropFirst().first?.isNumber == true
        else { return "" }
        return "; a \(words[1].dropFirst().dropLast()) can't be negative"
    }
}
