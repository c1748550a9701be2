import Archives
import ArgumentParser
import Substitution

/// `subproxy check`: what is wrong with a map, before anything is started on it.
struct CheckCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Look for errors in maps.",
        discussion: """
            All errors and warnings go to standard error, each with its line and column. '-' is standard input. Exits \
            with 0 if there is no error, else with 1.
            """)

    @Flag(help: "Treat warnings, such as one about a file that does not exist, as errors.")
    var strict = false

    @Argument(
        help: ArgumentHelp(
            "Substitution maps and archives; several are checked as one, as serve loads them.", valueName: "file"),
        completion: .maps)
    var maps: [String] = []

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        guard !maps.isEmpty, !maps.contains("") else {
            throw ValidationError("no map is named, as in: check substitutions.yaml")
        }
        let result = try MapSources(maps, process.signals).load()
        var messages = result.diagnostics
        // Of a map with errors, what could be read is looked at, and warned of nothing: what it seems to lack may stand
        // in what could not.
        let readable = result.map ?? result.remainder
        let files = readable?.checkFiles(limit: 1000)
        // A folder that is mapped to a file was noticed already where a map has it.
        let places = messages.filter(\.isError).map(\.place)
        messages += files?.diagnostics.filter { !places.contains($0.place) } ?? []
        messages += result.map.map { $0.checkExpressions(InterceptedHosts($0)) } ?? []
        let inSources = (readable?.checkTemplates() ?? []) + (readable?.checkDatabases() ?? [])
        messages += inSources.filter { result.map != nil || $0.isError }
        messages += result.map?.checkArchives() ?? []
        if strict { messages = messages.map(\.asError) }
        for message in messages { StandardStream.error.writeLine(message.rendering) }
        for note in result.map?.archives.flatMap(CheckCommand.unusable) ?? [] { StandardStream.error.writeLine(note) }
        let omitted = files.map { max(0, $0.missing + $0.unusable - $0.diagnostics.count) } ?? 0
        if omitted > 0 {
            StandardStream.error.writeLine("subproxy: \(counted(omitted, "further message")) not shown")
        }

        let hasErrors = messages.contains(where: \.isError) || (files?.unusable ?? 0) > 0
        guard let map = result.map, !hasErrors else { return .failure }
        let names = maps.map { $0 == "-" ? "<stdin>" : $0 }.joined(separator: ", ")
        StandardStream.output.writeLine("\(names): \(map.detailedSummary), \(verdict(messages, omitted))")
        return .success
    }

    /// Why entries can't answer: ten of each reason, and how many more there are.
    private static func unusable(_ archive: MapArchive) -> [String] {
        var counts: [Unusable: Int] = [:]
        var notes: [String] = []
        for number in 0..<archive.table.count where archive.isCounted(number) {
            guard let reason = archive.table[number].unusable else { continue }
            counts[reason, default: 0] += 1
            guard counts[reason, default: 0] <= 10 else { continue }
            notes.append("\(archive.archive.name): note: entry \(number + 1) can't answer: \(reason.words)")
        }
        for (reason, count) in counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where count > 10 {
            notes.append("\(archive.archive.name): note: \(count - 10) more entries can't answer: \(reason.words)")
        }
        return notes
    }

    private func verdict(_ messages: [MapDiagnostic], _ omitted: Int) -> String {
        let warnings = messages.count + omitted
        return warnings == 0 ? "no errors" : "no errors, \(counted(warnings, "warning"))"
    }
}
