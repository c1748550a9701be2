import ArgumentParser

/// `subproxy archive`: what an archive has, and archives of one format from those of another.
struct ArchiveCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "archive",
        abstract: "List archives, print their entries, convert them.",
        discussion: """
            Archives are HAR, MHTML, webarchive, WARC and WACZ files, and recordings, which are folders. What a file is, \
            its first bytes tell.
            """,
        subcommands: [ArchiveListCommand.self, ArchiveCatCommand.self, ArchiveConvertCommand.self])

    func run(in process: ProcessContext) throws -> ExitStatus {
        throw ValidationError("say what to do: archive list, archive cat or archive convert")
    }
}

extension CompletionKind {
    /// Names of archives.
    static var archives: CompletionKind {
        .file(extensions: ["har", "zip", "mhtml", "mht", "webarchive", "warc", "gz", "wacz"])
    }
}
