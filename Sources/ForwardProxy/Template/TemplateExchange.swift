import Basics
import Database
import Diagnostics
import Files
import HTTPSemantics
import Mustache
import NIOCore
import Substitution

extension LoopContext {
    /// Answers a request by a rule with a template.
    ///
    /// - Parameters:
    ///   - revalidates: whether an answer that is kept may be older than its template and its data.
    ///   - body: what the request has brought, where another exchange has read it.
    func answer(
        _ call: TemplateCall, _ use: RuleUse, revalidates: Bool, _ request: Request, _ client: any ExchangeClient,
        body: [UInt8]? = nil, originHasFailed: Bool = false
    ) -> (any Exchange)? {
        let exchange = TemplateExchange(call, use, request, client, revalidates: revalidates)
        exchange.originHasFailed = originHasFailed
        exchange.begin(body: body)
        return exchange.isOver ? exchange.successor : exchange
    }

    /// Asks the origin, and makes the page where that fails; of a body that the page uses, when it has been read.
    func forwardFirst(
        _ call: TemplateCall, _ use: RuleUse, _ request: Request, _ asked: AskedRequest, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        let exchange = TemplateExchange(call, use, request, client, revalidates: false)
        exchange.beginAtOrigin(
            asked, ForwardPlan(reason: .bypass, outcome: .forwarded, detail: use.rule.position))
        return exchange.isOver ? nil : exchange
    }
}

/// Makes a page from a template for one request: reads the template, the request's body where the page uses it, and
/// the rows of a database, off the event loop, and goes on with the exchange that sends what comes.
final class TemplateExchange: Exchange {
    private let call: TemplateCall
    private let use: RuleUse
    private let request: Request
    private let loop: LoopContext
    private let file: TemplateFile
    /// Nil from the end of the exchange on, and not weak: see ``ForwardExchange``.
    private var client: (any ExchangeClient)?
    private var page: (page: TemplatePage, number: UInt64)?
    private var body: HeldBody
    private var bodyHasEnded: Bool
    /// Whether the page uses the body; nil until its template is read, and what comes is held.
    private var wantsBody: Bool?
    private var ticket: DatabaseTicket?
    /// The rule's delay, which comes before anything is looked at: what a reset drops meanwhile is in no page.
    private var timer: Scheduled<Void>?
    private var hasWaited = false
    /// How many resets there had been when the database was asked.
    private var resetCount = 0
    /// Whether the answer may be one that is kept.
    private let takesKept: Bool
    /// Whether files may have been looked at a moment before the request.
    private let revalidates: Bool
    /// It is not yet in its place: what follows it at once takes that.
    private var isBeginning = false
    /// What sends the answer, where that was found at once.
    private(set) var successor: (any Exchange)?
    /// The origin that is asked first; nil for none.
    private var origin: (asked: AskedRequest, plan: ForwardPlan)?
    /// What has come of the body before it is known whether it is held, where an origin may get it.
    private var early: [ByteBuffer] = []
    private var trailers: FieldSection?

    init(
        _ call: TemplateCall, _ use: RuleUse, _ request: Request, _ client: any ExchangeClient, revalidates: Bool
    ) {
        self.call = call
        self.use = use
        self.request = request
        self.client = client
        loop = client.loop
        file = loop.proxy.templates.file(
            call, in: loop.folder(call.root), isRetained: use.rule.options.retain != .never)
        bodyHasEnded = !request.hasBody
        body = HeldBody(limit: call.settings.rule.limits.body)
        self.revalidates = revalidates
        takesKept = !revalidates && (request.head.method == .get || request.isHead)
    }

    /// Whether the origin was asked, and is not to be asked again.
    fileprivate var originHasFailed = false

    /// Whether nothing is left to serve.
    var isOver: Bool { client == nil }

    private var isRetrieval: Bool { request.head.method == .get || request.isHead }
    /// Whether an origin may get the body: one that is asked first, or one that answers where there is no template.
    private var mayPassBody: Bool {
        origin != nil || (use.rule.options.missing == .forward && !originHasFailed)
    }
    private var limits: DatabaseRule.Limits { call.settings.rule.limits }

    func begin(body given: [UInt8]?) {
        isBeginning = true
        defer { isBeginning = false }
        if let given {
            body = HeldBody(limit: body.limit, given)
            bodyHasEnded = true
        }
        // What a body is for shows in the template, which is read first.
        if !bodyHasEnded { client?.setWantsBody(false) }
        let delay = use.rule.options.delay
        guard delay != .zero else { return find() }
        hasWaited = true
        timer = loop.schedule(after: delay) { [weak self] in self?.find() }
    }

    /// Answers with what is kept, or makes the page.
    private func find() {
        guard client != nil else { return }
        let own = use.ready
        guard takesKept, let ready = own ?? use.shared(call), let data = ready.data else { return load() }
        if own == nil { use.keep(ready) }
        guard !ready.isFresh(request.receivedAt) else { return goOn(with: ready) }
        let bound = NIOLoopBound((self, ready), eventLoop: loop.eventLoop)
        data.check { [eventLoop = loop.eventLoop] hasLooked in
            eventLoop.execute {
                let (exchange, ready) = bound.value
                exchange.loop.batch { hasLooked && data.isCurrent ? exchange.goOn(with: ready) : exchange.load() }
            }
        }
    }

    /// Reads the template, the body where the page uses it, and asks the origin.
    func beginAtOrigin(_ asked: AskedRequest, _ plan: ForwardPlan) {
        origin = (asked, plan)
        client?.setWantsBody(false)
        load()
    }

    func receive(_ bytes: ByteBuffer) {
        guard !mayPassBody || wantsBody != nil else { return early.append(bytes) }
        guard wantsBody ?? true, !body.isTooLarge else { return }
        if !body.append(bytes), wantsBody == true { fail(.bodyTooLarge(body.limit)) }
    }

    func receiveEnd(trailers: FieldSection?) {
        bodyHasEnded = true
        self.trailers = trailers
        if wantsBody == true { askFirst() }
    }

    func clientBecameWritable() {}

    func clientIsGone() {
        client = nil
        timer?.cancel()
        ticket?.cancel()
    }

    // MARK: Making the page

    private func load() {
        guard client != nil else { return }
        // With an origin, the exchange that asks it comes next, and this one is not in its place yet.
        if !revalidates, origin == nil, let page = file.glance(request.receivedAt) {
            self.page = page
            return readBody(page.page)
        }
        let file = file
        loop.onFilePool(
            { () throws(TemplateFailure) -> (page: TemplatePage, number: UInt64) in try file.page() },
            { [self] result in
                switch result {
                case .success(let page):
                    self.page = page
                    readBody(page.page)
                case .failure(let failure): origin == nil ? fail(failure) : forward()
                }
            })
    }

    private func readBody(_ page: TemplatePage) {
        guard let client else { return }
        // Another URL's request may have made the page meanwhile, or before the template was changed to be the same for
        // all of them.
        if takesKept, origin == nil, page.dependency(call.settings.statements) == .nothing,
            let shared = use.shared(call),
            shared.isFresh(monotonicNanoseconds())
        {
            // What is kept for this URL alone would be found before it.
            call.isPathCaptured ? use.keep(shared) : use.forget()
            return goOn(with: shared)
        }
        guard request.hasBody, page.usesBody(call.settings.statements) else {
            if origin != nil { return forward() }
            wantsBody = false
            body.drop()
            early = []
            return ask()
        }
        for bytes in early where !body.isTooLarge { _ = body.append(bytes) }
        early = []
        guard !body.isTooLarge, !request.hasMore(than: body.limit) else { return fail(.bodyTooLarge(body.limit)) }
        guard !bodyHasEnded else { return askFirst() }
        wantsBody = true
        client.sendContinue()
        client.setWantsBody(true)
    }

    /// Goes on when the body is there.
    private func askFirst() { origin == nil ? ask() : forwardHeld() }

    /// Hands the request with what is held of its body to the origin, and makes the page where that fails.
    private func forwardHeld() {
        let (loop, call, use, request, body) = (loop, call, use, request, body.bytes)
        handToOrigin([ByteBuffer(bytes: body)]) { client in
            loop.answer(call, use, revalidates: false, request, client, body: body, originHasFailed: true)
        }
    }

    /// Hands the request to the origin, with its body as it comes: the page, where there is one, doesn't use it.
    private func forward() {
        let (loop, call, use, request) = (loop, call, use, request)
        handToOrigin(early) { client in
            loop.answer(call, use, revalidates: false, request.withoutBody, client, originHasFailed: true)
        }
    }

    /// - Parameter instead: answers where the origin fails.
    private func handToOrigin(
        _ held: [ByteBuffer], instead: @escaping (any ExchangeClient) -> (any Exchange)?
    ) {
        guard let client, let origin else { return }
        self.client = nil
        let passing = PassingBody(held, hasEnded: bodyHasEnded, trailers)
        loop.forward(request, passing, origin.asked, to: use.uri, client, origin.plan) { failure in
            client.record?.reason = failure.failure
            client.record?.outcome = .substituted
            client.resume { instead(client) }
        }
    }

    private func ask() {
        guard client != nil else { return }
        guard let database = call.database, !call.settings.statements.isEmpty else { return render([], nil) }
        var asked = DatabaseAsking(database, request, use.uri).request(body: body.bytes, isBodyWanted: true)
        asked.statements = call.settings.statements
        let source = loop.proxy.databases.database(database, in: loop.folder(call.root), use.map)
        resetCount = loop.proxy.databases.resetCount
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        ticket = source.submit(asked) { [eventLoop = loop.eventLoop] result in
            eventLoop.execute {
                let exchange = bound.value
                exchange.loop.batch { exchange.take(result, from: source) }
            }
        }
    }

    private func take(_ result: DatabaseResult, from database: Database) {
        guard client != nil else { return }
        ticket = nil
        switch result {
        case .rows(let rows, let version): render(rows, version.map { DataState(database, $0) })
        case .answer(let answer, _): fail(.rows(answer, rule: use.rule.position))
        case .missing: fail(.rowsMissing(database.name, rule: use.rule.position))
        case .refused(let why): fail(.rowsRefused(database.name, why, rule: use.rule.position))
        }
    }

    private func render(_ rows: [StatementRows], _ data: DataState?) {
        guard let page, client != nil else { return }
        let type = call.mediaType(by: use.rule.options)
        let escaping = MustacheEscaping(mediaType: type)
        let settings = call.settings
        let limit = limits.bytes
        let templates = loop.proxy.templates
        let rule = use.rule
        let asked = TemplateRequest(
            request: request, uri: use.uri, call: call, wall: wallNanoseconds(),
            number: { templates.count(rule.identity) })
        // Read on the event loop: what it reads of the request isn't for other threads. The body is.
        let used = page.page.members
        let ofHead = page.page.usesRequest ? asked.members(used) : nil
        let body = body.bytes
        let hasTag = isRetrieval && page.page.dependency(settings.statements) != .request
        templates.countRendering()
        loop.onFilePool(
            { () throws(TemplateFailure) -> (bytes: [UInt8], tag: [UInt8]) in
                let asked = ofHead.map { members in
                    MustacheValue.mapping(MustacheMapping(members + TemplateRequest.members(ofBody: body, used)))
                }
                do throws(TemplateError) {
                    let bytes = try page.page.page.render(
                        TemplateExchange.contexts(asked, settings, rows), escaping: escaping, answerBytes: limit)
                    return (bytes, hasTag ? ContentTag.make(bytes) : [])
                } catch {
                    throw .template(error)
                }
            },
            { [self] result in
                switch result {
                case .success(let made): finish(made, type, page, rows.isEmpty ? nil : data, hasRows: !rows.isEmpty)
                case .failure(let failure): fail(failure)
                }
            })
    }

    /// Where names are looked for, the last one first.
    private static func contexts(
        _ request: MustacheValue?, _ settings: DatabaseSettings, _ rows: [StatementRows]
    ) -> [MustacheValue] {
        var contexts: [MustacheValue] = []
        if let request { contexts.append(.mapping(MustacheMapping([(Array("request".utf8), request)]))) }
        let values = settings.pageValues
        guard !rows.isEmpty else { return contexts + (values.map { [$0] } ?? []) }
        var members: [(name: [UInt8], value: MustacheValue)] = []
        if case .mapping(let mapping)? = values {
            for (name, value) in zip(mapping.names, mapping.values) { members.append((name, value)) }
        }
        for row in rows { members.append((Array(row.name.utf8), MustacheValue(row))) }
        return contexts + [.mapping(MustacheMapping(members))]
    }

    // MARK: The answer

    private func finish(
        _ made: (bytes: [UInt8], tag: [UInt8]), _ type: String, _ page: (page: TemplatePage, number: UInt64),
        _ data: DataState?, hasRows: Bool
    ) {
        // The rows may have been dropped while the page was made of them.
        guard !hasRows || resetCount == loop.proxy.databases.resetCount else { return ask() }
        let dependency = page.page.dependency(call.settings.statements)
        let isOfOneRequest = dependency == .request
        var content = AnswerContent(
            bodies: [
                AnswerContent.Body(
                    coding: nil, etag: made.tag, lastModified: nil, size: made.bytes.count,
                    bytes: ByteBuffer(bytes: made.bytes))
            ], mediaType: Array(type.utf8))
        content.isConditional = isRetrieval && !isOfOneRequest
        if isOfOneRequest { content.cacheControl = "no-store" }
        content.varyingFields = (isOfOneRequest ? [] : page.page.fieldNames) + use.rule.varyingFields
        let isKept =
            isRetrieval && dependency <= .url && use.rule.options.retain != .never && (data != nil || !hasRows)
        if isKept, let room = loop.proxy.databases.kept.reserve(made.bytes.count) {
            content.data = AnswerData([DataState(file, page.number, loop)] + (data.map { [$0] } ?? []), room: room)
        }
        let ready = ReadyAnswer(
            options: use.rule.options, position: use.rule.position, content: content, identity: loop.proxy.identity,
            checkedAt: 0)
        if isRetrieval { use.forget(call) }
        if content.data != nil { dependency == .nothing ? use.share(ready, call) : use.keep(ready) }
        goOn(with: ready)
    }

    private func goOn(with answer: ReadyAnswer) {
        guard let client else { return }
        self.client = nil
        if request.hasBody { client.setWantsBody(true) }
        guard !isBeginning else { return successor = loop.serve(answer, request, client, hasWaited: hasWaited) }
        client.resume { loop.serve(answer, request, client, hasWaited: hasWaited) }
        client.flush()
    }

    private func fail(_ failure: TemplateFailure) {
        switch failure {
        case .template(let error) where call.text == nil: fail(.template(error.rendering))
        case .template(let error):
            // Where it stands in the map is looked for in the map's file.
            let (map, rule) = (use.map, use.rule.id)
            loop.onFilePool(
                { () throws(Never) -> String in map.placed(error, ofTemplateIn: rule) },
                { [self] result in
                    switch result {
                    case .success(let rendering): fail(.template(rendering))
                    }
                })
        case .file(let refusal):
            use.forget(call)
            let refusal = refusal.asAnswered
            if refusal == .notFound, use.rule.options.missing == .notFound {
                return fail(.noSuchFile(rule: use.rule.position))
            }
            if refusal == .notFound, use.rule.options.missing == .forward, !originHasFailed, let client {
                self.client = nil
                return loop.forwardMissing(
                    use, request, PassingBody(early, hasEnded: bodyHasEnded, trailers), client)
            }
            fail(.file(refusal, rule: use.rule.position, path: visibleText(of: call.path, limit: 300)))
        }
    }

    private func fail(_ error: ProxyError) {
        guard let client else { return }
        self.client = nil
        if request.hasBody { client.setWantsBody(true) }
        client.fail(error.answering(by: use.rule.options))
        client.flush()
    }
}
