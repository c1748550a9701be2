import Database
import Diagnostics
import HTTPSemantics
import JSON
import Mustache
import YAML

/// `template`: a page made from a Mustache template, values of the map, and rows of a database.
///
/// The rule's text is the template's path below the root, or the template itself.
struct TemplateSource: SourceKind {
    let option = "template"
    let traits: SourceTraits = [.dependsOnURL]
    let companions: Set<CompanionName> = [.values, .sqlite, .sql, .limits, .seed, .columns]

    func query(isExact: Bool) -> QueryCondition { .ignore }

    func read(_ value: YAMLNode, _ reader: SourceReader) -> RuleBody.Text? {
        if let entries = value.entries { return readText(entries, value, reader) }
        guard let scalar = value.scalar, scalar.value == .text else {
            reader.diagnostics.error("'template' is a path, or { text: … }, not \(value.kind)", at: reader.span(value))
            return nil
        }
        guard reader.key?.kind != .folder else {
            reader.diagnostics.error(
                "'template' is not for folders; a pattern's captures can name templates", at: reader.span(value))
            return nil
        }
        return FileSource().path(scalar, reader)
    }

    private func readText(
        _ entries: [YAMLNode.Entry], _ value: YAMLNode, _ reader: SourceReader
    ) -> RuleBody.Text? {
        guard entries.count == 1, entries[0].key.scalar?.string == "text", let scalar = entries[0].value.scalar,
            !scalar.isNull
        else {
            reader.diagnostics.error(
                "'template' is a path, or { text: \"<h1>{{title}}</h1>\" }", at: reader.span(value))
            return nil
        }
        guard scalar.value == .text else {
            reader.diagnostics.error("'text' is text, not \(entries[0].value.kind); put it in quotes", at: scalar.span)
            return nil
        }
        let text = Array(scalar.bytes)
        do throws(TemplateError) {
            _ = try MustacheTemplate.parse(text, file: TemplateSource.inlineName)
        } catch {
            let place = error.diagnostic.span.map { "line \($0.start.line), column \($0.start.column) of it: " } ?? ""
            reader.diagnostics.error("the template is wrong: \(place)\(error.diagnostic.message)", at: scalar.span)
            return nil
        }
        return reader.builder.append(text)
    }

    /// What messages call a template that stands in the map.
    static let inlineName = "template"

    func note(_ value: YAMLNode, into given: inout GivenOptions) {
        var options = given.database ?? DatabaseOptions()
        options.isInline = value.entries != nil
        given.database = options
    }

    func effect(of option: OptionName, in given: GivenOptions) -> OptionEffect {
        guard option == .retain, given.retain == .pinned else { return .some }
        return .contradiction("a page holds while its template and its data do; 'retain' is true or false")
    }

    func settle(_ options: inout GivenOptions) {
        // A reload asks for the page as it is now, which no origin knows.
        options.bypass = options.bypass ?? .revalidate
    }

    func check(_ given: GivenOptions, _ reader: SourceReader) {
        let options = given.database
        if options?.sql != nil {
            reader.diagnostics.error(
                "beside 'template', 'sql' is a mapping of names to statements, or to { sql: …, result: … }",
                at: reader.keySpan)
        }
        let needing = [
            ("sql", options?.statements != nil), ("seed", options?.seeds != nil), ("columns", options?.forms != nil),
        ]
        for (name, isGiven) in needing where isGiven && options?.path == nil {
            reader.diagnostics.error("'\(name)' needs the database that 'sqlite' names", at: reader.keySpan)
        }
        guard let values = options?.values else { return }
        if case .object(let object) = values {
            for statement in options?.statements ?? [] where object[statement.name] != nil {
                reader.diagnostics.error("'\(statement.name)' is a value and a statement", at: reader.keySpan)
            }
        } else if options?.statements != nil {
            reader.diagnostics.error("beside 'sql', 'values' is a mapping", at: reader.keySpan)
        }
    }

    func answer(_ request: SourceRequest) -> SourceAnswer {
        let settings = request.options.database ?? DatabaseSettings(DatabaseOptions())
        var call = TemplateCall(root: request.root, settings: settings, position: request.position)
        call.captures = request.captures
        guard !settings.isInline else {
            call.text = request.written
            return .template(call)
        }
        do throws(RefusalReason) {
            call.path = try FileSource.path(request)
            call.isPathCaptured = request.template != nil
            return .template(call)
        } catch {
            return .refused(error)
        }
    }

    func words(for answer: SourceAnswer, by options: RuleOptions) -> String {
        guard case .template(let call) = answer else { return answer.words(options) }
        guard call.text == nil else { return "a page from a template in the map" }
        return "a page from the template \(call.root)/\(String(decoding: call.path, as: UTF8.self))"
    }
}

/// What a rule with a template answers a request with.
public struct TemplateCall: Sendable {
    /// The folder that the template is below, absolute.
    public let root: String
    /// The template's path below it; empty for one that stands in the map.
    public internal(set) var path: [UInt8] = []
    /// Whether captures are part of the path, so that URLs have templates of their own.
    public internal(set) var isPathCaptured = false
    /// The template, where it stands in the map.
    public internal(set) var text: [UInt8]?
    public let settings: DatabaseSettings
    /// The rule's place, as `substitutions.yaml:12`.
    public let position: String
    /// The captures of the rule's key, by number and by name, decoded.
    public internal(set) var captures: [(name: String, value: [UInt8])] = []

    init(root: String, settings: DatabaseSettings, position: String) {
        self.root = root
        self.settings = settings
        self.position = position
    }

    /// The members of `request`.
    public static let requestMembers = [
        "method", "url", "scheme", "host", "port", "path", "segments", "query", "query-all", "captures", "headers",
        "cookies", "body", "json", "form", "time", "id", "number",
    ]

    /// The path that a page's media type is told by: that of its template, `.mustache` at its end left out.
    public static func typePath(_ path: [UInt8]) -> [UInt8] {
        let mark = Array(".mustache".utf8)
        return path.suffix(mark.count).elementsEqual(mark) ? path.dropLast(mark.count) : path
    }

    /// The database that the statements ask; nil where there is none.
    public var database: DatabaseCall? {
        settings.path.map {
            DatabaseCall(root: root, path: $0, settings: settings, resource: [], captures: captures)
        }
    }
}
