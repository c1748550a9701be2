import Files
import HTTPSemantics
import NIOCore
import NIOPosix
import Substitution

/// Serves a rule's answer to one request, where that takes more than one write: the file has to be read or checked
/// first, the body is streamed from disk, or the rule asks for a delay or a rate.
final class AnswerExchange: Exchange {
    private let request: Request
    private let loop: LoopContext
    /// Nil from the end of the exchange on. Not weak: an object that ever had a weak reference is slow to count for
    /// good.
    private var client: (any ExchangeClient)?
    private var pieces: ArraySlice<AnswerPlan.Piece> = []
    private var variant: ReadyRepresentation?
    private var pace: SendingPace?
    private var stream: FileStream?
    private var handle: NIOFileHandle?
    private var timer: Scheduled<Void>?
    /// When the next portion is due, where the rule has a rate.
    private var due = NIODeadline.uptimeNanoseconds(0)
    private var reloads = 0
    /// Answers where the file turns out not to be had. Nil once the head is sent, since it may hold on to a map that a
    /// download outlives.
    private var refused: ((AnswerExchange, FileRefusal) -> Void)?
    /// Bytes have been written that the client takes in first.
    private var awaitsWritability = false
    /// Bytes that were sent since the last flush, where that counts.
    private var unflushed = 0

    /// What has come of a body that may have to be sent on.
    private var held: [ByteBuffer]?
    private var heldEnd: (hasCome: Bool, trailers: FieldSection?) = (false, nil)

    /// - Parameters:
    ///   - holdsBody: whether the request may be handed over to an exchange that needs its body: reading then waits.
    ///   - refused: answers where the file turns out not to be had, before the head is sent.
    init(
        request: Request, client: any ExchangeClient, holdsBody: Bool = false,
        refused: @escaping (AnswerExchange, FileRefusal) -> Void
    ) {
        self.request = request
        self.refused = refused
        self.client = client
        loop = client.loop
        if holdsBody {
            held = []
            client.setWantsBody(false)
        }
    }

    var isFinished: Bool { client == nil }

    /// A body that a mapped URL's request carries is read and not used.
    func receive(_ body: ByteBuffer) { held?.append(body) }
    func receiveEnd(trailers: FieldSection?) { heldEnd = (true, trailers) }
    func clientBecameWritable() {
        guard awaitsWritability else { return }
        awaitsWritability = false
        sendNext()
    }

    func clientIsGone() {
        client = nil
        refused = nil
        timer?.cancel()
        closeFile()
    }

    /// Sends the answer, after the rule's delay.
    func serve(_ answer: ReadyAnswer) {
        guard let client else { return }
        if held != nil {
            held = nil
            client.setWantsBody(true)
        }
        guard answer.options.delay != .zero else { return begin(answer) }
        timer = loop.schedule(after: answer.options.delay) { [weak self] in self?.begin(answer) }
    }

    /// Gives the client to another exchange, with what has come of the request's body.
    func handOver(_ goOn: (any ExchangeClient, PassingBody) -> Void) {
        guard let client else { return }
        self.client = nil
        refused = nil
        goOn(client, PassingBody(held ?? [], hasEnded: heldEnd.hasCome, heldEnd.trailers))
    }

    /// Answers with an error of the proxy's own.
    func fail(_ error: ProxyError) {
        let client = client
        self.client = nil
        refused = nil
        client?.fail(error)
        client?.flush()
    }

    /// Answers with what became of the answer's file.
    func fail(_ refusal: FileRefusal, _ answer: ReadyAnswer) {
        let path = String(decoding: answer.file?.path ?? [], as: UTF8.self)
        fail(.file(refusal, rule: answer.position, path: path).answering(by: answer.options))
    }

    /// Sends the answer, without the rule's delay.
    fileprivate func begin(_ answer: ReadyAnswer) {
        guard let client else { return }
        let plan = AnswerPlan.make(answer, for: request, date: loop.dateStamp())
        variant = plan.variant
        pieces = request.isHead ? [] : plan.pieces[...]
        pace = answer.options.rate.map { SendingPace(rate: $0) }
        due = .now()
        let isStreamed = plan.variant.body == nil && pieces.contains { if case .range = $0 { true } else { false } }
        if isStreamed, let file = answer.file { return open(file, expecting: plan, answer) }
        refused = nil
        guard pace == nil, client.takesAtOnce(plan.length ?? 0) else {
            client.start(plan.start(isHead: request.isHead))
            return sendNext()
        }
        self.client = nil
        plan.send(to: client, isHead: request.isHead)
        client.flush()
    }

    // MARK: Sending

    private func sendNext() {
        guard let client else { return }
        while let piece = pieces.first {
            switch piece {
            case .bytes(let bytes):
                guard sendPaced(bytes) else { return }
            case .range(let range):
                guard let body = variant?.body else { return sendFromFile(range) }
                var slices: [AnswerPlan.Piece] = []
                body.forEachSlice(of: range) { slices.append(.bytes($0)) }
                pieces.replaceSubrange(pieces.startIndex...pieces.startIndex, with: slices)
                continue
            }
            pieces.removeFirst()
        }
        self.client = nil
        closeFile()
        client.finish(trailers: nil)
        client.flush()
    }

    /// Sends bytes as far as the client takes them, or at most a tenth of a second's worth of them where the rule has a
    /// rate.
    ///
    /// - Returns: whether all were sent; else the rest stands first among the pieces, and goes on when the client takes
    ///   more, or a timer is over.
    private func sendPaced(_ bytes: ByteBuffer) -> Bool {
        guard let client else { return false }
        guard let pace else { return sendWhileWritable(bytes, client) }
        var rest = bytes
        // Where it is copied, by TLS, not more at a time than without a rate.
        let most = min(pace.portion, client.mostUnflushed, rest.readableBytes)
        guard let slice = rest.readSlice(length: most) else { return true }
        client.send(slice)
        client.flush()
        guard rest.readableBytes > 0 else { return true }
        pieces[pieces.startIndex] = .bytes(rest)
        sendNext(after: pace.pause(after: slice.readableBytes))
        return false
    }

    private func sendWhileWritable(_ bytes: ByteBuffer, _ client: any ExchangeClient) -> Bool {
        let most = client.mostUnflushed
        guard most != .max else {
            client.send(bytes)
            return true
        }
        var rest = bytes
        while rest.readableBytes > 0 {
            // What is flushed may find that the client has gone.
            if unflushed >= most {
                unflushed = 0
                client.flush()
            }
            guard client.isWritable else {
                pieces[pieces.startIndex] = .bytes(rest)
                awaitsWritability = true
                unflushed = 0
                client.flush()
                return false
            }
            guard let slice = rest.readSlice(length: min(most, rest.readableBytes)) else { break }
            unflushed &+= slice.readableBytes
            client.send(slice)
        }
        return true
    }

    private func sendNext(after pause: TimeAmount) {
        // What sending takes is no part of the pause; who was behind catches up with a tenth of a second at the most.
        due = max(due, NIODeadline.now() - .milliseconds(100)) + pause
        timer = loop.eventLoop.assumeIsolated().scheduleTask(deadline: due) { [weak self] in
            guard let self, let client else { return }
            // A client that is behind gets more when it has taken what it has.
            if client.isWritable { sendNext() } else { awaitsWritability = true }
        }
    }

    // MARK: Files

    private func open(_ file: LoadedFile, expecting plan: AnswerPlan, _ answer: ReadyAnswer) {
        guard let wanted = file.variants.first(where: { $0.coding == plan.variant.coding }) else {
            return fail(.internalError)
        }
        let files = loop.proxy.files
        loop.onFilePool({ () throws(FileRefusal) -> FileStream? in try files.open(wanted, of: file) }) {
            [self] result in
            guard let client else { return }
            switch result {
            case .success(let opened?):
                stream = opened
                refused = nil
                client.start(plan.start(isHead: false))
                sendNext()
            case .success(nil):
                // The file was replaced between the check and now: what was planned is not what would be sent.
                reload(answer)
            // The file beside it that has it compressed says nothing of the file.
            case .failure(.notFound) where wanted.coding != nil: reload(answer)
            case .failure(let refusal): refused?(self, refusal)
            }
        }
    }

    /// Goes on with the file as it is now.
    private func reload(_ answer: ReadyAnswer) {
        reloads &+= 1
        guard reloads < 5 else {
            refused?(self, .changing)
            return
        }
        loop.reload(answer) { [self] result in
            switch result {
            case .success(let fresh): begin(fresh)
            case .failure(let refusal): refused?(self, refusal)
            }
        }
    }

    /// Sends the first piece, which is a range of the file, a region at a time: each is read ahead off the event loop,
    /// which also sees a file that was cut short, before `sendfile` sends it (FileRegion).
    private func sendFromFile(_ range: Range<Int>) {
        guard let stream else { return abort() }
        guard !range.isEmpty else {
            pieces.removeFirst()
            return sendNext()
        }
        guard client?.needsBytes == false else { return sendBytesFromFile(range, stream) }
        let count = min(range.count, pace?.portion ?? .max, 1 << 20)
        let offset = range.lowerBound
        loop.onFilePool({ () throws(FileStreamError) -> Void in
            try stream.prefetch(offset: offset, length: count)
        }) { [self] result in
            guard let client else { return }
            if case .failure(let error) = result { return abort("\(error)") }
            let region = FileRegion(
                fileHandle: regionHandle(stream), readerIndex: offset, endIndex: offset &+ count)
            let sent = loop.eventLoop.makePromise(of: Void.self)
            sent.futureResult.assumeIsolated().whenComplete { [self] result in
                guard self.client != nil else { return closeFile() }
                guard case .success = result else { return abort() }
                pieces[pieces.startIndex] = .range(offset &+ count..<range.upperBound)
                guard let pace else { return sendNext() }
                sendNext(after: pace.pause(after: count))
            }
            watch(stream, upTo: offset &+ count, sent.futureResult)
            client.send(region, promise: sent)
        }
    }

    /// Sends the first piece, a range of the file, as bytes that are read off the event loop: TLS and observers need
    /// them.
    private func sendBytesFromFile(_ range: Range<Int>, _ stream: FileStream) {
        let portion = min(pace?.portion ?? .max, 128 << 10)
        loop.onFilePool({ () throws(FileStreamError) -> ByteBuffer in
            try stream.bytes(at: range.lowerBound, maxBytes: min(range.count, portion))
        }) { [self] result in
            guard let client else { return }
            switch result {
            case .failure(let error): abort("\(error)")
            case .success(let bytes):
                pieces[pieces.startIndex] = .range(range.lowerBound &+ bytes.readableBytes..<range.upperBound)
                client.send(bytes)
                client.flush()
                if let pace { return sendNext(after: pace.pause(after: bytes.readableBytes)) }
                if client.isWritable { sendNext() } else { awaitsWritability = true }
            }
        }
    }

    /// Looks at a file again while a region of it is being sent: `sendfile` at the end of a file that was cut short
    /// writes nothing, and would be called again and again.
    private func watch(_ stream: FileStream, upTo end: Int, _ sent: EventLoopFuture<Void>) {
        var isDone = false
        sent.assumeIsolated().whenComplete { _ in isDone = true }
        func check() {
            guard !isDone, client != nil else { return }
            loop.onFilePool({ () throws(FileStreamError) in try stream.prefetch(offset: end &- 1, length: 1) }) {
                [weak self] result in
                guard !isDone, let self, client != nil else { return }
                if case .failure(let error) = result { return abort("\(error)") }
                timer = loop.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(250)) { check() }
            }
        }
        timer = loop.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(250)) { check() }
    }

    /// NIO's view of the stream's descriptor, which it never closes: a client takes one descriptor for the file.
    private func regionHandle(_ stream: FileStream) -> NIOFileHandle {
        if let handle { return handle }
        let made = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: stream.descriptor)
        handle = made
        return made
    }

    /// Lets the file go. The stream closes the descriptor when it is released, by the pool where it is at work on it.
    private func closeFile() {
        // A region that waits to be sent fails from here on, so that none is sent of what the number stands for later.
        _ = try? handle?.takeDescriptorOwnership()
        handle = nil
        stream = nil
    }

    private func abort(_ reason: String = "the file was cut short while it was sent") {
        let client = client
        self.client = nil
        timer?.cancel()
        client?.record?.reason = reason
        client?.abort()
        closeFile()
    }
}

extension LoopContext {
    /// Serves a ready answer.
    ///
    /// - Parameter hasWaited: whether the rule's delay is over already.
    func serve(
        _ answer: ReadyAnswer, _ request: Request, _ client: any ExchangeClient, hasWaited: Bool
    ) -> (any Exchange)? {
        guard hasWaited else { return serve(answer, request, client) }
        let exchange = AnswerExchange(request: request, client: client) { $0.fail($1, answer) }
        exchange.begin(answer)
        return exchange.isFinished ? nil : exchange
    }

    /// Does something after a rule's delay.
    func schedule(after delay: Duration, _ body: @escaping () -> Void) -> Scheduled<Void> {
        eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanosecondsClamped)) { [self] in batch(body) }
    }
}

extension AnswerPlan {
    func start(isHead: Bool) -> ResponseStart {
        let body: ResponseStart.Body = isHead ? .none : length.map { .length($0) } ?? .none
        return ResponseStart(status: status, reason: reason, lines: lines, body: body)
    }

    /// Sends a response whose pieces are all in memory.
    func send(to client: any ExchangeClient, isHead: Bool) {
        client.start(start(isHead: isHead))
        if !isHead {
            for piece in pieces {
                switch piece {
                case .bytes(let bytes): client.send(bytes)
                case .range(let range):
                    guard let body = variant.body else { return client.abort() }
                    client.send(body, range)
                }
            }
        }
        client.finish(trailers: nil)
    }
}

extension Duration {
    /// Nanoseconds, at most what an Int64 holds and at least 0.
    var nanosecondsClamped: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 0 }
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || carry ? .max : max(0, sum)
    }
}
