import Basics
import Crypto

/// Writes WARC 1.1, record by record: each call gives whole records, so that a file to which they are appended is
/// readable whenever the writing ends.
public struct WARCWriter<Randomness: RandomNumberGenerator> {
    /// Bodies are given out in parts of this length.
    private static var part: Int { 65_536 }

    private let encoder: GzipEncoder?
    private var randomness: Randomness

    /// - Parameters:
    ///   - isCompressed: whether each record is a gzip member, as in a .warc.gz.
    ///   - randomness: where the records' identifiers come from.
    /// - Throws: ``ArchiveProblem`` where zlib is missing.
    public init(isCompressed: Bool, randomness: Randomness) throws(ArchiveProblem) {
        encoder = isCompressed ? try GzipEncoder() : nil
        self.randomness = randomness
    }

    /// The record that a file begins with (WARC 1.1 §6.2).
    ///
    /// - Parameters:
    ///   - software: the name and version of the program.
    ///   - time: Unix milliseconds.
    public mutating func information(software: String, time: Int64) -> [UInt8] {
        let block = Array("software: \(software)\r\nformat: WARC File Format 1.1\r\n".utf8)
        var digest = SHA256()
        digest.update(data: block)
        var head = RecordHeadText(type: "warcinfo", id: identifier(), time: RecordTime.text(time))
        head.add("Content-Type: application/warc-fields")
        head.add("WARC-Block-Digest: ", digest.text)
        var bytes: [UInt8] = []
        put(head.bytes(contentLength: block.count), into: &bytes)
        put(block, into: &bytes)
        finish(into: &bytes)
        return bytes
    }

    /// Appends the record of a request, and that of its response up to its body: the body's bytes and ``finish(into:)``
    /// are to follow.
    ///
    /// - Parameters:
    ///   - exchange: the response's fields are written as they are, but for those of transfer codings, which its body
    ///     does not have any more; of its URL, characters that no URL has are percent-encoded.
    ///   - time: Unix milliseconds, where the exchange has none.
    ///   - digests: those of this exchange, and of all of its body.
    ///   - isTruncated: whether the response ended too soon. The default is false.
    public mutating func begin(
        _ exchange: RecordedExchange, time: Int64, _ digests: WARCDigests, isTruncated: Bool = false,
        into bytes: inout [UInt8]
    ) {
        var exchange = exchange
        exchange.url = RecordedURL.repaired(exchange.url)
        let ids = (request: identifier(), response: identifier())
        let time = RecordTime.text(exchange.time ?? time)
        appendRequest(exchange, ids.request, ids.response, time, to: &bytes)
        var record = RecordHeadText(type: "response", id: ids.response, time: time)
        record.add("WARC-Target-URI: ", exchange.url)
        record.add("WARC-Concurrent-To: ", ids.request)
        record.add("Content-Type: application/http;msgtype=response")
        record.add("WARC-Block-Digest: ", digests.block.text)
        record.add("WARC-Payload-Digest: ", digests.payload.text)
        if isTruncated { record.add("WARC-Truncated: unspecified") }
        put(record.bytes(contentLength: digests.head.count + digests.count), into: &bytes)
        put(digests.head, into: &bytes)
    }

    /// Appends a part of a body.
    public func put(_ part: some Collection<UInt8>, into bytes: inout [UInt8]) {
        if let encoder { encoder.encode(part, into: &bytes) } else { bytes.append(contentsOf: part) }
    }

    /// Appends the end of a record.
    public func finish(into bytes: inout [UInt8]) {
        put(WARCMessage.recordEnd, into: &bytes)
        encoder?.finish(into: &bytes)
    }

    /// The records of a request and its response: the request's first, so that a response is never without it.
    ///
    /// - Parameters:
    ///   - exchange: as for ``begin(_:time:_:into:)``.
    ///   - time: Unix milliseconds, where the exchange has none.
    ///   - isTruncated: whether the response ended too soon. The default is false.
    ///   - body: opens the response's body: it is read twice, since its digest stands before it.
    ///   - sink: takes the bytes, in parts that belong together.
    /// - Throws: ``ArchiveProblem`` where the body can't be read, or what `sink` throws as one.
    public mutating func append(
        _ exchange: RecordedExchange, time: Int64, isTruncated: Bool = false,
        body: () throws(ArchiveProblem) -> any BodyStream,
        to sink: (borrowing [UInt8]) throws(ArchiveProblem) -> Void
    ) throws(ArchiveProblem) {
        var digests = WARCDigests(exchange)
        try body().forEachPiece { piece throws(ArchiveProblem) in piece.withUnsafeBytes { digests.update($0) } }
        var bytes: [UInt8] = []
        begin(exchange, time: time, digests, isTruncated: isTruncated, into: &bytes)
        var written = 0
        try body().forEachPiece { piece throws(ArchiveProblem) in
            written += piece.count
            put(piece, into: &bytes)
            if bytes.count >= WARCWriter.part {
                try sink(bytes)
                bytes.removeAll(keepingCapacity: true)
            }
        }
        guard written == digests.count else {
            throw ArchiveProblem(.error, "the body changed while it was written")
        }
        finish(into: &bytes)
        try sink(bytes)
    }

    /// The records of an exchange whose body is in memory.
    ///
    /// - Throws: Nothing, since the body is in memory.
    public mutating func records(
        _ exchange: RecordedExchange, time: Int64, body: [UInt8]
    ) throws(ArchiveProblem) -> [UInt8] {
        var bytes: [UInt8] = []
        try append(exchange, time: time, body: { () throws(ArchiveProblem) in MemoryStream(body) }) { part in
            bytes += copy part
        }
        return bytes
    }

    private mutating func appendRequest(
        _ exchange: RecordedExchange, _ id: [UInt8], _ response: [UInt8], _ time: [UInt8], to bytes: inout [UInt8]
    ) {
        let head = WARCMessage.requestHead(exchange)
        let body = exchange.requestBody ?? []
        var block = SHA256()
        block.update(data: head)
        if !body.isEmpty { block.update(data: body) }
        var record = RecordHeadText(type: "request", id: id, time: time)
        record.add("WARC-Target-URI: ", exchange.url)
        record.add("WARC-Concurrent-To: ", response)
        record.add("Content-Type: application/http;msgtype=request")
        record.add("WARC-Block-Digest: ", block.text)
        record.add("WARC-Payload-Digest: ", body.isEmpty ? WARCDigests.ofNothing : SHA256.text(of: body))
        put(record.bytes(contentLength: head.count + body.count), into: &bytes)
        put(head, into: &bytes)
        put(body, into: &bytes)
        finish(into: &bytes)
    }

    /// A UUID of version 4 (RFC 9562 §5.4).
    private mutating func identifier() -> [UInt8] {
        let high = randomness.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low: UInt64 = randomness.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        var text: [UInt8] = []
        text.reserveCapacity(48)
        text.add("<urn:uuid:")
        for index in 0..<32 {
            if index == 8 || index == 12 || index == 16 || index == 20 { text.append(UInt8(ascii: "-")) }
            let shift = UInt64(60 - index % 16 * 4)
            text.append(Hexadecimal.digit(UInt8(truncatingIfNeeded: (index < 16 ? high : low) >> shift)))
        }
        text.append(UInt8(ascii: ">"))
        return text
    }
}

/// What the record of a response says of its bytes, taken along as its body comes.
public struct WARCDigests: Sendable {
    /// The message's head as it is written.
    let head: [UInt8]
    /// The bytes of the body so far.
    public private(set) var count = 0
    fileprivate private(set) var block = SHA256()
    fileprivate private(set) var payload = SHA256()

    /// - Parameter exchange: as it is written.
    public init(_ exchange: RecordedExchange) {
        head = WARCMessage.responseHead(exchange)
        block.update(data: head)
    }

    /// Takes the next bytes of the body along.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        // What the one has read is in the processor's cache for the other.
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(16_384))
            block.update(bufferPointer: part)
            payload.update(bufferPointer: part)
            rest = UnsafeRawBufferPointer(rebasing: rest[part.count...])
        }
        count += bytes.count
    }

    /// Whether they are those of an exchange: its head is what it was when they were begun.
    public func fit(_ exchange: RecordedExchange) -> Bool { head == WARCMessage.responseHead(exchange) }

    fileprivate static let ofNothing = SHA256().text
}

extension SHA256 {
    /// As WARC has it; hexadecimal digits, as most writers have for SHA-256.
    fileprivate var text: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(72)
        text.add("sha256:")
        Hexadecimal.append(finalize(), to: &text)
        return text
    }

    fileprivate static func text(of bytes: [UInt8]) -> [UInt8] {
        var digest = SHA256()
        digest.update(data: bytes)
        return digest.text
    }
}
