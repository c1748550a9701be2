import ArgumentParser
import Basics
import Diagnostics
import Glibc
import Sessions

/// `subproxy session save NAME FILE`: a session from a file, in one of the forms that others write.
struct SessionSaveCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "save",
        abstract: "Save a session from a file; one of that name is replaced.",
        usage: "subproxy session save <name> <file> [<options>]",
        discussion: """
            FILE is a session as 'session show' prints it, in YAML or JSON; {"history": […], "currentPage": -1} of \
            Firefox for iOS; {"urls": […], "titles": […], "offset": -1} of Chromium for iOS; or one of Firefox's \
            *.jsonlz4, such as sessionstore-backups/previous.jsonlz4 in its profile. '-' is standard input.

            A session has http and https URLs alone, 50 at most. Of Firefox's, pages such as about:home are left out, \
            and named on standard error.
            """)

    @OptionGroup var options: SessionFolderOptions

    @Option(
        help: ArgumentHelp(
            "Tab of the selected window of a *.jsonlz4, from 1. (default: the selected one)", valueName: "number"),
        transform: OptionValue.count(1...999_999))
    var tab: Int?

    @Argument(help: ArgumentHelp("The session's name.", valueName: "name"), transform: SessionName.named)
    var name: SessionName

    @Argument(
        help: ArgumentHelp("The file.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json", "jsonlz4"]))
    var file: String

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        let folder = try options.folder()
        var session = try session(try contents())
        if session.saved == nil { session.saved = SavedSession.time(Int64(time(nil))) }
        do {
            _ = try folder.write(session, as: name)
        } catch {
            throw CommandFailure(
                status: .cantCreate, message: "the file '\(folder.file(of: name))' can't be written: \(error.text)")
        }
        return .success
    }

    private func contents() throws(CommandFailure) -> [UInt8] {
        do throws(SystemError) {
            if file == "-" { return try FileReading.contents(of: STDIN_FILENO, upTo: FirefoxSession.mostBytes + 1) }
            return try FileReading.contents(of: file, upTo: FirefoxSession.mostBytes + 1)
        } catch {
            throw CommandFailure(
                status: .noInput, message: "the file '\(visibleText(of: file.utf8))' can't be read: \(error.text)")
        }
    }

    private func session(_ bytes: [UInt8]) throws -> SavedSession {
        let isFirefox = FirefoxSession.isOne(bytes)
        guard isFirefox || tab == nil else {
            throw ValidationError("--tab is for a *.jsonlz4 of Firefox, which has several tabs")
        }
        do throws(SessionError) {
            guard isFirefox else { return try SavedSession(bytes) }
            let tab = try FirefoxSession.tab(tab, of: bytes)
            for url in tab.omitted {
                StandardStream.error.writeLine("subproxy: left out: \(visibleText(of: url.utf8, limit: 200))")
            }
            return tab.session
        } catch {
            let name = file == "-" ? "<stdin>" : file
            StandardStream.error.writeLine(error.diagnostic(file: name).rendered(source: isFirefox ? nil : bytes))
            throw CommandFailure(status: .dataError, message: "")
        }
    }
}
