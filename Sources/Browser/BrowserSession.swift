import Basics
import Glibc
import JSON

/// A browser that this process drives, and ends.
///
/// It is used by one thread; only its interruption is for others.
public final class BrowserSession {
    private static let endTime = 3000
    /// The same with a person's profile, which is to be written whole.
    private static let profileEndTime = 20_000

    let connection: DevToolsConnection
    private let process: BrowserProcess
    private var pages: [String: BrowserPage] = [:]
    private var isOpening = false
    private var isClosed = false
    private let isProfileKept: Bool
    /// How long the browser has to start, and to answer what needs no network: milliseconds.
    private let commandTime: Int

    /// Starts a browser without a window.
    ///
    /// - Parameter interruption: ends whatever is waited for.
    /// - Throws: ``BrowserFailure``: `unavailable` where it can't be started, also by root without
    ///   ``BrowserOptions/hasNoSandbox``, and where another one uses the profile, and `ended` where it ends at once.
    public init(_ options: BrowserOptions, interruption: BrowserInterruption) throws(BrowserFailure) {
        try BrowserSession.checkUser(options)
        try BrowserSession.checkProfile(options.userDataFolder)
        var options = options
        options.isHeadless = true
        isProfileKept = options.userDataFolder != nil
        commandTime = options.commandTime
        let folder = try BrowserFolder(in: options.temporaryFolder)
        let ends: (own: CInt, other: CInt)
        do throws(BrowserFailure) { ends = try MessagePipe.ends() } catch {
            folder.remove()
            throw error
        }
        connection = DevToolsConnection(MessagePipe(ends.own, interruption: interruption))
        do throws(BrowserFailure) {
            // As long as this process has the browser's end, the browser's end is not seen.
            defer { Glibc.close(ends.other) }
            process = try BrowserProcess(options, in: folder, socket: ends.other)
        } catch {
            folder.remove()
            throw error
        }
        connection.onEvent = { [weak self] event in self?.take(event) }
        connection.isAlive = { [weak self] session in self?.pages[session] != nil }
        do throws(BrowserFailure) { try begin() } catch {
            throw startFailure(error)
        }
    }

    deinit { close() }

    /// Ends the browser and removes its folder; nothing more can be done with it.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        connection.send("Browser.close")
        let time = isProfileKept ? BrowserSession.profileEndTime : BrowserSession.endTime
        if !process.wait(milliseconds: time), isProfileKept {
            // It takes no commands any more, as when it was interrupted; a signal ends it in order too.
            kill(process.process, SIGTERM)
            _ = process.wait(milliseconds: time)
        }
        process.end()
    }

    /// Whether the browser runs.
    public var isRunning: Bool { !isClosed && !process.hasEnded }

    /// The browser's process, for those that look at what is left of it.
    var processNumber: CInt { process.process }
    var folderPath: String { process.folder.path }

    /// Root's pages would run outside of a sandbox, which the browser refuses unless it is asked to.
    static func checkUser(_ options: BrowserOptions, user: uid_t = geteuid()) throws(BrowserFailure) {
        guard user != 0 || options.hasNoSandbox else {
            throw BrowserFailure(
                .unavailable, "Chromium can't use its sandbox as root; add --no-sandbox, or run as another user")
        }
    }

    /// A profile that is in use would be opened by the browser that uses it, and not by one that this process drives.
    ///
    /// Its lock is a link to `HOST-PROCESS`.
    static func checkProfile(_ folder: String?) throws(BrowserFailure) {
        guard let folder else { return }
        // The browser would make it, and load the page logged out.
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw BrowserFailure(.unavailable, "there is no profile '\(folder)': no such folder")
        }
        var target = [CChar](repeating: 0, count: 512)
        let length = readlink(folder + "/SingletonLock", &target, target.count)
        let text = String(decoding: target.prefix(max(length, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let process = text.split(separator: "-").last.flatMap({ pid_t($0) }), process > 0 else { return }
        guard kill(process, 0) != 0, errno == ESRCH else {
            throw BrowserFailure(.unavailable, "a browser (process \(process)) uses '\(folder)'")
        }
    }

    /// Opens a page, which shows nothing yet.
    ///
    /// - Throws: ``BrowserFailure``: `timedOut` where the browser does not answer in time, `ended` where it is gone,
    ///   `interrupted`, and `misunderstood` where it refuses.
    public func openPage(_ options: PageOptions) throws(BrowserFailure) -> BrowserPage {
        let deadline = Deadline(milliseconds: commandTime)
        var parameters: [(String, JSONValue)] = [("url", "about:blank")]
        if options.isApart {
            let context = try ownContext(proxy: options.proxy, until: deadline)
            parameters.append(("browserContextId", JSONValue(context)))
        }
        isOpening = true
        defer { isOpening = false }
        let target = try text(
            "targetId", of: connection.call("Target.createTarget", .members(parameters), until: deadline))
        let session = try text(
            "sessionId",
            of: connection.call(
                "Target.attachToTarget", ["targetId": JSONValue(target), "flatten": true], until: deadline))
        let page = BrowserPage(
            target: target, session: session, options: options, connection: connection)
        page.onSessions = { [weak self, weak page] session, isThere in self?.pages[session] = isThere ? page : nil }
        page.openBlank = { [weak self] () throws(BrowserFailure) -> BrowserPage? in
            try self?.openPage(PageOptions(host: ""))
        }
        pages[session] = page
        try page.prepare(until: deadline)
        return page
    }

    /// A context with nothing in it but the cookies of the first one.
    private func ownContext(proxy: String?, until deadline: Deadline) throws(BrowserFailure) -> String {
        var parameters: [(String, JSONValue)] = [("disposeOnDetach", true)]
        if let proxy {
            parameters.append(("proxyServer", JSONValue("http://" + proxy)))
            parameters.append(("proxyBypassList", JSONValue(BrowserArguments.bypassed)))
        }
        let made = try connection.call("Target.createBrowserContext", .members(parameters), until: deadline)
        let context = try text("browserContextId", of: made)
        let cookies = try connection.call("Storage.getCookies", until: deadline)["cookies"] ?? []
        if !cookies.elements.isEmpty {
            _ = try connection.call(
                "Storage.setCookies", ["cookies": cookies, "browserContextId": JSONValue(context)], until: deadline)
        }
        connection.send(
            "Browser.setDownloadBehavior", ["behavior": "deny", "browserContextId": JSONValue(context)])
        return context
    }

    private func begin() throws(BrowserFailure) {
        let deadline = Deadline(milliseconds: commandTime)
        _ = try connection.call("Browser.getVersion", until: deadline)
        connection.send("Browser.setDownloadBehavior", ["behavior": "deny"])
        isOpening = true
        _ = try connection.call("Target.setDiscoverTargets", ["discover": true], until: deadline)
        isOpening = false
    }

    /// What the browser printed says more than that it has ended.
    private func startFailure(_ failure: BrowserFailure) -> BrowserFailure {
        guard failure.kind == .ended else { return failure }
        _ = process.wait(milliseconds: BrowserSession.endTime)
        let reason = process.folder.lastError.map { ": " + $0 } ?? ""
        return BrowserFailure(.ended, "the browser ended while it started\(reason)")
    }

    private func text(_ name: String, of value: JSONValue) throws(BrowserFailure) -> String {
        guard let text = value[name]?.stringValue else {
            throw BrowserFailure(.misunderstood, "the browser gives no \(name)")
        }
        return text
    }

    // MARK: Events

    private func take(_ event: DevToolsEvent) {
        let parameters = event.parameters
        switch event.name {
        case "Target.targetCreated":
            // No page gets a window of its own.
            guard !isOpening, let target = parameters["targetInfo"], target["type"]?.stringValue == "page",
                target["attached"]?.boolValue != true, let id = target["targetId"]
            else { return }
            connection.send("Target.closeTarget", ["targetId": id])
        case "Target.detachedFromTarget":
            guard let session = parameters["sessionId"]?.stringValue else { return }
            pages[session]?.sessionEnded(session)
            pages[session] = nil
        default:
            guard let session = event.session else { return }
            pages[session]?.take(event)
        }
    }
}

extension JSONValue {
    /// An object of these members.
    static func members(_ members: [(String, JSONValue)]) -> JSONValue {
        var object = JSONObject()
        for (name, value) in members { _ = object.append(Array(name.utf8), value) }
        return .object(object)
    }
}
