import HTTP1
import HTTPCaching
import HTTPSemantics
import NIOCore

// What the origin sends; ``OriginExchange`` has the rest.
extension Fetch {
    func originSentHead(_ head: ResponseHead) {
        guard case .awaitingHead = phase else { return }
        guard head.status != 101 else {
            transfer?.cancel()
            return originFinished(.originProtocol("switched protocols without being asked to"))
        }
        let now = loop.cacheInstant()
        let response = OriginResponse(
            status: head.status, reason: head.withReason { ByteBuffer(bytes: $0) }, fields: head.fields,
            requestedAt: requestedAt, receivedAt: now, version: head.version)
        if let selected = plan.selected {
            if isValidating, head.status == 304 { return validated(selected, response, head) }
            if standIn(selected, after: .status(head.status)) { return }
        }
        // Such a 304 is no answer to the client (RFC 9110 §15.4.5).
        if head.status == 304, isRepeated || !request.isConditional {
            transfer?.cancel()
            return originFinished(.originProtocol("answered 304 to a request without preconditions"))
        }
        invalidate(head)
        if request.isHead { return passHead(response, head) }
        switch Storing.verdict(cacheRequest, target: uri, response, policy: cache.policy) {
        case .store(let stored):
            if let refusal = refusal(of: head, stored) { return pass(head, refusal) }
            let part = head.status == 206 ? ContentPart(cacheRequest, response) : nil
            record(head, stored, announced: part?.range.count)
        case .refuse(let refusal):
            // One user's response says nothing of what is stored for all.
            let isOneUsers =
                cache.policy.mode == .shared && cacheRequest.isAuthorized
                && (refusal == .isPrivate || refusal == .noStore
                    || !Validation.mayBeShared(response, for: cacheRequest, policy: cache.policy))
            if !isOneUsers, isReplacing(head.status) { cache.remove(key, selectedBy: cacheRequest) }
            pass(head, NotStored(refusal))
        }
    }

    /// Whether a response that is not stored still says that what is stored is out of date.
    private func isReplacing(_ status: Int) -> Bool {
        request.head.method == .get && !request.hasBody
            && (200..<400 ~= status && status != 304 && status != 206 || status == 404 || status == 410)
    }

    /// Reasons against storing that are not RFC 9111's.
    private func refusal(of head: ResponseHead, _ stored: StoredResponse) -> NotStored? {
        if let length = head.contentLength, !cache.hasRoom(for: stored, of: length, key: key) { return .tooLarge }
        if uri.scheme == .https, head.contentLength == nil, !head.isChunked, head.status != 204 { return .unframed }
        if cache.holdsWhole(of: stored, key: key, for: cacheRequest) { return .heldWhole }
        return nil
    }

    func originSentBody(_ body: ByteBuffer) { deliver(body) }

    func originFinished(_ failure: ProxyError?) {
        switch phase {
        case .awaitingHead: failed(failure ?? .originProtocol("sent no response"))
        case .passing:
            passage.end(client)
            let client = client
            self.client = nil
            finish()
            guard let failure else {
                client?.finish(trailers: trailers)
                return
            }
            client?.record?.outcome = .failed
            client?.record?.reason = failure.failure
            client?.abort()
        case .recording(let recording):
            if failure == nil {
                if recording.isKept {
                    store(recording)
                    // Before a client has the whole and comes back: it finds what is stored, and may have that
                    // validated.
                    retireFlight()
                }
                recording.body.complete(trailers: trailers)
            } else {
                recording.body.fail()
            }
            finish()
        case .done: break
        }
    }

    private func store(_ recording: Recording) {
        let content = recording.body.retained
        // A part must be as long as it said, also one that is all there is, which is stored as a 200.
        if let announced = recording.announced {
            guard content.reduce(0, { $0 &+ $1.readableBytes }) == announced else { return }
        }
        // A reader that is behind keeps all of it, also when the store has given it up.
        if !recording.body.isLagging { recording.body.reservation.release() }
        cache.insert(recording.stored, content, key: key, for: cacheRequest, requestedAt: requestedAt, epoch: epoch)
    }

    /// The origin gave no response.
    private func failed(_ failure: ProxyError) {
        // A bad certificate, and an address that may not be reached, are told in any case, and never passed over with
        // what is stored: stale-if-error is for what would be 500, 502, 503 or 504 (RFC 5861 §4).
        if let selected = plan.selected, !failure.isUnverified, !failure.isRefusal,
            standIn(selected, after: failure.isUnreachable ? .unreachable : .noResponse)
        {
            return
        }
        let client = client
        self.client = nil
        finish()
        var failure = failure
        if failure.isUnreachable, let selected = plan.selected,
            Reuse.forbidsStale(selected.metadata, policy: cache.policy)
        {
            // RFC 9111 §5.2.2.2: a response that must be validated and can't be, since the cache is disconnected, is an
            // error of its own.
            failure.status = 504
        }
        client?.fail(failure)
    }

    // MARK: With a stored response

    /// The origin says that what is stored, or what the client has, is valid still (RFC 9111 §4.3.3).
    private func validated(_ selected: StoredEntry, _ response: OriginResponse, _ head: ResponseHead) {
        switch Validation.outcome(
            selected.metadata, notModified: response, request: cacheRequest, policy: cache.policy)
        {
        case .freshened(let metadata):
            let extra = StoredTail.unkept(of: response.fields, in: metadata.fields)
            serve(update(selected, metadata, by: response) ?? selected.with(metadata), .validated(extra: extra))
        case .forClient: pass(head, nil)
        case .mismatch:
            cache.store.remove(selected)
            askForWhole()
        case .withdrawn:
            withdraw()
            askForWhole()
        }
    }

    /// Sends the request once more, without preconditions.
    private func askForWhole() {
        transfer?.cancel()
        isValidating = false
        isRepeated = true
        requestedAt = loop.cacheInstant()
        send(.removed)
    }

    /// Puts what a 304 has made of a stored response in its place; nil where it is for this client alone.
    private func update(
        _ selected: StoredEntry, _ metadata: StoredResponse, by notModified: OriginResponse
    ) -> StoredEntry? {
        guard Validation.mayBeShared(notModified, for: cacheRequest, policy: cache.policy) else { return nil }
        if case .unusable(.withdrawn) = Reuse.verdict(
            cacheRequest, metadata, at: loop.cacheInstant(), policy: cache.policy)
        {
            cache.store.remove(selected)
            return nil
        }
        return cache.store.update(selected, metadata: metadata)
    }

    /// Serves the stored response, where that is allowed, although the origin was asked for a newer one.
    private func standIn(_ selected: StoredEntry, after failure: OriginFailure) -> Bool {
        guard mayStandIn, let selected = current(selected) else { return false }
        let permission = Reuse.standIn(
            selected.metadata, for: cacheRequest, after: failure, at: loop.cacheInstant(), policy: cache.policy)
        guard let permission else { return false }
        transfer?.cancel()
        retireFlight()
        flight?.fail(selected, failure)
        serve(selected, .standIn(permission, failure))
        return true
    }

    /// What stands for a stored response that was selected before the origin was asked: itself, the one that has
    /// replaced it, or nil where it was made invalid meanwhile (RFC 9111 §4.4). One that was given up for another
    /// reason is as good as before.
    private func current(_ selected: StoredEntry) -> StoredEntry? {
        if selected.isCurrent { return selected }
        let entries = cache.store.entries(for: key)
        if let index = Selection.select(cacheRequest, among: entries.map(\.metadata)) { return entries[index] }
        return epoch == cache.store.epoch(for: key) ? selected : nil
    }

    private func serve(_ entry: StoredEntry, _ use: StoredUse) {
        let client = client
        self.client = nil
        transfer?.cancel()
        finish()
        guard let client else { return }
        // The origin may have taken no more of the request's body.
        client.setWantsBody(true)
        client.resume { loop.serve(entry, use, request, key: key, client) }
    }

    /// A response to HEAD is not stored, but it tells of what is (RFC 9111 §4.3.5).
    private func passHead(_ response: OriginResponse, _ head: ResponseHead) {
        for entry in cache.store.entries(for: key) where entry.metadata.selection.matches(cacheRequest) {
            // What came after the question is newer than its answer may be.
            guard entry.metadata.receivedAt.steady <= requestedAt.steady else { continue }
            switch Validation.outcome(
                entry.metadata, size: entry.size, byHead: response, request: cacheRequest, policy: cache.policy)
            {
            case .unchanged: break
            case .freshened(let metadata): _ = cache.store.update(entry, metadata: metadata)
            case .invalidated: cache.store.remove(entry)
            }
        }
        pass(head, nil)
    }
}
