/// Loads a page, scrolls it, freezes it, and looks at what was frozen: steps 2 to 5 of `save`.
///
/// What the browser asks for goes through the proxy that it was started with, which records it and, for ``reload``,
/// answers with the frozen documents.
public struct PageCapture: Sendable {
    /// The page's URL, http or https.
    public var url: String
    /// Fields and cookies for the URL's host alone. None by default.
    public var fields: [PageOptions.Pair] = []
    public var cookies: [PageOptions.Pair] = []
    /// The size of what is seen of the page. The default is 1280 × 800.
    public var viewport = Viewport(width: 1280, height: 800)
    /// How often it is scrolled at most. The default is 100.
    public var mostScrolls = 100
    /// What has to be there before it is frozen; a selector of CSS, nil by default.
    public var selector: String?
    /// How long is waited then, in milliseconds. The default is 0.
    public var waitTime = 0
    /// How long all steps may take together, in milliseconds. The default is 60,000.
    public var time = 60_000
    /// Whether a status of 400 and above is as good as another. The default is false.
    public var allowsAnyStatus = false
    /// Whether the page is frozen. The default is true; else its scripts are what is recorded.
    public var isFrozen = true

    /// Whether frames are named with the fragments of their URLs. The default is true; some formats find no part by
    /// those.
    public var namesFragments = true
    /// What tells responses that are the proxy's own: see ``PageOptions/failureField``. The default is nil.
    public var failureField: PageOptions.Pair?
    /// Called when a step begins. The default does nothing.
    public var progress: @Sendable (Step) -> Void = { _ in }

    /// What is being done.
    public enum Step: Sendable {
        case loading, scrolling, waiting, freezing
    }

    public init(url: String) { self.url = url }

    /// What was captured.
    public struct Result: Sendable {
        public var load: PageLoad
        /// No documents where the page is none, as a picture is, or is not to be frozen.
        public var page: FrozenPage
        /// What the page has asked for.
        public var requests: [PageRequest]
        /// What is left of the time, for ``PageCapture/reload(_:in:)``.
        public var deadline: Deadline
    }

    private var options: PageOptions {
        var options = PageOptions(host: url)
        options.fields = fields
        options.cookies = cookies
        options.viewport = viewport
        options.failureField = failureField
        return options
    }

    /// Loads, scrolls and freezes the page (steps 2 to 4), and closes it.
    ///
    /// - Throws: ``BrowserFailure``: `notLoaded`, `timedOut` and what else may happen.
    public func capture(in session: BrowserSession) throws(BrowserFailure) -> Result {
        do throws(BrowserFailure) {
            return try capture(in: session, until: Deadline(milliseconds: time))
        } catch {
            guard error.kind == .timedOut, error.message.hasSuffix(DevToolsConnection.noAnswer) else { throw error }
            throw BrowserFailure(.timedOut, "\(url) took too long")
        }
    }

    private func capture(
        in session: BrowserSession, until deadline: Deadline
    ) throws(BrowserFailure) -> Result {
        progress(.loading)
        let page = try session.openPage(options)
        defer { page.close() }
        if let selector { try page.check(selector: selector, until: deadline) }
        var load = try page.load(url, until: deadline)
        if let refusal = load.refusal(allowsAnyStatus: allowsAnyStatus) { throw refusal }
        var frozen = FrozenPage(documents: [], title: "", mediaType: load.mediaType, droppedScripts: 0)
        if !load.isDownload {
            progress(.scrolling)
            _ = try page.scroll(
                atMost: mostScrolls, until: deadline.orEarlier(Deadline(milliseconds: time / 2)), within: deadline)
            if isFrozen { try page.loadLateFrames(until: deadline) }
            if selector != nil || waitTime > 0 { progress(.waiting) }
            if let selector { try page.wait(for: selector, until: deadline) }
            if waitTime > 0 { try page.wait(milliseconds: waitTime, until: deadline) }
            guard !deadline.isOver else { throw BrowserFailure(.timedOut, "\(url) took too long") }
            if isFrozen {
                progress(.freezing)
                frozen = try page.freeze(until: deadline, namesFragments: namesFragments)
            } else if BrowserPage.isDocument(load.mediaType) {
                frozen.title = try page.title(until: deadline)
            }
            // Scripts may have led elsewhere.
            load = page.currentLoad(after: load)
            if !isFrozen { frozen.mediaType = load.mediaType }
            if let refusal = load.refusal(allowsAnyStatus: allowsAnyStatus) { throw refusal }
            // Where it was frozen: a script may have given the page another URL since (HTML, History). What is saved as
            // it came is found where it was asked for.
            load.url = frozen.documents.first?.url ?? load.askedURL
        }
        return Result(load: load, page: frozen, requests: page.requests, deadline: deadline)
    }

    /// Adds the documents of frames that the static copy has loaded and the page had not, or that did not answer:
    /// frozen as they are shown without scripts, or empty.
    ///
    /// - Parameter page: what ``reload(_:in:through:until:)`` gave.
    /// - Returns: whether there are any; then it is to be loaded again.
    /// - Throws: ``BrowserFailure`` as ``BrowserPage/freeze(until:)``.
    public func addLateFrames(of page: BrowserPage, to result: inout Result) throws(BrowserFailure) -> Bool {
        guard isFrozen else { return false }
        var seen = Set(result.page.documents.map(\.url) + [result.load.url])
        let late = page.requests.filter { request in
            request.kind == "Document" && BrowserPage.isDocument(request.mediaType) && seen.insert(request.url).inserted
        }
        guard !late.isEmpty else { return false }
        let made = try page.freeze(until: result.deadline, namesFragments: namesFragments)
        for request in late {
            let empty = FrozenPage.Document(
                url: request.url, markup: Array("<!DOCTYPE html><meta charset=utf-8>".utf8))
            result.page.documents.append(made.documents.first { $0.url == request.url } ?? empty)
            result.page.late.append(request.url)
        }
        result.page.droppedScripts += made.droppedScripts
        return true
    }

    /// Loads the frozen page at its own URL, without scripts, in a page that shares no cache with the first (step 5).
    ///
    /// - Parameters:
    ///   - proxy: host and port of the proxy that it is loaded through; nil, the default, for the browser's.
    ///   - deadline: nil, the default, for what is left of the capture's time.
    /// - Returns: the page, which is open still: for a picture, and for what it has asked for.
    /// - Throws: ``BrowserFailure``: `notLoaded` where nothing was reached or the document was cut off, `timedOut`, and
    ///   what ``BrowserSession/openPage(_:)`` throws.
    public func reload(
        _ result: Result, in session: BrowserSession, through proxy: String? = nil, until deadline: Deadline? = nil
    ) throws(BrowserFailure) -> BrowserPage {
        var options = options
        options.cookies = []
        options.isApart = true
        options.proxy = proxy
        options.runsScripts = !isFrozen
        let page = try session.openPage(options)
        let load = try page.load(result.load.url, until: deadline ?? result.deadline)
        if let refusal = load.refusal(allowsAnyStatus: true) { throw refusal }
        return page
    }
}
