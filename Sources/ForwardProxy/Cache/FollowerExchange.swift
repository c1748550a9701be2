import HTTPCaching
import HTTPSemantics
import NIOCore

/// Serves a request by another's origin exchange: waits for the head, and reads the body beside the others.
///
/// If its request may not be answered with the response, or it has waited too long, the request is served on its own.
final class FollowerExchange: Exchange {
    private let cacheRequest: CacheRequest
    private let key: CacheKey
    private let reason: ForwardReason
    private let cache: ResponseCache
    private let loop: LoopContext
    /// Nil from the end of the exchange on, and not weak: see ``ForwardExchange``.
    private var client: (any ExchangeClient)?
    private var flight: Flight?
    private var ticket: Int?
    private var timer: Scheduled<Void>?
    private var subscription: BodySubscription?
    /// Serves the request on its own; it is told what came of the others' exchange.
    private var goAlone: ((any ExchangeClient, Flight.Phase) -> Void)?

    init(
        _ cacheRequest: CacheRequest, key: CacheKey, reason: ForwardReason, cache: ResponseCache,
        client: any ExchangeClient,
        goAlone: @escaping (any ExchangeClient, Flight.Phase) -> Void
    ) {
        self.cacheRequest = cacheRequest
        self.key = key
        self.reason = reason
        self.cache = cache
        self.client = client
        self.goAlone = goAlone
        loop = client.loop
    }

    /// What came of joining.
    enum Joining {
        case joined
        /// The response is complete already.
        case answered
        /// There is nothing to join: the request has to go its own way.
        case refused
    }

    /// Joins the others.
    func begin(_ flight: Flight) -> Joining {
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let loop = loop
        let (ticket, phase) = flight.join { phase in
            if loop.eventLoop.inEventLoop {
                bound.value.advanced(phase)
            } else {
                loop.eventLoop.execute { loop.batch { bound.value.advanced(phase) } }
            }
        }
        self.ticket = ticket
        self.flight = flight
        switch phase {
        case .over, .failed: return .refused
        case .streaming(let response):
            guard start(response) else { return .refused }
            return subscription?.isOver == true ? .answered : .joined
        case .waiting:
            timer = loop.eventLoop.assumeIsolated().scheduleTask(in: loop.proxy.configuration.limits.collapseTimeout) {
                [weak self] in
                self?.leaveHanging()
            }
            return .joined
        }
    }

    func receive(_ body: ByteBuffer) {}
    func receiveEnd(trailers: FieldSection?) {}
    func clientBecameWritable() { subscription?.send() }

    func clientIsGone() {
        client = nil
        goAlone = nil
        timer?.cancel()
        subscription?.end()
        if let ticket { flight?.leave(ticket) }
        flight = nil
    }

    private func advanced(_ phase: Flight.Phase) {
        ticket = nil
        timer?.cancel()
        if case .streaming(let response) = phase, start(response) { return }
        leave(phase)
    }

    /// The leader takes too long: nobody else is to wait for it, nor for its like.
    private func leaveHanging() {
        if let flight { cache.flights.remove(flight, key) }
        loop.uncollapsible.insert(key)
        leave(.waiting)
    }

    private func leave(_ phase: Flight.Phase) {
        timer?.cancel()
        if let ticket { flight?.leave(ticket) }
        ticket = nil
        flight = nil
        let client = client
        let goAlone = goAlone
        self.client = nil
        self.goAlone = nil
        guard let client else { return }
        goAlone?(client, phase)
    }

    private func start(_ response: SharedResponse) -> Bool {
        let now = loop.cacheInstant()
        guard let client, Reuse.isShareable(response.stored, with: cacheRequest, at: now, policy: cache.policy) else {
            return false
        }
        let subscription = BodySubscription(response.body, to: client, takesTrailers: false) { [self] in
            self.client = nil
        }
        guard subscription.begin() else { return false }
        self.subscription = subscription
        goAlone = nil
        flight = nil
        client.record?.outcome = .forwarded
        client.record?.reason = "collapsed"
        client.start(
            ForwardedHead(response, age: response.stored.currentAge(at: now)).start { lines in
                StatusFields.writeFetched(
                    reason, status: nil, isStored: true, isCollapsed: true, detail: "", to: &lines)
                lines.writeImmutableBuffer(loop.proxy.identity.viaLine(response.stored.version))
            })
        subscription.send()
        return true
    }
}
