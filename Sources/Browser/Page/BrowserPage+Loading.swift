import Basics
import JSON

/// How a page's document came.
public struct PageLoad: Sendable, Hashable {
    /// Where redirects have led, without a fragment.
    public var url: String
    /// What was asked for there: a script may have given the document another URL since (HTML, History).
    public var askedURL: String
    /// The status of the response; nil where there was none.
    public var status: Int?
    /// The type without parameters, as the browser takes it.
    public var mediaType: String
    /// Why there is no document, as the browser says it, such as `net::ERR_NAME_NOT_RESOLVED`.
    public var failure: String?
    /// Whether the browser would have kept it as a file, and shows nothing.
    public var isDownload: Bool
    /// Whether the connection ended within it.
    public var isCutOff = false

    /// Why it is not to be saved; nil where it is.
    ///
    /// - Parameter allowsAnyStatus: whether a status of 400 and above is as good as another.
    public func refusal(allowsAnyStatus: Bool) -> BrowserFailure? {
        if let status, status >= 400, !allowsAnyStatus { return BrowserFailure(.notLoaded, "\(url): status \(status)") }
        // The browser shows what it showed before (RFC 9110 §15.3.5, §15.3.6).
        if let status, status == 204 || status == 205 {
            return BrowserFailure(.notLoaded, "\(url): there is no page, as status \(status) says")
        }
        if status == nil || isCutOff || failure != nil && !isDownload && (status ?? 0) < 400 {
            return BrowserFailure(.notLoaded, "\(url): \(failure ?? "there is no response")")
        }
        return nil
    }
}

extension BrowserPage {
    /// For how long nothing is asked for until a page is quiet: 500 ms.
    static let quietTime: UInt64 = 500_000_000
    /// After how long without a byte a request is one that waits for news: 10 s.
    static let patience: UInt64 = 10_000_000_000

    /// How long a process may take to lay out frames that isn't the page's own, in milliseconds: 3 s.
    private static let layoutTime = 3000
    /// How many frames of a process are laid out.
    private static let mostLaidOut = 100
    /// How often a page is laid out that asks for something meanwhile.
    private static let mostLayouts = 5

    /// How long a page may go on asking for things after its load event, in milliseconds: 15 s.
    static let restlessTime = 15_000

    /// Loads a URL, until the load event has come, or the page loads no more without one as where it began a download
    /// meanwhile, and no request was under way for 500 ms.
    ///
    /// Requests that stay open by their nature (server-sent events, media), and those of which nothing was seen for
    /// 10 s, are not waited for. Nor is a page that is never quiet, once 15 s have passed since its load event.
    ///
    /// - Throws: ``BrowserFailure``: `timedOut` where that does not happen in time. That nothing was reached is a
    ///   result, as is that the document was cut off.
    public func load(_ url: String, until deadline: Deadline) throws(BrowserFailure) -> PageLoad {
        let answer: JSONValue
        do throws(BrowserFailure) {
            answer = try connection.call("Page.navigate", ["url": JSONValue(url)], session: session, until: deadline)
        } catch {
            guard error.kind == .timedOut else { throw error }
            throw BrowserFailure(.timedOut, "\(url) was not loaded in time")
        }
        if let text = answer["errorText"]?.stringValue, !text.isEmpty {
            let isDownload = answer["isDownload"]?.boolValue == true
            let document = answer["loaderId"]?.stringValue.flatMap { network.documents[$0] }
            if document?.status == nil || isDownload || text != NetworkActivity.statusFailure {
                return PageLoad(
                    url: url, askedURL: url, status: document?.status, mediaType: document?.mediaType ?? "",
                    failure: text, isDownload: isDownload)
            }
        }
        guard try waitUntilLoaded(until: deadline) else {
            throw BrowserFailure(.timedOut, "\(url) was not loaded in time")
        }
        if network.documents[loader]?.isCutOff != true {
            let restless = Deadline(milliseconds: BrowserPage.restlessTime)
            isRestless = try !waitUntilQuiet(until: restless.orEarlier(deadline))
            guard !isRestless || !deadline.isOver else {
                throw BrowserFailure(.timedOut, "\(url) was not quiet in time")
            }
        }
        let document = network.documents[loader]
        let shown = self.url.hasPrefix("chrome-error:") ? url : self.url
        return PageLoad(
            url: shown, askedURL: document?.url ?? shown, status: document?.status,
            mediaType: document?.mediaType ?? "", failure: document?.failure, isDownload: false,
            isCutOff: document?.isCutOff == true)
    }

    /// How the document that is shown came, which may be another one than was loaded.
    func currentLoad(after load: PageLoad) -> PageLoad {
        var current = load
        (current.url, current.askedURL) = (url, network.documents[loader]?.url ?? url)
        if let document = network.documents[loader] {
            current.status = document.status ?? current.status
            current.mediaType = document.mediaType
            current.failure = document.failure
            current.isCutOff = document.isCutOff
        }
        return current
    }

    /// The title of the document that is shown; empty where none is told, as of one that is about to be left.
    func title(until deadline: Deadline) throws(BrowserFailure) -> String {
        do throws(BrowserFailure) {
            let limit = Deadline(milliseconds: options.frameTime).orEarlier(deadline)
            let source =
                "({ title: () => Object.getOwnPropertyDescriptor(Document.prototype, 'title').get.call(document) })"
            return try mainScript(source, until: limit).call("title", until: limit).stringValue ?? ""
        } catch {
            try passOver(error, isMain: false, until: deadline)
            return ""
        }
    }

    /// Waits until the document that is shown is loaded or loads no more, or was cut off.
    private func waitUntilLoaded(until deadline: Deadline) throws(BrowserFailure) -> Bool {
        let isLoaded = try connection.wait(until: deadline) {
            hasCrashed || loadedLoader == loader || network.documents[loader]?.isCutOff == true ? .holds : .waits
        }
        try checkLife()
        return isLoaded
    }

    /// Waits until the document that is shown is loaded or loads no more, and the network is quiet, and stays so when
    /// what has come is laid out: only then browsers ask for what style sheets name, and a busy one gets to it late.
    ///
    /// A page that goes on asking for things is quiet then too, once it was laid out five times.
    ///
    /// - Returns: false if that is not so in time.
    func waitUntilQuiet(until deadline: Deadline) throws(BrowserFailure) -> Bool {
        for _ in 0..<BrowserPage.mostLayouts {
            guard try waitUntilNetworkIsQuiet(until: deadline) else { return false }
            let (change, document) = (network.lastChange, loader)
            try layOut(until: deadline)
            if network.lastChange == change, loader == document { break }
        }
        return true
    }

    /// Has the documents of all frames laid out, but for those that go meanwhile, and of processes that are too busy.
    /// Of those that aren't the page's own, one is asked no more then.
    private func layOut(until deadline: Deadline) throws(BrowserFailure) {
        _ = try layOut(session: session, until: deadline)
        for (id, part) in sessions where part.kind == .frames && id != session && !busySessions.contains(id) {
            let limit = Deadline(milliseconds: BrowserPage.layoutTime)
            if try !layOut(session: id, until: limit.orEarlier(deadline)), limit.isOver { busySessions.insert(id) }
        }
        try checkLife()
    }

    /// - Returns: false if it is not done in time.
    private func layOut(session: String, until limit: Deadline) throws(BrowserFailure) -> Bool {
        let source =
            """
            ({ layOut: () => {
              Object.getOwnPropertyDescriptor(Document.prototype, 'documentElement').get.call(document)
                ?.getBoundingClientRect();
            } })
            """
        var frames: [FrameTree.Frame] = []
        func withoutGone(_ body: () throws(BrowserFailure) -> Void) throws(BrowserFailure) {
            do throws(BrowserFailure) {
                try body()
            } catch {
                guard error.kind == .misunderstood else { throw error }
            }
        }
        do throws(BrowserFailure) {
            try withoutGone { () throws(BrowserFailure) in
                let answer = try connection.call("Page.getFrameTree", session: session, until: limit)
                var tree = FrameTree()
                tree.add(answer["frameTree"] ?? [:], session: session, parent: nil)
                frames = tree.frames
            }
            for frame in frames.prefix(BrowserPage.mostLaidOut) where !frame.isError {
                try withoutGone { () throws(BrowserFailure) in
                    let script = try IsolatedScript(
                        source, in: frame.id, session: session, connection: connection, until: limit)
                    _ = try script.call("layOut", until: limit)
                }
            }
            return true
        } catch {
            guard error.kind == .timedOut else { throw error }
            return false
        }
    }

    private func waitUntilNetworkIsQuiet(until deadline: Deadline) throws(BrowserFailure) -> Bool {
        let isQuiet = try connection.wait(until: deadline) {
            if hasCrashed { return .holds }
            guard loadedLoader == loader else { return .waits }
            return network.state(
                now: monotonicNanoseconds(), quiet: BrowserPage.quietTime, patience: BrowserPage.patience)
        }
        try checkLife()
        return isQuiet
    }

    /// Waits for some time, in which the page goes on.
    ///
    /// - Throws: ``BrowserFailure``: `ended` where the page crashes or the browser goes, and `interrupted`. That the
    ///   deadline is over is no error.
    public func wait(milliseconds: Int, until deadline: Deadline) throws(BrowserFailure) {
        _ = try connection.wait(until: Deadline(milliseconds: milliseconds).orEarlier(deadline)) {
            hasCrashed ? .holds : .waits
        }
        try checkLife()
    }

    func checkLife() throws(BrowserFailure) {
        if hasCrashed { throw BrowserFailure(.ended, "the page has crashed") }
    }

    /// A picture of what the page shows, as PNG.
    ///
    /// - Parameter isFull: whether it has the whole page and not the viewport alone; it is at most 16,384 pixels high.
    /// - Throws: ``BrowserFailure``: `timedOut`, `misunderstood` where the browser gives no picture, `ended`, and
    ///   `interrupted`.
    public func screenshot(isFull: Bool, until deadline: Deadline) throws(BrowserFailure) -> [UInt8] {
        var parameters: [(String, JSONValue)] = [("format", "png")]
        if isFull {
            let metrics = try connection.call("Page.getLayoutMetrics", session: session, until: deadline)
            let size = metrics["cssContentSize"]
            func length(_ name: String) -> JSONValue {
                let pixels = size?[name]?.realValue?.rounded(.up) ?? 1
                return JSONValue(Int(min(max(pixels, 1), BrowserPage.largestPicture)))
            }
            let clip: JSONValue = [
                "x": 0, "y": 0, "width": length("width"), "height": length("height"), "scale": 1,
            ]
            parameters += [("captureBeyondViewport", true), ("clip", clip)]
        }
        let answer = try connection.call(
            "Page.captureScreenshot", .members(parameters), session: session, until: deadline)
        guard let bytes = answer["data"]?.stringBytes.flatMap({ Base64.decoded($0) }) else {
            throw BrowserFailure(.misunderstood, "the browser gives no picture")
        }
        return bytes
    }

    /// Beyond it Chromium's pictures repeat or stay empty.
    private static let largestPicture = 16_384.0
}
