import Database
import Diagnostics
import Files
public import HTTPSemantics
import Mustache
public import Substitution

/// What a rule's page would be made from for a request. Nothing is rendered, and no statement is run.
public struct TemplatePreview: Sendable {
    /// A statement whose rows the template gets.
    public struct Statement: Sendable {
        public let name: String
        public let preview: DatabasePreview
        let result: DatabaseRule.Statement.Result
    }

    /// How long the answer to GET is kept.
    public enum Kept: String, Sendable {
        /// One for all URLs, while its files and data stay what they are.
        case once = "once for all URLs"
        /// One for each URL.
        case byURL = "by URL"
        case not = "not"
    }

    /// The template's path, absolute; nil for one that stands in the map.
    public let path: String?
    /// The same below the root.
    let relativePath: [UInt8]
    public let mediaType: String
    /// The paths of its partials, absolute.
    public private(set) var partials: [String] = []
    /// What it uses of the request, as it names that: `request.query.q`.
    public private(set) var uses: [String] = []
    /// What its statements take of the request: `$1`, `:name`, `@name`.
    public let parameters: [String]
    public private(set) var kept = Kept.not
    public private(set) var statements: [Statement] = []
    /// Why the template can't be rendered.
    public private(set) var failure: TemplateFailure?

    /// What is wrong with the template: one line.
    public private(set) var error: String?

    /// What is answered in the place of a page; nil where there is one, as far as is known.
    private(set) var refusal: ProxyError?

    /// Reads the template, and opens the database for reading; nil where the rule answers with something else. Blocks.
    ///
    /// - Parameters:
    ///   - fields: those of the request.
    ///   - body: the request's; nil where it isn't known, or there is none. The default is nil.
    public init?(
        _ answer: Explanation.Answer, _ uri: TargetURI, method: RequestMethod, fields: FieldSection,
        map: SubstitutionMap, body: [UInt8]? = nil
    ) {
        let answer = answer.first
        guard case .template(let call) = answer.source else { return nil }
        path = call.text == nil ? TemplatePreview.absolute(call.path, call) : nil
        relativePath = call.path
        mediaType = call.mediaType(by: answer.rule.options)
        let named = call.settings.statements
        parameters = Set(named.flatMap(\.statement.parameters)).sorted()
        let previewed = PreviewedRequest(uri, method, fields, body: body)
        if let database = call.database {
            statements = named.map { statement in
                Statement(
                    name: statement.name,
                    preview: DatabasePreview(
                        database, statement, previewed, map, position: answer.rule.position),
                    result: statement.statement.result)
            }
        }
        var parts: [TemplateReader.Part] = []
        do throws(TemplateFailure) {
            let reader = TemplateReader(folder: FolderRoot(path: call.root), path: call.path, text: call.text)
            let page = TemplatePage(try reader.read(&parts))
            uses = page.uses
            let limit = call.settings.rule.limits.body
            if page.usesBody(named), previewed.request.hasMore(than: limit) { refusal = .bodyTooLarge(limit) }
            let isKept = answer.rule.options.retain != .never && (method.known == .get || method.known == .head)
            switch page.dependency(named) {
            case .nothing where isKept: kept = .once
            case .url where isKept: kept = .byURL
            default: break
            }
        } catch {
            failure = error
            switch error {
            case .template(let error):
                let rendering = map.placed(error, ofTemplateIn: answer.rule.id)
                self.error = String(rendering.prefix { $0 != "\n" })
                self.refusal = .template(rendering)
            case .file(let refusal): self.error = "\(refusal)"
            }
        }
        if failure == nil, refusal == nil {
            refusal = statements.lazy.compactMap { $0.preview.pageError(rule: answer.rule.position) }.first
        }
        let files = Set(parts.map(\.path)).subtracting(call.text == nil ? [call.path] : [])
        partials = files.map { TemplatePreview.absolute($0, call) }.sorted()
    }

    private static func absolute(_ path: [UInt8], _ call: TemplateCall) -> String {
        "\(call.root)/\(String(decoding: path, as: UTF8.self))"
    }
}
