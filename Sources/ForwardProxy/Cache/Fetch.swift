import HTTP1
import HTTPCaching
import HTTPSemantics
import NIOCore

/// Why a request that no rule answers goes to the origin, and what is stored for it already.
struct FetchPlan {
    var reason: ForwardReason
    /// The stored response that is to be validated, or that may stand in if the origin fails.
    var selected: StoredEntry?
    /// Whether requests for the same URL may wait for this one's response.
    var isShared = false
    /// Whether no client waits: a stale response was served, and is validated now.
    var isBackground = false
}

/// One request to an origin whose response may be stored, and the client that it was made for, if it is still there.
///
/// Where the response may be stored, its body is shared: the first client reads it like the others that have joined,
/// and a slow or vanished one does not hold it back. Otherwise body bytes go straight to the client under its
/// back-pressure.
///
/// Bound to the event loop of the first client.
final class Fetch: OriginExchange {
    enum Phase {
        case awaitingHead
        /// The response goes to the client and is not stored.
        case passing
        case recording(Recording)
        case done
    }

    let request: Request
    let uri: TargetURI
    let key: CacheKey
    let cacheRequest: CacheRequest
    private let connections: OriginConnections
    let plan: FetchPlan
    let loop: LoopContext
    let cache: ResponseCache
    private(set) var epoch: StoreEpoch
    var flight: Flight?
    /// Nil for a validation in the background, and from the end of the client's exchange on. Not weak: see
    /// ``ForwardExchange``.
    var client: (any ExchangeClient)?
    let clientIsLocal: Bool
    var phase = Phase.awaitingHead
    var transfer: (any OriginTransport)?
    var requestedAt: CacheInstant
    /// Whether the stored response's validators were sent.
    var isValidating = false
    /// Whether the request was sent once more without preconditions.
    var isRepeated = false
    /// Whether what is stored may be served where the origin fails: not once a 304 has ended the leave for that.
    private(set) var mayStandIn = true
    /// The field lines of the response's trailer section.
    var trailers: ByteBuffer?
    let passage = BodyPassage()
    private var subscription: BodySubscription?
    private var abandonment: Scheduled<Void>?

    /// - Parameters:
    ///   - cacheRequest: what the rules of caching know of the request.
    ///   - client: nil for a validation in the background.
    ///   - clientIsLocal: whether the client whose request it is, or was, is on this machine.
    init(
        _ request: Request, _ cacheRequest: CacheRequest, to uri: TargetURI, key: CacheKey, plan: FetchPlan,
        cache: ResponseCache, loop: LoopContext, client: (any ExchangeClient)?, clientIsLocal: Bool
    ) {
        self.request = request
        self.cacheRequest = cacheRequest
        self.uri = uri
        self.key = key
        self.plan = plan
        self.cache = cache
        self.loop = loop
        self.client = client
        self.clientIsLocal = clientIsLocal
        // For all that is sent of it. Whoever is given connections of his own here has sent Authorization, so that
        // `cacheRequest` is authorized already.
        connections = loop.connections(for: request, of: client)
        epoch = cache.store.epoch(for: key)
        requestedAt = loop.cacheInstant()
    }

    /// Sends the request on, with the stored response's validators where there is one to validate.
    func begin(flight: Flight?) {
        self.flight = flight
        flight?.setAbandonedHandler { [loop, bound = NIOLoopBound(self, eventLoop: loop.eventLoop)] in
            loop.eventLoop.execute { bound.value.isAbandoned() }
        }
        var change = plan.isBackground ? OriginRequest.Preconditions.removed : .asReceived
        if let selected = plan.selected {
            let validators = Validation.preconditions(selected.metadata, request: cacheRequest.fields)
            if validators.ifNoneMatch != nil || validators.ifModifiedSince != nil {
                isValidating = true
                change = .replaced(
                    ifNoneMatch: validators.ifNoneMatch, ifModifiedSince: validators.ifModifiedSince,
                    keepsRange: !plan.isBackground)
            }
        }
        send(change)
    }

    func send(_ preconditions: OriginRequest.Preconditions) {
        loop.fetches[ObjectIdentifier(self)] = self
        if plan.isBackground { limitInBackground() }
        let transfer = OriginTransfer(
            OriginRequest(request, to: uri, identity: loop.proxy.identity, preconditions: preconditions),
            over: connections, loop: loop, clientIsLocal: clientIsLocal)
        self.transfer = transfer
        transfer.start(sink: self)
    }

    /// How many validations in the background an event loop has under way at most.
    static let mostInBackground = 64

    /// A validation in the background has as long as an origin may be silent, unless somebody has joined it.
    private func limitInBackground() {
        loop.backgroundFetches.insert(ObjectIdentifier(self))
        guard abandonment == nil else { return }
        abandonment = loop.eventLoop.assumeIsolated().scheduleTask(
            in: loop.proxy.configuration.limits.silenceTimeout
        ) { [weak self] in
            guard let self else { return }
            abandonment = nil
            switch phase {
            case .awaitingHead: if flight?.hasWaiters != true { cancel() }
            case .recording(let recording): if recording.body.failIfUnread() { cancel() }
            case .passing, .done: break
            }
        }
    }

    /// Gives up what the response to an unsafe method has made invalid; the response itself is the newest there is.
    func invalidate(_ head: ResponseHead) {
        staying { cache.invalidate(method: cacheRequest.method, status: head.status, target: uri, fields: head.fields) }
    }

    /// Gives up what is stored for the URL, for requests that were sent before too; the response that is asked for next
    /// is the newest there is.
    func withdraw() {
        mayStandIn = false
        staying { cache.store.invalidate(key) }
    }

    /// Gives up what is stored, but not the response to come, unless that was given up before.
    private func staying(_ invalidate: () -> Void) {
        let isCurrent = epoch == cache.store.epoch(for: key)
        invalidate()
        if isCurrent { epoch = cache.store.epoch(for: key) }
    }

    // MARK: The client's side

    func clientBecameWritable() {
        subscription?.send()
        passage.acknowledge(to: transfer)
    }

    func clientIsGone() {
        passage.end(client)
        client = nil
        // Also where the origin has finished and the client was still reading.
        subscription?.end()
        subscription = nil
        switch phase {
        case .awaitingHead:
            if flight?.hasWaiters != true { cancel() }
        case .passing: cancel()
        case .recording, .done: break
        }
    }

    /// No client waits for the response any more.
    private func isAbandoned() {
        // The time that one in the background has decides as long as it runs.
        guard client == nil, !plan.isBackground || abandonment == nil else { return }
        switch phase {
        case .awaitingHead: if flight?.hasWaiters != true { cancel() }
        case .recording(let recording):
            guard recording.isKept else {
                if recording.body.failIfUnread() { cancel() }
                return
            }
            guard !recording.body.hasReaders else { return }
            guard abandonment == nil else { return }
            abandonment = loop.eventLoop.assumeIsolated().scheduleTask(in: ResponseCache.abandonedTimeout) {
                [weak self] in
                guard let self else { return }
                abandonment = nil
                guard case .recording(let recording) = phase, recording.body.failIfUnread() else { return }
                cancel()
            }
        case .passing, .done: break
        }
    }

    // MARK: Passing and sharing

    /// Gives the response to the client and to nobody else.
    func pass(_ head: ResponseHead, _ refusal: NotStored?) {
        endFlight(isUnshareable: true)
        phase = .passing
        guard let client else { return cancel() }
        client.record?.outcome = .forwarded
        let reason = refusal?.reason.description ?? ""
        client.record?.reason = reason
        let forwarded = ForwardedHead(head, isHead: request.isHead, date: loop.dateStamp())
        let response = forwarded.start { lines in
            StatusFields.writeFetched(
                plan.reason, status: isValidating ? head.status : nil, isStored: false, isCollapsed: false,
                detail: refusal?.isTold == true ? reason : "", to: &lines)
            lines.writeImmutableBuffer(loop.proxy.identity.viaLine(head.version))
        }
        passage.begin(response)
        client.start(response)
    }

    /// Stores the response while it goes to the client, and to the others that wait for it.
    ///
    /// - Parameter announced: how many bytes a part says that it has; nil for all other responses.
    func record(_ head: ResponseHead, _ stored: StoredResponse, announced: Int?) {
        let forwarded = ForwardedHead(head, isHead: false, date: loop.dateStamp())
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let loop = loop
        let body = SharedBody(StoreReservation(cache.store)) { count in
            if loop.eventLoop.inEventLoop {
                bound.value.transfer?.acknowledge(count)
            } else {
                loop.eventLoop.execute { bound.value.transfer?.acknowledge(count) }
            }
        } onAbandoned: {
            loop.eventLoop.execute { bound.value.isAbandoned() }
        }
        phase = .recording(Recording(stored, body: body, announced: announced))
        if let client {
            client.record?.outcome = .forwarded
            client.start(
                forwarded.start { lines in
                    StatusFields.writeFetched(
                        plan.reason, status: isValidating ? head.status : nil, isStored: true, isCollapsed: false,
                        detail: "", to: &lines)
                    lines.writeImmutableBuffer(loop.proxy.identity.viaLine(head.version))
                })
            let subscription = BodySubscription(body, to: client, takesTrailers: true) { [self] in self.client = nil }
            self.subscription = subscription
            _ = subscription.begin()
            subscription.send()
        }
        shareOrEnd(stored, forwarded.length, body)
        // Who has waited may not take it, and the client may be gone: then nobody is left who could leave.
        if client == nil { isAbandoned() }
    }

    private func shareOrEnd(_ stored: StoredResponse, _ length: Int?, _ body: SharedBody) {
        guard let flight else { return }
        if Reuse.isShareable(stored, with: cacheRequest, at: loop.cacheInstant(), policy: cache.policy) {
            loop.uncollapsible.remove(key)
            flight.stream(SharedResponse(stored: stored, length: length, body: body))
        } else {
            endFlight(isUnshareable: true)
        }
    }

    /// Passes bytes of the body on.
    func deliver(_ body: ByteBuffer) {
        switch phase {
        case .passing:
            guard let client else { return }
            passage.pass(body, to: client, from: transfer)
        case .recording(var recording):
            let isGivenUp = !recording.add(body, to: cache)
            phase = .recording(recording)
            if isGivenUp {
                retireFlight()
                recording.body.reservation.keep(recording.body.stopRetaining())
                if recording.body.failIfUnread() { return cancel() }
            }
            if recording.body.append(body) { transfer?.acknowledge(body.readableBytes) }
        case .awaitingHead, .done: break
        }
    }

    /// Requests that come from now on don't find this exchange; those that have joined it stay.
    func retireFlight() {
        guard let flight else { return }
        cache.flights.remove(flight, key)
    }

    /// Nothing comes of this exchange for the requests that wait for it.
    ///
    /// - Parameter isUnshareable: whether the next ones had better not wait for each other.
    func endFlight(isUnshareable: Bool = false) {
        guard let flight else { return }
        self.flight = nil
        if isUnshareable { loop.uncollapsible.insert(key) }
        cache.flights.remove(flight, key)
        flight.end()
    }

    /// The exchange is over.
    func finish() {
        transfer = nil
        abandonment?.cancel()
        phase = .done
        endFlight()
        loop.fetches[ObjectIdentifier(self)] = nil
        loop.backgroundFetches.remove(ObjectIdentifier(self))
    }

    func cancel() {
        passage.end(client)
        transfer?.cancel()
        if case .recording(let recording) = phase { recording.body.fail() }
        finish()
    }
}

extension Request {
    /// Whether a 304 may be the answer (RFC 9110 §13.1.2, §13.1.3).
    var isConditional: Bool { !head.fields.present.isDisjoint(with: FieldNameSet(.ifNoneMatch, .ifModifiedSince)) }
}

extension CacheRequest {
    /// - Parameter client: whose request it is; nil where none waits for the response.
    init(_ request: borrowing Request, of client: (any ExchangeClient)?) {
        self.init(
            method: request.head.method, fields: request.head.fields, hasContent: request.hasBody,
            version: request.head.version,
            isConnectionAuthenticated: client?.isConnectionAuthenticated ?? false)
    }
}
