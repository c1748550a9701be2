import JSON

/// What a page has asked for, and whether it is still at it.
struct NetworkActivity {
    /// What is kept of an endless page.
    private static let mostRequests = 100_000
    /// Kinds that stay open as long as the page does, or that nothing on the page waits for
    /// (https://chromedevtools.github.io/devtools-protocol/tot/Network/#type-ResourceType).
    private static let uncounted: Set<String> = [
        "EventSource", "WebSocket", "WebTransport", "DirectSocket", "Media", "Ping", "CSPViolationReport",
    ]

    /// Kinds that a page shows.
    private static let shown: Set<String> = ["Document", "Font", "Image", "Media", "Other", "Stylesheet"]
    private static let mostRedirects = 32

    /// What the browser says of an error status without a body, in whose place it shows a page of its own.
    static let statusFailure = "net::ERR_HTTP_RESPONSE_CODE_FAILURE"

    private struct Pending {
        var session: String?
        var isCounted: Bool
        /// The last time at which something was seen of it, in nanoseconds.
        var lastSign: UInt64
        var index: Int?
        /// The loader of the document that it is for.
        var loader = ""
        /// Where redirects have led, from what was asked for on; empty for what is not counted as refused.
        var chain: [String] = []
    }

    /// In the order in which they were made.
    private(set) var requests: [PageRequest] = []
    /// The answers to navigations, by loader.
    private(set) var documents: [String: DocumentAnswer] = [:]
    /// The URLs of what a document was refused before it could be shown, by loader: by its policies
    /// (Content-Security-Policy, Cross-Origin-Embedder-Policy), or since another origin has not allowed it (CORS,
    /// CORP).
    private var refused: [String: Set<String>] = [:]
    /// Those that have come, by loader.
    private var loaded: [String: Set<String>] = [:]
    private var pending: [String: Pending] = [:]
    /// When something was asked for, or came to its end, in nanoseconds.
    private(set) var lastChange: UInt64
    private let failureField: PageOptions.Pair?

    /// - Parameter failureField: see ``PageOptions/failureField``.
    init(now: UInt64, failureField: PageOptions.Pair? = nil) {
        lastChange = now
        self.failureField = failureField
    }

    /// Takes in an event of the domain Network.
    mutating func note(_ event: DevToolsEvent, now: UInt64) {
        guard let id = event.parameters["requestId"]?.stringValue else { return }
        switch event.name {
        case "Network.requestWillBeSent": begin(id, event, now)
        case "Network.responseReceived": receive(id, event.parameters, now)
        case "Network.dataReceived": pending[id]?.lastSign = now
        case "Network.loadingFinished":
            if let request = pending[id], !request.chain.isEmpty {
                if request.index != nil {
                    loaded[request.loader, default: []].formUnion(request.chain)
                } else {
                    // Data may be long, and is not kept.
                    refused[request.loader]?.subtract(request.chain)
                }
            }
            end(id, now)
        case "Network.loadingFailed":
            let text = event.parameters["errorText"]?.stringValue ?? "net::ERR_FAILED"
            if let index = pending[id]?.index { requests[index].failure = text }
            documents[id]?.failure = text
            let isRefused = event.parameters["canceled"]?.boolValue == true || text == NetworkActivity.statusFailure
            documents[id]?.isCutOff = !isRefused
            if let request = pending[id], NetworkActivity.isRefusal(event.parameters) {
                refused[request.loader, default: []].formUnion(request.chain)
            }
            end(id, now)
        default: break
        }
    }

    /// What the document of a loader was refused: URLs that never came, and those that came where something else asked
    /// for them, as an object does for a picture.
    func refusals(of loader: String) -> (wholly: Set<String>, partly: Set<String>) {
        let (urls, others) = (refused[loader] ?? [], loaded[loader] ?? [])
        return (urls.subtracting(others), urls.intersection(others))
    }

    /// The https URLs that the document of a loader asked for, and not by http: where it names them so, the browser has
    /// upgraded them.
    func upgraded(of loader: String) -> Set<String> {
        let asked = (loaded[loader] ?? []).union(refused[loader] ?? [])
        return asked.filter { $0.hasPrefix("https:") && !asked.contains("http:\($0.dropFirst(6))") }
    }

    /// Forgets what a session was asking for that has ended.
    mutating func end(session: String, now: UInt64) {
        for (id, request) in pending where request.session == session { end(id, now) }
    }

    /// Whether nothing was asked for or came to its end for some time.
    ///
    /// - Parameters:
    ///   - quiet: for how long.
    ///   - patience: a request of which nothing was seen for so long is one that waits for news, and is not counted.
    func state(now: UInt64, quiet: UInt64, patience: UInt64) -> WaitState {
        var time = lastChange &+ quiet
        for request in pending.values where request.isCounted { time = max(time, request.lastSign &+ patience) }
        return now >= time ? .holds : .waitsUntil(Deadline(nanoseconds: time))
    }

    private mutating func begin(_ id: String, _ event: DevToolsEvent, _ now: UInt64) {
        let parameters = event.parameters
        // What a redirect led away from has the same identifier.
        if let redirect = parameters["redirectResponse"], let index = pending[id]?.index {
            requests[index].status = redirect["status"]?.integerValue
        }
        let before = pending[id]?.chain ?? []
        let request = parameters["request"] ?? [:]
        let url = request["url"]?.stringValue ?? ""
        let kind = parameters["type"]?.stringValue ?? "Other"
        var new = Pending(
            session: event.session, isCounted: !NetworkActivity.uncounted.contains(kind), lastSign: now, index: nil)
        if url.hasPrefix("http:") || url.hasPrefix("https:"), requests.count < NetworkActivity.mostRequests {
            new.index = requests.count
            requests.append(PageRequest(method: request["method"]?.stringValue ?? "GET", url: url, kind: kind))
        }
        new.loader = parameters["loaderId"]?.stringValue ?? ""
        if NetworkActivity.shown.contains(kind), before.count < NetworkActivity.mostRedirects {
            new.chain = before + [url]
        }
        pending[id] = new
        if kind == "Document", parameters["loaderId"]?.stringValue == id {
            documents[id] = DocumentAnswer(url: url)
        }
        if new.isCounted { lastChange = now }
    }

    private mutating func receive(_ id: String, _ parameters: JSONValue, _ now: UInt64) {
        guard let response = parameters["response"] else { return }
        let status = response["status"]?.integerValue
        pending[id]?.lastSign = now
        if let index = pending[id]?.index {
            requests[index].status = status
            if !isFailure(response) { requests[index].mediaType = response["mimeType"]?.stringValue ?? "" }
        }
        documents[id]?.mediaType = response["mimeType"]?.stringValue ?? ""
        documents[id]?.isUpgrading = NetworkActivity.isUpgrading(response)
        if isFailure(response) {
            documents[id]?.failure = "the proxy got no response"
            documents[id]?.isProxys = true
        } else {
            documents[id]?.status = status
        }
    }

    /// Whether a response says that the proxy got none.
    private func isFailure(_ response: JSONValue) -> Bool {
        guard let failureField, case .object(let fields)? = response["headers"] else { return false }
        return fields.members.contains { member in
            String(decoding: member.name, as: UTF8.self).lowercased() == failureField.name
                && member.value.stringValue?.hasPrefix(failureField.value) == true
        }
    }

    /// Whether a response has its document ask for all by https (https://www.w3.org/TR/upgrade-insecure-requests/).
    private static func isUpgrading(_ response: JSONValue) -> Bool {
        guard case .object(let fields)? = response["headers"] else { return false }
        return fields.members.contains { member in
            guard String(decoding: member.name, as: UTF8.self).lowercased() == "content-security-policy",
                let value = member.value.stringValue?.lowercased()
            else { return false }
            let directives = value.split { $0 == "," || $0 == ";" || $0.isNewline }
            return directives.contains { $0.split(whereSeparator: \.isWhitespace).first == "upgrade-insecure-requests" }
        }
    }

    /// Whether a failure is that the browser asked for nothing, or does not hand out what came.
    private static func isRefusal(_ parameters: JSONValue) -> Bool {
        parameters["blockedReason"]?.stringValue != nil || parameters["corsErrorStatus"] != nil
    }

    private mutating func end(_ id: String, _ now: UInt64) {
        guard let request = pending.removeValue(forKey: id) else { return }
        if request.isCounted { lastChange = now }
    }
}

/// A request that a page has made.
public struct PageRequest: Sendable, Hashable {
    public var method: String
    /// Without a fragment.
    public var url: String
    /// What it was for, as the DevTools Protocol has it: `Document`, `Image`, `Fetch`.
    public var kind: String
    /// Nil where there was no response.
    public var status: Int?
    /// The type without parameters, as the browser takes it; empty where no origin has answered.
    public var mediaType = ""
    /// What the browser says where it failed, such as `net::ERR_CONNECTION_REFUSED`.
    public var failure: String?
}

/// How a navigation was answered.
struct DocumentAnswer {
    /// What was asked for in the end, without a fragment; scripts may give the document another URL.
    var url = ""
    var status: Int?
    var mediaType = ""
    var failure: String?
    /// Whether the network failed before its end, so that no load event may come. What a navigation has ended is not.
    var isCutOff = false
    /// Whether the answer is the proxy's own, since it got none.
    var isProxys = false
    /// Whether a field of it has the document ask for all by https.
    var isUpgrading = false
}
