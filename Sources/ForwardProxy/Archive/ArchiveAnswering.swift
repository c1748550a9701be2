import Archives
import Basics
import Files
import HTTP1
import HTTPSemantics
import NIOCore
import Substitution

/// Whether an archive has taken a request.
enum ArchivedRequest {
    /// It has: what goes on serving it, nil where it has been answered.
    case begun((any Exchange)?)
    case notMine
}

/// What is asked of archives: a request that no rule answers.
struct ArchiveAsking {
    let request: Request
    let asked: AskedRequest
    var candidates: ArchiveCandidates
    let client: TurnClient
    /// The map that the candidates are of.
    let map: SubstitutionMap
    /// Asks the origin where no archive has an entry; nil where the map says who is next.
    let askOrigin: (() -> (any Exchange)?)?
    /// The first archive whose candidates were none: it says what a miss gets.
    var missed: MapArchive?
    /// Whether there were candidates with another body.
    var hasOtherBody = false

    init(
        _ request: Request, _ asked: AskedRequest, _ candidates: ArchiveCandidates, _ client: any ExchangeClient,
        orOrigin askOrigin: (() -> (any Exchange)?)? = nil
    ) {
        self.request = request
        self.askOrigin = askOrigin
        self.asked = asked
        self.candidates = candidates
        self.client = TurnClient(request, client)
        map = client.loop.map
    }

    /// Whether the answer goes without the Access-Control fields that were recorded.
    var isCrossOrigin: Bool { archive.options.cors == .auto && request.head.fields.contains(.origin) }

    var archive: MapArchive { candidates.archive }

    func tolerance(_ number: Int) -> String {
        asked.uri.withBytes { candidates.tolerance(number, url: $0, pathEnd: asked.uri.pathEnd) }
    }

    /// Whether the answer to it may be given to the next request for the same URL without a look at that.
    ///
    /// Times that are moved by the time since the recording are other ones in the next second.
    var isKept: Bool {
        candidates.isCertain && !isCrossOrigin && archive.options.retain != .never
            && archive.settings.freshness == .none
    }
}

extension LoopContext {
    /// Begins the exchange for a request that no rule answers, if an archive has the URL, or its host.
    ///
    /// The exchange's record is opened here, since a straight answer has none.
    ///
    /// - Parameter rule: the rule that is next where no archive has what it leaves to the origin; that is a miss where
    ///   the rule has no answer of its own.
    func beginArchived(
        _ request: Request, _ uri: TargetURI, _ client: any ExchangeClient, orRule rule: Rule?
    ) -> ArchivedRequest {
        let fields = request.head.fields
        let finding = map.findArchived(
            uri, method: RequestMethod(request.head), hasBody: request.hasBody, hasRange: fields.contains(.range))
        if case .found(let candidates) = finding, candidates.isCertain,
            let ready = ready(candidates, uri), answerStraight(ready, request, url: uri.bytes, client)
        {
            answers.note(
                id(candidates), how: ready.archived?.tolerance ?? "", for: request, uri, isNoted(request, client))
            return .begun(nil)
        }
        open(record(request, url: uri), request.head, on: client)
        let asked = AskedRequest(request, uri)
        if let answered = answerArchivedPreflight(request, asked, client) { return answered }
        let hasAnswer = rule.map { !$0.forwards } ?? false
        switch finding {
        case .unknown where hasAnswer, .missed where hasAnswer: return .notMine
        case .unknown: return proxy.configuration.replay == nil ? .notMine : missedHost(asked, request, client)
        case .missed(let archive):
            if let exchange = askOriginFirst(asked, archive, request, client) { return .begun(exchange) }
            return missed(asked, archive, hasCandidates: false, request, client)
        case .found(let candidates):
            return .begun(begin(ArchiveAsking(request, asked, candidates, client), request, client))
        }
    }

    /// Begins the exchange for a request that a rule leaves to the origin only after a look (`missing: forward`, or
    /// `forward` in turn): by what was recorded of the origin, where that is replayed.
    ///
    /// - Parameter askOrigin: begins the exchange with the origin, where no archive has the request.
    func beginReplayed(
        _ request: Request, _ asked: AskedRequest, _ client: any ExchangeClient,
        orOrigin askOrigin: @escaping () -> (any Exchange)?
    ) -> (any Exchange)? {
        guard map.hasArchives, proxy.configuration.replaysForwarded else { return askOrigin() }
        let finding = map.findArchived(
            asked.uri, method: asked.method, hasBody: request.hasBody, hasRange: asked.fields.contains(.range))
        let answered: ArchivedRequest
        switch finding {
        case .unknown: answered = missedHost(asked, request, client)
        case .missed(let archive):
            if let exchange = askOriginFirst(asked, archive, request, client) { return exchange }
            answered = missed(asked, archive, hasCandidates: false, request, client)
        case .found(let candidates):
            return begin(ArchiveAsking(request, asked, candidates, client, orOrigin: askOrigin), request, client)
        }
        guard case .begun(let exchange) = answered else { return askOrigin() }
        return exchange
    }

    /// Whether the target may be kept as one that needs no look at the request.
    private func isNoted(_ request: Request, _ client: any ExchangeClient) -> Bool {
        request.head.method == .get && client.secured == nil && admitsAll && !map.dependsOnFields
    }

    /// By which number the answer of the only candidate is kept: behind those of the rules.
    private func id(_ candidates: ArchiveCandidates) -> RuleID {
        id(candidates, candidates.entries.first ?? 0)
    }

    private func id(_ candidates: ArchiveCandidates, _ number: Int) -> RuleID {
        RuleID(UInt32(truncatingIfNeeded: map.ruleIDCount &+ map.entryNumber(candidates, number)))
    }

    private func ready(_ candidates: ArchiveCandidates, _ uri: TargetURI) -> ReadyAnswer? {
        guard let number = candidates.entries.first else { return nil }
        if candidates.step.number == 1, !candidates.step.isOtherScheme { return answers.find(id(candidates)) }
        var tolerance = uri.withBytes { candidates.tolerance(number, url: $0, pathEnd: uri.pathEnd) }
        return tolerance.withUTF8 { answers.find(id(candidates), url: UnsafeRawBufferPointer($0)) }
    }

    /// Decides what the request gets, as for a rule's.
    private func begin(
        _ asking: ArchiveAsking, _ request: Request, _ client: any ExchangeClient
    ) -> (any Exchange)? {
        let archive = asking.archive
        let position = archive.position(asking.candidates.entries.first ?? 0)
        client.record?.isMapped = true
        switch decider.answering(asking.asked, archive.options, RequestCacheControl(request.head.fields)) {
        case .bypass:
            if let askOrigin = asking.askOrigin { return askOrigin() }
            noteRule(position, on: client)
            client.record?.reason = "no-cache"
            warnOfBypasses(client)
            return forward(
                request, asking.asked, to: asking.asked.uri, client,
                ForwardPlan(reason: .request, outcome: .bypassed, detail: "no-cache \(position)"))
        case .refuse(let error):
            client.fail(error)
            return nil
        case .originFirst:
            noteRule(position, on: client)
            let plan = ForwardPlan(reason: .bypass, outcome: .forwarded, detail: position)
            guard request.hasBody else {
                return forward(request, asking.asked, to: asking.asked.uri, client, plan) { [self] failure in
                    answer(asking, after: failure, body: [], client)
                }
            }
            let exchange = ArchiveExchange(asking, client)
            exchange.beginAtOrigin(plan)
            return exchange.isOver ? nil : exchange
        default:
            proxy.bypassWatch.reset(client.address)
            let exchange = ArchiveExchange(asking, client)
            exchange.begin()
            return exchange.isOver ? nil : exchange
        }
    }

    /// Answers in the place of an origin that has failed.
    ///
    /// - Parameter body: what was held of the request's; nil where it is too large to be compared.
    func answer(_ asking: ArchiveAsking, after failure: ProxyError, body: [UInt8]?, _ client: any ExchangeClient) {
        client.record?.reason = failure.failure
        client.resume {
            let exchange = ArchiveExchange(asking, client)
            exchange.begin(after: failure, body: body)
            return exchange.isOver ? nil : exchange
        }
    }

    // MARK: Preflights

    /// Answers a preflight for a URL that an archive has, with the wanted method.
    private func answerArchivedPreflight(
        _ request: Request, _ asked: AskedRequest, _ client: any ExchangeClient
    ) -> ArchivedRequest? {
        guard let archive = decider.preflightArchive(for: asked) else { return nil }
        answerPreflight(archive.shortName, archive.options, request, client)
        return .begun(nil)
    }

    // MARK: Misses

    /// Answers a request for a URL of an archive's that has no entry; `.notMine` where the origin is to answer.
    func missed(
        _ asked: AskedRequest, _ archive: MapArchive, hasCandidates: Bool, _ request: Request,
        _ client: any ExchangeClient
    ) -> ArchivedRequest {
        let isTold = archive.missing != .forward || proxy.configuration.replay != nil
        var miss = map.archiveMiss(
            asked.uri, method: asked.method, of: archive, hasCandidates: hasCandidates, isTold: isTold)
        let isOfRecord = proxy.configuration.replaysForwarded && proxy.configuration.recorder == nil
        if isOfRecord, [.path, .host].contains(miss.reason) {
            miss.advice = "Record it with --update, or map the URL."
        }
        exchangeMetrics.archiveMisses &+= 1
        // What is forwarded to be added to the recording isn't missed.
        if miss.missing != .forward || proxy.configuration.recorder == nil {
            proxy.configuration.replay?.noteMiss(asked, miss)
        }
        client.record?.rule = ""
        // The map names the host, and not the URL.
        client.record?.isMapped = false
        guard miss.missing != .forward else { return .notMine }
        guard miss.missing != .noContent else {
            answerNoContent(miss.note, answersCORS: archive.options.cors == .auto, request, client)
            return .begun(nil)
        }
        client.fail(.missed(miss, answersCORS: archive.options.cors == .auto))
        return .begun(nil)
    }

    /// Refuses a request for a host that no archive has, where nothing else is to answer.
    private func missedHost(
        _ asked: AskedRequest, _ request: Request, _ client: any ExchangeClient
    ) -> ArchivedRequest {
        guard decider.isOffline, !decider.isOwn(asked.uri) else { return .notMine }
        exchangeMetrics.archiveMisses &+= 1
        let nearest = map.nearestElsewhere(asked.uri, method: asked.method)
        proxy.configuration.replay?.noteMissedHost(asked, nearest)
        guard proxy.configuration.missingHost != .noContent else {
            answerNoContent("in no archive", answersCORS: true, request, client)
            return .begun(nil)
        }
        client.fail(.inNoArchive(proxy.configuration.missingHost, nearest))
        return .begun(nil)
    }

    /// Asks the origin for what an archive is to refuse only where the origin fails (`when: origin-fails`).
    ///
    /// - Returns: nil where the archive refuses it at once, or leaves it to the origin in any case.
    private func askOriginFirst(
        _ asked: AskedRequest, _ archive: MapArchive, _ request: Request, _ client: any ExchangeClient
    ) -> (any Exchange)?? {
        guard archive.missing != .forward,
            case .originFirst = decider.answering(asked, archive.options, RequestCacheControl(request.head.fields))
        else { return nil }
        let plan = ForwardPlan(reason: .bypass, outcome: .forwarded, detail: archive.shortName)
        let exchange = forward(request, asked, to: asked.uri, client, plan) { [self] failure in
            client.record?.reason = failure.failure
            client.resume {
                guard case .begun(let exchange) = missed(asked, archive, hasCandidates: false, request, client) else {
                    return nil
                }
                return exchange
            }
        }
        return .some(exchange)
    }

    private func answerNoContent(
        _ note: String, answersCORS: Bool, _ request: Request, _ client: any ExchangeClient
    ) {
        var lines = ByteBuffer(string: "Cache-Control: no-store\r\n")
        lines.writeImmutableBuffer(proxy.identity.viaLine)
        lines.writeImmutableBuffer(dateStamp().line)
        if answersCORS { CORSFields.writeAll(for: request.head.fields, exposingAllOf: &lines) }
        client.record?.outcome = .refused
        client.record?.reason = note
        client.start(ResponseStart(status: 204, reason: nil, lines: lines, body: .none))
        client.finish(trailers: nil)
    }

    // MARK: Answers

    /// Counts an answer, and has the report know the entry.
    func note(_ archived: ArchivedAnswer) {
        switch archived.step.kind {
        case "exact": exchangeMetrics.archiveAnswers[0] &+= 1
        case "tolerant": exchangeMetrics.archiveAnswers[1] &+= 1
        default: exchangeMetrics.archiveAnswers[2] &+= 1
        }
        guard let report = proxy.configuration.replay else { return }
        report.noteAnswer(archived, isKnown: archived.isReported)
        archived.isReported = true
    }

    /// Makes an entry's answer, and keeps it for the requests to come where these need no look at their fields.
    func make(_ entry: LoadedEntry, _ number: Int, _ asking: ArchiveAsking) -> ReadyAnswer {
        let answer = ReadyAnswer(
            options: asking.archive.options, position: asking.archive.position(number),
            content: content(entry, number, asking), identity: proxy.identity, checkedAt: .max)
        // The numbers of another map name other entries; an edit of a file of its own counts at once; and of two URLs
        // one may be https, whose answer has a field more.
        guard asking.isKept, asking.map === map, !entry.exchange.body.fileMayChange, !entry.isToldByCoding,
            asking.archive.table.placeOfFurtherURL(number) == nil,
            let file = entry.content,
            proxy.files.holds(file)
        else { return answer }
        let tolerance = Array((answer.archived?.tolerance ?? "").utf8)
        let id = id(asking.candidates, number)
        if tolerance.isEmpty {
            answers.insert(answer, for: id)
        } else {
            tolerance.withUnsafeBytes { answers.insert(answer, for: id, url: $0) }
        }
        return answer
    }

    /// The answer of an entry as content: its body in memory, or none where it is streamed.
    func content(_ entry: LoadedEntry, _ number: Int, _ asking: ArchiveAsking) -> AnswerContent {
        let archive = asking.archive
        let exchange = entry.exchange
        var fields = OutgoingFields.make(
            exchange, keepsFreshness: archive.settings.freshness == .recorded, now: dateStamp().unixSeconds)
        if asking.isCrossOrigin {
            fields.removeAll { Array($0.name.prefix(15)).map(\.asciiLowercased).elementsEqual("access-control-".utf8) }
        }
        // Where `as` answers https with what was recorded for http, the URL has the right scheme.
        let wasInsecure = exchange.url.prefix(7).map(\.asciiLowercased).elementsEqual("http://".utf8)
        if asking.candidates.step.isOtherScheme || wasInsecure, asking.asked.uri.scheme == .https,
            EntryFields.isHTML(fields)
        {
            fields.append(RecordedField("Content-Security-Policy", "upgrade-insecure-requests"))
        }
        EntryFields.move(&fields, of: exchange, by: archive.settings)
        let isHeadOnly = exchange.method == "HEAD"
        let archived = ArchivedAnswer(
            archive, number, asking.candidates.step, tolerance: asking.tolerance(number), fields: fields,
            isHeadOnly: isHeadOnly, isCoded: !exchange.body.codings.isEmpty,
            isInOrder: entry.content == nil && !exchange.body.isAnywhere)
        archived.passedCoding = entry.passedCoding
        archived.dependsOnCoding = entry.isToldByCoding
        var content = AnswerContent(bodies: [], mediaType: [])
        content.archived = archived
        content.defaultStatus = exchange.status == 206 && !OutgoingFields.isPart(exchange) ? 200 : exchange.status
        // Of what a POST has answered a request has no state to compare.
        content.isConditional = content.defaultStatus == 200 && exchange.method == "GET"
        content.file = entry.content
        content.varyingFields = asking.map.conditionFieldNames
        if isHeadOnly {
            let length = exchange.value("content-length").flatMap { $0.withUnsafeBytes { $0.decimalValue } } ?? 0
            content.bodies = [AnswerContent.Body(coding: nil, etag: [], lastModified: nil, size: Int(clamping: length))]
        } else if let file = entry.content {
            content.bodies = file.variants.map { variant in
                AnswerContent.Body(
                    coding: variant.coding, etag: variant.etag, lastModified: nil, size: variant.size,
                    bytes: variant.body, sealed: variant.sealed)
            }
        } else {
            let tag = exchange.body.isRewritten || exchange.value("etag") != nil ? [] : entry.tag
            content.bodies = [AnswerContent.Body(coding: nil, etag: tag, lastModified: nil, size: entry.size ?? 0)]
        }
        return content
    }
}

/// What an archive's settings and the request make of an entry's fields.
enum EntryFields {
    static func isHTML(_ fields: [RecordedField]) -> Bool {
        fields.first { $0.isNamed("content-type") }.map { field in
            Array(field.value.prefix(9)).map(\.asciiLowercased).elementsEqual("text/html".utf8)
        } ?? false
    }

    /// Moves what Location names, as the entries are moved (`as`).
    static func move(_ fields: inout [RecordedField], of exchange: RecordedExchange, by settings: ArchiveSettings) {
        guard !settings.moved.isEmpty, let base = try? TargetURI(absolute: ByteBuffer(bytes: exchange.url)) else {
            return
        }
        for index in fields.indices where fields[index].isNamed("location") || fields[index].isNamed("content-location")
        {
            let value = fields[index].value
            let named = value.withUnsafeBytes { URIReference.resolve($0, against: base) }
            guard let url = named?.withBytes({ Array($0) }) else { continue }
            let moved = settings.moved(url[...])
            // One that names a scheme means the same wherever its entry is answered.
            if moved == nil, (try? TargetURI(absolute: ByteBuffer(bytes: value))) != nil { continue }
            fields[index].value = (moved ?? url) + (value.firstIndex(of: UInt8(ascii: "#")).map { value[$0...] } ?? [])
        }
    }
}

extension ArchiveMiss.Nearest {
    /// As the page of an error says it.
    fileprivate var line: String { "nearest: \(position) \(url) (differs: \(differs.joined(separator: ", ")))" }
}

extension ArchiveMiss {
    /// As the log says it: `not in checkout.har; nearest checkout.har#12`.
    var note: String { "not in \(archive)" + (nearest.first.map { "; nearest \($0.position)" } ?? "") }
}

extension ProxyError {
    static func missed(_ miss: ArchiveMiss, answersCORS: Bool) -> ProxyError {
        let isNotFound = miss.missing == .notFound
        let why = miss.unusable.map { ": \($0)" } ?? ""
        var error = ProxyError(
            status: isNotFound ? 404 : 504, type: isNotFound ? "" : "destination_unavailable",
            failure: "The archive \(miss.archive) has no entry for this request (\(miss.reason.rawValue))\(why).",
            advice: miss.advice, isRefusal: true)
        error.note = miss.note
        error.excerpt = miss.nearest.map(\.line)
        error.answersCORS = answersCORS
        return error
    }

    /// Of a host that no archive has.
    static func inNoArchive(_ missing: ArchiveMissing, _ nearest: [ArchiveMiss.Nearest]) -> ProxyError {
        let isNotFound = missing == .notFound
        var error = ProxyError(
            status: isNotFound ? 404 : 504, type: isNotFound ? "" : "destination_unavailable",
            failure: "No archive has this host, and nothing is asked of the network.",
            advice: "Record it, map the URL, or give --missing forward.", isRefusal: true)
        error.note = "in no archive"
        error.excerpt = nearest.map(\.line)
        error.answersCORS = true
        return error
    }

    /// Of an entry that can't be sent.
    static func entry(_ position: String, _ failure: EntryFailure) -> ProxyError {
        switch failure {
        case .changed: entryChanged(position)
        case .unreadable(let why, let option): entryUnreadable(position, why, option: option)
        }
    }

    private static func entryChanged(_ position: String) -> ProxyError {
        var error = ProxyError(
            status: 503, type: "proxy_internal_error",
            failure: "The archive of \(position) was changed while it is in force.",
            advice: "Replace archives by rename; the next reload reads this one anew.")
        error.retryAfter = 1
        return error
    }

    private static func entryUnreadable(_ position: String, _ why: String, option: String?) -> ProxyError {
        ProxyError(
            status: 502, type: "proxy_internal_error", failure: "The entry \(position) can't be read: \(why).",
            advice: option.map { "A larger \($0) allows it." }
                ?? "'subproxy check' reads the whole archive and tells what is wrong with it.")
    }
}

extension AnswerTable {
    /// Notes that a plain GET of a target gets the answer of an archive's entry.
    func note(_ id: RuleID, how tolerance: String, for request: Request, _ uri: TargetURI, _ isNoted: Bool) {
        // Cache busters make each target another one: it would only drive out those that come again.
        guard isNoted, tolerance.isEmpty else { return }
        request.head.withTarget { note(id, url: nil, for: $0, url: uri.bytes) }
    }
}
