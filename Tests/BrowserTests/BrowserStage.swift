import Glibc
import JSON
import ProxyTestKit
import Synchronization
import Testing

@testable import Browser

/// Tests with browsers: each has one to itself, and hands it on.
@Suite("A browser", .withBrowsers, .ownBrowser, .program(InstalledProgram.chromium, of: "chromium"))
enum BrowserTests {
    static var options: BrowserOptions {
        var options = BrowserOptions(executable: InstalledProgram.chromium)
        options.hasNoSandbox = geteuid() == 0
        options.commandTime = 600_000
        return options
    }

    /// The browser of this test; tests that end one start their own.
    static func shared() throws -> BrowserSession { try #require(own).session() }

    @TaskLocal fileprivate static var own: OneTestsBrowser?
}

/// The browser that a test has, from when it asks for it.
private final class OneTestsBrowser: @unchecked Sendable {
    // Unchecked: a test asks on one thread.
    private var held: BrowserSession?

    private struct Idle: @unchecked Sendable { let session: BrowserSession }

    /// Those that no test has.
    private static let idle = Mutex<[Idle]>([])
    private static let ending: Void = {
        atexit {
            for browser in OneTestsBrowser.idle.withLock({ $0 }) { browser.session.close() }
        }
    }()

    func session() throws -> BrowserSession {
        if let held { return held }
        _ = OneTestsBrowser.ending
        let session =
            try OneTestsBrowser.idle.withLock { $0.popLast() }?.session
            ?? BrowserSession(BrowserTests.options, interruption: BrowserInterruption())
        held = session
        return session
    }

    func giveBack() {
        guard let held else { return }
        guard held.isRunning else { return held.close() }
        let idle = Idle(session: held)
        OneTestsBrowser.idle.withLock { $0.append(idle) }
    }
}

/// Gives each test a browser of its own.
private struct OwnBrowser: TestTrait, SuiteTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let own = OneTestsBrowser()
        defer { own.giveBack() }
        try await BrowserTests.$own.withValue(own) { try await function() }
    }
}

extension Trait where Self == OwnBrowser {
    fileprivate static var ownBrowser: OwnBrowser { OwnBrowser() }
}

/// A site on loopback, whose documents a test may replace by frozen ones.
final class Site: Sendable {
    struct Answer: Sendable {
        var status = "200 OK"
        var type = "text/html"
        var fields = ""
        var body: [UInt8]
        /// How many bytes the connection ends before the body does.
        var missing = 0

        init(_ body: String, _ type: String = "text/html", status: String = "200 OK", fields: String = "") {
            self.init(Array(body.utf8), type, status: status, fields: fields)
        }

        init(_ body: [UInt8], _ type: String, status: String = "200 OK", fields: String = "") {
            (self.status, self.type, self.fields, self.body) = (status, type, fields, body)
        }
    }

    private let origin: ScriptedOrigin
    private let answers: Mutex<[String: Answer]>
    private let frozen = Mutex<[String: Answer]>([:])
    private let log = Mutex<[ScriptedOrigin.Request]>([])

    /// A picture of 8 × 8 pixels, in SVG, so that its colour can be told.
    static func picture(_ width: Int = 8, _ height: Int = 8) -> Answer {
        Answer(
            "<svg xmlns='http://www.w3.org/2000/svg' width='\(width)' height='\(height)'><rect width='99' height='99'/></svg>",
            "image/svg+xml")
    }

    /// - Parameter answers: by path, without a query.
    init(_ answers: [String: Answer]) throws {
        self.answers = Mutex(answers)
        let box = Box()
        origin = try ScriptedOrigin { request, connection in
            try box.site?.answer(request, connection) ?? false
        }
        box.hold(self)
    }

    private final class Box: Sendable {
        private let held = Mutex<Weak>(Weak())
        struct Weak { weak var site: Site? }
        var site: Site? { held.withLock(\.site) }
        func hold(_ site: Site) { held.withLock { $0.site = site } }
    }

    var port: UInt16 { origin.port }
    func url(_ path: String, host: String = "127.0.0.1") -> String { "http://\(host):\(port)\(path)" }
    func set(_ path: String, _ answer: Answer) { answers.withLock { $0[path] = answer } }

    /// From now on these documents are what stands at their URLs; requests are counted anew.
    func replace(by page: FrozenPage) {
        frozen.withLock { table in
            for document in page.documents {
                table[document.url] = Answer(document.markup, document.mediaType + "; charset=utf-8")
            }
        }
        log.withLock { $0 = [] }
    }

    var requests: [ScriptedOrigin.Request] { log.withLock { $0 } }
    var targets: Set<String> { Set(requests.map(\.target)) }

    private func answer(_ request: ScriptedOrigin.Request, _ connection: ScriptedOrigin.Connection) throws -> Bool {
        _ = try connection.readBody(of: request, isKept: false)
        // Chromium asks for it by itself, and when it likes.
        if request.target != "/favicon.ico" { log.withLock { $0.append(request) } }
        let path = String(request.target.prefix { $0 != "?" })
        var answer = answers.withLock { $0[path] } ?? Answer("none", "text/plain", status: "404 Not Found")
        if let copy = frozen.withLock({ $0["http://\(request.field("Host") ?? "")\(request.target)"] }) {
            answer = copy
        }
        if answer.status == "hang" {
            sleep(20)
            return false
        }
        try connection.socket.send(
            "HTTP/1.1 \(answer.status)\r\nContent-Type: \(answer.type)\r\nContent-Length: \(answer.body.count + answer.missing)\r\n"
                + "Access-Control-Allow-Origin: *\r\n\(answer.fields)\r\n")
        try connection.socket.send(answer.body)
        return answer.missing == 0
    }
}

/// A page that was captured from a site, and what the frozen one looks like without scripts.
final class Frozen {
    let site: Site
    let result: PageCapture.Result
    private let page: BrowserPage

    init(_ site: Site, _ path: String = "/", _ change: (inout PageCapture) -> Void = { _ in }) throws {
        self.site = site
        var capture = PageCapture(url: site.url(path))
        capture.time = 600_000
        change(&capture)
        let session = try BrowserTests.shared()
        result = try capture.capture(in: session)
        site.replace(by: result.page)
        page = try capture.reload(result, in: session)
    }

    deinit { page.close() }

    var markup: String { result.page.documents.first.map { String(decoding: $0.markup, as: UTF8.self) } ?? "" }

    /// The value of an expression in the frozen page, as text.
    func text(_ expression: String) throws -> String {
        try value(expression).stringValue ?? ""
    }

    func value(_ expression: String) throws -> JSONValue {
        let deadline = Deadline(milliseconds: 600_000)
        return try page.mainScript("({ value: () => \(expression) })", until: deadline).call("value", until: deadline)
    }

    func picture(isFull: Bool) throws -> [UInt8] {
        try page.screenshot(isFull: isFull, until: Deadline(milliseconds: 600_000))
    }

    var requests: [PageRequest] { page.requests }

    /// The value of an expression in the first frame whose URL ends so.
    func text(_ expression: String, inFrame end: String) throws -> String {
        let deadline = Deadline(milliseconds: 600_000)
        let tree = try page.frameTree(until: deadline)
        let frame = try #require(tree.frames.first { $0.id != page.target && $0.url.hasSuffix(end) })
        return try IsolatedScript(
            "({ value: () => \(expression) })", in: frame.id, session: frame.session, connection: page.connection,
            until: deadline
        ).call("value", until: deadline).stringValue ?? ""
    }
}
