import Archives
import ArgumentParser
import ForwardProxy
import HTTPSemantics
import NIOCore
import Substitution

/// `subproxy explain`: which rule answers a URL, with what, and why.
struct ExplainCommand: ProgramCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say which rule answers a URL, with what, and why.",
        usage: "subproxy explain --map <file> <url> [<options>]",
        discussion: """
            If none answers, the nearest miss is named, and what would make it answer. Nothing is asked of an origin. \
            Exits with 0 whether a rule answers or not: --json has 'answered'.
            """)

    @Option(
        name: .customLong("map"),
        help: ArgumentHelp("Substitution map; repeatable, '-' is standard input.", valueName: "file"),
        completion: .maps)
    var maps: [String] = []

    @Argument(
        help: ArgumentHelp("The URL, as a client asks a proxy for it.", valueName: "url"),
        transform: RequestedURL.init)
    var url: RequestedURL

    @Option(
        name: [.customShort("X", allowingJoined: true), .customLong("method")],
        help: ArgumentHelp("Request method. (default: GET; with -d, POST)", valueName: "method"),
        transform: RequestedMethod.init)
    var method: RequestedMethod?

    @Option(
        name: [.customShort("H", allowingJoined: true), .customLong("header")],
        help: ArgumentHelp("Request field; repeatable.", valueName: "name: value"), transform: RequestedField.init)
    var fields: [RequestedField] = []

    @Option(
        name: [.customShort("d", allowingJoined: true), .customLong("data")],
        help: ArgumentHelp(
            """
            The request's body, by which entries of an archive are told apart, and which a write to a database has; a \
            form, as curl sends it, unless -H names another Content-Type.
            """, valueName: "text"))
    var data: String?

    @Flag(help: "As if serve had --offline.")
    var offline = false

    @Option(
        help: ArgumentHelp("As if serve had --bypass: origin, revalidate or never.", valueName: "mode"),
        completion: .words(of: RuleOptions.Bypass.self), transform: OptionValue.choice)
    var bypass: RuleOptions.Bypass?

    @Option(
        name: .customLong("listen"),
        help: ArgumentHelp(
            "Address that the proxy listens on, for its own pages; repeatable. (default: 127.0.0.1:8888)",
            valueName: "address:port"),
        transform: { try ListenAddress($0, hasIPv6: LocalAddress.hasIPv6) })
    var listeners: [ListenAddress] = []

    @Option(
        help: ArgumentHelp(
            "As if serve had --connect-ports.", valueName: "list"),
        transform: OptionValue.ports)
    var connectPorts: Set<UInt16>?

    @Flag(help: "Print a JSON object.")
    var json = false

    func run(in process: ProcessContext) throws -> ExitStatus {
        process.signals.restore()
        guard !maps.isEmpty else { throw ValidationError("no map is named; use --map FILE") }
        let map = try MapSources(maps, process.signals).loadOrFail()
        var section = FieldSection()
        for field in fields { section.append(name: field.name, value: field.value) }
        let method = method?.method ?? RequestMethod(data == nil ? .get : .post)
        var scratch = LookupScratch()
        var settings = DecisionPreview.Settings()
        settings.isOffline = offline
        settings.bypass = bypass
        settings.listeners = listeners.flatMap(\.addresses)
        if listeners.isEmpty { settings.listeners = [try SocketAddress(ipAddress: "127.0.0.1", port: 8888)] }
        if let connectPorts { settings.connectPorts = connectPorts }
        let body = data.map { Array($0.utf8) }
        if let body, !section.contains(.contentLength) {
            section.append(name: "Content-Length".utf8, value: String(body.count).utf8)
        }
        if data != nil, !section.contains(.contentType) {
            section.append(name: "Content-Type".utf8, value: "application/x-www-form-urlencoded".utf8)
        }
        // It asks for a tunnel to a host, and what is asked for in it is another request.
        let isTunnel = method.known == .connect
        let isSecure = url.uri.scheme == .https && !isTunnel
        let archive: ArchivePreview?
        do throws(ArchiveProblem) {
            archive =
                isTunnel ? nil : try ArchivePreview(url.uri, method: method, fields: section, body: body, map: map)
        } catch {
            throw CommandFailure(status: .dataError, message: "an entry of an archive can't be read: \(error.message)")
        }
        func preview(_ method: RequestMethod, _ fields: FieldSection) -> DecisionPreview {
            DecisionPreview(
                url.uri, method: method, fields: fields, map: map,
                archive: method.known == .connect ? nil : archive, settings: settings)
        }
        let explanation =
            isTunnel ? Explanation.none : map.explain(url.uri, method: method, fields: section, scratch: &scratch)
        let requested = preview(method, section)
        let answer = requested.preflightRule == nil ? explanation.answer : nil
        let isRules =
            explanation.answer != nil || requested.preflightRule != nil || requested.preflightArchive != nil
        let report = ExplanationReport(
            url: url.uri, method: self.method?.text ?? (data == nil ? "GET" : "POST"), explanation: explanation,
            preview: requested,
            connect: isSecure ? preview(RequestMethod(.connect), FieldSection()) : nil,
            archive: isRules ? nil : archive,
            elsewhere: isRules || isTunnel || archive != nil ? [] : map.nearestElsewhere(url.uri, method: method),
            database: answer.flatMap {
                DatabasePreview($0, url.uri, method: method, fields: section, map: map, body: body)
            },
            template: answer.flatMap {
                TemplatePreview($0, url.uri, method: method, fields: section, map: map, body: body)
            })
        StandardStream.output.writeLine(json ? report.json : report.text)
        return .success
    }
}

/// The URL that is asked for.
struct RequestedURL {
    let uri: TargetURI

    init(_ text: String) throws {
        do {
            uri = try TargetURI(text)
        } catch {
            if !text.contains("://"), !text.hasPrefix("http"), let completed = try? TargetURI("http://" + text) {
                throw OptionValueError("the URL has no scheme; did you mean \(completed.description)?")
            }
            throw OptionValueError(
                "no URL that a proxy can be asked for (\(error)), as in http://www.example.com/a.png")
        }
    }
}

/// The method of the request: a token (RFC 9110 §9.1).
struct RequestedMethod {
    let text: String
    let method: RequestMethod

    init(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty, bytes.allSatisfy({ $0.isMember(of: .token) }) else {
            throw OptionValueError("no method, as in POST")
        }
        self.text = text
        method = bytes.withUnsafeBytes { RequestMethod($0) }
    }
}

/// A field of the request: `Name: value` (RFC 9110 §5).
struct RequestedField {
    let name: [UInt8]
    let value: [UInt8]

    init(_ text: String) throws {
        let bytes = Array(text.utf8)
        let wrong = OptionValueError("no field, as in 'Cache-Control: no-cache'")
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { throw wrong }
        name = Array(bytes[..<colon])
        var value = bytes[(colon + 1)...]
        while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
        while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
        guard name.allSatisfy({ $0.isMember(of: .token) }), value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 })
        else { throw wrong }
        self.value = Array(value)
    }
}
