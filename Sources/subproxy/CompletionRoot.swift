import ArgumentParser

/// The program as the completion scripts of shells know it: with the options of `serve` beside the commands.
///
/// What makes the scripts knows no default subcommand, so that ``RootCommand``'s would not complete `subproxy --map …`.
struct CompletionRoot: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: RootCommand.configuration.commandName, version: RootCommand.configuration.version,
        subcommands: RootCommand.configuration.subcommands)

    @OptionGroup var serve: ServeCommand

    /// Whether the arguments ask for a completion script.
    static func isAskedFor(by arguments: [String]) -> Bool {
        arguments.first?.hasPrefix("--generate-completion-script") ?? false
    }
}

extension CompletionKind {
    /// The files of maps, and the archives that may stand in a map's place.
    static var maps: CompletionKind { .file(extensions: ["yaml", "yml"] + ReplayCommand.extensions) }

    /// The words of an option that is one of a few.
    static func words<Choice: RawRepresentable<String> & CaseIterable>(of choice: Choice.Type) -> CompletionKind {
        .list(choice.allCases.map(\.rawValue))
    }
}
