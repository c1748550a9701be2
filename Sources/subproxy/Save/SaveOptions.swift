import ArgumentParser
import Browser
import HTTPSemantics
import NIOCore

/// The options of `save`, which are the same for one page and for many.
struct SaveOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The browser. (default: the first Chromium or Chrome on PATH)", valueName: "file"),
        completion: .file())
    var browser: String?

    @Flag(help: "Let the browser run without its sandbox, as root has to.")
    var noSandbox = false

    @Option(
        help: ArgumentHelp("The size of what is seen of the page. (default: 1280x800)", valueName: "WxH"),
        transform: SaveValue.viewport)
    var viewport: Viewport?

    @Option(
        help: ArgumentHelp("What the browser calls itself. (default: its own)", valueName: "text"),
        transform: SaveValue.userAgent)
    var userAgent: String?

    @Option(
        name: .customLong("cookie"),
        help: ArgumentHelp("A cookie for the URL's host alone; repeatable.", valueName: "name=value"),
        transform: SaveValue.cookie)
    var cookies: [PageOptions.Pair] = []

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("A field of requests to the URL's host alone; repeatable.", valueName: "name: value"),
        transform: SaveValue.field)
    var fields: [PageOptions.Pair] = []

    @Option(
        help: ArgumentHelp(
            "A profile of the browser, such as one that is logged in; not while a browser uses it. (default: a fresh one)",
            valueName: "folder"),
        completion: .directory)
    var userDataDir: String?

    @Option(
        help: ArgumentHelp("How long loading, scrolling and freezing may take. (default: 60s)", valueName: "duration"),
        transform: OptionValue.duration())
    var timeout: TimeAmount?

    @Option(
        help: ArgumentHelp("How long to wait before the page is frozen. (default: 0)", valueName: "duration"),
        transform: OptionValue.duration(allowsZero: true))
    var wait: TimeAmount?

    @Option(
        help: ArgumentHelp(
            "Wait until an element is there before the page is frozen: a selector of CSS.", valueName: "selector"))
    var waitFor: String?

    @Option(
        help: ArgumentHelp("How often the page is scrolled at most. (default: 100)", valueName: "number"),
        transform: OptionValue.count(0...100_000))
    var maxScrolls: Int?

    @Flag(help: "Save the page whatever its status is; without it 400 and above is an error.")
    var anyStatus = false

    @Flag(help: "Don't freeze the page: save what was loaded, scripts and all. Not for .mhtml and .webarchive.")
    var keepScripts = false

    @Flag(help: "Keep all that was loaded, not only what the frozen page asks for.")
    var all = false

    @Option(
        name: .customLong("map"),
        help: ArgumentHelp("Map whose rules answer while the page is loaded; repeatable.", valueName: "file"),
        completion: .maps)
    var maps: [String] = []

    @OptionGroup(title: "Origins") var origins: OriginOptions

    @Flag(help: "Print the report as one JSON object a page.")
    var json = false

    func check() throws {
        try origins.check()
        if !cookies.isEmpty, fields.contains(where: { $0.name.lowercased() == "cookie" }) {
            throw ValidationError(
                "--cookie and -H 'Cookie: …' can't be used together: the field would replace the cookies")
        }
        if let map = maps.first(where: { $0 == "-" }) {
            throw ValidationError("--map \(map): standard input is not read here; name a file")
        }
    }

    /// What is captured of a page.
    func capture(of url: String) -> PageCapture {
        var capture = PageCapture(url: url)
        capture.fields = fields
        capture.cookies = cookies
        if let viewport { capture.viewport = viewport }
        if let maxScrolls { capture.mostScrolls = maxScrolls }
        capture.selector = waitFor
        if let wait { capture.waitTime = Int(clamping: wait.nanoseconds / 1_000_000) }
        if let timeout { capture.time = max(1, Int(clamping: timeout.nanoseconds / 1_000_000)) }
        capture.allowsAnyStatus = anyStatus
        // What this proxy says where it gets no response (RFC 9209 §2.1.1).
        capture.failureField = PageOptions.Pair(name: "proxy-status", value: "subproxy; error=")
        capture.isFrozen = !keepScripts
        return capture
    }
}

/// Reads the values of options of `save`.
enum SaveValue {
    /// The URL of a page: http or https, with what is no ASCII percent-encoded, and its host as browsers write it.
    static func url(_ text: String) throws -> String { try url(text.utf8) }

    /// The same of bytes in any encoding.
    static func url(_ bytes: some Sequence<UInt8>) throws -> String {
        var encoded = ""
        for byte in bytes {
            if byte > 0x20, byte < 0x7F {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += byte < 0x10 ? "%0\(digits)" : "%\(digits)"
            }
        }
        do {
            let uri = try TargetURI(String(encoded.prefix { $0 != "#" }))
            let authority = encoded.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
            guard !authority.prefix(while: { !"/?#".contains($0) }).contains("@") else {
                throw OptionValueError("has a name or a password in it; -H 'Authorization: …' sends one")
            }
            guard uri.scheme != .other else { throw TargetError.invalidScheme }
            guard hasUsualHost(uri) else { throw TargetError.invalidHost }
            let fragment = encoded.firstIndex(of: "#").map { encoded[$0...] } ?? ""
            return "\(uri.schemeText)://\(uri.authority)\(String(buffer: uri.rawPathAndQuery))\(fragment)"
        } catch let error as OptionValueError {
            throw error
        } catch {
            throw OptionValueError("must be a URL of http or https, as in https://www.example.com/")
        }
    }

    /// Whether a host is no IPv4 address in another form than four numbers, such as `127.1`, which browsers rewrite
    /// (https://url.spec.whatwg.org/#ends-in-a-number-checker).
    private static func hasUsualHost(_ uri: TargetURI) -> Bool {
        let host = Array(uri.host.utf8)
        guard host.first != UInt8(ascii: "["), let last = host.split(separator: UInt8(ascii: ".")).last else {
            return true
        }
        let isNumber = last.allSatisfy { (0x30...0x39).contains($0) } || last.starts(with: "0x".utf8)
        return !isNumber || host.withUnsafeBytes { IPAddressText.isIPv4($0) }
    }

    /// What a browser can call itself: Chromium takes no other characters, and would send its own name without a word.
    static func userAgent(_ text: String) throws -> String {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
            throw OptionValueError("must be of visible ASCII characters and blanks")
        }
        return text
    }

    static func viewport(_ text: String) throws -> Viewport {
        let parts = text.utf8.split(separator: UInt8(ascii: "x"), omittingEmptySubsequences: false)
        let sizes = parts.compactMap { DecimalNumber.parse($0) }
        guard parts.count == 2, sizes.count == 2, sizes.allSatisfy({ (1...16_384).contains($0) }) else {
            throw OptionValueError("must be width and height in pixels, as in 1280x800")
        }
        return Viewport(width: sizes[0], height: sizes[1])
    }

    static func cookie(_ text: String) throws -> PageOptions.Pair {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw OptionValueError("must be NAME=VALUE")
        }
        return PageOptions.Pair(name: String(text[..<equals]), value: String(text[text.index(after: equals)...]))
    }

    /// Fields that the browser makes itself (https://fetch.spec.whatwg.org/#forbidden-request-header).
    private static let ofBrowser: Set<String> = [
        "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive", "expect",
    ]

    static func field(_ text: String) throws -> PageOptions.Pair {
        let field = try RequestedField(text)
        let lower = String(decoding: field.name, as: UTF8.self).lowercased()
        guard !ofBrowser.contains(lower), !lower.hasPrefix("proxy-"), !lower.hasPrefix("sec-") else {
            throw OptionValueError("is the browser's own field; it can't be given")
        }
        return PageOptions.Pair(
            name: String(decoding: field.name, as: UTF8.self), value: String(decoding: field.value, as: UTF8.self))
    }
}
