import HTTPSemantics
import NIOCore
import Substitution

extension LoopContext {
    /// Asks the request's own origin, and where that fails the URL that the rule forwards to (`when: origin-fails`).
    ///
    /// The request's body is held for both. One that is larger than what may be held goes to the origin alone, whose
    /// failure is the answer then.
    func forwardFirst(
        to elsewhere: TargetURI, _ use: RuleUse, _ request: Request, _ asked: AskedRequest, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        let plan = ForwardPlan(reason: .bypass, outcome: .forwarded, detail: use.rule.position)
        let other = ForwardPlan(
            reason: .bypass, outcome: .forwarded, detail: use.rule.position, headers: use.rule.options.headers,
            pace: ForwardPlan.Pace(use.rule.options))
        guard request.hasBody else {
            return forward(request, asked, to: asked.uri, client, plan) { [self] failure in
                client.record?.reason = failure.failure
                client.resume { forward(request, asked, to: elsewhere, client, other) }
            }
        }
        let limit = proxy.configuration.limits.bodyBytes
        // What is refused is refused before a body is asked for.
        guard request.bodyLength ?? 0 <= limit, case .request = decider.passage(of: asked, to: asked.uri) else {
            return forward(request, asked, to: asked.uri, client, plan)
        }
        let exchange = HeldRequestExchange(
            request, asked, elsewhere, plans: (plan, other), limit: limit, client: client)
        client.sendContinue()
        return exchange
    }
}

/// Holds a request's body, hands the request to its origin, and where that fails to another URL.
final class HeldRequestExchange: Exchange {
    private let request: Request
    private let asked: AskedRequest
    private let elsewhere: TargetURI
    private let plans: (first: ForwardPlan, second: ForwardPlan)
    private let limit: Int
    private let loop: LoopContext
    /// Nil from the end of the exchange on, and not weak: see ``ForwardExchange``.
    private var client: (any ExchangeClient)?
    private var body = ByteBuffer()

    /// - Parameter limit: bytes of the body that are held at most.
    init(
        _ request: Request, _ asked: AskedRequest, _ elsewhere: TargetURI,
        plans: (first: ForwardPlan, second: ForwardPlan), limit: Int, client: any ExchangeClient
    ) {
        self.request = request
        self.asked = asked
        self.elsewhere = elsewhere
        self.plans = plans
        self.limit = limit
        self.client = client
        loop = client.loop
    }

    func receive(_ bytes: ByteBuffer) {
        guard let client else { return }
        // Copied: what is small may be a slice of something large.
        body.writeImmutableBuffer(bytes)
        guard body.readableBytes > limit else { return }
        self.client = nil
        // What has come is let go of with this exchange, so the request can't be sent twice.
        let passing = PassingBody([body], hasEnded: false, nil)
        loop.forward(request, passing, asked, to: asked.uri, client, plans.first, fallback: nil)
    }

    func receiveEnd(trailers: FieldSection?) {
        guard let client else { return }
        self.client = nil
        let passing = PassingBody([body], hasEnded: true, trailers)
        let (loop, request, asked, elsewhere, plan) = (loop, request, asked, elsewhere, plans.second)
        loop.forward(request, passing, asked, to: asked.uri, client, plans.first) { failure in
            client.record?.reason = failure.failure
            loop.forward(request, passing, asked, to: elsewhere, client, plan, fallback: nil)
        }
    }

    func clientBecameWritable() {}

    func clientIsGone() { client = nil }
}
