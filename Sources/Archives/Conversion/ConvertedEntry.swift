import HTTPSemantics
import NIOCore

/// An entry of an archive as it is written into another one: without what is to be taken out.
public struct ConvertedEntry: Sendable {
    public let archive: Archive
    /// From 0.
    public let index: Int
    /// Without the response's body.
    public let exchange: RecordedExchange
    /// The URL in the map's normal form; empty where it is none of http or https.
    public let url: [UInt8]
    /// The page that it belongs to, or begins, by its place in the plan; nil where nothing says.
    var page: Int?
    private let redaction: Redaction?
    /// The body without what is taken out, once it is read.
    private var redactedBody: [UInt8]?

    /// Reads an entry. Does I/O.
    ///
    /// - Parameter redaction: what is taken out; nil for nothing.
    /// - Throws: ``ArchiveProblem`` where it can't be read.
    public init(_ archive: Archive, _ index: Int, _ redaction: Redaction?) throws(ArchiveProblem) {
        self.archive = archive
        self.index = index
        let isChanged: Bool
        var exchange = try archive.exchange(index)
        let portable = archive.table.portableURLs[index]
        if let portable { exchange.url = portable }
        if let redaction {
            let requestBody = exchange.requestBody?.count
            exchange = redaction.redacted(exchange)
            // No name stands for it, and it may be one of a network of its owner's.
            exchange.serverAddress = []
            if exchange.requestBody?.count != requestBody { exchange.correctRequestLength() }
            isChanged = try ConvertedEntry.isChanged(archive, index, exchange, redaction)
        } else {
            isChanged = false
        }
        self.redaction = isChanged ? redaction : nil
        if isChanged { exchange.removeCodings() }
        // Of a body that is not as it came on the wire, the length would be another one.
        let isAsItCame = archive.format == .warc || archive.format == .wacz
        if isChanged || !isAsItCame, exchange.method != "HEAD" {
            exchange.fields.removeAll { $0.isNamed("content-length") }
        }
        // The type of a body that stands beside the fields of a request would be lost: by it forms are told.
        if exchange.requestBody?.isEmpty == false, !exchange.requestType.isEmpty,
            !exchange.requestFields.contains(where: { $0.isNamed("content-type") })
        {
            let field = RecordedField(Array("Content-Type".utf8), exchange.requestType)
            if OutgoingFields.isValid(field) { exchange.requestFields.append(field) }
        }
        self.exchange = exchange
        let known = portable ?? Array(archive.table[index].url)
        url = redaction == nil || known.isEmpty ? known : ConvertedEntry.normalForm(exchange.url) ?? known
    }

    /// Whether something may be taken out of a body: it says that it is JSON, or begins so.
    private static func isChanged(
        _ archive: Archive, _ index: Int, _ exchange: RecordedExchange, _ redaction: Redaction
    ) throws(ArchiveProblem) -> Bool {
        guard redaction.mayChange(exchange), !exchange.body.isMissing else { return false }
        if Redaction.isJSON(exchange) { return true }
        let recorded = try archive.exchange(index).body
        var start: [UInt8] = []
        do throws(ArchiveProblem) {
            var stream = try ContentDecoder.stream(
                try archive.openPortableBody(index), codings: recorded.codings, storedBytes: recorded.storedBytes,
                limits: archive.limits)
            while start.count < Redaction.beginning, try stream.read(Redaction.beginning, into: &start) {}
        } catch {
            // It stays as it is, as all else that can't be read, unless what came of it says what it is.
            guard !start.isEmpty else { return false }
        }
        return redaction.mayChange(start, type: exchange.value("content-type") ?? [])
    }

    static func normalForm(_ url: [UInt8]) -> [UInt8]? {
        guard let uri = try? TargetURI(absolute: ByteBuffer(bytes: RecordedURL.repaired(url))), uri.scheme != .other
        else { return nil }
        return uri.withBytes { Array($0) }
    }

    private var entry: EntryTable.Entry { archive.table[index] }

    /// Whether it can answer, and not with a part alone; at the URL that it has here.
    public var isWhole: Bool { (entry.isUsable || archive.table.portableURLs[index] != nil) && !entry.isPartial }

    /// Whether the request has had a body that is not here: one that was too long to be read, or that nothing can be
    /// taken out of.
    var lacksRequestBody: Bool { entry.hasRequestBody && exchange.requestBody == nil }

    /// Whether it never answers, since an earlier entry of a saved page has its URL.
    var isRepeated: Bool { entry.unusable == .repeated && archive.table.portableURLs[index] == nil }

    /// Why the response is not whole, where nothing else that is written of it says so: then that has to be.
    var cut: Unusable? {
        guard !exchange.body.isMissing else { return nil }
        return switch entry.unusable {
        case .failed where exchange.status > 0: .failed
        case .bodyNotRecorded, .bodyTruncated: .bodyTruncated
        default: nil
        }
    }

    /// Takes out of the body what is to be, and keeps what is left, which writers read several times. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where it can't be read or decoded, or is in another encoding than UTF-8.
    mutating func redactBody() throws(ArchiveProblem) {
        if let redaction { redactedBody = try self.body(redaction) }
    }

    /// Opens the body with the codings that ``exchange`` tells. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where it can't be read.
    public func openBody() throws(ArchiveProblem) -> any BodyStream {
        if let redactedBody { return MemoryStream(redactedBody) }
        if let redaction { return MemoryStream(try body(redaction)) }
        return exchange.body.isMissing ? MemoryStream([]) : try archive.openPortableBody(index)
    }

    private func body(_ redaction: Redaction) throws(ArchiveProblem) -> [UInt8] {
        let recorded = try archive.exchange(index).body
        var stream = try ContentDecoder.stream(
            try archive.openPortableBody(index), codings: recorded.codings, storedBytes: recorded.storedBytes,
            limits: archive.limits)
        let body = try stream.readAll(limit: archive.limits.body)
        guard let kept = redaction.responseBody(body, type: exchange.value("content-type") ?? []) else {
            throw ArchiveProblem(
                .error, "entry \(index + 1) is JSON in UTF-16 or UTF-32, out of which nothing can be taken")
        }
        return kept
    }

    /// Opens the body without content codings, but for those of a part, which can't be undone. Does I/O.
    ///
    /// - Throws: ``ArchiveProblem`` where it can't be read or decoded.
    public func openDecodedBody() throws(ArchiveProblem) -> any BodyStream {
        try ContentDecoder.stream(
            try openBody(), codings: OutgoingFields.removableCodings(exchange), storedBytes: exchange.body.storedBytes,
            limits: archive.limits)
    }

    /// Reads the body, decoded, in pieces.
    func forEachPiece(_ body: ([UInt8]) throws(ArchiveProblem) -> Void) throws(ArchiveProblem) {
        try openDecodedBody().forEachPiece(body)
    }
}
