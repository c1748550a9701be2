import ArgumentParser

extension RootCommand {
    /// Parses a command line that begins with a command's name, or with an option, which is one of serve's.
    ///
    /// Asked from the root, the parser makes the options of a command five times, which is half of all that a start
    /// does; asked for the command alone, twice.
    ///
    /// - Returns: nil for other command lines, and where the parser has something to say, such as an error or help:
    ///   from the root it speaks of the whole program.
    static func parseNamed(_ arguments: [String]) -> (any ProgramCommand)? {
        guard !["--help", "-h", "--version"].contains(arguments.first) else { return nil }
        var type: any ParsableCommand.Type = RootCommand.self
        var rest = arguments[...]
        while let name = rest.first,
            let named = type.configuration.subcommands.first(where: { $0.configuration.commandName == name })
        {
            type = named
            rest = rest.dropFirst()
        }
        if type is RootCommand.Type, rest.first?.hasPrefix("-") == true { type = ServeCommand.self }
        guard type.configuration.subcommands.isEmpty else { return nil }
        return (try? type.parseAsRoot(Array(rest))) as? any ProgramCommand
    }
}
