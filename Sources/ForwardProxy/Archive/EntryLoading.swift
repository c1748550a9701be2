import Archives
import Files
import HTTPSemantics
import NIOCore
import Substitution

/// An entry as it was read for its answer.
struct LoadedEntry: Sendable {
    var exchange: RecordedExchange
    /// Its body in memory, with and without its coding; nil where it is streamed.
    var content: LoadedFile?
    /// Why the body with its coding is the only one: it can't be decoded; nil where it isn't.
    var undecodable: EntryFailure?
    /// Whether the request's Accept-Encoding tells if the body is sent with its codings.
    var dependsOnCoding = false
    /// The value of Content-Encoding, where the body is sent as it is in the archive: then the exchange tells no
    /// codings.
    var passedCoding: [UInt8]?
    /// Of a body that is streamed, how many bytes are sent; nil where only reading it to its end tells.
    var size: Int?
    /// The tag of the state that such a body is in.
    var tag: [UInt8] = []

    /// Whether requests that accept other codings get other answers, or none.
    var isToldByCoding: Bool { dependsOnCoding || undecodable != nil }

    /// Takes over what was found out of a body that is streamed.
    mutating func note(_ count: CountedBodies.Count) {
        size = count.size
        exchange.body.isRewritten = count.isRewritten
    }
}

/// Why an entry can't be sent.
enum EntryFailure: Error, Equatable {
    /// The archive's file has changed in place.
    case changed
    /// - Parameter option: the one that allows more, where it is over that one's limit.
    case unreadable(String, option: String?)

    init(_ problem: ArchiveProblem) { self = .unreadable(problem.message, option: problem.option) }
}

/// What is kept of an entry beside its body.
private struct KeptEntry {
    let exchange: RecordedExchange
    let undecodable: EntryFailure?
}

/// Reads entries on the pool.
struct EntryLoader: Sendable {
    let archive: MapArchive
    let number: Int
    let files: RetainedFiles
    let root: FolderRoot
    let mode: RetentionMode
    /// The request's fields.
    let fields: FieldSection

    /// What the body is retained as: another name for each state of each archive, and of a file that may change, unless
    /// the body is kept as it was read first.
    ///
    /// - Parameter isPassed: with the codings that it has in the archive.
    private func name(_ body: RecordedBody, isPassed: Bool) -> [UInt8] {
        let state = body.fileMayChange && mode != .pinned ? "/\(body.fileState ?? "")" : ""
        return Array("\(archive.generation)/\(number)\(state)\(isPassed ? "/coded" : "")".utf8)
    }

    /// The archive, by its ``MapArchive/generation``, of whose bodies one is retained as this.
    static func archive(of name: [UInt8]) -> [UInt8] { Array(name.prefix { $0 != UInt8(ascii: "/") }) }

    /// Reads the entry, and its body where that may be in memory.
    func load() throws(EntryFailure) -> LoadedEntry {
        // What is in memory is the entry's, whatever has become of the archive's file.
        for isPassed in [false, true] {
            guard let held = files.kept(as: name(RecordedBody(), isPassed: isPassed), below: root),
                let kept = held.note?.value as? KeptEntry
            else { continue }
            var entry = LoadedEntry(exchange: kept.exchange, undecodable: kept.undecodable)
            pass(&entry)
            guard (entry.passedCoding != nil) == isPassed else { continue }
            entry.content = held
            return entry
        }
        var body = RecordedBody()
        do throws(ArchiveProblem) {
            let exchange = try archive.archive.exchange(number)
            body = exchange.body
            if exchange.body.isMissing, exchange.method != "HEAD" {
                _ = try archive.archive.openBody(number)
                throw ArchiveProblem(.error, "the file of its body is missing")
            }
            var entry = LoadedEntry(exchange: exchange)
            pass(&entry)
            let name = name(exchange.body, isPassed: entry.passedCoding != nil)
            if let held = files.kept(as: name, below: root) {
                entry.content = held
                entry.undecodable = (held.note?.value as? KeptEntry)?.undecodable
            } else {
                try readBody(&entry, codings: exchange.body.codings)
            }
            guard archive.isIntact else { throw ArchiveProblem(.error, "") }
            return entry
        } catch {
            guard archive.isIntact, archive.hasSameFile(body, of: number) else { throw .changed }
            throw EntryFailure(error)
        }
    }

    /// Decides on a part of a coded body, and on a body with several codings, or one that no answer has a name for: to
    /// a client that takes them all it is sent as it is. One of the others is a variant of the answer.
    private func pass(_ entry: inout LoadedEntry) {
        let codings = entry.exchange.body.codings
        let isPart = !codings.isEmpty && OutgoingFields.isPart(entry.exchange)
        guard isPart || codings.count > 1 || codings.contains(where: { ContentCoding(named: $0) == nil }) else {
            return
        }
        entry.dependsOnCoding = true
        let weight = AcceptEncoding.weight(ofAll: codings, fields)
        guard weight > 0 else { return }
        // A part is one of what the codings stand for.
        let isAvoided = fields.contains(.range) || weight < AcceptEncoding(fields).weight(of: .identity)
        guard isPart || !isAvoided || !ContentDecoder.canDecode(codings) else { return }
        let values = entry.exchange.fields.filter { $0.isNamed("content-encoding") }.map(\.value)
        entry.passedCoding = Array(values.joined(separator: Array(", ".utf8)))
        entry.exchange.body.codings = []
    }

    /// Reads the body if it may be in memory, or else tells what is known of it.
    ///
    /// - Parameter codings: those that it has in the archive.
    private func readBody(_ entry: inout LoadedEntry, codings: [String]) throws(ArchiveProblem) {
        let body = entry.exchange.body
        entry.tag = ContentTag.make(Array(archive.state(of: number, body).utf8))
        let bodies = archive.bodies
        if (body.size ?? 0) <= files.limits.file, !bodies.isLarge(entry.tag) {
            try read(&entry, codings: codings)
            guard entry.content == nil else { return }
            bodies.noteLarge(entry.tag)
        }
        if let count = bodies.count(of: entry.tag) {
            entry.note(count)
        } else if body.codings.isEmpty {
            entry.size = body.size
        }
    }

    private func read(_ entry: inout LoadedEntry, codings: [String]) throws(ArchiveProblem) {
        var exchange = entry.exchange
        let isPassed = entry.passedCoding != nil
        // Keeps a body, and with it what else answers of its exchange.
        func keep(_ contents: [MadeContent], undecodable: EntryFailure? = nil) throws(ArchiveProblem) -> LoadedFile {
            // What was read of a file that has changed meanwhile is of another one, for the requests to come too.
            guard archive.isIntact else { throw ArchiveProblem(.error, "") }
            var answer = exchange
            answer.body.codings = codings
            answer.requestFields = []
            answer.requestBody = nil
            let cost = answer.fields.reduce(answer.url.count) { $0 + $1.name.count + $1.value.count + 64 }
            return files.keep(
                contents, as: name(exchange.body, isPassed: isPassed), below: root, mode: mode,
                note: MadeNote(KeptEntry(exchange: answer, undecodable: undecodable), cost: cost))
        }
        let limit = files.limits.file
        var body = try archive.archive.openBody(number)
        guard let stored = try whole(&body, limit: limit) else { return }
        if exchange.body.isRewritten { exchange.body.isRewritten = body.isRewritten }
        let recordedTag = exchange.value("etag") != nil
        func tag(_ bytes: [UInt8]) -> [UInt8] {
            recordedTag || exchange.body.isRewritten ? [] : ContentTag.make(bytes)
        }
        guard !exchange.body.codings.isEmpty else {
            let content = MadeContent(coding: nil, etag: tag(stored), body: ByteBuffer(bytes: stored))
            entry.content = try keep([content])
            return
        }
        let coding =
            exchange.body.codings.count == 1
            ? ContentCoding(named: exchange.body.codings[0]) : nil
        let coded = coding.map { MadeContent(coding: $0, etag: tag(stored), body: ByteBuffer(bytes: stored)) }
        do throws(ArchiveProblem) {
            // A part that happens to be decodable would not be the one that Content-Range names.
            guard !OutgoingFields.isPart(exchange) else {
                throw ArchiveProblem(.error, "a part of a coded body can't be decoded")
            }
            var stream = try ContentDecoder.stream(
                MemoryStream(stored), codings: exchange.body.codings, storedBytes: stored.count,
                limits: archive.archive.limits)
            guard let decoded = try whole(&stream, limit: limit) else { return }
            let plain = MadeContent(coding: nil, etag: tag(decoded), body: ByteBuffer(bytes: decoded))
            entry.content = try keep([plain] + (coded.map { [$0] } ?? []))
        } catch {
            // A client that takes the coding can have it all the same.
            guard let coded else { throw error }
            entry.undecodable = EntryFailure(error)
            entry.content = try keep([coded], undecodable: entry.undecodable)
        }
    }

    /// The rest of a stream; nil where it is longer than may be in memory.
    private func whole(_ stream: inout any BodyStream, limit: Int) throws(ArchiveProblem) -> [UInt8]? {
        var bytes: [UInt8] = []
        while try stream.read(65_536, into: &bytes) {
            guard bytes.count <= limit else { return nil }
        }
        return bytes.count <= limit ? bytes : nil
    }
}

extension ContentCoding {
    /// By its name in Content-Encoding; nil for one that no answer has.
    fileprivate init?(named name: String) {
        guard let coding = Array(name.utf8).withUnsafeBytes({ ContentCoding($0) }), coding != .identity else {
            return nil
        }
        self = coding
    }
}
