import HTTP1
import HTTPSemantics
import Logging
import NIOCore
import Substitution

extension LoopContext {
    /// Begins the exchange for a request: answers it at once where that is possible.
    ///
    /// - Returns: what goes on serving it; nil where it has been answered.
    func begin(_ request: Request, client: any ExchangeClient) -> (any Exchange)? {
        let target: RequestTarget
        do throws(TargetError) {
            target = try RequestTarget(request.head)
        } catch {
            open(record(request, url: nil), request.head, on: client)
            client.fail(.badRequest("The request target is malformed: \(error)."))
            return nil
        }
        if let secured = client.secured { return begin(request, target, in: secured, client) }
        if let access = proxy.access, target.isForProxying {
            open(record(request, url: target.uri), request.head, on: client)
            return access.admit(request, client, by: .proxyAuthorization) { [self] in begin($0, target, client) }
        }
        return begin(request, target, client)
    }

    private func begin(_ request: Request, _ target: RequestTarget, _ client: any ExchangeClient) -> (any Exchange)? {
        switch target {
        case .absolute(let uri): return begin(request, uri, client)
        case .authority(let authority):
            open(record(request, url: nil), request.head, on: client)
            return beginTunnel(request, authority, client)
        case .origin(let range):
            open(record(request, url: nil), request.head, on: client)
            return answerOwnSite(request, pathRange: range, client)
        case .asterisk:
            open(record(request, url: nil), request.head, on: client)
            return answerOwnOptions(request, isSecure: client.isEncrypted, client)
        }
    }

    func begin(_ request: Request, _ uri: TargetURI, _ client: any ExchangeClient) -> (any Exchange)? {
        if uri.isOfConsole, decider.hasOwnName(uri) {
            open(record(request, url: uri), request.head, on: client)
            return answerOwnSite(request, uri, client)
        }
        let match = map.lookup(uri, head: request.head, scratch: &scratch)
        if let match {
            let rule = map.rule(match.id)
            if let answer = answers.find(rule, uri), answerStraight(answer, request, url: uri.bytes, client) {
                note(rule, request, uri, client)
                return nil
            }
        }
        if asksArchives(match?.id, request, uri), !isPreflightOfRule(request, uri) {
            switch beginArchived(request, uri, client, orRule: match.map { map.rule($0.id) }) {
            case .begun(let exchange): return exchange
            case .notMine: break
            }
        } else {
            open(record(request, url: uri), request.head, on: client)
        }
        if match == nil, answerFromStore(request, uri, client) { return nil }
        let use = match.map { RuleUse($0, in: map, uri: uri, table: answers) }
        let asked = AskedRequest(request, uri)
        let decision = decider.decision(on: asked, rule: use?.rule, scratch: &preflightScratch)
        return perform(decision, use, request, asked, client)
    }

    /// Whether archives are asked, with the rule that has matched: where none has, and where they may have what it
    /// leaves to the origin.
    private func asksArchives(_ rule: RuleID?, _ request: Request, _ uri: TargetURI) -> Bool {
        // An archive is often not its user's own: no page of one gets the origin of the proxy's own pages.
        guard map.hasArchives, !decider.hasOwnName(uri) else { return false }
        guard let rule else { return true }
        guard proxy.configuration.replaysForwarded else { return false }
        let found = map.rule(rule)
        return found.forwards || isRecorded(found, AskedRequest(request, uri))
    }

    /// Whether an archive may have what the origin has answered in the place of a rule that does so elsewhere: where it
    /// fails, or where it is passed by.
    private func isRecorded(_ rule: Rule, _ asked: AskedRequest) -> Bool {
        if rule.options.when == .originFails { return true }
        guard case .bypass = decider.answering(asked, rule.options, RequestCacheControl(asked.fields)) else {
            return false
        }
        return true
    }

    /// The rule that is next for a request which no archive has answered, though one may have had what it leaves to the
    /// origin.
    func ruleBehindArchives(_ request: Request, _ asked: AskedRequest) -> RuleMatch? {
        guard proxy.configuration.replaysForwarded,
            let match = map.lookup(asked.uri, head: request.head, scratch: &scratch)
        else { return nil }
        let rule = map.rule(match.id)
        return rule.forwards || isRecorded(rule, asked) ? match : nil
    }

    /// Whether a request asks for leave to send one that a rule answers: rules come before archives.
    private func isPreflightOfRule(_ request: Request, _ uri: TargetURI) -> Bool {
        guard request.head.method == .options else { return false }
        return decider.preflightRule(for: AskedRequest(request, uri), &preflightScratch) != nil
    }

    /// Answers a GET whose target was asked for lately, without reading its URL again.
    ///
    /// - Returns: whether it is answered; else ``begin(_:client:)`` is next.
    @inline(__always)
    func answerKnown(_ request: Request, client: some ExchangeClient) -> Bool {
        guard request.head.method == .get, client.secured == nil, admitsAll,
            let known = request.head.withTarget({ answers.find(target: $0) }),
            // Entries are told apart by bodies, rules are not.
            !request.hasBody || known.answer.archived == nil
        else { return false }
        return answerStraight(known.answer, request, url: known.target.url, client, known.target)
    }

    /// Makes a target known whose answer depends on nothing else of the request than that it is a plain GET.
    private func note(_ rule: Rule, _ request: Request, _ uri: TargetURI, _ client: any ExchangeClient) {
        guard request.head.method == .get, client.secured == nil, admitsAll, !map.dependsOnFields else { return }
        request.head.withTarget { answers.note(rule, uri, for: $0) }
    }

    /// The straight way: answers a plain GET or HEAD of a mapped URL with ready bytes.
    ///
    /// - Returns: whether they are its answer; else nothing was sent.
    @inline(__always)
    func answerStraight(
        _ answer: ReadyAnswer, _ request: Request, url: @autoclosure () -> ByteBuffer, _ client: some ExchangeClient,
        _ known: KnownTargets.Target? = nil
    ) -> Bool {
        let method = request.head.method
        let present = request.head.fields.present
        guard present.isDisjoint(with: particular), method == .get || method == .head,
            client.takesSerialisedResponse, answer.isStraight,
            answer.isSingle || !present.contains(.acceptEncoding), client.takesAtOnce(answer.first.size),
            answer.isFresh(request.receivedAt) || glance(at: answer, request.receivedAt)
        else { return false }
        let second = wallSecond(at: request.receivedAt)
        var isNotModified = false
        if !present.isDisjoint(with: validating) {
            guard answer.status == 200, !client.takesFieldBlocks else { return false }
            switch answer.evaluate(request.head, now: second) {
            case .notModified: isNotModified = true
            case .failed: return false
            case .proceed: break
            }
        }
        if answer.wantsRefresh(request.receivedAt), !glance(at: answer, request.receivedAt) { refresh(answer) }
        proxy.bypassWatch.reset(client.address)
        if let archived = answer.archived { note(archived) }
        let bytes = method == .head || isNotModified ? 0 : answer.first.size
        let status = isNotModified ? 304 : answer.status
        if isObserved {
            let record = straightRecord(answer, request, url(), status: status, bytes: bytes)
            sendObserved(answer, record, isNotModified: isNotModified, request, second: second, to: client)
            return true
        }
        client.record = nil
        let end = finish(.substituted, status: status, bytes: bytes, since: request.startedAt)
        if log.isOn {
            let line =
                (isNotModified ? known?.notModifiedLine : known?.line)
                ?? makeLine(answer, request, url(), status: status, bytes: bytes, known)
            log.write(line, client: client.address, duration: end.duration, wall: end.wall)
        }
        if isNotModified {
            answer.sendNotModified(to: client, second: second, tail: dateStamp(second).line)
        } else {
            answer.sendReady(to: client, isHead: method == .head, second: second, tail: dateStamp(second).line)
        }
        return true
    }

    /// What the log's line of a straight answer has in common with that of the next one to the same target.
    private func makeLine(
        _ answer: ReadyAnswer, _ request: Request, _ url: ByteBuffer, status: Int, bytes: Int,
        _ known: KnownTargets.Target?
    ) -> LineParts {
        let line = log.parts(of: straightRecord(answer, request, url, status: status, bytes: bytes))
        if status == answer.status { known?.line = line } else { known?.notModifiedLine = line }
        return line
    }

    private func straightRecord(
        _ answer: ReadyAnswer, _ request: Request, _ url: ByteBuffer, status: Int, bytes: Int
    ) -> ExchangeRecord {
        var record = record(request, normalised: url)
        record.rule = answer.position
        record.reason = answer.archived?.tolerance ?? ""
        record.isMapped = true
        record.outcome = .substituted
        record.status = status
        record.bodyBytes = bytes
        return record
    }

    /// Goes on with a request that neither rule nor archive answers, or whose rule leaves to the origin what no archive
    /// has.
    func beginUnmapped(_ request: Request, _ asked: AskedRequest, _ client: any ExchangeClient) -> (any Exchange)? {
        let use = ruleBehindArchives(request, asked).map { RuleUse($0, in: map, uri: asked.uri, table: answers) }
        let decision = decider.decision(on: asked, rule: use?.rule, scratch: &preflightScratch)
        return perform(decision, use, request, asked, client)
    }

    private func perform(
        _ decision: Decision, _ use: RuleUse?, _ request: Request, _ asked: AskedRequest, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        if let use { noteRule(use.rule.position, on: client) }
        var position: String { use?.rule.position ?? "" }
        switch decision {
        case .preflight(let rule):
            answerPreflight(rule, request, client)
            return nil
        case .ownSite: return answerOwnSite(request, asked.uri, client)
        case .answer(let revalidates):
            guard let use else { return nil }
            proxy.bypassWatch.reset(client.address)
            return answer(use, from: use.source(scratch), revalidates: revalidates, request, client)
        case .bypass:
            client.record?.reason = "no-cache"
            warnOfBypasses(client)
            return forward(
                request, asked, to: asked.uri, client,
                ForwardPlan(reason: .request, outcome: .bypassed, detail: "no-cache \(position)"))
        case .originFirst:
            guard let use else { return nil }
            // By the time that the origin has failed, the captures are another look-up's.
            let source = use.source(scratch)
            // Those that need the request's body hold it while the origin is asked.
            switch source {
            case .database(let call) where request.head.method != .get && !request.isHead:
                return forwardFirst(call, use, request, asked, client)
            case .template(let call) where request.hasBody:
                return forwardFirst(call, use, request, asked, client)
            case .answers(let answers) where request.hasBody:
                if let exchange = TurnOriginExchange(answers, use, request, asked, client) { return exchange }
            case .origin(let target):
                guard let elsewhere = target?.ofRootPage, elsewhere.bytes != asked.uri.bytes else {
                    // The rule's URL is the request's own, which is not asked twice.
                    return forward(request, asked, client, .bypass, use)
                }
                return forwardFirst(to: elsewhere, use, request, asked, client)
            case .file, .content, .database, .template, .answers, .refused: break
            }
            return forward(
                request, asked, to: asked.uri, client,
                ForwardPlan(reason: .bypass, outcome: .forwarded, detail: position)
            ) { [self] failure in
                client.record?.reason = failure.failure
                client.resume {
                    answer(use, from: source, revalidates: false, request, client, bodyIsGone: request.hasBody)
                }
            }
        case .consultStore:
            return proxy.cache.flatMap { consult($0, request, asked, client) }
        case .forward(let reason):
            return forward(request, asked, client, reason, use)
        case .refuse(let error):
            client.fail(error)
            return nil
        }
    }

    private func forward(
        _ request: Request, _ asked: AskedRequest, _ client: any ExchangeClient, _ reason: ForwardReason,
        _ use: RuleUse?
    ) -> (any Exchange)? {
        guard let use else {
            return forward(
                request, asked, to: asked.uri, client,
                ForwardPlan(reason: reason, outcome: .forwarded, detail: ""))
        }
        let rule = use.rule
        let plan = ForwardPlan(
            reason: reason, outcome: .forwarded, detail: rule.position, headers: rule.options.headers,
            pace: ForwardPlan.Pace(rule.options))
        switch use.source(scratch) {
        case .origin(let other): return forward(request, asked, to: other?.ofRootPage ?? asked.uri, client, plan)
        case .refused(let why):
            client.fail(.noUsableURL(rule: rule.position, why))
            return nil
        case .file, .content, .database, .template, .answers:
            // Of a rule that forwards: nothing else was to be asked for.
            client.fail(.internalError)
            return nil
        }
    }

    /// Hands the request to the origin of `uri`.
    func forward(
        _ request: Request, _ asked: AskedRequest, to uri: TargetURI, _ client: any ExchangeClient, _ plan: ForwardPlan,
        fallback: ((ProxyError) -> Void)? = nil
    ) -> (any Exchange)? {
        switch decider.passage(of: asked, to: uri) {
        case .refused(let error):
            client.fail(plan.answering(error))
            return nil
        case .options:
            answerOptions(client)
            return nil
        case .upgrade:
            proxy.configuration.recorder?.passOver(.upgraded)
            return beginUpgrade(request, asked: asked.uri, to: uri, client, plan, fallback)
        case .request:
            let exchange = ForwardExchange(
                request: request, asked: asked.uri, target: uri, plan: plan, client: client, fallback: fallback)
            exchange.begin(transport(request, asked: asked.uri, to: uri, client))
            return exchange
        }
    }

    func warnOfBypasses(_ client: any ExchangeClient) {
        guard proxy.bypassWatch.countBypass(by: client.address) else { return }
        proxy.logger.warning(
            """
            \(BypassWatch.threshold) requests in a row from \(client.address) bypassed the map with no-cache: is \
            "Disable cache" ticked in the browser's developer tools? --bypass never answers them from the map
            """)
    }
}

// MARK: The log's record

extension LoopContext {
    func record(_ request: Request, url: TargetURI?) -> ExchangeRecord { record(request, normalised: url?.bytes) }

    /// - Parameter url: in normal form; nil where the target is none.
    private func record(_ request: Request, normalised url: ByteBuffer?) -> ExchangeRecord {
        let head = request.head
        let bytes = head.bytes
        let method =
            bytes.getSlice(at: bytes.readerIndex &+ head.methodRange.lowerBound, length: head.methodRange.count)
            ?? ByteBuffer()
        let target =
            url
            ?? bytes.getSlice(at: bytes.readerIndex &+ head.targetRange.lowerBound, length: head.targetRange.count)
            ?? ByteBuffer()
        var record = ExchangeRecord(startedAt: request.startedAt, method: method, url: target)
        record.isURLRead = url != nil
        return record
    }

    func noteRule(_ position: @autoclosure () -> String, on client: any ExchangeClient) {
        guard client.record != nil else { return }
        client.record?.rule = position()
        client.record?.isMapped = true
    }
}

extension RequestTarget {
    /// Whether the request is for the map, an origin or a tunnel, and not for the proxy itself.
    fileprivate var isForProxying: Bool {
        switch self {
        case .absolute, .authority: true
        case .origin, .asterisk: false
        }
    }

    fileprivate var uri: TargetURI? {
        if case .absolute(let uri) = self { uri } else { nil }
    }
}
