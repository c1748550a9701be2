import Database
public import Files
import HTTPCaching
public import HTTPSemantics
public import NIOCore
public import Substitution

/// What the proxy would do with a request, and why: the decision of a real exchange, without the exchange.
public struct DecisionPreview: Sendable {
    /// What the decision depends on besides the map and the request; the defaults are those of `serve`.
    public struct Settings: Sendable {
        /// Never ask an origin.
        public var isOffline = false
        /// The bypass mode over the map's; nil leaves it to the map.
        public var bypass: RuleOptions.Bypass?
        /// The addresses that the proxy listens on, under which its own site is asked for.
        public var listeners: [SocketAddress] = []
        /// The ports that CONNECT may name beside those that the map names.
        public var connectPorts = ProxyConfiguration().connectPorts

        public init() {}
    }

    /// The outcome as the access log names it.
    public let outcome: String
    /// What is done, and why: one sentence without a capital and a full stop.
    public let sentence: String
    /// The value of Cache-Status, as far as it is known before an origin has answered; nil where the response has none.
    public let cacheStatus: String?
    /// The status, where it is known: nil where an origin decides, or what the client has already.
    public let status: Int?
    /// Whether this is a CONNECT whose tunnel is decrypted; the log has such a one as `tunnelled` too.
    public private(set) var isDecrypted = false
    /// The rule that answers, where this is the request of a script of another origin that asks first (`cors: auto`).
    public private(set) var preflightRule: Rule?
    /// The archive that answers such a request.
    public private(set) var preflightArchive: MapArchive?

    /// Whether the answer is in a file, which may be missing.
    private let isInFile: Bool
    /// Whether the answer is made from a database, which may be missing.
    private let isOfDatabase: Bool
    /// Whether the answer is a page from a template.
    private let isOfTemplate: Bool
    /// What happens instead if the file does not exist, where the rule says so; one or none.
    private let ifMissing: [DecisionPreview]

    /// Decides as for a request with these fields; looks at nothing but the map.
    ///
    /// - Parameter archive: what archives have for the request, where no rule answers it.
    public init(
        _ uri: TargetURI, method: RequestMethod, fields: FieldSection, map: SubstitutionMap,
        archive: ArchivePreview? = nil, settings: Settings = Settings()
    ) {
        let decider = Decider(map, settings)
        guard method.known != .connect else {
            self.init(tunnel: uri, fields: fields, decider)
            return
        }
        let asked = AskedRequest(
            uri: uri, method: method, version: .http1_1, fields: fields, hasBody: DecisionPreview.hasBody(fields))
        var scratch = LookupScratch()
        let match = map.lookup(uri, method: method, fields: fields, scratch: &scratch)
        let rule = match.map { map.rule($0.id) }
        var preflight = LookupScratch()
        let isOfRule = decider.preflightRule(for: asked, &preflight) != nil
        if rule == nil, !isOfRule, let archive = decider.preflightArchive(for: asked) {
            self.init(
                .substituted, "the archive \(archive.shortName) answers scripts of other origins (cors: auto)",
                status: 204
            ) { StatusFields.writeHit(rule: archive.shortName, to: &$0) }
            preflightArchive = archive
            return
        }
        if rule == nil, !isOfRule, let archive, archive.miss?.missing != .forward {
            self.init(archive, asked, decider)
            return
        }
        var other = LookupScratch()
        let decision = decider.decision(on: asked, rule: rule, scratch: &other)
        let found = match.map { Found(rule: map.rule($0.id), answer: map.answer($0, uri: uri, scratch: scratch)) }
        self.init(decision, found, asked, decider)
    }

    /// The rule that a request has found, and what it answers with.
    private struct Found {
        let rule: Rule
        let answer: SourceAnswer
    }

    /// What was decided on a request that no archive answers.
    private init(_ decision: Decision, _ found: Found?, _ asked: AskedRequest, _ decider: Decider) {
        let uri = asked.uri
        let position = found?.rule.position ?? ""
        switch decision {
        case .preflight(let rule):
            self.init(
                .substituted, "the rule \(rule.position) answers scripts of other origins (cors: auto)", status: 204
            ) { StatusFields.writeHit(rule: rule.position, to: &$0) }
            preflightRule = rule
        case .ownSite: self.init(ownSite: asked, decider)
        case .answer(let revalidates):
            guard let found else {
                self.init(.internalError)
                return
            }
            if case .answers(let answers) = found.answer {
                self.init(answers.answer(0), by: answers.rule(0), asked, decider, revalidates: revalidates)
            } else {
                self.init(found.answer, by: found.rule, asked, decider, revalidates: revalidates)
            }
        case .bypass:
            self.init(
                asked, to: uri, .request, "no-cache \(position)",
                "the request asks for a fresh answer (no-cache) and passes the rule by to the origin; "
                    + "'bypass: never' or --bypass never answers it from the map", decider, as: .bypassed)
        case .originFirst:
            let next = found?.rule.forwards == true ? "the URL that the rule forwards to" : "the rule"
            self.init(
                asked, to: uri, .bypass, position,
                "the origin is asked first, and \(next) answers where it fails (when: origin-fails)", decider)
        case .forward(let reason):
            guard let found else {
                self.init(asked, to: uri, reason, "", DecisionPreview.sentence(for: reason), decider)
                return
            }
            switch found.answer {
            case .origin(let target):
                self.init(
                    asked, to: target?.ofRootPage ?? uri, reason, position,
                    DecisionPreview.forwarding(by: found.rule), decider)
            case .refused(let why): self.init(.noUsableURL(rule: position, why))
            case .file, .content, .database, .template, .answers: self.init(.internalError)
            }
        case .consultStore: self.init(withNothingStored: asked, decider)
        case .refuse(let error): self.init(error)
        }
    }

    /// A request for a URL of an archive's.
    private init(_ preview: ArchivePreview, _ asked: AskedRequest, _ decider: Decider) {
        guard let found = preview.found else {
            guard let miss = preview.miss else {
                self.init(.internalError)
                return
            }
            let options = preview.archive.options
            if case .originFirst = decider.answering(asked, options, RequestCacheControl(asked.fields)) {
                self.init(
                    asked, to: asked.uri, .bypass, miss.archive,
                    "the origin is asked first, and the archive refuses it where the origin fails (when: origin-fails)",
                    decider)
                return
            }
            if miss.missing == .noContent {
                self.init(.refused, "the archive \(miss.archive) has no entry for it (missing: 204)", status: 204)
            } else {
                self.init(.missed(miss, answersCORS: false))
            }
            return
        }
        switch decider.answering(asked, found.archive.options, RequestCacheControl(asked.fields)) {
        case .bypass:
            self.init(
                asked, to: asked.uri, .request, "no-cache \(found.position)",
                "the request asks for a fresh answer (no-cache) and passes the archive by to the origin", decider,
                as: .bypassed)
        case .originFirst:
            self.init(
                asked, to: asked.uri, .bypass, found.position,
                "the origin is asked first, and the archive answers where it fails (when: origin-fails)", decider)
        case .refuse(let error): self.init(error)
        case .answer, .preflight, .ownSite, .consultStore, .forward:
            let isConditional = !asked.fields.present.isDisjoint(
                with: FieldNameSet(.range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince))
            self.init(
                .substituted, "the archive answers", status: found.status == 200 && isConditional ? nil : found.status
            ) { StatusFields.writeHit(rule: found.detail, to: &$0) }
        }
    }

    /// What happens instead where the rule's file can't be served; the same where no file was to be.
    ///
    /// - Parameters:
    ///   - refusal: why.
    ///   - path: the path tried, below the rule's root.
    public func refusing(_ refusal: FileRefusal, path: [UInt8], rule: Rule) -> DecisionPreview {
        guard isInFile else { return self }
        let refusal = refusal.asAnswered
        if refusal == .notFound {
            if let preview = ifMissing.first { return preview }
            if AnswerContent.looksLikeTraversal(path) { return DecisionPreview(.noSuchFile(rule: rule.position)) }
        }
        return DecisionPreview(
            .file(refusal, rule: rule.position, path: String(decoding: path, as: UTF8.self)))
    }

    /// The same as far as the rule's database is known; the same where none was to answer.
    public func answering(from database: DatabasePreview) -> DecisionPreview {
        guard isOfDatabase else { return self }
        if database.isMissing, let preview = ifMissing.first { return preview }
        guard let problem = database.problem else {
            let known = database.status
            return DecisionPreview(self, sentence, status: status.flatMap { $0 == 200 || known == nil ? known : $0 })
        }
        return DecisionPreview(
            self, "the rule answers with '\(problem.title)': \(problem.detail)", status: problem.status)
    }

    /// What a rule answers with: as a rule with one answer, or with the first of several.
    private init(
        _ answer: SourceAnswer, by rule: Rule, _ asked: AskedRequest, _ decider: Decider, revalidates: Bool
    ) {
        let fields = asked.fields
        let isInFile =
            switch answer {
            case .file: true
            case .template(let call): call.text == nil
            case .content, .database, .answers, .origin, .refused: false
            }
        let isOfDatabase = if case .database = answer { true } else { false }
        let isOfTemplate = if case .template = answer { true } else { false }
        switch answer {
        case .refused(let reason) where !reason.isOfURL && rule.options.missing == .forward:
            self =
                DecisionPreview.ifMissing(rule, asked, decider, because: "\(reason)").first
                ?? DecisionPreview(.internalError)
        case .refused(let reason):
            self.init(reason.isOfURL ? .noUsableURL(rule: rule.position, reason) : .noSuchFile(rule: rule.position))
        case .origin(let target) where rule.options.isInTurn:
            switch decider.forwarding(RequestCacheControl(fields), by: rule) {
            case .forward(let reason):
                self.init(
                    asked, to: target?.ofRootPage ?? asked.uri, reason, rule.position,
                    DecisionPreview.forwarding(by: rule), decider)
            case .refuse(let error): self.init(error)
            case .answer, .preflight, .ownSite, .bypass, .originFirst, .consultStore: self.init(.internalError)
            }
        case .origin, .answers: self.init(.internalError)
        case .file, .content, .database, .template:
            let isConditional = !fields.present.isDisjoint(
                with: FieldNameSet(.range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince))
            self.init(
                .substituted,
                revalidates
                    ? "the rule answers, with its validators checked against the file on disk" : "the rule answers",
                status: rule.status == 200 && isConditional ? nil : rule.status, isInFile: isInFile,
                isOfDatabase: isOfDatabase, isOfTemplate: isOfTemplate,
                ifMissing: isInFile || isOfDatabase ? DecisionPreview.ifMissing(rule, asked, decider) : []
            ) { StatusFields.writeHit(rule: rule.position, to: &$0) }
        }
    }

    /// The same as far as the rule's template and its database are known.
    public func answering(from template: TemplatePreview, rule: Rule) -> DecisionPreview {
        guard isOfTemplate else { return self }
        if case .file(let refusal)? = template.failure {
            return refusing(refusal, path: template.relativePath, rule: rule)
        }
        if let refusal = template.refusal { return DecisionPreview(refusal) }
        // One that has to find a row may find none, and a list may have more rows than a page.
        let isKnown = template.statements.allSatisfy { $0.result == .value }
        return DecisionPreview(self, sentence, status: isKnown ? status : nil)
    }

    private static func ifMissing(
        _ rule: Rule, _ asked: AskedRequest, _ decider: Decider, because reason: String = "the file does not exist"
    ) -> [DecisionPreview] {
        switch rule.options.missing {
        case .error: []
        case .notFound: [DecisionPreview(.noSuchFile(rule: rule.position))]
        case .forward where decider.isOffline: [DecisionPreview(.offline(rule: rule.position))]
        case .forward where RequestCacheControl(asked.fields).onlyIfCached: [DecisionPreview(.onlyIfCached)]
        case .forward:
            [
                DecisionPreview(
                    asked, to: asked.uri, .bypass, rule.position,
                    "\(reason), so the origin answers (missing: forward)", decider)
            ]
        }
    }

    /// The media type that a file would be answered with by a rule.
    public static func mediaType(ofFile path: [UInt8], by rule: Rule) -> String {
        if let type = rule.options.type { return type.withDefaultCharset.description }
        return SystemMediaTypes.type(forPath: path).withDefaultCharset.description
    }

    // MARK: What a decision comes to

    private init(
        _ outcome: Outcome, _ sentence: String, status: Int?, isInFile: Bool = false, isOfDatabase: Bool = false,
        isOfTemplate: Bool = false, ifMissing: [DecisionPreview] = [],
        _ writeCacheStatus: ((inout ByteBuffer) -> Void)? = nil
    ) {
        self.isInFile = isInFile
        self.isOfDatabase = isOfDatabase
        self.isOfTemplate = isOfTemplate
        self.ifMissing = ifMissing
        self.outcome = "\(outcome.name)"
        self.sentence = sentence
        self.status = status
        cacheStatus = writeCacheStatus.map { write in
            var line = ByteBuffer()
            write(&line)
            // The line has its name before the value, and its end behind.
            return String(
                decoding: line.readableBytesView.dropFirst("Cache-Status: ".utf8.count).dropLast(2), as: UTF8.self)
        }
    }

    private init(_ other: DecisionPreview, _ sentence: String, status: Int?) {
        outcome = other.outcome
        self.sentence = sentence
        cacheStatus = other.cacheStatus
        self.status = status
        isInFile = other.isInFile
        isOfDatabase = other.isOfDatabase
        isOfTemplate = other.isOfTemplate
        ifMissing = other.ifMissing
    }

    private init(_ error: ProxyError) {
        self.init(error.isRefusal ? .refused : .failed, "\(error.failure) \(error.advice)", status: error.status)
    }

    /// A request that an origin is to answer.
    private init(
        _ asked: AskedRequest, to uri: TargetURI, _ reason: ForwardReason, _ detail: String, _ sentence: String,
        _ decider: Decider, as outcome: Outcome = .forwarded
    ) {
        switch decider.passage(of: asked, to: uri) {
        case .refused(let error): self.init(error)
        case .options: self.init(.own, "Max-Forwards is 0, so the proxy answers for itself", status: 200)
        case .upgrade:
            self.init(
                outcome, sentence + "; it asks for another protocol (Upgrade): if the origin agrees, bytes are relayed",
                status: nil
            ) { StatusFields.writeForward(reason, detail: detail, to: &$0) }
        case .request:
            self.init(outcome, sentence, status: nil) { StatusFields.writeForward(reason, detail: detail, to: &$0) }
        }
    }

    private init(withNothingStored asked: AskedRequest, _ decider: Decider) {
        let request = CacheRequest(method: asked.method.known, fields: asked.fields, hasContent: asked.hasBody)
        let decision = StoredDecision.make(
            request, entries: [], at: CacheInstant(wall: 0, steady: 0), policy: CachePolicy(),
            isOffline: decider.isOffline)
        switch decision {
        case .refuse(let error): self.init(error)
        case .fetch(let reason):
            let refusal = RequestCacheControl(asked.fields).noStore ? StoreRefusal.requestNoStore : nil
            let kept = refusal.map { ", and what it answers is not kept (\($0.reason))" } ?? ""
            self.init(asked, to: asked.uri, reason, "", DecisionPreview.sentence(for: reason) + kept, decider)
        case .serve, .validate: self.init(.internalError)
        }
    }

    private init(ownSite asked: AskedRequest, _ decider: Decider) {
        if let error = decider.expectationError(asked) {
            self.init(error)
            return
        }
        let isOptions = asked.method.known == .options && asked.uri.isPathEmpty
        let path = asked.uri.withBytes { Array($0[asked.uri.pathStart..<asked.uri.pathEnd]) }
        if !isOptions, case .failure(let error) = OwnRoute.find(path, asked.method.bytes, isProxied: true) {
            self.init(error)
        } else {
            self.init(.own, "the URL is one of the proxy's own site", status: isOptions ? 200 : nil)
        }
    }

    private init(tunnel uri: TargetURI, fields: FieldSection, _ decider: Decider) {
        switch decider.tunnel(
            to: uri.host, port: uri.port, version: .http1_1, fields: fields, hasBody: DecisionPreview.hasBody(fields))
        {
        case .refuse(let refusal): self.init(refusal.error)
        case .decrypt:
            self.init(
                .tunnelled, "the map names the host, so the tunnel is decrypted, and the requests in it are answered",
                status: 200)
            isDecrypted = true
        case .relay:
            self.init(
                .tunnelled,
                "the map does not name the host for https, so the bytes are relayed, and no request in them is seen; "
                    + "a rule with an https URL, or 'intercept', has it decrypted", status: 200)
        }
    }

    private static func forwarding(by rule: Rule) -> String {
        let delay = rule.options.delay == .zero ? "" : ", after \(rule.options.delay)"
        let rate = rule.options.rate.map { ", and passes the response's body on at \($0) bytes a second" } ?? ""
        return "the rule forwards the request" + delay + rate
    }

    private static func hasBody(_ fields: FieldSection) -> Bool {
        fields.contains(.transferEncoding) || fields.withFirst(.contentLength) { $0.decimalValue ?? 0 } ?? 0 > 0
    }

    private static func sentence(for reason: ForwardReason) -> String {
        switch reason {
        case .uriMiss: "the origin answers, unless a response that is stored may be used (RFC 9111)"
        case .request: "the origin answers, whatever is stored: the request asks for it"
        case .method: "the origin answers: a request with this method gets nothing that is stored"
        case .bypass, .varyMiss, .stale, .partial: "the origin answers"
        }
    }
}

extension Decider {
    fileprivate convenience init(_ map: SubstitutionMap, _ settings: DecisionPreview.Settings) {
        var ownNames = OwnNames()
        for address in settings.listeners { ownNames.add(listener: address) }
        self.init(
            map: map, tunnels: TunnelPolicy(map), isOffline: settings.isOffline, bypass: settings.bypass,
            connectPorts: settings.connectPorts, ownNames: ownNames)
    }
}
