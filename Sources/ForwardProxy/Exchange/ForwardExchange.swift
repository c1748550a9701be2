import HTTP1
import HTTPSemantics
import NIOCore
import Substitution

/// Why a request goes to the origin, and what the log and Cache-Status say of it.
struct ForwardPlan {
    var reason: ForwardReason
    var outcome: Outcome
    /// The detail of Cache-Status: the rule's position, after the directive that let the rule be passed by.
    var detail: String
    /// Fields that the rule sets or removes on the origin's response.
    var headers: [RuleOptions.FieldChange] = []
    /// Whether scripts of other origins may read the proxy's own error that stands in the response's place, as the answer
    /// of the rule that has left the request to the origin.
    var answersCORS = false
    /// How long the request waits before it goes out, and at what rate the response's body is passed on.
    var pace = Pace()

    /// What a rule asks for that forwards.
    struct Pace {
        var delay = Duration.zero
        /// Bytes a second; nil for no limit.
        var rate: Int?
    }
}

extension ForwardPlan {
    /// The error as it is answered in the response's place.
    func answering(_ error: ProxyError) -> ProxyError {
        var error = error
        error.answersCORS = error.answersCORS || answersCORS
        return error
    }
}

extension ForwardPlan.Pace {
    init(_ options: RuleOptions) {
        delay = options.delay
        rate = options.rate
    }
}

/// Hands one request to the origin and its response to the client, both as streams with bounded memory.
final class ForwardExchange: OriginExchange {
    private let request: Request
    /// The URL that the client has asked for, and the one that the request goes to.
    private let asked: TargetURI
    private let target: TargetURI
    private let plan: ForwardPlan
    private let loop: LoopContext
    /// Nil from the end of the exchange on. Not weak: an object that ever had a weak reference is slow to count for
    /// good.
    private(set) var client: (any ExchangeClient)?
    private(set) var transfer: (any OriginTransport)?
    /// Answers in the origin's place when it fails before its response began (`when: origin-fails`).
    private var fallback: ((ProxyError) -> Void)?
    private var hasStarted = false
    private let passage = BodyPassage()
    private var paced: PacedBody?
    private var delay: Scheduled<Void>?
    var trailers: ByteBuffer?

    init(
        request: Request, asked: TargetURI, target: TargetURI, plan: ForwardPlan, client: any ExchangeClient,
        fallback: ((ProxyError) -> Void)? = nil
    ) {
        self.request = request
        self.asked = asked
        self.target = target
        self.plan = plan
        self.client = client
        self.fallback = fallback
        loop = client.loop
    }

    /// Sends the request on, after the rule's delay; what comes of its body meanwhile waits in the transfer.
    func begin(_ transfer: any OriginTransport) {
        self.transfer = transfer
        guard plan.pace.delay != .zero else { return transfer.start(sink: self) }
        delay = loop.schedule(after: plan.pace.delay) { [self] in
            delay = nil
            self.transfer?.start(sink: self)
        }
    }

    // MARK: The client's side

    func clientBecameWritable() {
        paced?.clientBecameWritable()
        passage.acknowledge(to: transfer)
    }

    func clientIsGone() {
        delay?.cancel()
        delay = nil
        paced?.cancel()
        paced = nil
        passage.end(client)
        client = nil
        fallback = nil
        transfer?.cancel()
        transfer = nil
    }

    // MARK: The origin's side

    private func start(_ head: ResponseHead) {
        guard let client else { return }
        hasStarted = true
        fallback = nil
        invalidate(head)
        let forwarded = ForwardedHead(head, isHead: request.isHead, headers: plan.headers, date: loop.dateStamp())
        client.record?.outcome = plan.outcome
        let response = forwarded.start { lines in
            StatusFields.writeForward(plan.reason, detail: plan.detail, to: &lines)
            lines.writeImmutableBuffer(loop.proxy.identity.viaLine(head.version))
        }
        passage.begin(response)
        client.start(response)
        guard let rate = plan.pace.rate, response.body != .none else { return }
        paced = PacedBody(rate: rate, client: client, transfer: transfer)
    }

    /// Drops what is stored of the URLs that the request has changed.
    private func invalidate(_ head: ResponseHead) {
        let method = request.head.method
        guard !method.isSafe, let cache = loop.proxy.cache else { return }
        cache.invalidate(method: method, status: head.status, target: target, fields: head.fields)
        guard asked.bytes != target.bytes else { return }
        cache.invalidate(method: method, status: head.status, target: asked, fields: head.fields)
    }

    private func end(_ failure: ProxyError?) {
        transfer = nil
        if let paced, !paced.hasEnded {
            // What has come of the body is still to be passed on.
            return paced.end { [self] in end(failure) }
        }
        paced = nil
        passage.end(client)
        guard let client else { return }
        guard let failure else {
            self.client = nil
            return client.finish(trailers: trailers)
        }
        if hasStarted {
            self.client = nil
            client.record?.outcome = .failed
            client.record?.reason = failure.failure
            return client.abort()
        }
        if let fallback { return leave(client, to: fallback, failure) }
        self.client = nil
        client.fail(plan.answering(failure))
    }

    /// Leaves the client to what answers in the origin's place, which has what it needs of the request's body: what is
    /// still to come is read past, also where the origin took no more of it.
    private func leave(_ client: any ExchangeClient, to fallback: (ProxyError) -> Void, _ failure: ProxyError) {
        self.client = nil
        self.fallback = nil
        transfer?.cancel()
        transfer = nil
        client.setWantsBody(true)
        fallback(failure)
    }

    // MARK: OriginSink

    func originSentHead(_ head: ResponseHead) {
        guard head.status != 101 else { return fail(.originProtocol("switched protocols without being asked to")) }
        if head.status >= 500, let fallback, let client {
            return leave(client, to: fallback, .originProtocol("answered \(head.status)"))
        }
        start(head)
    }

    func originSentBody(_ body: ByteBuffer) {
        guard let client else { return }
        if let paced { return paced.append(body) }
        passage.pass(body, to: client, from: transfer)
    }

    func originFinished(_ failure: ProxyError?) { end(failure) }

    private func fail(_ error: ProxyError) {
        transfer?.cancel()
        end(error)
    }
}
