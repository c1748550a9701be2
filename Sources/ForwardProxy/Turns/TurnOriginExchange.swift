import Database
import HTTP1
import HTTPSemantics
import NIOCore
import Substitution

/// Asks the origin first for a rule with several answers of which one uses the request's body: that is held meanwhile,
/// and the turn's answer gets it where the origin fails.
final class TurnOriginExchange: Exchange {
    private let answers: AnswersInTurn
    private let use: RuleUse
    private let request: Request
    private let asked: AskedRequest
    private let loop: LoopContext
    /// Nil from the end of the exchange on, and not weak: see ``ForwardExchange``.
    private var client: (any ExchangeClient)?
    private var body: HeldBody
    /// Whether an answer uses the body; nil until the templates are read.
    private var usesBody: Bool?
    /// What has come before that is known.
    private var early: [ByteBuffer] = []
    private var bodyHasEnded = false
    private var trailers: FieldSection?

    /// - Returns: nil where no answer can use a body.
    init?(
        _ answers: AnswersInTurn, _ use: RuleUse, _ request: Request, _ asked: AskedRequest,
        _ client: any ExchangeClient
    ) {
        var databases: [DatabaseCall] = []
        var templates: [TemplateCall] = []
        for number in 0..<answers.count {
            switch answers.answer(number) {
            case .database(let call) where DatabaseAsking(call, request, use.uri).wantsBody: databases.append(call)
            case .template(let call): templates.append(call)
            case .file, .content, .database, .answers, .origin, .refused: break
            }
        }
        guard !databases.isEmpty || !templates.isEmpty else { return nil }
        self.answers = answers
        self.use = use
        self.request = request
        self.asked = asked
        self.client = client
        loop = client.loop
        // The turn is taken when the origin has failed: which answer it is isn't known yet.
        let limits = databases.map(\.settings.rule.limits.body) + templates.map(\.settings.rule.limits.body)
        body = HeldBody(limit: limits.max() ?? 0)
        client.setWantsBody(false)
        read(templates, usesBody: !databases.isEmpty)
    }

    func receive(_ bytes: ByteBuffer) {
        guard let usesBody else { return early.append(bytes) }
        if usesBody, !body.isTooLarge, !body.append(bytes) { refuse() }
    }

    func receiveEnd(trailers: FieldSection?) {
        bodyHasEnded = true
        self.trailers = trailers
        if usesBody == true { forwardHeld() }
    }

    func clientBecameWritable() {}

    func clientIsGone() { client = nil }

    /// Looks whether a template uses the body, off the event loop.
    private func read(_ templates: [TemplateCall], usesBody: Bool) {
        let files = templates.map { call in
            (loop.proxy.templates.file(call, in: loop.folder(call.root), isRetained: true), call.settings.statements)
        }
        loop.onFilePool(
            { () throws(Never) -> Bool in
                usesBody
                    || files.contains { file, statements in
                        // One that can't be read is an error that says so, whatever the body is.
                        (try? file.page())?.page.usesBody(statements) ?? false
                    }
            },
            { [self] result in
                guard client != nil else { return }
                switch result {
                case .success(true): hold()
                case .success(false): forward()
                }
            })
    }

    private func hold() {
        usesBody = true
        for bytes in early where !body.isTooLarge { _ = body.append(bytes) }
        early = []
        guard !body.isTooLarge, request.bodyLength.map({ $0 <= body.limit }) ?? true else { return refuse() }
        guard !bodyHasEnded else { return forwardHeld() }
        client?.sendContinue()
        client?.setWantsBody(true)
        client?.flush()
    }

    /// Hands the request to the origin with its body as it comes.
    private func forward() { forward(PassingBody(early, hasEnded: bodyHasEnded, trailers), holding: nil) }

    /// Hands the request to the origin with its body, which the turn's answer gets too.
    private func forwardHeld() {
        let passing = PassingBody([ByteBuffer(bytes: body.bytes)], hasEnded: true, trailers)
        forward(passing, holding: body.bytes)
    }

    private func forward(_ passing: PassingBody, holding body: [UInt8]?) {
        guard let client else { return }
        self.client = nil
        let (loop, answers, use, request) = (loop, answers, use, request)
        let plan = ForwardPlan(reason: .bypass, outcome: .forwarded, detail: use.rule.position)
        loop.forward(request, passing, asked, to: asked.uri, client, plan) { failure in
            client.record?.reason = failure.failure
            client.resume {
                loop.answer(
                    use, from: .answers(answers), revalidates: false, request, client, bodyIsGone: true, body: body)
            }
        }
    }

    private func refuse() {
        guard let client else { return }
        self.client = nil
        client.setWantsBody(true)
        client.fail(.bodyTooLarge(body.limit).answering(by: use.rule.options))
        client.flush()
    }
}
