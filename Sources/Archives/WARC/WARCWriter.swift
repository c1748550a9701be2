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
        var head = RecordHeadText(type: "warcinfo", id: identifier(), time: time)
        head.add("Content-Type", "application/warc-fields")
        head.add("WARC-Block-Digest", digest.text)
        var bytes: [UInt8] = []
        write(head.bytes(contentLength: block.count), block, into: &bytes)
        return bytes
    }

    /// The records of a request and its response: the request's first, so that a response is never without it.
    ///
    /// - Parameters:
    ///   - exchange: the response's fields are written as they are, but for those of transfer codings, which its body
    ///     does not have any more.
    ///   - time: Unix milliseconds, where the exchange has none.
    ///   - body: opens the response's body: it is read twice, since its digest stands before it.
    ///   - sink: takes the bytes, in parts that belong together.
    /// - Throws: ``ArchiveProblem`` where the body can't be read, or what `sink` throws as one.
    public mutating func append(
        _ exchange: RecordedExchange, time: Int64, body: () throws(ArchiveProblem) -> any BodyStream,
        to sink: (borrowing [UInt8]) throws(ArchiveProblem) -> Void
    ) throws(ArchiveProblem) {
        let ids = (request: identifier(), response: identifier())
        let time = exchange.time ?? time
        var bytes = request(exchange, ids.request, ids.response, time)
        let head = WARCMessage.responseHead(exchange)
        let sums = try sum(head, body)
        var record = RecordHeadText(type: "response", id: ids.response, time: time)
        record.add("WARC-Target-URI", exchange.url)
        record.add("WARC-Concurrent-To", ids.request)
        record.add("Content-Type", "application/http;msgtype=response")
        record.add("WARC-Block-Digest", sums.block)
        record.add("WARC-Payload-Digest", sums.payload)
        put(record.bytes(contentLength: head.count + sums.count) + head, into: &bytes)
        var stream = try body()
        var part: [UInt8] = []
        var written = 0
        var hasMore = true
        while hasMore {
            part.removeAll(keepingCapacity: true)
            hasMore = try stream.read(WARCWriter.part, into: &part)
            written += part.count
            put(part, into: &bytes)
            if bytes.count >= WARCWriter.part {
                try sink(bytes)
                bytes.removeAll(keepingCapacity: true)
            }
        }
        guard written == sums.count else {
            throw ArchiveProblem(.error, "the body changed while it was written")
        }
        put(Array("\r\n\r\n".utf8), into: &bytes)
        encoder?.finish(into: &bytes)
        try sink(bytes)
    }

    /// The records of an exchange whose body is in memory.
    public mutating func records(
        _ exchange: RecordedExchange, time: Int64, body: [UInt8]
    ) throws(ArchiveProblem) -> [UInt8] {
        var bytes: [UInt8] = []
        try append(exchange, time: time, body: { () throws(ArchiveProblem) in MemoryStream(body) }) { part in
            bytes += copy part
        }
        return bytes
    }

    private mutating func request(
        _ exchange: RecordedExchange, _ id: String, _ response: String, _ time: Int64
    ) -> [UInt8] {
        let head = WARCMessage.requestHead(exchange)
        let body = exchange.requestBody ?? []
        var sums = (block: SHA256(), payload: SHA256())
        sums.block.update(data: head)
        sums.block.update(data: body)
        sums.payload.update(data: body)
        var record = RecordHeadText(type: "request", id: id, time: time)
        record.add("WARC-Target-URI", exchange.url)
        record.add("WARC-Concurrent-To", response)
        record.add("Content-Type", "application/http;msgtype=request")
        record.add("WARC-Block-Digest", sums.block.text)
        record.add("WARC-Payload-Digest", sums.payload.text)
        var bytes: [UInt8] = []
        write(record.bytes(contentLength: head.count + body.count), head + body, into: &bytes)
        return bytes
    }

    private func sum(
        _ head: [UInt8], _ body: () throws(ArchiveProblem) -> any BodyStream
    ) throws(ArchiveProblem) -> (block: String, payload: String, count: Int) {
        var sums = (block: SHA256(), payload: SHA256())
        sums.block.update(data: head)
        var stream = try body()
        var part: [UInt8] = []
        var count = 0
        var hasMore = true
        while hasMore {
            part.removeAll(keepingCapacity: true)
            hasMore = try stream.read(WARCWriter.part, into: &part)
            count += part.count
            sums.block.update(data: part)
            sums.payload.update(data: part)
        }
        return (sums.block.text, sums.payload.text, count)
    }

    private func write(_ head: [UInt8], _ block: [UInt8], into bytes: inout [UInt8]) {
        put(head + block + Array("\r\n\r\n".utf8), into: &bytes)
        encoder?.finish(into: &bytes)
    }

    private func put(_ part: [UInt8], into bytes: inout [UInt8]) {
        if let encoder { encoder.encode(part, into: &bytes) } else { bytes += part }
    }

    /// A UUID of version 4 (RFC 9562 §5.4).
    private mutating func identifier() -> String {
        let high = randomness.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low: UInt64 = randomness.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let digits = Hexadecimal.text(high, width: 16) + Hexadecimal.text(low, width: 16)
        var text = "<urn:uuid:"
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.append(digit)
        }
        return text + ">"
    }
}

extension SHA256 {
    /// As WARC has it; hexadecimal digits, as most writers have for SHA-256.
    fileprivate var text: String { "sha256:" + Hexadecimal.text(finalize()) }
}
