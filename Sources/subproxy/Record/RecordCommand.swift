import Archives
import ArgumentParser
import Basics
import ForwardProxy
import Recorder
import Substitution

/// `subproxy record`: writes down what origins answer, and replays it ever after.
struct RecordCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Record what origins answer, and replay it from then on.",
        usage: "subproxy record -o <out> [<options of serve>] [-- <command> …]",
        discussion: """
            A proxy as 'serve', or for the length of a command as 'run', that writes down what origins answer. Where a \
            recording is there already, it is replayed instead; --mode says otherwise. OUT is a folder, or a .har, \
            .warc or .warc.gz.

            With a command, or --page, https is decrypted for all hosts, and for the command alone; else for those \
            that --decrypt or a map names. Credentials are taken out of what is written; see --redact.

            EXAMPLES:
              subproxy record -o checkout/ -- npm test
              subproxy record -o checkout/ --update -- npm test
              subproxy record -o api.har --decrypt api.example.com --listen 127.0.0.1:8888

            Exits as 'serve' and 'run' do; 66 where --mode none finds no recording, 73 where another recorder writes \
            there, 74 where not all could be written; with --fail-on-miss 1 if something was missed.
            """)

    @OptionGroup(title: "Record") var record: RecordOptions
    @OptionGroup(title: "Proxy") var options: ProxyOptions
    @OptionGroup(title: "Logs") var logs: LogOptions
    @OptionGroup(title: "Limits") var limits: LimitOptions

    func run(in process: ProcessContext) throws -> ExitStatus {
        let command = process.command
        guard let name = record.output else {
            throw ValidationError("it is not said what to write, as in: record -o checkout/ -- npm test")
        }
        guard !name.isEmpty else { throw ValidationError("-o is empty; it names what to write, as in: -o checkout/") }
        guard command.isEmpty || options.passwordFile == nil else {
            throw ValidationError("--auth is for serve; the command could not give a password")
        }
        guard command.isEmpty || record.page == nil else {
            throw ValidationError("--page is for record without a command")
        }
        guard record.noRedact == false || record.redact.isEmpty else {
            throw ValidationError("--redact and --no-redact exclude each other")
        }
        let target = try RecordTarget(name)
        if let file = record.report { try ReplayReportText.check(file, others: target.places + options.maps) }
        if record.page != nil { try ReplayWindow.check(hasNoSandbox: record.noSandbox) }
        let left = try target.find()
        // What was cut off in its first entry is recorded anew.
        let found = left.flatMap { $0.entries > 0 ? $0 : nil }
        let mode = try record.effectiveMode()
        let report = record.makeReport()
        var run = ProxyRun(options, logs, limits)
        run.needsMap = false
        run.tellsUnused = true
        let decryptsAll = !command.isEmpty || record.page != nil
        let ports = options.connectPorts
        let hasAddress = !options.listeners.isEmpty
        run.configure = { [record] configuration in
            configuration.replay = report
            configuration.replaysForwarded = mode != .all
            configuration.decrypted = (decryptsAll ? ["*"] : []) + (record.decrypt ?? [])
            configuration.tunnelled = record.tunnel ?? []
            // The command, or the browser, is this user's, and so is what it asks for.
            configuration.admitsOwnUserAlone = decryptsAll && !hasAddress
            if decryptsAll, ports == nil { configuration.connectPorts = Set(1...UInt16.max) }
        }
        var recording: RecordingRun?
        switch (mode, found) {
        case (.none, nil):
            throw CommandFailure(
                status: .noInput, message: "\(target.name) has no recording, and --mode none makes none")
        case (.once, .some) where LockedFile.isLocked(target.file) && !ScratchRecording.isUnderWay(target):
            throw RecordingRun.failure(.busy, target)
        case (.none, let found?), (.once, let found?):
            let (verb, them) = found.entries == 1 ? ("is", "it") : ("are", "them")
            StandardStream.error.writeLine(
                "subproxy: \(target.name) has \(countedEntries(found.entries)), which \(verb) replayed; "
                    + "--update adds to \(them), --mode all records anew")
            run.options.maps = target.maps + options.maps
            run.options.offline = true
            run.archives.missing = .timeout
        case (.newEpisodes, let found?):
            recording = try .append(to: target, record, found: found)
            run.options.maps = target.maps + options.maps
            run.archives.missing = .forward
            run.archives.isAppended = true
            // Else each entry that is added would begin all sequences anew.
            run.watchesFiles = false
        case (.once, nil) where ScratchRecording.isUnderWay(target),
            (.newEpisodes, nil) where ScratchRecording.isUnderWay(target):
            // Another one makes the first, which would take the place of this one.
            throw RecordingRun.failure(.busy, target)
        case (.all, _), (_, nil):
            // Those that were there before: the ones that the recorder writes are none.
            run.options.maps = target.rules + options.maps
            run.archives.written = target.file
            recording = mode == .all ? try .anew(target, record) : try .append(to: target, record, found: left)
        }
        return try start(run, recording, report, in: process)
    }

    private func start(
        _ run: ProxyRun, _ recording: RecordingRun?, _ report: ReplayReport, in process: ProcessContext
    ) throws -> ExitStatus {
        var run = run
        let configure = run.configure
        run.configure = { configuration in
            configure(&configuration)
            configuration.recorder = recording?.recorder
        }
        let holder = WindowHolder()
        run.began = { [record, options] proxy in
            if let file = record.report {
                try ReplayReportText.check(file, others: proxy.server.map.watchedFiles)
            }
            guard let page = record.page else { return }
            try holder.open(page, proxy, authorityFolder: options.authorityFolder, hasNoSandbox: record.noSandbox)
        }
        run.commandIsEnded = { recording?.keepOld() }
        run.ends = { holder.close() }
        run.ended = { [record] proxy, status in
            var status = status
            if let recording { status = recording.finish(status) }
            let failure = record.report.flatMap { ReplayReportText(report, proxy.server.map).write(to: $0) }
            if let failure, status == .success { status = failure }
            return status == .success && record.failOnMiss && report.missCount > 0 ? .failure : status
        }
        do {
            return process.command.isEmpty ? try run.serve(in: process) : try run.run(process.command, in: process)
        } catch {
            recording?.abandon()
            throw error
        }
    }
}

/// What is done where a recording is there, as in VCR.
enum RecordMode: String, CaseIterable {
    case once
    case newEpisodes = "new_episodes"
    case all, none
}

/// The options of `record` beside those of `serve`.
struct RecordOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "What is written: a folder, a .har, a .warc or .warc.gz.", valueName: "out"),
        completion: .file(extensions: ["har", "warc", "gz"]))
    var output: String?

    @Option(
        help: ArgumentHelp(
            """
            What is done where a recording is there: once replays it, new_episodes adds what it lacks, all records \
            anew; none never records. (default: once)
            """, valueName: "mode"),
        completion: .words(of: RecordMode.self), transform: OptionValue.choice)
    var mode: RecordMode?

    @Flag(help: "Add what the recording lacks, as --mode new_episodes.")
    var update = false

    @Option(
        name: .customLong("decrypt"),
        help: ArgumentHelp(
            "Hosts whose tunnels are decrypted beside those that the maps name: a,*.b, all.", valueName: "list"),
        transform: OptionValue.hosts)
    var decrypt: [String]?

    @Option(
        name: .customLong("tunnel"),
        help: ArgumentHelp("Hosts whose tunnels are not decrypted, and not recorded: a,*.b.", valueName: "list"),
        transform: OptionValue.hosts)
    var tunnel: [String]?

    @Option(
        help: ArgumentHelp(
            """
            Further fields, parameters and members of JSON whose values are taken out, with commas between; repeatable. \
            These are looked for in the JSON of responses too.
            """, valueName: "names"),
        transform: OptionValue.redactedNames)
    var redact: [[String]] = []

    @Flag(help: "Take nothing out; what is written is for its owner alone (mode 0600).")
    var noRedact = false

    @Option(
        name: .customLong("record-body"),
        help: ArgumentHelp("The longest body of a response that is recorded. (default: 256MiB)", valueName: "size"),
        transform: OptionValue.size(1...(1 << 40)))
    var bodyLimit: Int?

    @Flag(help: "Indent JSON in a folder.")
    var prettyJson = false

    @Option(
        help: ArgumentHelp(
            "Write what was answered and missed, as JSON; '-' is text on standard error.", valueName: "file"),
        completion: .file())
    var report: String?

    @Flag(help: "Exit with 1 if something was missed.")
    var failOnMiss = false

    @Option(
        help: ArgumentHelp("Hosts whose misses don't count: a,*.b, all.", valueName: "list"),
        transform: OptionValue.hosts)
    var ignore: [String]?

    @Option(
        help: ArgumentHelp(
            "Open this page in Chromium, with a profile of its own, and end when that is closed.", valueName: "url"))
    var page: String?

    @Flag(help: "Let the browser run without its sandbox, as root has to.")
    var noSandbox = false

    /// - Throws: where options exclude each other.
    func effectiveMode() throws -> RecordMode {
        guard update else { return mode ?? .once }
        guard mode == nil || mode == .newEpisodes else {
            throw ValidationError("--update is --mode new_episodes, and not \(mode?.rawValue ?? "")")
        }
        return .newEpisodes
    }

    func makeReport() -> ReplayReport { ReplayOptions.makeReport(ignoring: ignore, hasBrowser: page != nil) }
}
