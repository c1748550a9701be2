import ArgumentParser
import Basics
import Diagnostics
import Glibc
import Sessions

/// `subproxy session`: the sessions that are saved, without a proxy.
struct SessionCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Save, show and delete browsers' back and forward lists.",
        discussion: """
            A running proxy shows a saved session at /sessions/NAME, on each of its own addresses; its button gives the \
            browser's tab the session's back and forward list.

            A name begins with a letter or a digit, and has letters, digits, '.', '_' and '-', 64 at most.

            EXIT STATUS:
              0   done
              1   there is no such session
              64  an option or a name can't be used
              65  a file is no session
              66  a file, or the folder, can't be read
              73  a file or the folder can't be written
            """,
        subcommands: [
            SessionListCommand.self, SessionShowCommand.self, SessionSaveCommand.self, SessionDeleteCommand.self,
        ])

    func run(in process: ProcessContext) throws -> ExitStatus {
        throw ValidationError("say what to do: session list, session show, session save or session delete")
    }
}

/// Where sessions are, for all commands below `session`.
struct SessionFolderOptions: ParsableArguments {
    @Option(
        name: .customLong("map"),
        help: ArgumentHelp("Map beside which the folder 'sessions' is, as in serve.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var maps: [String] = []

    @Option(
        help: ArgumentHelp("Folder of saved sessions, as in serve.", valueName: "folder"), completion: .directory)
    var sessions: String?

    func folder() throws -> SessionFolder {
        if let sessions { return SessionFolder(path: sessions) }
        guard let map = maps.first else {
            throw ValidationError("the folder is not named; use --map FILE or --sessions FOLDER")
        }
        return SessionFolder(besideMap: map == "-" ? "" : map)
    }
}

extension SessionName {
    /// A name on the command line.
    static func named(_ text: String) throws -> SessionName {
        guard let name = SessionName(text) else {
            throw OptionValueError(
                "no name of a session: letters, digits, '.', '_' and '-', the first one a letter or a digit, 64 at most"
            )
        }
        return name
    }
}

extension SessionFolder {
    /// Reads a session, or says why it can't be.
    func readOrFail(_ name: SessionName) throws(CommandFailure) -> SavedSession {
        do throws(ReadFailure) {
            return try read(name)
        } catch {
            throw CommandFailure(error, self, name)
        }
    }
}

extension CommandFailure {
    init(_ failure: SessionFolder.ReadFailure, _ folder: SessionFolder, _ name: SessionName) {
        let file = folder.file(of: name)
        switch failure {
        case .notFound: self.init(status: .failure, message: "there is no session '\(name)' in \(folder.path)")
        case .system(let error):
            self.init(status: .noInput, message: "the file '\(file)' can't be read: \(error.text)")
        case .noSession(let error):
            StandardStream.error.writeLine(error.diagnostic(file: file).rendered(source: try? folder.contents(name)))
            self.init(status: .dataError, message: "")
        }
    }
}

/// `subproxy session list`: a line a session.
struct SessionListCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the saved sessions.",
        discussion: "A line a session: its name, when it was saved, how many pages it has, and the one that is shown.")

    @OptionGroup var options: SessionFolderOptions

    @Flag(help: "Print a JSON array.")
    var json = false

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        let folder = try options.folder()
        // Beside a map the folder is made with the first session; one that is named is meant to be there.
        if options.sessions != nil, access(folder.path, F_OK) != 0 {
            throw CommandFailure(
                status: .noInput, message: "the folder '\(folder.path)' can't be read: \(SystemError().text)")
        }
        let names: [SessionName]
        do {
            names = try folder.names()
        } catch {
            throw CommandFailure(
                status: .noInput, message: "the folder '\(folder.path)' can't be read: \(error.text)")
        }
        var status = ExitStatus.success
        var sessions: [(name: SessionName, session: SavedSession)] = []
        for name in names {
            do {
                sessions.append((name, try folder.readOrFail(name)))
            } catch {
                // The others are listed all the same.
                if !error.message.isEmpty { StandardStream.error.writeLine("subproxy: error: \(error.message)") }
                status = error.status
            }
        }
        if json {
            StandardStream.output.writeLine("[\(sessions.map(object).joined(separator: ","))]")
        } else {
            for line in lines(sessions) { StandardStream.output.writeLine(line) }
        }
        return status
    }

    private func object(_ name: SessionName, _ session: SavedSession) -> String {
        var object = JSONObjectText()
        object.add("name", name.text)
        object.add("saved", session.saved)
        object.add("current", session.current)
        object.add("count", session.entries.count)
        object.add("url", session.entries[session.current].url)
        object.add("title", session.entries[session.current].title)
        return object.text
    }

    private func lines(_ sessions: [(name: SessionName, session: SavedSession)]) -> [String] {
        let rows = sessions.map { name, session in
            [name.text, session.saved ?? "-", "\(session.entries.count)", session.entries[session.current].url]
        }
        let widths = (0..<3).map { column in rows.map { $0[column].utf8.count }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { cell, width in
                cell + String(repeating: " ", count: max(0, width - cell.utf8.count))
            }
            return (cells + [row[3]]).joined(separator: "  ")
        }
    }
}

/// `subproxy session show NAME`: the session's text.
struct SessionShowCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print a saved session as YAML.",
        usage: "subproxy session show <name> [<options>]")

    @OptionGroup var options: SessionFolderOptions

    @Flag(help: "Print a JSON object.")
    var json = false

    @Argument(help: ArgumentHelp("The session's name.", valueName: "name"), transform: SessionName.named)
    var name: SessionName

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        let session = try options.folder().readOrFail(name)
        let text = json ? session.json : Array(session.yaml.dropLast())
        StandardStream.output.writeLine(String(decoding: text, as: UTF8.self))
        return .success
    }
}

/// `subproxy session delete NAME`.
struct SessionDeleteCommand: ProgramCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete a saved session.")

    @OptionGroup var options: SessionFolderOptions

    @Argument(help: ArgumentHelp("The session's name.", valueName: "name"), transform: SessionName.named)
    var name: SessionName

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        let folder = try options.folder()
        let isDeleted: Bool
        do {
            isDeleted = try folder.delete(name)
        } catch {
            throw CommandFailure(
                status: .cantCreate, message: "the file '\(folder.file(of: name))' can't be deleted: \(error.text)")
        }
        guard isDeleted else { throw CommandFailure(.notFound, folder, name) }
        return .success
    }
}
