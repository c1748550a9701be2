import Basics
import Diagnostics
import Files
import HTTP1
import HTTPSemantics
import Logging
import NIOCore
import NIOPosix
import Substitution

extension LoopContext {
    /// Answers a request by a rule that has matched.
    ///
    /// - Parameters:
    ///   - source: what answers; found out only where no answer is ready.
    ///   - bodyIsGone: the request's body was sent to an origin that failed, so that it can't be sent again.
    ///   - body: what was held of it nevertheless.
    func answer(
        _ use: RuleUse, from source: @autoclosure () -> SourceAnswer, revalidates: Bool, _ request: Request,
        _ client: any ExchangeClient, bodyIsGone: Bool = false, body: [UInt8]? = nil
    ) -> (any Exchange)? {
        let rule = use.rule
        noteRule(rule.position, on: client)
        client.record?.outcome = .substituted
        if use.rule.options.database == nil, let ready = use.ready,
            ready.checkedAt == .max
                || (!revalidates && (ready.isFresh(request.receivedAt) || glance(at: ready, request.receivedAt)))
        {
            return serve(ready, request, client, of: use, bodyIsGone: bodyIsGone)
        }
        let unread = bodyIsGone && body == nil ? request.withoutBody : request
        switch source() {
        case .file(let root, let path):
            return answerFile(
                folder(root), path, use, revalidates: revalidates, request, client, bodyIsGone: bodyIsGone)
        case .content(let content):
            return serve(make(AnswerContent(content, options: rule.options), use, checkedAt: .max), request, client)
        case .database(let call):
            return answer(
                call, use, revalidates: revalidates, unread, client, body: body, originHasFailed: bodyIsGone)
        case .template(let call):
            return answer(
                call, use, revalidates: revalidates, unread, client, body: body, originHasFailed: bodyIsGone)
        case .answers(let answers):
            return answer(answers, use, revalidates: revalidates, request, client, bodyIsGone: bodyIsGone, body: body)
        case .origin:
            // A rule that asks the origin is forwarded by the decision, with all that this has to be asked before.
            client.fail(.internalError)
        case .refused(let why) where why.isOfURL:
            client.fail(.noUsableURL(rule: rule.position, why).answering(by: rule.options))
        case .refused(let why):
            let path = use.uri.withBytes { visibleText(of: $0.prefix(use.uri.pathEnd), limit: 300) }
            proxy.logger.warning("\(rule.position): \(path): \(why)")
            guard rule.options.missing == .forward, !bodyIsGone, body == nil else {
                client.fail(.noSuchFile(rule: rule.position).answering(by: rule.options))
                return nil
            }
            return askOrigin(use, request, client)
        }
        return nil
    }

    /// Serves a ready answer, at once where it is in memory and the rule doesn't ask for time.
    ///
    /// - Parameters:
    ///   - use: the rule whose answer it is, which says what becomes of a request where the answer's file is gone by the
    ///     time that it is opened; nil where none does.
    ///   - bodyIsGone: as for ``answer(_:from:revalidates:_:_:bodyIsGone:body:)``.
    func serve(
        _ answer: ReadyAnswer, _ request: Request, _ client: any ExchangeClient, of use: RuleUse? = nil,
        bodyIsGone: Bool = false
    ) -> (any Exchange)? {
        if answer.isPlain, request.isHead || client.takesAtOnce(answer.first.size) {
            if sendOnce(answer, request, client) { return nil }
            let plan = AnswerPlan.make(answer, for: request, date: dateStamp())
            if plan.variant.body != nil || request.isHead {
                plan.send(to: client, isHead: request.isHead)
                return nil
            }
        }
        let exchange = AnswerExchange(request: request, client: client) { [self] exchange, refusal in
            guard let use, let file = answer.file else { return exchange.fail(refusal, answer) }
            refuse(
                refusal, file.root, file.path, use, request, exchange, mayForward: !bodyIsGone && !request.hasBody)
        }
        exchange.serve(answer)
        return exchange.isFinished ? nil : exchange
    }

    /// Sends an answer that was just made, where the request asks for nothing in particular.
    ///
    /// - Returns: whether it was sent.
    private func sendOnce(_ answer: ReadyAnswer, _ request: Request, _ client: any ExchangeClient) -> Bool {
        let present = request.head.fields.present
        guard answer.isSingle, answer.first.body != nil, request.head.method == .get || !answer.isConditional,
            !request.isHead, client.takesSerialisedResponse,
            present.isDisjoint(with: particular), present.isDisjoint(with: validating),
            !isObserved || client.record?.observed == nil
        else { return false }
        client.record?.status = answer.status
        client.record?.bodyBytes = answer.first.size
        let date = dateStamp()
        answer.first.sendOnce(to: client, second: date.unixSeconds, tail: date.line)
        return true
    }

    private func answerFile(
        _ root: FolderRoot, _ path: [UInt8], _ use: RuleUse, revalidates: Bool, _ request: Request,
        _ client: any ExchangeClient, bodyIsGone: Bool
    ) -> (any Exchange)? {
        let rule = use.rule
        let options = rule.options
        let current = use.ready
        if current == nil, !revalidates, let answer = makeFromStore(root, path, use, request) {
            return serve(answer, request, client, of: use, bodyIsGone: bodyIsGone)
        }
        let holdsBody = options.missing == .forward && !bodyIsGone && request.hasBody
        let exchange = AnswerExchange(request: request, client: client, holdsBody: holdsBody) {
            [self] exchange, refusal in
            // What had come of a body is let go of once there is an answer.
            refuse(refusal, root, path, use, request, exchange, mayForward: !bodyIsGone && !request.hasBody)
        }
        func missing(_ refusal: FileRefusal) {
            refuse(refusal, root, path, use, request, exchange, mayForward: !bodyIsGone)
        }
        load(root, path, options.retain, current?.file) { [self] result in
            switch result {
            case .success(.current(let loaded)) where current != nil:
                current?.checked(loaded, at: request.receivedAt)
                current.map(exchange.serve)
            case .success(.current(let loaded)), .success(.changed(let loaded)):
                let content = AnswerContent.file(
                    loaded, options: options, now: dateStamp().unixSeconds)
                exchange.serve(make(content, use, checkedAt: request.receivedAt))
            case .success(.gone(let refusal)): missing(refusal)
            case .failure(let refusal): missing(refusal)
            }
        }
        return exchange
    }

    /// Answers a request whose rule has a file that can't be had.
    ///
    /// - Parameter mayForward: whether the request can still be sent to its origin, where the rule wants that.
    private func refuse(
        _ refusal: FileRefusal, _ root: FolderRoot, _ path: [UInt8], _ use: RuleUse, _ request: Request,
        _ exchange: AnswerExchange, mayForward: Bool
    ) {
        use.forget()
        let position = use.rule.position
        let options = use.rule.options
        let name = visibleText(of: path, limit: 300)
        proxy.logger.warning("\(position): \(root.path)/\(name): \(refusal)")
        func fail(_ error: ProxyError) { exchange.fail(error.answering(by: options)) }
        let refusal = refusal.asAnswered
        guard refusal == .notFound else { return fail(.file(refusal, rule: position, path: name)) }
        switch options.missing {
        case .notFound: fail(.noSuchFile(rule: position))
        case .error where AnswerContent.looksLikeTraversal(path): fail(.noSuchFile(rule: position))
        case .forward where mayForward:
            exchange.handOver { client, body in forwardMissing(use, request, body, client) }
        case .error, .forward: fail(.file(.notFound, rule: position, path: name))
        }
    }

    /// Goes on with a request for what a rule has no answer for (`missing: forward`).
    ///
    /// - Parameter body: what has come of the request's.
    func forwardMissing(_ use: RuleUse, _ request: Request, _ body: PassingBody, _ client: any ExchangeClient) {
        client.resume(request, body) { [self] in askOrigin(use, request, client) }
    }

    /// Asks the archives, and then the origin, for what a rule has no answer for (`missing: forward`).
    private func askOrigin(_ use: RuleUse, _ request: Request, _ client: any ExchangeClient) -> (any Exchange)? {
        let asked = AskedRequest(request, use.uri)
        return beginReplayed(request, asked, client) { [self] in
            // An archive that has missed it has taken the rule from the record.
            noteRule(use.rule.position, on: client)
            if let error = forwardRefusal(use.rule, request) {
                client.fail(error.answering(by: use.rule.options))
                return nil
            }
            let options = use.rule.options
            let plan = ForwardPlan(
                reason: .bypass, outcome: .forwarded, detail: use.rule.position,
                headers: options.isInTurn ? options.cacheControl + options.noStore : [],
                answersCORS: options.answersCORS)
            return forward(request, asked, to: use.uri, client, plan)
        }
    }

    /// Why the origin isn't asked for what is missing; nil where it is.
    private func forwardRefusal(_ rule: Rule, _ request: Request) -> ProxyError? {
        if proxy.configuration.isOffline { return .offline(rule: rule.position) }
        return RequestCacheControl(request.head.fields).onlyIfCached ? .onlyIfCached : nil
    }

    /// Makes an answer ready, and keeps it for the requests to come.
    private func make(_ content: AnswerContent, _ use: RuleUse, checkedAt: UInt64) -> ReadyAnswer {
        var content = content
        content.varyingFields = use.rule.varyingFields
        let answer = ReadyAnswer(
            options: use.rule.options, position: use.rule.position, content: content, identity: proxy.identity,
            checkedAt: content.file?.isPinned == true ? .max : checkedAt)
        // What the store has not kept must not be kept here either, or its limit would not hold.
        if let file = content.file, file.isInMemory, !proxy.files.holds(file) { return answer }
        use.keep(answer)
        return answer
    }

    /// Makes an answer of what is in memory for another loop, or another URL, where the file is as it was.
    private func makeFromStore(
        _ root: FolderRoot, _ path: [UInt8], _ use: RuleUse, _ request: Request
    ) -> ReadyAnswer? {
        guard use.rule.options.retain == .whileUnchanged, let file = proxy.files.held(root, path),
            let time = proxy.files.glance(at: file, now: request.receivedAt)
        else { return nil }
        let content = AnswerContent.file(file, options: use.rule.options, now: dateStamp().unixSeconds)
        return make(content, use, checkedAt: time)
    }

    // MARK: Files

    /// Loads a file, or looks whether what was loaded is still what is on disk, off the event loop.
    private func load(
        _ root: FolderRoot, _ path: [UInt8], _ retain: RuleOptions.Retain, _ loaded: LoadedFile?,
        _ completion: @escaping (Result<FileCheck, FileRefusal>) -> Void
    ) {
        let files = proxy.files
        onFilePool(
            { () throws(FileRefusal) -> FileCheck in
                if let loaded { return files.recheck(loaded) }
                let file = try files.load(root, path, mode: RetentionMode(retain))
                SystemMediaTypes.prepare(forPath: file.path)
                return .current(file)
            }, completion)
    }

    /// Looks at the file of an answer here on the loop, where the kernel has in memory what that takes.
    ///
    /// - Returns: whether the answer is right still; else a look on the pool has to say.
    func glance(at answer: ReadyAnswer, _ now: UInt64) -> Bool {
        guard answer.data == nil, let file = answer.file, let time = proxy.files.glance(at: file, now: now) else {
            return false
        }
        answer.checked(file, at: time)
        return true
    }

    /// Looks at the file of an answer that is about to need it, while the answer is still served.
    func refresh(_ answer: ReadyAnswer) {
        if let data = answer.data { return refresh(answer, data) }
        guard let loaded = answer.file else { return }
        answer.isChecking = true
        let files = proxy.files
        let started = monotonicNanoseconds()
        onFilePool({ () throws(FileRefusal) -> FileCheck in files.recheck(loaded) }) { result in
            answer.isChecking = false
            if case .success(.current(let file)) = result {
                answer.checked(file, at: started)
            } else {
                // The next request finds the answer stale, and takes what is on disk now.
                answer.checkedAt = 0
            }
        }
    }

    /// Makes the answer of a file anew, because it changed while it was about to be sent.
    func reload(_ answer: ReadyAnswer, _ completion: @escaping (Result<ReadyAnswer, FileRefusal>) -> Void) {
        guard let file = answer.file else { return completion(.failure(.notFound)) }
        let options = answer.options
        let position = answer.position
        load(file.root, file.path, options.retain, nil) { [self] result in
            let loaded: LoadedFile
            switch result {
            case .success(.current(let found)), .success(.changed(let found)): loaded = found
            case .success(.gone(let refusal)), .failure(let refusal): return completion(.failure(refusal))
            }
            var content = AnswerContent.file(
                loaded, options: options, now: dateStamp().unixSeconds)
            content.varyingFields = answer.varyingFields
            let fresh = ReadyAnswer(
                options: options, position: position, content: content, identity: proxy.identity, checkedAt: 0)
            completion(.success(fresh))
        }
    }

    func folder(_ path: String) -> FolderRoot {
        if let folder = folders[ByBytes(path)] { return folder }
        let folder = proxy.folder(path)
        folders[ByBytes(path)] = folder
        return folder
    }

    /// Runs blocking file work on the pool, and `completion` on this loop.
    func onFilePool<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Value,
        _ completion: @escaping (Result<Value, Failure>) -> Void
    ) {
        let completion = NIOLoopBound(completion, eventLoop: eventLoop)
        proxy.filePool.submit { [eventLoop, self] state in
            // At the program's end nobody waits for it.
            guard case .active = state else { return }
            let result: Result<Value, Failure>
            do throws(Failure) {
                result = .success(try work())
            } catch {
                result = .failure(error)
            }
            eventLoop.execute { self.batch { completion.value(result) } }
        }
    }
}

extension RetentionMode {
    init(_ retain: RuleOptions.Retain) {
        switch retain {
        case .whileUnchanged: self = .retain
        case .pinned: self = .pinned
        case .never: self = .none
        }
    }
}

extension AnswerContent {
    /// What a source had at hand.
    init(_ content: SourceContent, options: RuleOptions) {
        let type = content.isOwnWording ? nil : options.type?.withDefaultCharset.bytes
        self.init(
            bodies: [
                Body(
                    coding: nil, etag: ContentTag.make(content.bytes), lastModified: nil, size: content.bytes.count,
                    bytes: ByteBuffer(bytes: content.bytes))
            ],
            mediaType: type ?? Array(content.type.utf8), defaultStatus: content.status, location: content.location,
            isOwnWording: content.isOwnWording)
    }

    /// Whether a path looks like an attempt to leave the root. The client is then told nothing of the file.
    static func looksLikeTraversal(_ path: [UInt8]) -> Bool {
        if path.contains(UInt8(ascii: "\\")) || path.contains(where: { $0 < 0x20 }) { return true }
        if String(validating: path, as: UTF8.self) == nil { return true }
        return path.split(separator: UInt8(ascii: "/")).contains { segment in
            segment.starts(with: Array("..".utf8)) || segment.starts(with: Array("%2e".utf8))
                || segment.starts(with: Array("%2E".utf8))
        }
    }

    /// - Parameter now: the time of the message in Unix seconds; of a file whose time is later, Last-Modified says this
    ///   instead (RFC 9110 §8.8.2.1).
    static func file(
        _ file: LoadedFile, options: RuleOptions, now: Int64
    ) -> AnswerContent {
        let type = options.type ?? SystemMediaTypes.type(forPath: file.path)
        // An SVG that is kept compressed, as browsers take it only with its coding said (SVG 2, §1.5).
        let isCompressed =
            !options.saysCoding && type.essence.elementsEqual("image/svg+xml".utf8)
            && String(decoding: file.path.suffix(5), as: UTF8.self).equalsIgnoringASCIICase(".svgz")
        let hasSiblings = !options.saysCoding && !options.setsETag && !isCompressed
        return AnswerContent(
            bodies: file.variants.filter { hasSiblings || $0.coding == nil }.map { variant in
                Body(
                    coding: variant.coding, etag: variant.etag, lastModified: min(variant.lastModified, now),
                    size: variant.size, bytes: variant.body, sealed: variant.sealed)
            },
            mediaType: type.withDefaultCharset.bytes, coding: isCompressed ? .gzip : nil, file: file)
    }
}

extension RuleOptions {
    /// Whether the rule sets or removes Content-Encoding: then it is said of the file itself, and no sibling is sent.
    fileprivate var saysCoding: Bool { headers.contains { $0.name.equalsIgnoringASCIICase("content-encoding") } }

    /// Whether the rule sets ETag: one tag can't stand for several codings (RFC 9110 §8.8.3.3), so no sibling is sent.
    fileprivate var setsETag: Bool { headers.contains { $0.name.equalsIgnoringASCIICase("etag") && $0.value != nil } }
}
