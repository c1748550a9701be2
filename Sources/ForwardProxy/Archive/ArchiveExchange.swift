import Archives
import Files
import HTTPSemantics
import NIOCore
import Substitution

/// Answers a request from an archive: reads its body first where entries are told apart by it, chooses the entry, reads
/// that on the pool, and goes on with the exchange that sends it.
final class ArchiveExchange: Exchange {
    private var asking: ArchiveAsking
    private let request: Request
    private let loop: LoopContext
    /// Nil from the end of the exchange on, and not weak: see ``ForwardExchange``.
    private var client: (any ExchangeClient)?
    /// The request's body as far as it is held for comparison.
    private var body: [UInt8] = []
    /// What has come behind that of a body that is too large to be compared, where an origin may get it.
    private var rest: [ByteBuffer] = []
    private var isTooLarge = false
    private var bodyHasEnded = false
    private var isReading = false
    /// Whether the body is one that equals any: nothing depends on it, and it is not read.
    private var isAnyBody = false
    private var trailers: FieldSection?
    /// How the origin is asked before the archive that may answer; nil where it isn't.
    private var origin: ForwardPlan?
    /// How it is asked where no archive has the request, since it comes before the first one that has the URL.
    private var firstOrigin: ForwardPlan?
    /// How the origin has failed that was asked first: it is not asked again.
    private var failure: ProxyError?
    /// Where it waits for how long a body is; nil where it doesn't.
    private var counting: BodyCounting.Place?

    /// Larger bodies are not compared, and equal any.
    static let comparedBytes = 1 << 20

    init(_ asking: ArchiveAsking, _ client: any ExchangeClient) {
        self.asking = asking
        request = asking.request
        self.client = client
        loop = client.loop
    }

    /// Whether nothing is left to serve.
    var isOver: Bool { client == nil }

    func begin() {
        if asking.candidates.isCertain, let number = asking.candidates.entries.first { return load(number) }
        isAnyBody = request.hasBody && !asking.candidates.dependOnBody
        guard request.hasBody, !isAnyBody else { return choose() }
        isReading = true
        client?.sendContinue()
    }

    /// Reads the request's body, which tells whether the archive has the request; if it has, the origin is asked first,
    /// and the archive where that fails. For requests that have one.
    func beginAtOrigin(_ plan: ForwardPlan) {
        origin = plan
        firstOrigin = plan
        isReading = true
        client?.sendContinue()
    }

    /// Answers in the place of an origin that has failed.
    ///
    /// - Parameters:
    ///   - body: what was held of the request's; nil where it is too large to be compared.
    func begin(after failure: ProxyError, body: [UInt8]?) {
        self.failure = failure
        self.body = body ?? []
        isTooLarge = body == nil
        bodyHasEnded = true
        if asking.candidates.isCertain, let number = asking.candidates.entries.first { return load(number) }
        choose()
    }

    func receive(_ bytes: ByteBuffer) {
        guard isReading else {
            if isTooLarge, failure == nil { rest.append(bytes) }
            return
        }
        guard body.count + bytes.readableBytes > ArchiveExchange.comparedBytes else {
            return body += bytes.readableBytesView
        }
        isReading = false
        isTooLarge = true
        rest.append(bytes)
        if let origin { return later { $0.forward(origin) } }
        client?.setWantsBody(false)
        choose()
    }

    func receiveEnd(trailers: FieldSection?) {
        bodyHasEnded = true
        self.trailers = trailers
        guard isReading else { return }
        isReading = false
        choose()
    }

    func clientBecameWritable() {}

    func clientIsGone() {
        client = nil
        guard let counting else { return }
        self.counting = nil
        loop.proxy.counting.leave(counting)
    }

    /// Goes on with giving the client to another exchange once the caller is done, which may be putting this one in its
    /// place, or handing on more of the request's body.
    private func later(_ next: @escaping (ArchiveExchange) -> Void) {
        let bound = NIOLoopBound((exchange: self, next: next), eventLoop: loop.eventLoop)
        loop.eventLoop.execute {
            let (exchange, next) = bound.value
            exchange.loop.batch { next(exchange) }
        }
    }

    // MARK: The origin

    /// Sends the request to the origin, with its body; where it fails, the archive answers.
    private func forward(_ plan: ForwardPlan) {
        guard let client else { return }
        self.client = nil
        let (loop, asking) = (loop, asking)
        let held = isTooLarge ? nil : body
        loop.forward(request, passing, asking.asked, to: asking.asked.uri, client, plan) { failure in
            loop.answer(asking, after: failure, body: held, client)
        }
    }

    /// What has come of the request's body.
    private var passing: PassingBody {
        PassingBody([ByteBuffer(bytes: body)] + rest, hasEnded: bodyHasEnded, trailers)
    }

    /// Takes the client from here, and has the rest come of a body that no origin gets.
    private func release() -> (any ExchangeClient)? {
        defer { client = nil }
        rest = []
        if isTooLarge { client?.setWantsBody(true) }
        return client
    }

    // MARK: Choosing

    private func choose() {
        let choosing = EntryChoosing(
            candidates: asking.candidates, uri: asking.asked.uri, fields: request.head.fields,
            isHead: request.isHead, body: request.hasBody && !isTooLarge && !isAnyBody ? body : nil,
            isTooLarge: isTooLarge || isAnyBody)
        if let choice = choosing.madeAtOnce() { return take(choice) }
        loop.onFilePool({ () throws(EntryFailure) in try choosing.made() }) { [self] result in
            guard client != nil else { return }
            switch result {
            case .success(let choice): take(choice)
            case .failure(let failure):
                // What can't be read stands in for no origin that may answer.
                if let origin, self.failure == nil { return forward(origin) }
                fail(failure, asking.candidates.entries.first ?? 0)
            }
        }
    }

    private func take(_ choice: EntryChoosing.Choice) {
        asking.candidates = choice.candidates
        guard !choice.chosen.isEmpty else {
            if !choice.candidates.areParts { asking.hasOtherBody = true }
            return later { $0.lookOn() }
        }
        if let origin, failure == nil { return later { $0.forward(origin) } }
        guard asking.archive.settings.isSequence else { return load(choice.steady) }
        let takesTurn = !request.isHead && !request.head.fields.contains(.range)
        load(loop.proxy.sequences.take(choice.chosen, of: asking.candidates, for: asking.client, counts: takesTurn))
    }

    /// No entry of the archive answers, mostly since none has an equal body: the next archive may have one.
    private func lookOn() {
        guard let client else { return }
        let missed = asking.missed ?? asking.archive
        asking.missed = missed
        let finding = asking.map.findArchived(
            asking.asked.uri, method: asking.asked.method, hasBody: request.hasBody,
            hasRange: request.head.fields.contains(.range), from: asking.candidates.place + 1)
        if case .found(let candidates) = finding {
            asking.candidates = candidates
            origin = nil
            if failure == nil,
                case .originFirst = loop.decider.answering(
                    asking.asked, candidates.archive.options, RequestCacheControl(request.head.fields))
            {
                let position = candidates.archive.position(candidates.entries.first ?? 0)
                loop.noteRule(position, on: client)
                origin = ForwardPlan(reason: .bypass, outcome: .forwarded, detail: position)
            }
            return choose()
        }
        let passing = passing
        let (loop, asking, request, failure) = (loop, asking, request, failure)
        // What a rule has an answer for goes to no origin, and is no miss.
        let hasAnswer = loop.ruleBehindArchives(request, asking.asked).map { !loop.map.rule($0.id).forwards } ?? false
        if let firstOrigin, failure == nil, !hasAnswer {
            loop.noteRule(firstOrigin.detail, on: client)
            return forward(firstOrigin)
        }
        self.client = nil
        client.resume(request, passing) {
            if asking.askOrigin != nil || !hasAnswer,
                case .begun(let exchange) = loop.missed(
                    asking.asked, missed, hasCandidates: asking.hasOtherBody, request, client)
            {
                return exchange
            }
            if let failure {
                client.fail(failure)
                return nil
            }
            guard let askOrigin = asking.askOrigin else { return loop.beginUnmapped(request, asking.asked, client) }
            return askOrigin()
        }
    }

    // MARK: Answering

    private func load(_ number: Int) {
        let archive = asking.archive
        client?.record?.rule = archive.position(number)
        client?.record?.outcome = .substituted
        let tolerance = asking.tolerance(number)
        // Why the archive stands in for an origin comes first.
        let reasons = [client?.record?.reason ?? "", tolerance].filter { !$0.isEmpty }
        client?.record?.reason = reasons.joined(separator: "; ")
        let loader = EntryLoader(
            archive: archive, number: number, files: loop.proxy.files, root: loop.folder(archive.path),
            mode: RetentionMode(archive.options.retain), fields: request.head.fields)
        loop.onFilePool({ () throws(EntryFailure) in try loader.load() }) { [self] result in
            switch result {
            case .success(let entry): serve(entry, number)
            case .failure(let failure): fail(failure, number)
            }
        }
    }

    private func serve(_ entry: LoadedEntry, _ number: Int) {
        guard client != nil else { return }
        let (loop, asking, request) = (loop, asking, request)
        let answer = loop.make(entry, number, asking)
        if entry.content == nil, entry.size == nil, needsLength(answer, entry.exchange) { return count(entry, number) }
        guard let client = release() else { return }
        if let failure = entry.undecodable, !ArchiveExchange.takes(answer, request) {
            client.fail(.entry(asking.archive.position(number), failure))
            client.flush()
            return
        }
        if let archived = answer.archived { loop.note(archived) }
        client.resume {
            let hasLength = entry.exchange.method != "HEAD" || entry.exchange.value("content-length") != nil
            // No Content and Reset Content have nothing to stream.
            let hasBody = entry.exchange.method != "HEAD" && answer.status != 204 && answer.status != 205
            let isStreamed = entry.content == nil && hasBody
            guard isStreamed || !hasLength else {
                return loop.serve(answer, request, client)
            }
            let plan = AnswerPlan.make(answer, for: request, date: loop.dateStamp())
            guard answer.status != 200 || plan.status == 200 || plan.status == 206 else {
                plan.send(to: client, isHead: request.isHead)
                return nil
            }
            let part = plan.status == 206 && answer.status == 200 ? plan : nil
            let stream = ArchiveStream(answer, entry, number, asking, client, part: part)
            stream.begin()
            return stream.isOver ? nil : stream
        }
        client.flush()
    }

    // MARK: Counting

    /// Whether how long a body is, or whether anything in it is rewritten, has a part in its answer.
    private func needsLength(_ answer: ReadyAnswer, _ exchange: RecordedExchange) -> Bool {
        guard answer.status == 200, exchange.method != "HEAD" else { return false }
        if exchange.body.isRewritten { return true }
        let plan = AnswerPlan.make(answer, for: request, date: loop.dateStamp())
        return request.isHead ? plan.status == 200 : plan.status == 206 || plan.status == 416
    }

    /// Finds out how long a body is of which only its end tells, and goes on with the answer.
    private func count(_ entry: LoadedEntry, _ number: Int) {
        let (archive, tag) = (asking.archive, entry.tag)
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        counting = loop.proxy.counting.join(BodyCounting.Body(archive: archive.generation, tag: tag)) {
            let reader = EntryReader(archive, number, entry.exchange.body)
            return { () throws(EntryFailure) in
                if let known = archive.bodies.count(of: tag) { return known }
                let count = try reader.count()
                if let count { archive.bodies.keep(tag, count) }
                return count
            }
        } whenEnded: { [eventLoop = loop.eventLoop] outcome in
            eventLoop.execute { bound.value.loop.batch { bound.value.goOn(outcome, entry, number) } }
        }
    }

    private func goOn(_ outcome: BodyCounting.Outcome, _ entry: LoadedEntry, _ number: Int) {
        counting = nil
        guard client != nil else { return }
        switch outcome {
        case .success(let count):
            var entry = entry
            entry.note(count)
            serve(entry, number)
        case .failure(let failure): fail(failure, number)
        }
    }

    /// Whether the client takes the only coding that there is.
    private static func takes(_ answer: ReadyAnswer, _ request: Request) -> Bool {
        guard let coding = answer.first.coding else { return true }
        return request.head.fields.contains(.acceptEncoding)
            && AcceptEncoding(request.head.fields).weight(of: coding) > 0
    }

    private func fail(_ failure: EntryFailure, _ number: Int) {
        guard let client = release() else { return }
        client.fail(.entry(asking.archive.position(number), failure))
        client.flush()
    }
}
