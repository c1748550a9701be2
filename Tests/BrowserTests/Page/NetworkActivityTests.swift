import JSON
import Testing

@testable import Browser

@Suite("The network of a page")
struct NetworkActivityTests {
    private static let quiet: UInt64 = 500
    private static let patience: UInt64 = 10_000
    private var network = NetworkActivity(now: 0)

    private mutating func note(
        _ name: String, _ id: String, at now: UInt64, _ parameters: [(String, JSONValue)] = [], session: String = "S"
    ) {
        network.note(
            DevToolsEvent(
                name: "Network." + name, session: session,
                parameters: .members([("requestId", JSONValue(id))] + parameters)), now: now)
    }

    private mutating func begin(
        _ id: String, _ url: String = "http://a/", kind: String = "Image", at now: UInt64, session: String = "S"
    ) {
        note(
            "requestWillBeSent", id, at: now,
            [("request", ["url": JSONValue(url), "method": "GET"]), ("type", JSONValue(kind)), ("loaderId", "L")],
            session: session)
    }

    /// When it is quiet if nothing more happens; nil where it is.
    private func quietAt(_ now: UInt64) -> UInt64? {
        guard
            case .waitsUntil(let time) = network.state(
                now: now, quiet: NetworkActivityTests.quiet, patience: NetworkActivityTests.patience)
        else { return nil }
        return time.nanoseconds
    }

    @Test("is quiet some time after the last request has ended")
    mutating func quiet() {
        #expect(quietAt(0) == 500)
        #expect(quietAt(500) == nil)
        begin("1", at: 600)
        #expect(quietAt(700) == 10_600)
        note("loadingFinished", "1", at: 900)
        #expect(quietAt(900) == 1400)
        #expect(quietAt(1400) == nil)
        begin("2", at: 1500)
        note("loadingFailed", "2", at: 1600, [("errorText", "net::ERR_ABORTED")])
        #expect(quietAt(1600) == 2100)
        #expect(network.requests.map(\.failure) == [nil, "net::ERR_ABORTED"])
    }

    @Test("knows what a document was refused, where redirects have led to it, and what it was not")
    mutating func refused() {
        begin("1", "http://a/1", at: 0)
        begin("1", "http://b/1", at: 0)
        note("loadingFailed", "1", at: 0, [("blockedReason", "csp")])
        begin("2", "http://a/2", at: 0)
        note("loadingFailed", "2", at: 0, [("corsErrorStatus", ["corsError": "MissingAllowOriginHeader"])])
        begin("3", "http://a/3", kind: "Script", at: 0)
        note("loadingFailed", "3", at: 0, [("blockedReason", "csp")])
        begin("4", "http://a/4", at: 0)
        note("loadingFailed", "4", at: 0, [("errorText", "net::ERR_CONNECTION_REFUSED")])
        #expect(network.refusals(of: "L").wholly == ["http://a/1", "http://b/1", "http://a/2"])
        begin("5", "http://a/2", at: 0)
        note("loadingFinished", "5", at: 0)
        #expect(network.refusals(of: "L").wholly == ["http://a/1", "http://b/1"])
        #expect(network.refusals(of: "L").partly == ["http://a/2"])
        // Whichever comes first.
        begin("6", "http://a/3", at: 0)
        note("loadingFinished", "6", at: 0)
        begin("7", "http://a/3", at: 0)
        note("loadingFailed", "7", at: 0, [("blockedReason", "csp")])
        #expect(network.refusals(of: "L").partly == ["http://a/2", "http://a/3"])
    }

    @Test("knows what a document asked for by https alone")
    mutating func upgraded() {
        let urls = ["https://a/1", "https://a/2", "http://a/2", "https://a/3", "http://a/3", "http://a/4"]
        for (index, url) in urls.enumerated() {
            begin("\(index)", url, at: 0)
            if index == 4 {
                note("loadingFailed", "4", at: 0, [("blockedReason", "mixed-content")])
            } else {
                note("loadingFinished", "\(index)", at: 0)
            }
        }
        #expect(network.upgraded(of: "L") == ["https://a/1"])
        #expect(network.upgraded(of: "M") == [])
    }

    @Test(
        "knows whether a field of a response has its document ask for all by https",
        arguments: [
            ("content-security-policy", "upgrade-insecure-requests", true),
            ("Content-Security-Policy", "img-src a\ndefault-src b ;\tUpgrade-Insecure-Requests;", true),
            ("Content-Security-Policy", "img-src a, upgrade-insecure-requests", true),
            ("Content-Security-Policy", "img-src upgrade-insecure-requests", false),
            ("Content-Security-Policy-Report-Only", "upgrade-insecure-requests", false),
        ])
    mutating func policy(name: String, value: String, isUpgrading: Bool) {
        begin("L", kind: "Document", at: 0)
        let fields = JSONValue.members([(name, JSONValue(value))])
        note("responseReceived", "L", at: 0, [("response", ["status": 200, "headers": fields])])
        #expect(network.documents["L"]?.isUpgrading == isUpgrading)
    }

    @Test("does not wait for what stays open, nor for what nothing is seen of")
    mutating func open() {
        begin("1", kind: "EventSource", at: 100)
        begin("2", kind: "Media", at: 100)
        #expect(quietAt(500) == nil)
        begin("3", kind: "Fetch", at: 600)
        note("dataReceived", "3", at: 5000)
        #expect(quietAt(14_999) == 15_000)
        #expect(quietAt(15_000) == nil)
        #expect(network.requests.count == 3)
    }

    @Test("forgets what a frame asked for that has gone")
    mutating func gone() {
        begin("1", at: 100, session: "S")
        begin("2", at: 100, session: "T")
        network.end(session: "T", now: 200)
        #expect(quietAt(300) == 10_100)
        network.end(session: "S", now: 300)
        #expect(quietAt(300) == 800)
    }

    @Test("has each hop of a redirect, and how the document was answered")
    mutating func redirect() {
        begin("L", "http://a/", kind: "Document", at: 0)
        note(
            "requestWillBeSent", "L", at: 1,
            [
                ("request", ["url": "http://b/", "method": "GET"]), ("type", "Document"), ("loaderId", "L"),
                ("redirectResponse", ["status": 302]),
            ])
        note("responseReceived", "L", at: 2, [("response", ["status": 404, "mimeType": "text/html"])])
        #expect(network.requests.map(\.url) == ["http://a/", "http://b/"])
        #expect(network.requests.map(\.status) == [302, 404])
        #expect(network.documents["L"]?.url == "http://b/")
        #expect(network.documents["L"]?.status == 404)
        #expect(network.documents["L"]?.mediaType == "text/html")
    }

    @Test("has nothing of URLs that are not asked for over it")
    mutating func local() {
        begin("1", "data:text/plain,x", at: 0)
        begin("2", "blob:http://a/x", at: 0)
        #expect(network.requests.isEmpty)
    }
}

@Suite("Fields for a host")
struct PageOptionsTests {
    @Test(
        "go to the URL's scheme, host and port, and from http to https",
        arguments: [
            ("https://a.test/x?y", ["https://a.test/*"]), ("https://A.test:8443", ["https://a.test:8443/*"]),
            ("http://a.test/", ["http://a.test/*", "https://a.test/*"]),
            ("http://u:p@a.test:81/", ["http://a.test:81/*", "https://a.test/*"]),
            ("http://[::1]:81/", ["http://[::1]:81/*", "https://[::1]/*"]),
            ("http://[::1]/", ["http://[::1]/*", "https://[::1]/*"]), ("http://a*/", []), ("x", []), ("http:///", []),
        ])
    func patterns(url: String, patterns: [String]) {
        var options = PageOptions(host: url)
        #expect(options.patterns.isEmpty)
        options.fields = [PageOptions.Pair(name: "N", value: "V")]
        #expect(options.patterns == patterns)
    }

    @Test("of one name are joined, since the browser sends the last one alone")
    func joining() {
        var options = PageOptions(host: "http://a.test/")
        options.fields = [("X-A", "1"), ("Cookie", "a=1"), ("B", "2"), ("x-a", "3"), ("cookie", "b=2")]
            .map { PageOptions.Pair(name: $0.0, value: $0.1) }
        #expect(options.joinedFields.map { "\($0.name): \($0.value)" } == ["X-A: 1, 3", "Cookie: a=1; b=2", "B: 2"])
    }
}

@Suite("The content of a frame")
struct FrameContentTests {
    private let page = "http://a/"
    private let known = [FrozenPage.Document(url: "http://a/f", markup: [1])]

    @Test("stands at its URL, unless that is another document's")
    func placing() {
        func content(_ url: String, _ markup: [UInt8]?) -> FrameContent? {
            FrameContent(url, markup, page: page, known: known)
        }
        #expect(content("http://b/", [1]) == .url(FrozenPage.Document(url: "http://b/", markup: [1])))
        #expect(content("http://b/", nil) == .url(nil))
        #expect(content("http://a/f", [1]) == .url(nil))
        #expect(content("http://a/f", [2]) == .markup([2]))
        #expect(content("http://a/", [2]) == .markup([2]))
        #expect(content("about:srcdoc", [2]) == .markup([2]))
        #expect(content("about:blank", [2]) == .blank([2]))
        #expect(content("blob:http://a/1", [2]) == .markup([2]))
        #expect(content("", [2]) == .blank([2]))
        #expect(content("chrome-error://chromewebdata/", [2]) == .nothing)
        #expect(content("chrome-error://chromewebdata/", nil) == .nothing)
        #expect(content("about:blank", nil) == nil)
    }
}

@Suite("The frames of a page")
struct FrameTreeTests {
    @Test("stand behind those that they are in, over all sessions")
    func order() {
        var tree = FrameTree()
        tree.add(
            [
                "frame": ["id": "A", "url": "http://a/", "urlFragment": "#x"],
                "childFrames": [
                    ["frame": ["id": "B", "parentId": "A"], "childFrames": [["frame": ["id": "C"]]]],
                    ["frame": ["id": "D", "parentId": "A"]],
                ],
            ], session: "S", parent: nil)
        tree.add(["frame": ["id": "E", "parentId": "B"]], session: "T", parent: nil)
        tree.add(["frame": ["id": "F"]], session: "U", parent: "A")
        #expect(tree.frames.map(\.id) == ["A", "B", "C", "D", "E", "F"])
        #expect(tree.frames.map(\.parent) == [nil, "A", "B", "A", "B", "A"])
        #expect(tree.children(of: "A").map(\.session) == ["S", "S", "U"])
        #expect(tree.frames.first?.fragment == "#x")
    }
}
