import Basics
import Database
import HTTP1
import HTTPSemantics
import NIOCore
import Substitution

extension LoopContext {
    /// Answers a request by a rule with a database.
    ///
    /// - Parameters:
    ///   - revalidates: whether an answer that is kept may be older than the data.
    ///   - body: what the request has brought, where another exchange has read it.
    ///   - originHasFailed: whether the origin was asked, and is not to be asked again.
    func answer(
        _ call: DatabaseCall, _ use: RuleUse, revalidates: Bool, _ request: Request, _ client: any ExchangeClient,
        body: [UInt8]? = nil, originHasFailed: Bool = false
    ) -> (any Exchange)? {
        let asked = DatabaseAsking(call, request, use.uri)
        let database = proxy.databases.database(call, in: folder(call.root), use.map)
        if let problem = asked.refusal(isLocal: client.isLocal, hasAccessControl: proxy.access != nil) {
            client.record?.reason = problem.title
            return serve(make(problem, use), request, client)
        }
        let exchange = DatabaseExchange(asked, use, database, request, client)
        exchange.originHasFailed = originHasFailed
        if let problem = asked.unfitness {
            exchange.begin(refusedWith: problem)
        } else {
            exchange.begin(body: body, ready: asked.isRetrieval && !revalidates && !asked.usesBody ? known(use) : nil)
        }
        return exchange.isOver ? nil : exchange
    }

    /// Asks the origin for what is more than reading, and the database where that fails.
    ///
    /// To a write where the rule lets nothing be written, the origin's failure is the answer.
    func forwardFirst(
        _ call: DatabaseCall, _ use: RuleUse, _ request: Request, _ asked: AskedRequest, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        let asking = DatabaseAsking(call, request, use.uri)
        let plan = ForwardPlan(reason: .bypass, outcome: .forwarded, detail: use.rule.position)
        guard !asking.isRefusedWrite else { return forward(request, asked, to: use.uri, client, plan) }
        guard asking.isWrite || asking.wantsBody else {
            // What its body says counts for the origin alone.
            return forward(request, asked, to: use.uri, client, plan) { [self] failure in
                client.record?.reason = failure.failure
                client.record?.outcome = .substituted
                client.resume {
                    answer(call, use, revalidates: false, request, client, body: [], originHasFailed: true)
                }
            }
        }
        let database = proxy.databases.database(call, in: folder(call.root), use.map)
        let exchange = DatabaseExchange(asking, use, database, request, client)
        exchange.beginAtOrigin(asked, plan)
        return exchange.isOver ? nil : exchange
    }

    /// Whether a rule answers GET of a URL with a resource of a database.
    ///
    /// - Parameters:
    ///   - call: another one of this database.
    ///   - fields: those of the request, which the conditions of a rule may ask for.
    func isAnswered(
        _ url: String, with resource: [UInt8], as call: DatabaseCall, _ use: RuleUse, _ fields: FieldSection
    ) -> Bool {
        guard let uri = try? TargetURI(url),
            let match = use.map.lookup(uri, method: RequestMethod(.get), fields: fields, scratch: &scratch),
            case .database(let found) = use.map.answer(match, uri: uri, scratch: scratch)
        else { return false }
        // A table's name has any case, and is in lower case where it was a host.
        let name = resource.prefix { $0 != UInt8(ascii: "/") }
        return found.settings.rule.statement == nil && found.path == call.path
            && found.resource.count == resource.count
            && found.resource.prefix(name.count).map(\.asciiLowercased) == name.map(\.asciiLowercased)
            && found.resource.dropFirst(name.count).elementsEqual(resource.dropFirst(name.count))
            && Array(found.root.utf8) == Array(call.root.utf8)
    }

    /// The answer to the same GET that this event loop has kept, or another one.
    private func known(_ use: RuleUse) -> ReadyAnswer? {
        if let ready = use.ready, ready.data?.isCurrent == true { return ready }
        guard use.rule.options.retain != .never, let shared = proxy.databases.shared?.find(use) else { return nil }
        let ready = make(shared.answer, shared.body, use, status: shared.answer.status, data: shared.data)
        use.keep(ready)
        return ready
    }

    /// An answer that is not kept.
    func make(_ problem: Problem, _ use: RuleUse) -> ReadyAnswer {
        make(DatabaseAnswer(problem), use, status: problem.status, data: nil)
    }

    /// An answer of a database, ready to send.
    ///
    /// - Parameter data: the data that it holds as long as; nil where it is for one request.
    func make(_ answer: DatabaseAnswer, _ use: RuleUse, status: Int, data: AnswerData?) -> ReadyAnswer {
        make(answer, AnswerContent.Body(of: answer), use, status: status, data: data)
    }

    func make(
        _ answer: DatabaseAnswer, _ body: AnswerContent.Body, _ use: RuleUse, status: Int, data: AnswerData?
    ) -> ReadyAnswer {
        let options = use.rule.options
        let type = answer.isProblem || answer.type.isEmpty ? nil : options.type?.withDefaultCharset.bytes
        var content = AnswerContent(
            bodies: [body], mediaType: type ?? Array(answer.type.utf8), defaultStatus: answer.status)
        content.data = data
        content.fields = answer.fields.map { ($0.name, Array($0.value.utf8)) }
        content.isProblem = answer.isProblem
        if answer.isProblem { content.cacheControl = "no-store" }
        content.isConditional = answer.isRetrieval
        content.varyingFields = use.rule.varyingFields
        let position = use.rule.position
        if answer.isRow { content.made = shaped(content, use, status: options.status ?? status, position) }
        return ReadyAnswer(
            options: options, position: position, content: content, identity: proxy.identity, checkedAt: 0)
    }

    /// The lines of the answer before by the same rule, with the tag and the body of this one; nil where there may be
    /// more that differs.
    private func shaped(
        _ content: AnswerContent, _ use: RuleUse, status: Int, _ position: String
    ) -> RepresentationBuilder? {
        let options = use.rule.options
        guard status == 200, content.isConditional, content.fields.isEmpty, options.headers.isEmpty,
            let body = content.bodies.first, let bytes = body.bytes
        else { return nil }
        if let shape = use.table.shapes[use.rule.id], shape.mediaType == content.mediaType {
            return shape.with(BodySegments(bytes), etag: body.etag)
        }
        let made = AnswerFields.builder(
            of: body, in: content, options: options, status: status, position: position,
            answersCORS: options.answersCORS, identity: proxy.identity)
        // What is kept of it holds no body.
        use.table.shapes[use.rule.id] = made.with(BodySegments(ByteBuffer()), etag: body.etag)
        return made
    }

    /// Looks whether the data are still those of an answer that is served meanwhile.
    func refresh(_ answer: ReadyAnswer, _ data: AnswerData) {
        answer.isChecking = true
        let bound = NIOLoopBound(answer, eventLoop: eventLoop)
        data.check { [eventLoop] _ in eventLoop.execute { bound.value.isChecking = false } }
    }
}

extension DatabaseAnswer {
    /// Whether it has an entity tag.
    fileprivate var isRow: Bool { status == 200 && !isProblem }
}

extension AnswerContent.Body {
    /// That of an answer; nil for other results.
    init?(of result: DatabaseResult) {
        guard case .answer(let answer, _) = result else { return nil }
        self.init(of: answer)
    }

    /// The body of a database's answer, with its entity tag.
    init(of answer: DatabaseAnswer) {
        self.init(
            coding: nil, etag: answer.isRow ? ContentTag.make(answer.body) : [], lastModified: nil,
            size: answer.body.count, bytes: ByteBuffer(bytes: answer.body))
    }
}

/// A request as a database is asked it.
struct DatabaseAsking {
    let call: DatabaseCall
    let method: DatabaseRequest.Method?
    let request: Request
    private let uri: TargetURI
    private let methodName: String

    init(_ call: DatabaseCall, _ request: Request, _ uri: TargetURI) {
        self.call = call
        self.request = request
        self.uri = uri
        methodName = String(decoding: request.head.methodBytes, as: UTF8.self)
        method = request.isHead ? .get : DatabaseRequest.Method(rawValue: methodName)
    }

    var isRetrieval: Bool { request.head.method == .get || request.isHead }
    private var statement: DatabaseRule.Statement? { call.settings.rule.statement }
    private var writes: DatabaseRule.Writes { call.settings.rule.writes }

    /// Whether it may change data.
    var isWrite: Bool {
        statement.map(\.isWrite) ?? (!isRetrieval && method != .options && method != nil && writes != .off)
    }

    /// Whether it would change data if the rule let it.
    var isRefusedWrite: Bool { statement == nil && !isWrite && method.map { !$0.isReading } ?? false }

    /// Whether the answer depends on what the request brings.
    var usesBody: Bool { statement?.parameters.contains { $0.hasPrefix("@") } ?? false }

    /// Whether its body is read before the database is asked.
    var wantsBody: Bool {
        guard request.hasBody else { return false }
        if let statement { return statement.parameters.contains { $0.hasPrefix("@") } }
        return isWrite && method != .delete
    }

    /// Whether the client sends the body when it has been asked for it, and only the schema shows whether it should be.
    var waitsForContinue: Bool { statement == nil && request.head.fields.contains(.expect) }

    /// The request for what the resource can do.
    ///
    /// A row that isn't there is told of, but where PUT would make it.
    var methodsRequest: DatabaseRequest {
        var asked = DatabaseAsking.request(.options, call, uri)
        asked.query = []
        let makesRow = method == .put && request.head.fields.contains(.ifNoneMatch)
        asked.wanted = makesRow ? nil : method
        return asked
    }

    /// What the request is refused with before its body is looked at, by the answer to ``methodsRequest``; nil where
    /// the resource has the method.
    func refusal(by answer: DatabaseAnswer) -> DatabaseAnswer? {
        guard !answer.isProblem else { return answer }
        let allow = answer.fields.first { $0.name == "Allow" }?.value ?? ""
        let methods = allow.split(separator: ",").map { $0.filter { $0 != " " } }
        guard !methods.contains(where: methodName.hasBytes) else { return nil }
        return DatabaseAnswer(DatabaseAsking.notAllowed(methodName, allow: allow))
    }

    /// Why the client may not ask this; nil where it may.
    func refusal(isLocal: Bool, hasAccessControl: Bool) -> Problem? {
        guard isWrite else { return nil }
        if !isLocal, !hasAccessControl {
            return Problem(
                status: 403, title: "writing not allowed", detail: "other machines may write only with --auth")
        }
        guard writes == .file, let origin = refusedOrigin() else { return nil }
        return Problem(
            status: 403, title: "origin not allowed", detail: "\(origin) may not write here; see 'origins'")
    }

    /// What is wrong with the request whatever the data are: its method or its body; nil for nothing.
    ///
    /// Of a table it is the answer only where the resource is there and has the method.
    var unfitness: Problem? {
        // A statement answers whatever method the rule's conditions let through.
        guard method != nil || statement != nil else {
            return DatabaseAsking.notAllowed(methodName)
        }
        guard statement == nil ? (isWrite && method != .delete) : wantsBody else { return nil }
        return refusedBody()
    }

    /// Whether the schema shows what the resource can do.
    var isOfTable: Bool { statement == nil }

    /// 405.
    ///
    /// - Parameter allow: the methods that the resource has; nil where that isn't known.
    static func notAllowed(_ name: String, allow: String? = nil) -> Problem {
        let others = allow.map { "; \($0) do" } ?? ""
        var problem = Problem(status: 405, title: "method not allowed", detail: "\(name) does nothing here\(others)")
        problem.fields.append(AnswerField(name: "Allow", value: allow ?? "GET, HEAD, OPTIONS"))
        return problem
    }

    /// The page's origin, where it may not write to a file.
    private func refusedOrigin() -> String? {
        let fields = request.head.fields
        guard fields.contains(.origin) else { return nil }
        guard fields.count(of: .origin) == 1, let text = fields.firstText(.origin) else { return "null" }
        guard let origin = WebOrigin(text) else { return text.lowercased() }
        let isAllowed = origin == WebOrigin(uri) || call.settings.origins.contains(origin) || origin.isLoopback
        return isAllowed ? nil : text.lowercased()
    }

    private var limit: Int { call.settings.rule.limits.body }

    private func refusedBody() -> Problem? {
        let fields = request.head.fields
        let isCoded = fields.withFirst(.contentEncoding) { !$0.equalsIgnoringCase("identity") } ?? false
        let type = mediaType
        guard DatabaseAsking.reads(type, method), !isCoded else {
            var problem = DatabaseAsking.unreadable(type, method)
            if isCoded {
                problem.detail = "a body with a content coding is not read"
                // Which codings would do (RFC 9110 §15.5.16).
                problem.fields.append(AnswerField(name: "Accept-Encoding", value: "identity"))
            }
            return problem
        }
        if isTooLong { return tooLarge }
        return nil
    }

    /// Whether a body of a media type is read.
    static func reads(_ type: String, _ method: DatabaseRequest.Method?) -> Bool {
        type == "application/json" || type == "application/x-www-form-urlencoded"
            || (type == "application/merge-patch+json" && method == .patch)
    }

    /// 415.
    static func unreadable(_ type: String, _ method: DatabaseRequest.Method?) -> Problem {
        let isPatch = method == .patch
        var types = "application/json, application/x-www-form-urlencoded"
        if isPatch { types += ", application/merge-patch+json" }
        var problem = Problem(
            status: 415, title: "unsupported media type",
            detail: type.isEmpty ? "the body has no Content-Type" : "'\(type)' is not read here")
        problem.fields.append(AnswerField(name: isPatch ? "Accept-Patch" : "Accept-Post", value: types))
        return problem
    }

    var tooLarge: Problem {
        Problem(
            status: 413, title: "body too large", detail: "more than \(limit) bytes; 'limits: { body: … }' allows more")
    }

    /// Bytes of a body that are read at most.
    var bodyLimit: Int { limit }

    /// Whether more is declared than is read at most.
    var isTooLong: Bool { request.hasMore(than: limit) }

    /// The media type in lower case, without parameters; of a charset that isn't UTF-8, as it stands.
    private var mediaType: String {
        let isPlain = request.head.fields.withFirst(.contentType) { $0.equalsIgnoringCase("application/json") }
        if isPlain == true { return "application/json" }
        return request.head.fields.firstText(.contentType).map(DatabaseAsking.mediaType) ?? ""
    }

    /// The media type that the value of Content-Type has, as above.
    static func mediaType(_ text: String) -> String {
        let parts = text.lowercased().split(separator: ";")
        let type = parts.first.map { $0.filter { $0 != " " && $0 != "\t" } } ?? ""
        for parameter in parts.dropFirst() {
            let words = parameter.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
            guard words.hasPrefix("charset=") else { continue }
            if !["utf-8", "utf8", "us-ascii"].contains(words.dropFirst("charset=".count)) { return text }
        }
        return type
    }

    /// The request for the database.
    ///
    /// - Parameter body: what it has brought.
    func request(body: [UInt8], isBodyWanted: Bool = false) -> DatabaseRequest {
        var asked = DatabaseAsking.request(method ?? .get, call, uri)
        asked.captures = call.captures
        guard isWrite || wantsBody || isBodyWanted else { return asked }
        let fields = request.head.fields
        asked.body.bytes = body
        asked.body.type = mediaType
        asked.body.ifMatch = EntityTags(.ifMatch, of: fields)
        asked.body.ifNoneMatch = EntityTags(.ifNoneMatch, of: fields)
        asked.body.prefersMinimal = preference(fields)
        return asked
    }

    /// A request without a body.
    static func request(_ method: DatabaseRequest.Method, _ call: DatabaseCall, _ uri: TargetURI) -> DatabaseRequest {
        let (url, query) = uri.withBytes { bytes in
            (Array(bytes[0..<min(uri.pathEnd, bytes.count)]), Array(bytes[min(uri.pathEnd + 1, bytes.count)...]))
        }
        return DatabaseRequest(method, rule: call.settings.rule, path: call.resource, query: query, url: url)
    }

    /// What `Prefer` says of the answer (RFC 7240 §4.2).
    private func preference(_ fields: FieldSection) -> Bool? {
        for element in (fields.joinedText("prefer") ?? "").lowercased().split(separator: ",") {
            let word = element.split(separator: ";").first.map { $0.filter { $0 != " " && $0 != "\"" } }
            if word == "return=minimal" { return true }
            if word == "return=representation" { return false }
        }
        return nil
    }
}

extension EntityTags {
    /// What a field names, read as for the preconditions of GET; nil where there is no such field.
    init?(_ name: FieldName, of fields: FieldSection) {
        guard fields.contains(name) else { return nil }
        self.init()
        fields.forEach(name) { line in
            let list = EntityTagList(line)
            guard !list.isAny else { return isAny = true }
            for tag in list {
                tags.append(Tag(isWeak: tag.isWeak, quoted: [0x22] + Array(tag.opaqueTag) + [0x22]))
            }
        }
    }
}

extension FieldSection {
    /// The values of all lines of a name, joined by commas; nil where there is none.
    fileprivate func joinedText(_ name: String) -> String? {
        var value: [UInt8]?
        forEach(named: Array(name.utf8)) { line in value = (value.map { $0 + Array(", ".utf8) } ?? []) + Array(line) }
        return value.map { String(decoding: $0, as: UTF8.self) }
    }
}
