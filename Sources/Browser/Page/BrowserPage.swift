import Basics
import JSON

/// A page of a browser, with the frames in it, those of other processes too.
public final class BrowserPage {
    /// A part of the page that has commands and events of its own.
    struct Session {
        enum Kind { case frames, worker }

        var kind: Kind
        /// The frame that it begins with.
        var frame: String
        /// The frame that this one stands in; nil for the page's own.
        var parent: String?
    }

    let target: String
    let session: String
    let options: PageOptions
    let connection: DevToolsConnection
    private(set) var sessions: [String: Session]
    var network: NetworkActivity
    /// Those of other processes that gave no answer in time, and are not asked to be laid out any more.
    var busySessions: Set<String> = []
    /// Shadow roots that are closed to scripts, by frames, while the page is frozen.
    var closedRoots: [String: [JSONValue]] = [:]
    /// Whether frames are named with fragments, while the page is frozen.
    var keepsFragments = true
    /// A page with nothing in it, and no policies, while the page is frozen; and what opens it.
    var blank: BrowserPage?
    var openBlank: () throws(BrowserFailure) -> BrowserPage? = { () throws(BrowserFailure) -> BrowserPage? in nil }
    /// Whether it goes on asking for things, so that it is not waited for again.
    var isRestless = false
    /// The loader of the document that is shown, and of that which is loaded, or loads no more.
    private(set) var loader = ""
    private(set) var loadedLoader = ""
    /// The document's URL without its fragment.
    private(set) var url = "about:blank"
    private(set) var hasCrashed = false
    /// Called when a part of the page begins and ends.
    var onSessions: (String, Bool) -> Void = { _, _ in }

    init(
        target: String, session: String, options: PageOptions, connection: DevToolsConnection
    ) {
        self.target = target
        self.session = session
        self.options = options
        self.connection = connection
        network = NetworkActivity(now: monotonicNanoseconds(), failureField: options.failureField)
        sessions = [session: Session(kind: .frames, frame: target, parent: nil)]
    }

    /// The requests that the page has made, in their order.
    public var requests: [PageRequest] { network.requests }

    /// Closes the page.
    public func close() { connection.send("Target.closeTarget", ["targetId": JSONValue(target)]) }

    /// Sets the page's first session up, and its cookies.
    func prepare(until deadline: Deadline) throws(BrowserFailure) {
        setUp(session, .frames)
        let size: JSONValue = [
            "width": JSONValue(options.viewport.width), "height": JSONValue(options.viewport.height),
            "deviceScaleFactor": 1, "mobile": false,
        ]
        _ = try connection.call("Emulation.setDeviceMetricsOverride", size, session: session, until: deadline)
        for cookie in options.cookies {
            let parameters: JSONValue = [
                "name": JSONValue(cookie.name), "value": JSONValue(cookie.value), "url": JSONValue(options.host),
            ]
            let result: JSONValue
            do throws(BrowserFailure) {
                result = try connection.call("Network.setCookie", parameters, session: session, until: deadline)
            } catch {
                guard error.kind == .misunderstood else { throw error }
                throw BrowserFailure(.unusable, "the browser refuses the cookie '\(cookie.name)'")
            }
            guard result["success"]?.boolValue != false else {
                throw BrowserFailure(.unusable, "the browser refuses the cookie '\(cookie.name)'")
            }
        }
        // Its answer comes behind those of all that was sent before.
        _ = try connection.call("Page.getFrameTree", session: session, until: deadline)
    }

    /// Sends what every session begins with; a session that waits for it goes on then.
    private func setUp(_ session: String, _ kind: Session.Kind) {
        func send(_ method: String, _ parameters: JSONValue = [:]) {
            connection.send(method, parameters, session: session)
        }
        // Nothing of bodies is kept: nobody asks for them.
        send("Network.enable", ["maxTotalBufferSize": 0, "maxResourceBufferSize": 0])
        send("Target.setAutoAttach", ["autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true])
        if kind == .frames {
            send("Page.enable")
            send("Page.setLifecycleEventsEnabled", ["enabled": true])
            send("Network.setBypassServiceWorker", ["bypass": true])
            if !options.runsScripts { send("Emulation.setScriptExecutionDisabled", ["value": true]) }
            let patterns = options.patterns.map { pattern -> JSONValue in ["urlPattern": JSONValue(pattern)] }
            if !patterns.isEmpty { send("Fetch.enable", ["patterns": .array(patterns)]) }
        }
        send("Runtime.runIfWaitingForDebugger")
    }

    // MARK: Events

    func take(_ event: DevToolsEvent) {
        let parameters = event.parameters
        switch event.name {
        case "Target.attachedToTarget": attach(parameters)
        case "Page.frameNavigated":
            guard let frame = parameters["frame"], frame["id"]?.stringValue == target else { return }
            loader = frame["loaderId"]?.stringValue ?? ""
            url = frame["url"]?.stringValue ?? ""
        case "Page.navigatedWithinDocument":
            guard parameters["frameId"]?.stringValue == target, let new = parameters["url"]?.stringValue else { return }
            url = String(new.prefix { $0 != "#" })
        case "Page.lifecycleEvent":
            guard parameters["frameId"]?.stringValue == target, parameters["name"]?.stringValue == "load" else {
                return
            }
            loadedLoader = parameters["loaderId"]?.stringValue ?? ""
        case "Page.frameStoppedLoading":
            // Also without a load event: where a download began meanwhile, or a script has stopped it.
            if parameters["frameId"]?.stringValue == target { loadedLoader = loader }
        case "Page.javascriptDialogOpening":
            // To stay on a page for its own sake is the one thing that may not be dismissed.
            let leaves = parameters["type"]?.stringValue == "beforeunload"
            connection.send("Page.handleJavaScriptDialog", ["accept": .bool(leaves)], session: event.session)
        case "Fetch.requestPaused": resume(parameters, in: event.session)
        case "Inspector.targetCrashed": if event.session == session { hasCrashed = true }
        default:
            if event.name.hasPrefix("Network.") { network.note(event, now: monotonicNanoseconds()) }
        }
    }

    func sessionEnded(_ ended: String) {
        sessions[ended] = nil
        network.end(session: ended, now: monotonicNanoseconds())
        if ended == session { hasCrashed = true }
    }

    private func attach(_ parameters: JSONValue) {
        guard let new = parameters["sessionId"]?.stringValue, let info = parameters["targetInfo"],
            let type = info["type"]?.stringValue, let frame = info["targetId"]?.stringValue
        else { return }
        guard type == "iframe" || type == "worker" || type == "shared_worker" else {
            connection.send("Runtime.runIfWaitingForDebugger", session: new)
            return
        }
        let kind: Session.Kind = type == "iframe" ? .frames : .worker
        sessions[new] = Session(kind: kind, frame: frame, parent: info["parentFrameId"]?.stringValue)
        onSessions(new, true)
        setUp(new, kind)
    }

    /// Lets a request go on with the fields that it should have.
    private func resume(_ parameters: JSONValue, in session: String?) {
        guard let id = parameters["requestId"] else { return }
        var fields: [JSONValue] = []
        let given = Set(options.fields.map { $0.name.lowercased() })
        if case .object(let present)? = parameters["request"]?["headers"] {
            for member in present.members {
                let name = String(decoding: member.name, as: UTF8.self)
                if !given.contains(name.lowercased()) {
                    fields.append(["name": JSONValue(name), "value": member.value])
                }
            }
        }
        fields += options.joinedFields.map { ["name": JSONValue($0.name), "value": JSONValue($0.value)] }
        connection.send("Fetch.continueRequest", ["requestId": id, "headers": .array(fields)], session: session)
    }
}
