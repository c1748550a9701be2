import Archives
import Basics
import Browser
import ForwardProxy
import Glibc
import HTTPSemantics
import Substitution

/// Saves one page: loads, scrolls and freezes it, loads the static copy, writes what that asks for, and shows that the
/// archive has it all.
struct PageSave {
    let options: SaveOptions
    let url: String
    /// As its user wrote it.
    let name: String
    let kind: ArchiveKind
    let executable: String
    let interruption: BrowserInterruption
    var screenshot: SaveScreenshot?
    var progress = SaveProgress(nil)
    /// Called before anything is written.
    var willWrite: () throws(CommandFailure) -> Void = {}

    /// - Throws: ``CommandFailure``; then nothing was written, but where it is said.
    func run() throws(CommandFailure) -> SavedPage {
        let output = try ArchiveOutput(name, kind, replaces: true)
        try output.checkFolder()
        try screenshot?.checkFolder()
        defer { progress.end() }
        let proxies = try SaveProxies(url, options.origins, maps: try maps())
        defer { proxies.close() }
        var browser = BrowserOptions(executable: executable)
        browser.proxy = proxies.browserProxy
        browser.userDataFolder = options.userDataDir
        browser.hasNoSandbox = options.noSandbox
        browser.userAgent = options.userAgent
        if let viewport = options.viewport { browser.viewport = viewport }
        progress.show("starting the browser")
        let session: BrowserSession
        do throws(BrowserFailure) {
            session = try BrowserSession(browser, interruption: interruption)
        } catch {
            guard error.kind == .ended || error.kind == .timedOut else { throw failure(error, proxies) }
            throw CommandFailure(status: .unavailable, message: error.message)
        }
        defer { session.close() }
        return try save(session, proxies, output)
    }

    private func maps() throws(CommandFailure) -> SubstitutionMap? {
        guard !options.maps.isEmpty else { return nil }
        let result = SubstitutionMap.load(files: options.maps)
        for message in result.diagnostics { StandardStream.error.writeLine(message.rendering) }
        guard let map = result.map else { throw CommandFailure(status: .dataError, message: "") }
        return map
    }

    private func save(
        _ session: BrowserSession, _ proxies: SaveProxies, _ output: ArchiveOutput
    ) throws(CommandFailure) -> SavedPage {
        var capture = options.capture(of: url)
        // Browsers look up the parts of a page's file by whole URLs.
        capture.namesFragments = !kind.isPage
        capture.progress = { [progress, url] step in
            switch step {
            case .loading: progress.show("loading \(url)")
            case .scrolling: progress.show("scrolling")
            case .waiting: progress.show("waiting")
            case .freezing: progress.show("freezing")
            }
        }
        var result: PageCapture.Result
        var asked: [PageRequest] = []
        do {
            result = try capture.capture(in: session)
            if try proxies.cameQuiet(result.page, at: result.load.askedURL) { result.page.documents = [] }
            if !result.page.documents.isEmpty {
                try proxies.answer(result.page, at: result.load.askedURL)
                progress.show("loading the static copy")
                var page = try capture.reload(result, in: session)
                // What was not frozen is not to come back with its scripts.
                if try capture.addLateFrames(of: page, to: &result) {
                    page.close()
                    try proxies.answer(result.page, at: result.load.askedURL)
                    page = try capture.reload(result, in: session)
                }
                asked = page.requests
                page.close()
            }
        } catch let error as BrowserFailure {
            throw failure(error, proxies)
        } catch let error as CommandFailure {
            throw error
        } catch {
            throw CommandFailure(status: .notLoaded, message: "\(error)")
        }
        progress.show("writing \(name)")
        let captured = try proxies.finish()
        let selection = SavedEntries(
            captured, result, asked: asked, keepsAll: options.all || options.keepScripts, isPage: kind.isPage)
        try write(selection, result, output, proxies)
        progress.show("verifying \(name)")
        return try verify(capture, result, selection, session, proxies)
    }

    private func write(
        _ selection: SavedEntries, _ result: PageCapture.Result, _ output: ArchiveOutput, _ proxies: SaveProxies
    ) throws(CommandFailure) {
        var plan = ConversionPlan(
            program: "subproxy", version: programVersion, time: Int64(clamping: wallNanoseconds() / 1_000_000))
        let document = SavedURL.normalForm(Array(result.load.url.utf8)) ?? Array(result.load.url.utf8)
        plan.add(ArchivePage(url: document, title: result.page.title.isEmpty ? nil : result.page.title))
        let archives = try proxies.completed(selection)
        // What was there stays where somebody has this end.
        let conversion = Conversion(
            archives, redaction: kind.isPage ? nil : .ofFields, isKept: { selection.isKept($0, $1) },
            isInterrupted: { [interruption] in interruption.isInterrupted })
        try willWrite()
        plan.isPrivate = output.isPrivate
        _ = try output.write { path throws(ConversionFailure) in try conversion.write(kind, to: path, plan) }
    }

    /// Loads what was written offline.
    private func verify(
        _ capture: PageCapture, _ result: PageCapture.Result, _ selection: SavedEntries, _ session: BrowserSession,
        _ proxies: SaveProxies
    ) throws(CommandFailure) -> SavedPage {
        let archive = try NamedArchive(name)
        let icon = selection.namesIcon
        let report = ReplayReport { _, target in !icon && target == "/favicon.ico" }
        var requests: [PageRequest]?
        let server = try proxies.verifying(name, options.keepScripts ? .tolerant : .strict, report)
        defer { server.stop() }
        do throws(BrowserFailure) {
            let page = try capture.reload(
                result, in: session, through: SaveProxies.address(of: server),
                until: Deadline(milliseconds: max(capture.time, 30_000)))
            defer {
                requests = page.requests
                page.close()
            }
            if let screenshot {
                let picture = try page.screenshot(
                    isFull: screenshot.isFull, until: Deadline(milliseconds: max(capture.time, 30_000)))
                try screenshot.write(picture)
            }
        } catch {
            // What the browser says of a page that it can't show is told by the misses.
            guard error.kind == .notLoaded || error.kind == .timedOut else { throw failure(error, proxies) }
        }
        let answers = OfflineAnswers(report, requests: requests)
        return try SavedPage(self, result, selection, archive, answers, proxies)
    }

    /// What the program ends with for what has become of the browser.
    private func failure(_ failure: BrowserFailure, _ proxies: SaveProxies) -> CommandFailure {
        switch failure.kind {
        case .unavailable: CommandFailure(status: .unavailable, message: failure.message)
        case .timedOut:
            CommandFailure(status: .temporaryFailure, message: "\(failure.message); --timeout gives it more time")
        case .unusable: CommandFailure(status: .usage, message: failure.message)
        case .files: CommandFailure(status: .cantCreate, message: failure.message)
        case .interrupted: CommandFailure(status: .signal(SIGINT), message: "")
        case .notLoaded:
            CommandFailure(
                status: .notLoaded,
                message: proxies.reason(SavedURL.text(url)).map { "\(url): \($0)" } ?? notLoaded(failure.message))
        case .ended, .misunderstood: CommandFailure(status: .notLoaded, message: failure.message)
        }
    }

    private func notLoaded(_ message: String) -> String {
        message.contains(": status ") ? "\(message); --any-status saves it all the same" : message
    }
}

/// The picture of what was saved.
struct SaveScreenshot {
    let file: String
    let isFull: Bool

    /// Looks whether the folder that it is to be in is there, and can be written to.
    ///
    /// - Throws: ``CommandFailure`` with status 73.
    func checkFolder() throws(CommandFailure) {
        let isOther = FileStatus(file).map { !$0.isFile } ?? false
        guard let reason = isOther ? "it is no regular file" : LocalFile.unwritableReason(folderOf: file) else {
            return
        }
        throw CommandFailure(status: .cantCreate, message: "the picture '\(file)' can't be written: \(reason)")
    }

    /// - Throws: ``BrowserFailure`` where the file can't be written.
    func write(_ picture: [UInt8]) throws(BrowserFailure) {
        let scratch = "\(file).\(getpid()).part"
        // What a program left that was killed, or somebody put there, is not written into, nor through.
        unlink(scratch)
        let descriptor = open(scratch, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666 as mode_t)
        guard descriptor >= 0 else { throw refusal(SystemError()) }
        let isWritten = StandardStream(descriptor: descriptor).write(picture)
        let failure = SystemError()
        close(descriptor)
        guard isWritten, rename(scratch, file) == 0 else {
            unlink(scratch)
            throw refusal(isWritten ? SystemError() : failure)
        }
    }

    private func refusal(_ error: SystemError) -> BrowserFailure {
        BrowserFailure(.files, "the picture '\(file)' can't be written: \(error.text)")
    }
}
