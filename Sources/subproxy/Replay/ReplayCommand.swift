import Archives
import ArgumentParser
import ForwardProxy
import Substitution

/// `subproxy replay`: archives answer, and nothing else.
struct ReplayCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Replay archives offline: HAR, MHTML, webarchive, WARC, WACZ, recordings.",
        usage: "subproxy replay <archive> … [<options of serve>] [-- <command> …]",
        discussion: """
            A proxy that answers from archives, https included, and asks no origin: what is missing is 504. Behind \
            '--' a command is run with it, as by 'run'. Maps may stand beside archives; their rules come first.

            EXAMPLES:
              subproxy replay checkout.har -- npm test
              subproxy replay page.mhtml --listen 127.0.0.1:8888
              subproxy replay site.wacz --report misses.json --fail-on-miss -- ./crawl.sh

            Exits as 'serve' and 'run' do; with --fail-on-miss 1 if something was missed and the command's own status \
            is 0.
            """)

    /// What files of archives are called.
    static let extensions = ["har", "zip", "mhtml", "mht", "webarchive", "warc", "gz", "wacz"]

    @Argument(
        help: ArgumentHelp("Archives, and maps.", valueName: "archive"),
        completion: .file(extensions: ReplayCommand.extensions + ["yaml", "yml"]))
    var archives: [String] = []

    @OptionGroup(title: "Replay") var replay: ReplayOptions
    @OptionGroup(title: "Proxy") var options: ProxyOptions
    @OptionGroup(title: "Logs") var logs: LogOptions
    @OptionGroup(title: "Limits") var limits: LimitOptions

    func run(in process: ProcessContext) throws -> ExitStatus {
        let command = process.command
        guard !archives.isEmpty else {
            throw ValidationError("no archive is named, as in: replay checkout.har -- npm test")
        }
        for name in archives where name != "-" {
            try RecordingFolder.refuseOther(name)
            guard let reason = LocalFile.unreadableReason(name, mayBeFolder: true, mayBePipe: true) else { continue }
            let isCommand = command.isEmpty && name != archives.first && !name.contains(".")
            let hint = isCommand ? UsageMessage.terminatorHint("replay") : ""
            throw CommandFailure(status: .noInput, message: "the archive '\(name)' can't be read: \(reason)\(hint)")
        }
        guard command.isEmpty || options.passwordFile == nil else {
            throw ValidationError("--auth is for serve; the command could not give a password")
        }
        let report = replay.makeReport()
        var run = ProxyRun(options, logs, limits)
        run.options.maps = archives + options.maps
        let missing = replay.missing ?? .timeout
        run.options.offline = missing != .forward || options.offline
        run.tellsUnused = true
        run.archives.match = replay.match
        run.archives.missing = missing
        run.configure = { configuration in
            configuration.replay = report
            configuration.missingHost = missing
            configuration.decrypted = replay.decrypted
        }
        let isServing = command.isEmpty
        guard isServing || !replay.opensWindow else {
            throw ValidationError("--open is for replay without a command")
        }
        if let file = replay.report { try ReplayReportText.check(file, others: run.options.maps) }
        if replay.opensWindow { try ReplayWindow.check(hasNoSandbox: replay.noSandbox) }
        let holder = WindowHolder()
        run.began = { [replay, options] proxy in
            if let file = replay.report {
                try ReplayReportText.check(file, others: proxy.server.map.watchedFiles)
            }
            for archive in proxy.server.map.archives where archive.table.count == 0 {
                StandardStream.error.writeLine("subproxy: warning: \(archive.archive.name) has no entries")
            }
            guard isServing else { return }
            if replay.opensWindow {
                guard let page = replay.page ?? ReplayCommand.firstPage(proxy.server.map) else {
                    throw CommandFailure(
                        status: .dataError, message: "the archive has no page to open; name one with --page")
                }
                return try holder.open(
                    page, proxy, authorityFolder: options.authorityFolder, hasNoSandbox: replay.noSandbox)
            }
            StandardStream.error.writeLine(
                "subproxy: replaying \(ReplayCommand.subject(proxy.server.map)); open it through the proxy, or give --open"
            )
            for line in ReplayCommand.unanswering(proxy.server.map) { StandardStream.error.writeLine(line) }
        }
        run.ends = { holder.close() }
        run.ended = { [replay] proxy, status in
            let text = ReplayReportText(report, proxy.server.map)
            if let failure = replay.report.flatMap({ text.write(to: $0) }) {
                return status == .success ? failure : status
            }
            return status == .success && replay.failOnMiss && report.missCount > 0 ? .failure : status
        }
        return isServing ? try run.serve(in: process) : try run.run(command, in: process)
    }

    /// Where a replay begins: the archive's first page.
    static func firstPage(_ map: SubstitutionMap) -> String? {
        map.archives.lazy.compactMap { archive -> String? in
            let named = archive.archive.pages.map(\.url) + (archive.archive.document.map { [$0] } ?? [])
            return named.lazy.compactMap(ReplayCommand.address).first
                ?? archive.firstPage.flatMap(ReplayCommand.address)
        }.first
    }

    /// A URL of an archive as a browser and a terminal can be given it, which is http or https; nil for all others.
    private static func address(_ url: [UInt8]) -> String? {
        guard let address = SavedURL.normalForm(url) else { return nil }
        let fragment = url.drop { $0 != UInt8(ascii: "#") }
        let isPlain = fragment.allSatisfy { (0x21...0x7e).contains($0) }
        return String(decoding: address + (isPlain ? fragment : []), as: UTF8.self)
    }

    /// A line for each archive of whose entries less than half can answer, such as a HAR that was saved without bodies.
    private static func unanswering(_ map: SubstitutionMap) -> [String] {
        map.archives.compactMap { archive in
            let counts = archive.entryCounts
            let unusable = counts.all - counts.usable
            guard unusable > counts.usable else { return nil }
            var reasons: [String: Int] = [:]
            for number in 0..<archive.table.count where archive.isCounted(number) {
                if let unusable = archive.table[number].unusable { reasons[unusable.words, default: 0] += 1 }
            }
            let first = reasons.max { ($0.value, $1.key) < ($1.value, $0.key) }.map { ", mostly since \($0.key)" } ?? ""
            return "subproxy: \(unusable) of the \(countedEntries(counts.all)) of \(archive.archive.name) can't answer"
                + "\(first); 'subproxy archive list' says why of each"
        }
    }

    /// What is replayed: `https://www.example.com/ (28 entries)`.
    private static func subject(_ map: SubstitutionMap) -> String {
        let page = firstPage(map)
        let entries = countedEntries(map.entryCounts.usable)
        return page.map { "\($0) (\(entries))" } ?? entries
    }
}

/// The options of `replay` beside those of `serve`.
struct ReplayOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            What is answered for what no archive has: 504, 404, 204, or forward, which asks the origin. (default: 504)
            """, valueName: "what"),
        completion: .words(of: ArchiveMissing.self), transform: OptionValue.choice)
    var missing: ArchiveMissing?

    @Option(
        help: ArgumentHelp(
            """
            How requests find entries, for archives that don't say: strict, tolerant or nearest. (default: tolerant; \
            for saved pages nearest)
            """, valueName: "mode"),
        completion: .words(of: ArchiveMatchMode.self), transform: OptionValue.choice)
    var match: ArchiveMatchMode?

    @Option(
        name: .customLong("decrypt"),
        help: ArgumentHelp(
            "Hosts whose tunnels are decrypted beside the archives', so that their misses are known by URL: a,*.b, all.",
            valueName: "list"),
        transform: OptionValue.hosts)
    var decrypt: [String]?

    @Option(
        help: ArgumentHelp(
            "Write what was answered and missed, as JSON; '-' is text on standard error.", valueName: "file"),
        completion: .file())
    var report: String?

    @Flag(help: "Open the archive's first page in Chromium, with a profile of its own, and end when that is closed.")
    var open = false

    @Option(
        help: ArgumentHelp(
            "Open this page instead of the archive's first one; --open may be left out.", valueName: "url"))
    var page: String?

    @Flag(help: "Let the browser run without its sandbox, as root has to.")
    var noSandbox = false

    @Flag(help: "Exit with 1 if something was missed.")
    var failOnMiss = false

    @Option(
        help: ArgumentHelp("Hosts whose misses don't count: a,*.b, all.", valueName: "list"),
        transform: OptionValue.hosts)
    var ignore: [String]?

    var decrypted: [String] { decrypt ?? [] }
    var opensWindow: Bool { open || page != nil }

    /// Hosts that Chromium asks for by itself.
    static let ofChromium = [
        "*.google.com", "*.googleapis.com", "*.gstatic.com", "*.gvt1.com", "*.googleusercontent.com",
    ]

    func makeReport() -> ReplayReport { ReplayOptions.makeReport(ignoring: ignore, hasBrowser: opensWindow) }

    /// - Parameters:
    ///   - hosts: those whose misses don't count.
    ///   - hasBrowser: whether a browser asks for what is its own, an icon among it.
    static func makeReport(ignoring hosts: [String]?, hasBrowser: Bool) -> ReplayReport {
        let patterns = ((hosts ?? []) + (hasBrowser ? ofChromium : [])).map { HostPattern($0) }
        return ReplayReport { host, target in
            hasBrowser && target == "/favicon.ico" || patterns.contains { $0.matches(host) }
        }
    }
}
