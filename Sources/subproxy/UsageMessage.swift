import Diagnostics

/// Makes one clear line of what the parser of the command line says.
enum UsageMessage {
    private static let commands = ["serve", "check", "explain", "run", "replay", "archive", "ca", "help"]

    /// The message in this program's form: one line, no capital, no full stop before a suggestion.
    ///
    /// - Parameter command: the first word of the command line.
    static func oneLine(_ message: String, command: String?) -> String {
        let words = message.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard let first = words.first else { return "the command line can't be used" }
        var line = first.lowercased() + words.dropFirst()
        if let range = line.firstRange(of: ". Did you mean") { line.replaceSubrange(range, with: "; did you mean") }
        if line.last == "." { line.removeLast() }
        return line + hint(line, command)
    }

    /// A suggestion for an argument that is not expected.
    private static func hint(_ line: String, _ command: String?) -> String {
        let parts = line.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard line.contains("unexpected argument"), parts.count == 3 else { return "" }
        if command == "run" { return "; the command follows '--', as in: run --map FILE -- COMMAND" }
        if command == "archive" { return "; 'archive' has list, cat and convert" }
        if command == "ca" { return "; 'ca' has path, install, uninstall and doctor" }
        let argument = String(parts[1])
        if argument.hasSuffix(".yaml") || argument.hasSuffix(".yml") { return "; a map is named with --map" }
        if let command = didYouMean(argument, among: commands) { return "; did you mean '\(command)'?" }
        return "; 'subproxy --help' lists the commands"
    }
}
