import Archives
import ForwardProxy
import NIOCore

/// An exchange as it is written: without what is taken out.
struct RecordedEntry {
    /// Bodies out of which members are to be taken are decoded in memory.
    static let mostSearched = 32 << 20
    /// In longer ones members are not counted.
    static let mostCounted = 4 << 20

    private(set) var exchange: RecordedExchange
    /// Members of the response's JSON that look like credentials.
    private(set) var credentials = 0
    private let pieces: RecordedPieces
    /// The body where something was taken out of it.
    private var changed: [UInt8]?

    /// - Returns: nil where the body is too long to have anything taken out.
    init?(_ exchange: RecordedExchange, _ pieces: RecordedPieces, redaction: Redaction?) {
        self.pieces = pieces
        guard let redaction else {
            self.exchange = exchange
            return
        }
        var redacted = redaction.redacted(exchange)
        if let body = redacted.requestBody, body.count != exchange.requestBody?.count {
            for index in redacted.requestFields.indices where redacted.requestFields[index].isNamed("content-length") {
                redacted.requestFields[index].value = Array("\(body.count)".utf8)
            }
        }
        guard Redaction.isJSON(exchange), exchange.body.storedBytes > 0 else {
            self.exchange = redacted
            return
        }
        self.exchange = redacted
        let limit = redaction.changesResponses ? RecordedEntry.mostSearched : RecordedEntry.mostCounted
        let isShort = exchange.body.storedBytes <= limit
        let body = isShort ? try? RecordedEntry.decoded(exchange, self.stream(), limit) : nil
        guard redaction.changesResponses else {
            credentials = body.map { Redaction.credentialCount($0) } ?? 0
            return
        }
        guard let body else { return nil }
        let kept = redaction.responseBody(body)
        credentials = Redaction.credentialCount(kept)
        guard kept != body else { return }
        redacted.removeCodings()
        redacted.fields.removeAll { $0.isNamed("content-length") }
        redacted.body.storedBytes = kept.count
        redacted.body.size = kept.count
        self.exchange = redacted
        changed = kept
    }

    /// Opens the body, with the codings that ``exchange`` tells.
    func stream() throws(ArchiveProblem) -> any BodyStream {
        if let changed { return MemoryStream(changed) }
        switch pieces {
        case .memory(let pieces): return MemoryStream(pieces.flatMap { Array($0.readableBytesView) })
        case .spooled(let spool):
            guard let file = (spool as? Spool)?.file else { throw ArchiveProblem(.error, "the body was not spooled") }
            return SpoolStream(file)
        }
    }

    private static func decoded(
        _ exchange: RecordedExchange, _ stream: any BodyStream, _ limit: Int
    ) throws(ArchiveProblem) -> [UInt8] {
        var limits = ArchiveLimits()
        limits.body = limit
        var stream = try ContentDecoder.stream(
            stream, codings: exchange.body.codings, storedBytes: exchange.body.storedBytes, limits: limits)
        return try stream.readAll(limit: limit)
    }

    /// The host of a URL, with its port.
    static func host(of url: [UInt8]) -> [UInt8] {
        let mark = Array("://".utf8)
        guard let start = url.indices.first(where: { url[$0...].starts(with: mark) }) else { return [] }
        return Array(url[(start + mark.count)...].prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") })
    }
}
