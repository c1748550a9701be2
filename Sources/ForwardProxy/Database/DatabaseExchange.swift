import Basics
import Database
import HTTPSemantics
import NIOCore
import Substitution

/// Asks a database for the answer to one request: reads the request's body first, where it is wanted, and goes on with
/// the exchange that sends what comes.
final class DatabaseExchange: Exchange {
    private let asked: DatabaseAsking
    private let use: RuleUse
    private let database: Database
    private let request: Request
    private let loop: LoopContext
    /// Nil from the end of the exchange on, and not weak: see ``ForwardExchange``.
    private var client: (any ExchangeClient)?
    private var body: HeldBody
    private var isReading = false
    /// What has come of the body, where an origin gets it if there is no database; nil where none does.
    private var early: ByteBuffer?
    private var bodyHasEnded = false
    private var trailers: FieldSection?
    /// It is being looked whether the resource has the method, before the client is asked for the body.
    private var isLooking = false
    /// What is wrong with the request, if the resource has the method.
    private var unfitness: Problem?
    private var ticket: DatabaseTicket?
    /// The rule's delay, which comes before the database is asked: what a reset drops meanwhile is in no answer.
    private var timer: Scheduled<Void>?
    private var hasWaited = false
    /// The origin that is asked first; nil for none.
    private var origin: (asked: AskedRequest, plan: ForwardPlan)?

    init(
        _ asked: DatabaseAsking, _ use: RuleUse, _ database: Database, _ request: Request, _ client: any ExchangeClient
    ) {
        self.asked = asked
        self.use = use
        self.database = database
        self.request = request
        self.client = client
        loop = client.loop
        body = HeldBody(limit: asked.bodyLimit)
    }

    /// Whether the origin was asked, and is not to be asked again.
    var originHasFailed = false

    /// Whether nothing is left to serve.
    var isOver: Bool { client == nil }

    /// - Parameters:
    ///   - body: what the request has brought; nil where that is still to be read.
    ///   - ready: an answer that was made before, and whose data may have changed.
    func begin(body: [UInt8]?, ready: ReadyAnswer?) {
        if let body {
            self.body = HeldBody(limit: asked.bodyLimit, body)
            guard !self.body.isTooLarge || !asked.wantsBody else { return begin(refusedWith: asked.tooLarge) }
        } else {
            isReading = asked.wantsBody
            keepEarly()
        }
        if let ready, let data = ready.data { return check(ready, data) }
        guard isReading else { return ask() }
        asked.waitsForContinue ? look() : client?.sendContinue()
    }

    /// Keeps what comes of the body, where an origin may get it, and has it come only as far as it is wanted here.
    private func keepEarly() {
        guard early == nil, request.hasBody, use.rule.options.missing == .forward, !originHasFailed else { return }
        early = ByteBuffer()
        if !isReading { client?.setWantsBody(false) }
    }

    /// Refuses the request: for its method or its resource where one of them is wrong, which comes first.
    func begin(refusedWith problem: Problem) {
        guard asked.isOfTable else { return refuse(problem) }
        keepEarly()
        unfitness = problem
        look()
    }

    /// Asks the database which methods the resource has, and the client for the body where its one is among them.
    private func look() {
        isLooking = true
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        ticket = database.submit(asked.methodsRequest) { [eventLoop = loop.eventLoop] result in
            eventLoop.execute {
                let exchange = bound.value
                exchange.loop.batch { exchange.takeMethods(result) }
            }
        }
    }

    private func takeMethods(_ result: DatabaseResult) {
        isLooking = false
        guard let client else { return }
        ticket = nil
        guard case .answer(let answer, _) = result else {
            isReading = false
            return take(result)
        }
        if let refusal = asked.refusal(by: answer) {
            isReading = false
            return take(.answer(refusal, version: nil))
        }
        if let unfitness { return refuse(unfitness) }
        guard isReading else { return ask() }
        client.sendContinue()
        client.flush()
    }

    /// Reads the request's body, asks the origin, and the database where that fails.
    func beginAtOrigin(_ asked: AskedRequest, _ plan: ForwardPlan) {
        origin = (asked, plan)
        guard !self.asked.isTooLong else { return refuse(self.asked.tooLarge) }
        guard request.hasBody else {
            // Whoever began this exchange puts it in its place first: the next one would be lost.
            let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
            loop.eventLoop.execute { bound.value.loop.batch { bound.value.forward() } }
            return
        }
        isReading = true
        client?.sendContinue()
    }

    private func forward() {
        guard let client, let origin else { return }
        self.client = nil
        let body = body.bytes
        let (loop, asked, use, request) = (loop, asked, use, request)
        let passing = PassingBody([ByteBuffer(bytes: body)], hasEnded: true, trailers)
        loop.forward(request, passing, origin.asked, to: use.uri, client, origin.plan) { failure in
            client.record?.reason = failure.failure
            client.record?.outcome = .substituted
            client.resume {
                loop.answer(asked.call, use, revalidates: false, request, client, body: body, originHasFailed: true)
            }
        }
    }

    func receive(_ bytes: ByteBuffer) {
        // Copied: what is small may be a part of something large.
        early?.writeImmutableBuffer(bytes)
        guard isReading else { return }
        guard !body.append(bytes) else { return }
        isReading = false
        if early != nil { client?.setWantsBody(false) }
        if isLooking {
            unfitness = asked.tooLarge
        } else if origin == nil {
            begin(refusedWith: asked.tooLarge)
        } else {
            refuse(asked.tooLarge)
        }
    }

    func receiveEnd(trailers: FieldSection?) {
        bodyHasEnded = true
        self.trailers = trailers
        guard isReading else { return }
        isReading = false
        guard !isLooking else { return }
        origin == nil ? ask() : forward()
    }

    func clientBecameWritable() {}

    func clientIsGone() {
        client = nil
        timer?.cancel()
        ticket?.cancel()
    }

    // MARK: Asking

    /// Looks whether the data are still those of an answer that was made before.
    private func check(_ ready: ReadyAnswer, _ data: AnswerData) {
        guard !waits({ $0.check(ready, data) }) else { return }
        let bound = NIOLoopBound((self, ready), eventLoop: loop.eventLoop)
        data.check { [eventLoop = loop.eventLoop] hasLooked in
            eventLoop.execute {
                let (exchange, ready) = bound.value
                exchange.loop.batch {
                    hasLooked && data.isCurrent ? exchange.goOn(with: ready) : exchange.ask()
                }
            }
        }
    }

    private func ask() {
        guard client != nil, !waits({ $0.ask() }) else { return }
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        var asked = asked.request(body: body.bytes)
        asked.body.ruleTag = use.rule.options.headers.last { $0.name.equalsIgnoringASCIICase("etag") }?.value
        ticket = database.submit(asked) { [eventLoop = loop.eventLoop] result in
            // On the database's thread, since the tag of a long one takes a while.
            let content = AnswerContent.Body(of: result)
            eventLoop.execute {
                let exchange = bound.value
                exchange.loop.batch { exchange.take(result, content) }
            }
        }
        body.drop()
    }

    /// Whether the rule's delay is to come yet; then it goes on with something after it.
    private func waits(_ next: @escaping (DatabaseExchange) -> Void) -> Bool {
        let delay = use.rule.options.delay
        guard !hasWaited, delay != .zero else { return false }
        hasWaited = true
        timer = loop.schedule(after: delay) { [weak self] in
            guard let self, client != nil else { return }
            next(self)
        }
        return true
    }

    private func take(_ result: DatabaseResult, _ content: AnswerContent.Body? = nil) {
        guard let client else { return }
        ticket = nil
        switch result {
        case .answer(var answer, let version):
            if let made = answer.made, !isFound(made, in: answer) { answer.removeLocation() }
            if !answer.note.isEmpty { client.record?.reason = answer.note }
            let content = content ?? AnswerContent.Body(of: answer)
            let data = keeps ? version.flatMap { kept(answer, content, $0) } : nil
            let ready = loop.make(answer, content, use, status: answer.status, data: data)
            if data != nil { use.keep(ready) } else if asked.isRetrieval { use.forget() }
            goOn(with: ready)
        case .rows:
            refuse(Problem(status: 500, title: "database error", detail: "no statement was asked for"))
        case .missing: missing(client)
        case .refused(let why):
            refuse(.refused(database.name, why))
        }
    }

    /// Whether GET of an answer's Location gets what was made.
    private func isFound(_ made: [UInt8], in answer: DatabaseAnswer) -> Bool {
        if asked.call.isRest { return true }
        guard let location = answer.fields.first(where: { $0.name == "Location" }) else { return false }
        return loop.isAnswered(location.value, with: made, as: asked.call, use, request.head.fields)
    }

    /// Whether the answer may be given to the same request again.
    private var keeps: Bool { asked.isRetrieval && !asked.usesBody && use.rule.options.retain != .never }

    private func kept(_ answer: DatabaseAnswer, _ body: AnswerContent.Body, _ version: UInt64) -> AnswerData? {
        guard let room = loop.proxy.databases.kept.reserve(answer.body.count) else { return nil }
        let state = DataState(database, version)
        guard let others = loop.proxy.databases.shared else { return AnswerData([state], room: room) }
        let shared = SharedAnswer(answer, body, use, state, room)
        others.insert(shared, use)
        return shared.data
    }

    private func missing(_ client: any ExchangeClient) {
        let rule = use.rule
        switch rule.options.missing {
        case .notFound:
            self.client = nil
            readPast(client)
            client.fail(.noSuchFile(rule: rule.position).answering(by: rule.options))
            client.flush()
        case .forward where !originHasFailed && use.uri.scheme != .other:
            self.client = nil
            let body = PassingBody(early.map { [$0] } ?? [], hasEnded: bodyHasEnded, trailers)
            loop.forwardMissing(use, request, body, client)
        case .error, .forward:
            let path = rule.root + "/" + String(decoding: asked.call.path, as: UTF8.self)
            refuse(.missing(path, rule: rule.position))
        }
    }

    /// Has the problem sent, and names it in the log.
    private func refuse(_ problem: Problem) {
        client?.record?.outcome = .substituted
        client?.record?.reason = problem.status == 502 ? problem.detail : problem.title
        goOn(with: loop.make(problem, use))
    }

    /// Has the answer sent.
    private func goOn(with answer: ReadyAnswer) {
        guard let client else { return }
        // Of what was read, by whatever method: a write has compared its conditions before it changed anything.
        if answer.status == 200, answer.isConditional,
            answer.evaluate(request.head, now: loop.dateStamp().unixSeconds) == .failed
        {
            return refuse(
                Problem(
                    status: 412, title: "precondition failed",
                    detail: "the answer is not the one that the request wants it to be"))
        }
        self.client = nil
        readPast(client)
        client.resume { loop.serve(answer, request, client, hasWaited: hasWaited) }
        client.flush()
    }

    /// Has the rest of a body come that no origin gets.
    private func readPast(_ client: any ExchangeClient) {
        guard early != nil else { return }
        early = nil
        client.setWantsBody(true)
    }
}
