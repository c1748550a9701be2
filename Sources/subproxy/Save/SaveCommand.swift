import Archives
import ArgumentParser
import Browser
import Dispatch
import Glibc
import Synchronization

/// `subproxy save`: a page as a person sees it, in one file that opens without a network.
struct SaveCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "save",
        abstract: "Save a page as a person sees it, and show that it opens offline.",
        usage: """
            subproxy save <url> -o <file> [<options>]
            subproxy save -i <list> -o <folder> [<options>]
            """,
        discussion: """
            Loads the page in the installed Chromium or Chrome, scrolls it to its end, freezes what it shows, without \
            scripts, and writes that with all it needs. FILE is an .mhtml or .mht, .webarchive, .har, .warc, .warc.gz, \
            or the folder of a recording; one that is there is replaced. Then it is loaded offline.

            EXAMPLES:
              subproxy save https://www.example.com/ -o page.mhtml
              subproxy save https://www.example.com/feed -o feed.har --cookie 'sid=1'
              subproxy save -i urls.txt -o pages/ --format webarchive
              subproxy replay page.mhtml --open

            Exits with 1 if the saved page asks for something that the file lacks, 64, 65 and 66 where a map or the \
            list has errors or can't be read, 69 where no browser can be started, 73 where FILE can't be written, \
            75 where it took too long, 76 where the page did not load, has an error status, or the browser ended.
            """)

    @Argument(help: ArgumentHelp("The page.", valueName: "url"), transform: SaveValue.url)
    var url: String?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "What is written: .mhtml, .webarchive, .har, .warc, .warc.gz, or a folder; with -i the folder of all.",
            valueName: "file"),
        completion: .file(extensions: ["mhtml", "mht", "webarchive", "har", "warc", "gz"]))
    var output: String?

    @Option(
        name: [.customShort("i"), .customLong("input")],
        help: ArgumentHelp("Save all URLs of a file, one a line; '-' is standard input.", valueName: "list"),
        completion: .file())
    var input: String?

    @Option(
        help: ArgumentHelp(
            "With -i, what is written of each page: mhtml, webarchive, har, warc, warc.gz or folder. (default: mhtml)",
            valueName: "format"),
        completion: .words(of: SaveFormat.self), transform: OptionValue.choice)
    var format: SaveFormat?

    @Option(
        help: ArgumentHelp(
            "With -i, how many pages are saved at a time. (default: one a core, at most four; with --user-data-dir, 1)",
            valueName: "number"),
        transform: OptionValue.count(1...64))
    var jobs: Int?

    @Option(
        help: ArgumentHelp("Write a picture of the saved page.", valueName: "file.png"),
        completion: .file(extensions: ["png"]))
    var screenshot: String?

    @Flag(help: "Let the picture have the whole page, at most 16,384 pixels high.")
    var fullPage = false

    @OptionGroup(title: "Page") var options: SaveOptions

    func run(in process: ProcessContext) throws -> ExitStatus {
        try options.check()
        guard let output else {
            throw ValidationError("it is not said what to write, as in: save https://www.example.com/ -o page.mhtml")
        }
        guard !output.isEmpty else {
            throw ValidationError("-o is empty; it names what to write, as in: -o page.mhtml")
        }
        guard output != "-" else { throw ValidationError("the page is not written to standard output; name a file") }
        guard !fullPage || screenshot != nil else { throw ValidationError("--full-page is for --screenshot") }
        guard (url == nil) != (input == nil) else {
            throw ValidationError(
                url == nil
                    ? "no page is named, as in: save https://www.example.com/ -o page.mhtml"
                    : "a page and -i exclude each other")
        }
        if input == nil, format != nil || jobs != nil {
            throw ValidationError("\(format != nil ? "--format" : "--jobs") is for -i")
        }
        if let picture = screenshot?.split(separator: "/").last?.lowercased(), !picture.hasSuffix(".png"),
            picture.dropFirst().contains(".")
        {
            throw ValidationError("'\(screenshot ?? "")': the picture is written as PNG; name a .png")
        }
        if input != nil, screenshot != nil { throw ValidationError("--screenshot is for one page") }
        if input != nil, options.userDataDir != nil, (jobs ?? 1) > 1 {
            throw ValidationError("a profile is used by one browser at a time: --user-data-dir needs --jobs 1")
        }
        process.limits.applyForServing()
        let signals = SaveSignals(process.signals)
        if let input {
            return try SaveList(command: self, input: input, folder: output, signals: signals).run()
        }
        let kind = try kind(of: output)
        let executable = try executable()
        let save = PageSave(
            options: options, url: url ?? "", name: output, kind: kind, executable: executable,
            interruption: signals.interruption,
            screenshot: screenshot.map { SaveScreenshot(file: $0, isFull: fullPage) }, progress: SaveProgress(""))
        let page: SavedPage
        do throws(CommandFailure) {
            page = try save.run()
        } catch {
            throw signals.status.map { CommandFailure(status: $0, message: "") } ?? error
        }
        for line in page.remarks { StandardStream.error.writeLine(line) }
        for line in options.json ? [page.json.text] : page.lines { StandardStream.output.writeLine(line) }
        return page.missCount > 0 ? .failure : .success
    }

    /// - Throws: ``CommandFailure`` with status 64 for a kind that is not written, or not with these options.
    func kind(of name: String) throws(CommandFailure) -> ArchiveKind {
        let kind = try ArchiveOutput.kind(of: name)
        guard !kind.isPage || !options.keepScripts else {
            throw CommandFailure(
                status: .usage,
                message: "'\(name)' can't hold what scripts ask for: --keep-scripts is for .har, .warc and folders")
        }
        return kind
    }

    func executable() throws(CommandFailure) -> String {
        do throws(BrowserFailure) {
            return try BrowserExecutable.find(options.browser)
        } catch {
            throw CommandFailure(status: .unavailable, message: error.message)
        }
    }
}

/// Ends browsers when a signal asks for the end.
final class SaveSignals: Sendable {
    let interruption = BrowserInterruption()
    private let number = Mutex<CInt?>(nil)

    init(_ signals: SignalMask) {
        let hasNoHangup = SignalMask.isIgnored(SIGHUP)
        DispatchQueue.global(qos: .userInitiated).async { [self] in
            while true {
                let arrival = signals.next().number
                // Who started the program with nohup(1) has it go on without a terminal.
                guard arrival != SIGCHLD, arrival != SIGHUP || !hasNoHangup else { continue }
                let isFirst = number.withLock { number in
                    defer { number = number ?? arrival }
                    return number == nil
                }
                // The second one does not wait for browsers to end.
                if !isFirst { _exit(ExitStatus.signal(arrival).rawValue) }
                interruption.interrupt()
            }
        }
    }

    /// What the program ends with; nil where no signal has come.
    var status: ExitStatus? { number.withLock { $0 }.map { ExitStatus.signal($0) } }
}
