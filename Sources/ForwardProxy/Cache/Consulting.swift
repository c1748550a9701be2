import Glibc
import HTTP1
import HTTPCaching
import HTTPSemantics
import NIOCore
import Substitution

/// How a stored response comes to answer a request.
enum StoredUse {
    case hit(StalePermission?)
    /// The origin has said that it is valid still.
    /// `extra`: field lines of the 304 that only this client gets.
    case validated(extra: ByteBuffer)
    /// The origin failed.
    case standIn(StandInPermission, OriginFailure)

    /// Whether the response is served though it is stale.
    var isOfStale: Bool {
        switch self {
        case .hit(let permission): permission != nil
        case .validated: false
        case .standIn: true
        }
    }
}

extension LoopContext {
    /// Fields that make a request for a stored response more than a plain one, so that the ready bytes are not its
    /// answer.
    static let storedParticular = FieldNameSet(
        .range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .cacheControl, .pragma, .expect,
        .upgrade)

    /// The time now, on the clocks that the cache's rules are asked by.
    func cacheInstant() -> CacheInstant {
        CacheInstant(wall: dateStamp().unixSeconds, steady: proxy.configuration.cache.clock())
    }

    /// What responses to requests of this client are stored by.
    @inline(__always)
    private func cacheKey(_ uri: TargetURI, _ client: any ExchangeClient) -> CacheKey {
        client.isLocal || proxy.configuration.sharesWithRemote ? CacheKey(uri) : CacheKey(forRemote: uri)
    }

    /// The straight way for a request that no rule answers: a plain GET of a URL whose stored response is ready.
    ///
    /// - Returns: whether it has been answered.
    @inline(__always)
    func answerFromStore(_ request: Request, _ uri: TargetURI, _ client: any ExchangeClient) -> Bool {
        let head = request.head
        guard proxy.cache != nil, isPlain(request, client), let ready = stored.find(uri, head.fields, head.version),
            send(ready, request, client)
        else { return false }
        ready.entry.noteUse()
        return true
    }

    /// Whether a request for a stored response asks for nothing in particular, so that the ready bytes are its answer.
    @inline(__always)
    private func isPlain(_ request: Request, _ client: any ExchangeClient) -> Bool {
        let head = request.head
        return (head.method == .get || head.method == .head) && !request.hasBody && client.takesSerialisedResponse
            && head.fields.present.isDisjoint(with: LoopContext.storedParticular)
            && (client.isLocal || proxy.configuration.sharesWithRemote)
    }

    /// Sends the ready bytes of a stored response to a plain request that selects it.
    ///
    /// - Returns: whether they are its answer; else nothing was sent.
    @inline(__always)
    private func send(_ ready: ReadyStored, _ request: Request, _ client: any ExchangeClient) -> Bool {
        guard ready.answersPlainRequests,
            request.isHead || ready.representation.size <= StoredExchange.threshold,
            let age = ready.freshAge(at: proxy.configuration.cache.clock())
        else { return false }
        client.record?.outcome = .stored
        client.record?.status = ready.status
        client.record?.bodyBytes = request.isHead ? 0 : ready.representation.size
        if isObserved, let observed = client.record?.observed {
            ready.tell(observed, isHead: request.isHead, age: age)
        }
        ready.send(to: client, isHead: request.isHead, age: age)
        return true
    }

    /// Answers a request that no rule answers from the store, or takes it to the origin.
    ///
    /// - Parameters:
    ///   - mayCollapse: whether the request may wait for the response to another one.
    ///   - phase: what came of the other exchange, if the request has waited for one.
    func consult(
        _ cache: ResponseCache, _ request: Request, _ asked: AskedRequest, _ client: any ExchangeClient,
        mayCollapse: Bool = true, after phase: Flight.Phase = .waiting
    ) -> (any Exchange)? {
        let key = cacheKey(asked.uri, client)
        let cacheRequest = CacheRequest(request, of: client)
        let entries = cache.store.entries(for: key)
        let now = cacheInstant()
        let decision = StoredDecision.make(
            cacheRequest, entries: entries, at: now, policy: cache.policy, isOffline: proxy.configuration.isOffline)
        switch decision {
        case .serve(let entry, let permission):
            if let error = decider.expectationError(asked) {
                client.fail(error)
                return nil
            }
            entry.noteUse()
            let exchange = serve(entry, .hit(permission), request, key: key, client)
            // What only the store is asked for, or may not be stored, leads to no request.
            if permission == .whileRevalidate, !cacheRequest.directives.onlyIfCached, !cacheRequest.directives.noStore {
                refresh(entry, request, asked.uri, key, cache, clientIsLocal: client.isLocal)
            }
            return exchange
        case .validate(let entry, let reason):
            // The origin has just failed to validate this very response, so it is not asked once more for each client.
            if case .failed(let failed, let failure) = phase, failed === entry,
                let permission = Reuse.standIn(
                    entry.metadata, for: cacheRequest, after: failure, at: now, policy: cache.policy)
            {
                return serve(entry, .standIn(permission, failure), request, key: key, client)
            }
            client.record?.reason = "\(reason.reason)"
            return fetch(
                request, asked, cacheRequest, key,
                FetchPlan(reason: .stale, selected: entry, isShared: mayCollapse), cache, client, known: entries)
        case .fetch(let reason):
            return fetch(
                request, asked, cacheRequest, key, FetchPlan(reason: reason, isShared: mayCollapse), cache, client,
                known: entries)
        case .refuse(let error):
            client.fail(error)
            return nil
        }
    }

    /// Takes a request to the origin, or to the exchange of another request for the same URL.
    ///
    /// - Parameter known: what was stored when that was decided.
    private func fetch(
        _ request: Request, _ asked: AskedRequest, _ cacheRequest: CacheRequest, _ key: CacheKey, _ plan: FetchPlan,
        _ cache: ResponseCache, _ client: any ExchangeClient, known: [StoredEntry]
    ) -> (any Exchange)? {
        if let error = decider.refusal(of: asked, to: asked.uri) {
            client.fail(error)
            return nil
        }
        guard plan.isShared, request.isCollapsible, !client.isConnectionAuthenticated,
            !uncollapsible.contains(key, now: request.receivedAt)
        else {
            return begin(request, asked.uri, cacheRequest, key, plan, cache, client, nil)
        }
        let (flight, isNew) = cache.flights.findOrBegin(key)
        guard !isNew else {
            if cache.store.entries(for: key).contains(where: { entry in !known.contains { $0 === entry } }) {
                // Another exchange has stored a response since this one looked.
                cache.flights.remove(flight, key)
                flight.end()
                return consult(cache, request, asked, client, mayCollapse: false)
            }
            return begin(request, asked.uri, cacheRequest, key, plan, cache, client, flight)
        }
        let follower = FollowerExchange(cacheRequest, key: key, reason: plan.reason, cache: cache, client: client) {
            [unowned self] client, phase in
            client.resume { consult(cache, request, asked, client, mayCollapse: false, after: phase) }
        }
        switch follower.begin(flight) {
        case .joined: return follower
        case .answered: return nil
        case .refused: return consult(cache, request, asked, client, mayCollapse: false)
        }
    }

    private func begin(
        _ request: Request, _ uri: TargetURI, _ cacheRequest: CacheRequest, _ key: CacheKey, _ plan: FetchPlan,
        _ cache: ResponseCache, _ client: any ExchangeClient, _ flight: Flight?
    ) -> any Exchange {
        let fetch = Fetch(
            request, cacheRequest, to: uri, key: key, plan: plan, cache: cache, loop: self, client: client,
            clientIsLocal: client.isLocal)
        fetch.begin(flight: flight)
        return fetch
    }

    /// Validates a stale response in the background, after it was served (RFC 5861 §3).
    private func refresh(
        _ entry: StoredEntry, _ request: Request, _ uri: TargetURI, _ key: CacheKey, _ cache: ResponseCache,
        clientIsLocal: Bool
    ) {
        // No client holds these back, or ends them. What is not validated now is with the next request for it.
        guard backgroundFetches.count < Fetch.mostInBackground else { return }
        let (flight, isNew) = cache.flights.findOrBegin(key)
        guard isNew else { return }
        let plan = FetchPlan(reason: .stale, selected: entry, isBackground: true)
        let fetch = Fetch(
            request, CacheRequest(request, of: nil).unconditional, to: uri, key: key, plan: plan, cache: cache,
            loop: self, client: nil, clientIsLocal: clientIsLocal)
        fetch.begin(flight: flight)
    }

    // MARK: Serving

    /// Sends a stored response, or what of it the request asks for.
    ///
    /// - Returns: what goes on sending it; nil where it has been written.
    func serve(
        _ entry: StoredEntry, _ use: StoredUse, _ request: Request, key: CacheKey, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        let now = cacheInstant()
        let policy = proxy.cache?.policy ?? CachePolicy()
        let entry = use.isOfStale ? entry.metadata.servedStale(policy: policy).map { entry.with($0) } ?? entry : entry
        let ready = stored.ready(
            entry, key, identity: proxy.identity, policy: policy,
            siblings: { proxy.cache?.store.entries(for: key) ?? [] })
        if case .hit(nil) = use, isPlain(request, client), send(ready, request, client) { return nil }
        let metadata = entry.metadata
        let age = metadata.currentAge(at: now)
        let tail: ByteBuffer
        switch use {
        case .hit(let permission):
            client.record?.outcome = .stored
            if let permission { client.record?.reason = "\(permission.reason)" }
            tail = StoredTail.hit(age: age, of: metadata)
        case .validated(let extra):
            client.record?.outcome = .validated
            tail = StoredTail.validated(metadata, extra: extra)
        case .standIn(let permission, let failure):
            client.record?.outcome = .stored
            client.record?.reason = "\(permission.reason)"
            tail = StoredTail.standIn(age: age, permission, after: failure, metadata)
        }
        let source = AnswerPlan.Source(
            representation: ready.representation, status: metadata.status, tail: tail, now: now.wall,
            date: metadata.date, modificationDate: metadata.modificationDate, cors: [])
        var plan: AnswerPlan
        if let part = metadata.part {
            guard let range = Combination.range(of: CacheRequest(request, of: client), within: part) else {
                client.fail(.internalError)
                return nil
            }
            plan = AnswerPlan.part(source, held: part, range: range, for: request)
        } else {
            plan = AnswerPlan.make(source, for: request)
        }
        if plan.status == metadata.status { plan.reason = metadata.reason }
        if let cache = proxy.cache, !request.isHead, plan.length ?? 0 > StoredExchange.threshold {
            let exchange = StoredExchange(entry, of: cache, plan, client: client)
            exchange.begin()
            return exchange.isFinished ? nil : exchange
        }
        plan.send(to: client, isHead: request.isHead)
        client.flush()
        return nil
    }
}

extension Request {
    /// Whether the request may wait for the response to another one: it asks for nothing in particular.
    fileprivate var isCollapsible: Bool {
        head.method == .get && !hasBody
            && head.fields.present.isDisjoint(
                with: FieldNameSet(
                    .range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .cacheControl,
                    .pragma, .authorization, .expect))
    }
}

extension CacheKey {
    /// The key for clients on other machines: what clients on this one were given may come from addresses that those
    /// may not reach (``AddressPolicy``), so they share nothing. No URI has the byte that tells the keys apart.
    init(forRemote target: TargetURI) { self.init(CacheKey(target).bytes + [0]) }
}

extension AnswerPlan {
    /// Plans a 206 from a part of a representation that holds `range`, or a 304.
    static func part(
        _ source: Source, held: ContentPart, range: Range<Int>, for request: Request
    ) -> AnswerPlan {
        let representation = source.representation
        let preconditions = representation.withTag { tag in
            Preconditions.evaluate(
                method: request.head.method, fields: request.head.fields, etag: tag,
                lastModified: representation.lastModified, now: source.now)
        }
        if case .notModified = preconditions {
            var lines = representation.commonLines
            lines.writeImmutableBuffer(source.tail)
            return AnswerPlan(status: 304, lines: lines, pieces: [], length: nil, variant: representation)
        }
        var plan = AnswerPlan(
            status: 206, lines: source.representation.contentLines,
            pieces: [.range(range.lowerBound &- held.range.lowerBound..<range.upperBound &- held.range.lowerBound)],
            length: range.count, variant: source.representation)
        MessageWriter.writeField("Content-Length", decimal: range.count, to: &plan.lines)
        MessageWriter.writeField(
            "Content-Range", ContentRange.satisfied(range, size: held.completeLength), to: &plan.lines)
        plan.lines.writeImmutableBuffer(source.representation.commonLines)
        plan.lines.writeImmutableBuffer(source.tail)
        return plan
    }
}
