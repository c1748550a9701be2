import Archives
import Basics
import HTTP1
import HTTPSemantics
import NIOCore
import Substitution

/// Sends a body that is too large to be in memory: decoded on the pool, a piece at a time, as quickly as the client
/// takes it.
final class ArchiveStream: Exchange {
    private let answer: ReadyAnswer
    private let entry: LoadedEntry
    private let number: Int
    private let asking: ArchiveAsking
    private let loop: LoopContext
    /// Nil from the end of the exchange on.
    private var client: (any ExchangeClient)?
    private let reader: EntryReader
    /// What is left to read of the part of the body that is sent, or of the whole.
    private var range = 0..<Int.max
    /// The response with parts of the body; nil for the whole.
    private let part: AnswerPlan?
    /// What follows of it behind what is being read.
    private var pieces: ArraySlice<AnswerPlan.Piece>
    /// What stands before the first part.
    private var leading: [ByteBuffer] = []
    private var isWaiting = false
    private var isReading = false
    /// The turn for decoding much that is before a part, from when it is asked for; nil for none.
    private var turn: Int?
    private var hasBegun = false
    /// The length that the head has told; nil for none.
    private var announced: Int?
    private var sent = 0
    private var timer: Scheduled<Void>?

    /// - Parameter part: the response with parts of the body; nil for the whole.
    init(
        _ answer: ReadyAnswer, _ entry: LoadedEntry, _ number: Int, _ asking: ArchiveAsking,
        _ client: any ExchangeClient, part: AnswerPlan? = nil
    ) {
        self.part = part
        pieces = part?.pieces[...] ?? []
        self.answer = answer
        self.entry = entry
        self.number = number
        self.asking = asking
        self.client = client
        loop = client.loop
        reader = EntryReader(asking.archive, number, entry.exchange.body)
        while let piece = pieces.popFirst() {
            guard !take(piece, bytes: { leading.append($0) }) else { break }
        }
    }

    /// Has a part of the body be read next, or gives bytes that stand between parts.
    ///
    /// - Returns: whether it is a part of the body.
    private func take(_ piece: AnswerPlan.Piece, bytes: (ByteBuffer) -> Void) -> Bool {
        switch piece {
        case .bytes(let between):
            bytes(between)
            return false
        case .range(let range):
            self.range = range
            return true
        }
    }

    /// Whether nothing is left to send.
    var isOver: Bool { client == nil }

    func begin() {
        if asking.request.isHead, let client {
            self.client = nil
            var head = start()
            head.body = .none
            client.start(head)
            client.finish(trailers: nil)
            return
        }
        let delay = answer.options.delay
        guard delay != .zero else { return readNext() }
        timer = loop.schedule(after: delay) { [weak self] in self?.readNext() }
    }

    func receive(_ body: ByteBuffer) {}
    func receiveEnd(trailers: FieldSection?) {}

    func clientBecameWritable() {
        guard isWaiting else { return }
        isWaiting = false
        readNext()
    }

    func clientIsGone() {
        client = nil
        timer?.cancel()
        // What is being read counts as long as it lasts.
        if !isReading { endTurn() }
    }

    private var portion: Int {
        let most = max(4096, min(128 << 10, loop.proxy.configuration.limits.bodyBytes))
        return min(most, pace?.portion ?? most)
    }

    private var pace: SendingPace? { answer.options.rate.map { SendingPace(rate: $0) } }

    private func readNext() {
        guard client != nil, !isReading, turn == nil else { return }
        guard reader.isFar(range.lowerBound) else { return read() }
        let bound = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let taken = loop.proxy.passing.take { [eventLoop = loop.eventLoop] _ in
            eventLoop.execute { bound.value.loop.batch { bound.value.read() } }
        }
        turn = taken.number
        if taken.isNow { read() }
    }

    private func endTurn() {
        guard let turn else { return }
        self.turn = nil
        loop.proxy.passing.end(turn)
    }

    private func read() {
        guard client != nil else { return }
        isReading = true
        let (reader, range, portion) = (reader, range, portion)
        loop.onFilePool({ () throws(EntryFailure) in try reader.read(range, upTo: portion) }) { [self] result in
            isReading = false
            if client != nil, case .success(let piece) = result, piece.bytes.isEmpty, piece.isMore { return read() }
            endTurn()
            guard let client else { return }
            switch result {
            case .success(let piece):
                self.range = range.lowerBound + piece.bytes.count..<range.upperBound
                send(piece.bytes, more: piece.isMore, client)
            case .failure(let failure): fail(failure, client)
            }
        }
    }

    private func send(_ bytes: [UInt8], more: Bool, _ client: any ExchangeClient) {
        if !hasBegun {
            hasBegun = true
            client.start(start())
            for bytes in leading { pass(bytes, client) }
        }
        pass(ByteBuffer(bytes: bytes), client)
        var more = more
        while !more, let piece = pieces.popFirst() { more = take(piece) { pass($0, client) } }
        // What the head has said counts: a file that was changed meanwhile must not pass for the next response.
        if let announced, sent > announced || (!more && sent < announced) {
            self.client = nil
            client.record?.fail("the entry's file was changed while it was sent")
            client.abort()
            return
        }
        guard more else {
            self.client = nil
            if part == nil, entry.size == nil {
                asking.archive.bodies.keep(entry.tag, CountedBodies.Count(size: sent, isRewritten: false))
            }
            client.finish(trailers: nil)
            client.flush()
            return
        }
        client.flush()
        if let pace {
            let pause = pace.pause(after: bytes.count)
            timer = loop.eventLoop.assumeIsolated().scheduleTask(in: pause) { [weak self] in
                guard let self, let client = self.client else { return }
                if client.isWritable { readNext() } else { isWaiting = true }
            }
        } else if client.isWritable {
            readNext()
        } else {
            isWaiting = true
        }
    }

    private func pass(_ bytes: ByteBuffer, _ client: any ExchangeClient) {
        sent &+= bytes.readableBytes
        // More than the head has said is never sent.
        if let announced, sent > announced { return }
        if bytes.readableBytes > 0 { client.send(bytes) }
    }

    /// The head: with a length where that is known.
    private func start() -> ResponseStart {
        if let part {
            announced = part.length
            return part.start(isHead: false)
        }
        let representation = answer.first
        var lines = representation.fullLines.before
        let size = entry.exchange.method == "HEAD" ? nil : entry.size
        announced = size
        if let size { MessageWriter.writeField("Content-Length", decimal: size, to: &lines) }
        lines.writeImmutableBuffer(representation.fullLines.behind)
        answer.cors.write(for: asking.request.head.fields, exposed: representation.exposed, to: &lines)
        lines.writeImmutableBuffer(loop.dateStamp().line)
        return ResponseStart(
            status: answer.status, reason: nil, lines: lines, body: size.map { .length($0) } ?? .unknown)
    }

    private func fail(_ failure: EntryFailure, _ client: any ExchangeClient) {
        self.client = nil
        timer?.cancel()
        let error = ProxyError.entry(asking.archive.position(number), failure)
        guard hasBegun else {
            client.fail(error)
            client.flush()
            return
        }
        client.record?.fail(error.failure)
        client.abort()
    }
}
