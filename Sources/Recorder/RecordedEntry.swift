import Archives
import Basics
import ForwardProxy
import NIOCore

/// An exchange as it is written: without what is taken out.
struct RecordedEntry {
    /// Bodies out of which members are to be taken are decoded in memory.
    static let mostSearched = 32 << 20
    /// In longer ones members are not counted.
    static let mostCounted = 4 << 20

    private(set) var exchange: RecordedExchange
    private(set) var body: RecordedPieces
    /// Members of the response's JSON that look like credentials.
    private(set) var credentials = 0

    /// - Throws: why it can't be written where something is to be taken out of its body.
    init(
        _ exchange: consuming RecordedExchange, _ body: RecordedPieces, redaction: Redaction?
    ) throws(Unrecorded) {
        self.exchange = exchange
        self.body = body
        guard let redaction else { return }
        let isSearched = self.exchange.body.storedBytes > 0
        let requestBody = self.exchange.requestBody?.count
        redaction.redact(&self.exchange)
        if self.exchange.requestBody?.count != requestBody { self.exchange.correctRequestLength() }
        guard isSearched else { return }
        if redaction.mayChange(self.exchange) {
            try redactBody(redaction)
        } else {
            countCredentials()
        }
    }

    private mutating func countCredentials() {
        let type = exchange.value("content-type") ?? []
        if !Redaction.isJSON(exchange) {
            // Most programs are known to be no calls by their beginning.
            guard Redaction.isProgram(type: type),
                let start = try? decoded(RecordedEntry.mostCounted, atLeast: Redaction.beginning),
                Redaction.mayBeCall(start, type: type)
            else { return }
        }
        guard let body = try? decoded(RecordedEntry.mostCounted), counts(body, type) else { return }
        credentials = Redaction.credentialCount(body)
    }

    /// Whether members of a body are counted: what is JSON by its type, or by the call that it is.
    private func counts(_ body: [UInt8], _ type: [UInt8]) -> Bool {
        Redaction.isJSON(exchange) || Redaction.isCall(body, type: type)
    }

    private mutating func redactBody(_ redaction: Redaction) throws(Unrecorded) {
        let type = exchange.value("content-type") ?? []
        let start = try decoded(RecordedEntry.mostSearched, atLeast: Redaction.beginning)
        guard redaction.mayChange(start, type: type) else { return }
        let decoded = try decoded(RecordedEntry.mostSearched)
        guard let kept = redaction.responseBody(decoded, type: type) else { throw .undecodable }
        if counts(kept, type) { credentials = Redaction.credentialCount(kept) }
        guard kept != decoded else { return }
        exchange.removeCodings()
        exchange.fields.removeAll { $0.isNamed("content-length") }
        exchange.body.storedBytes = kept.count
        exchange.body.size = kept.count
        body = .memory([ByteBuffer(bytes: kept)])
    }

    /// - Parameter count: so many bytes are enough; nil, the default, for all.
    private func decoded(_ limit: Int, atLeast count: Int? = nil) throws(Unrecorded) -> [UInt8] {
        guard count != nil || exchange.body.storedBytes <= limit else { throw .tooLong }
        var limits = ArchiveLimits()
        // Above what is taken here, so that another failure is one of decoding.
        limits.body = limit + (1 << 20)
        var bytes: [UInt8] = []
        do throws(ArchiveProblem) {
            var stream = try ContentDecoder.stream(
                stream(), codings: exchange.body.codings, storedBytes: exchange.body.storedBytes, limits: limits)
            while try stream.read(count ?? FileReading.pieceSize, into: &bytes), bytes.count < count ?? limit + 1 {}
        } catch {
            throw .undecodable
        }
        guard bytes.count <= limit else { throw .tooLong }
        return bytes
    }

    /// Opens the body, with the codings that ``exchange`` tells.
    func stream() throws(ArchiveProblem) -> any BodyStream {
        switch body {
        case .memory(let pieces): return PiecesStream(pieces)
        case .spooled(let spool):
            guard let file = (spool as? Spool)?.file else { throw ArchiveProblem(.error, "the body was not spooled") }
            return SpoolStream(file)
        }
    }

    /// The host of a URL, with its port.
    static func host(of url: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var start: Int?
        for index in url.indices.dropLast(2) where url[index] == UInt8(ascii: ":") {
            guard url[index + 1] == UInt8(ascii: "/"), url[index + 2] == UInt8(ascii: "/") else { continue }
            start = index + 3
            break
        }
        guard let start else { return [] }
        return url[start...].prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    }
}

/// Reads a body that is in memory.
private struct PiecesStream: BodyStream {
    private let pieces: [ByteBuffer]
    private var index = 0
    /// What is left of the piece at the index.
    private var rest = ByteBuffer()

    init(_ pieces: [ByteBuffer]) {
        self.pieces = pieces
        rest = pieces.first ?? ByteBuffer()
    }

    mutating func read(_ count: Int, into bytes: inout [UInt8]) -> Bool {
        var left = max(count, 1)
        while left > 0, index < pieces.count {
            let part = rest.readSlice(length: min(left, rest.readableBytes)) ?? ByteBuffer()
            part.withUnsafeReadableBytes { bytes.append(contentsOf: $0) }
            left -= part.readableBytes
            guard rest.readableBytes == 0 else { break }
            index += 1
            if index < pieces.count { rest = pieces[index] }
        }
        return index < pieces.count
    }
}
