import Crypto
import HTTPSemantics

/// Reads every record of a WARC file whole, and compares digests.
struct WARCVerifier {
    private let scanner: RecordScanner
    private let limits: ArchiveLimits
    /// The entries of the file that are next.
    private var entries: Range<Int>
    /// Whether bodies of usable entries are decoded too.
    private let isDecoding: Bool

    /// - Parameter entries: those of the file.
    init(_ source: RecordSource, _ limits: ArchiveLimits, entries: Range<Int>, isDecoding: Bool) {
        scanner = RecordScanner(source)
        self.limits = limits
        self.entries = entries
        self.isDecoding = isDecoding
    }

    /// Checks all records; damage itself was told when the index was read. Does I/O.
    mutating func run(_ table: EntryTable, warn: (ArchiveProblem) -> Void) throws(ArchiveProblem) {
        while let record = try scanner.next() {
            var number: Int?
            var isDecoded = false
            if let first = entries.first, WARCReader.place(table[first].place) == record.place {
                number = first + 1
                // The body of a revisit is another record's.
                isDecoded = isDecoding && table[first].isUsable && !table[first].isPart && record.head.kind != .revisit
                entries = entries.dropFirst()
            }
            for text in try check(record, isDecoded: isDecoded) {
                warn(.warning(text, at: record.offset, entry: number))
            }
            _ = try scanner.finish()
            _ = scanner.takeWarnings()
        }
    }

    /// - Returns: what is wrong.
    private func check(_ record: RecordScanner.Record, isDecoded: Bool) throws(ArchiveProblem) -> [String] {
        let head = record.head
        var block = DigestCheck(head[head.blockDigest])
        var payload = DigestCheck(head[head.payloadDigest])
        // What a revisit names is the other record's.
        if head.kind == .revisit { payload.isKnown = false }
        var message: MessageHead?
        if head.kind != .resource, try scanner.peek(5).begins(with: "HTTP/") || head.isHTTP {
            message = try WARCIndex.head(scanner, limits) { MessageHead($0, isWhole: $1) }
        }
        guard isDecoded || block.isKnown || payload.isKnown || message?.isChunked == true else { return [] }
        try block.update(scanner, count: message?.length ?? 0)
        let body = CheckedBody(scanner, block, payload, isChunked: message?.isChunked == true)
        var problems: [String] = []
        if isDecoded {
            do throws(ArchiveProblem) {
                try decode(body, message?.codings ?? [])
            } catch {
                problems.append(error.message)
            }
        }
        try body.discard()
        return problems + body.problems
    }

    /// Decodes a body as it is decoded for an answer.
    private func decode(_ body: CheckedBody, _ codings: [String]) throws(ArchiveProblem) {
        let storedBytes = body.rest
        var codings = codings
        var start: [UInt8] = []
        var isMore = true
        while start.count < ContentCoding.telling, isMore {
            isMore = try body.read(ContentCoding.telling, into: &start)
        }
        if let coding = codings.last.flatMap({ ContentCoding(name: $0) }),
            coding.isWrong(for: start, isWhole: !isMore)
        {
            codings = []
        }
        try ContentDecoder.stream(
            LimitedStream(ResumedStream(start, body), limit: limits.body), codings: codings, storedBytes: storedBytes,
            limits: limits
        ).discard()
    }
}

/// A body whose beginning was read before.
private struct ResumedStream: BodyStream {
    private var start: [UInt8]
    private var rest: any BodyStream

    init(_ start: [UInt8], _ rest: any BodyStream) {
        self.start = start
        self.rest = rest
    }

    mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        guard start.isEmpty else {
            bytes += start
            start = []
            return true
        }
        return try rest.read(count, into: &bytes)
    }
}

/// The body of a record, without the chunked coding; its digests take along what is read of it.
private final class CheckedBody: BodyStream {
    private let scanner: RecordScanner
    private var block: DigestCheck
    private var payload: DigestCheck
    // Some writers take the digest before the chunked coding, some behind it.
    private var decoded: DigestCheck
    private var chunks: ChunkedBody?
    /// Whether it ends before its record does.
    private var isCut = false

    init(_ scanner: RecordScanner, _ block: DigestCheck, _ payload: DigestCheck, isChunked: Bool) {
        self.scanner = scanner
        self.block = block
        self.payload = payload
        decoded = payload
        chunks = isChunked ? ChunkedBody() : nil
    }

    /// How many bytes are left as they are stored.
    var rest: Int { scanner.rest }

    func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        guard scanner.rest > 0 else { return false }
        let stored = try scanner.peek(1)
        guard !stored.isEmpty else {
            isCut = true
            return false
        }
        let part = stored.rebased(0..<min(stored.count, max(count, 1)))
        block.update(part)
        payload.update(part)
        if chunks != nil {
            let start = bytes.count
            chunks?.decode(part, into: &bytes)
            if part.count == scanner.rest { chunks?.finish(into: &bytes) }
            bytes.withUnsafeBytes { decoded.update($0.rebased(start..<$0.count)) }
        } else {
            bytes += part
        }
        try scanner.advance(part.count)
        return scanner.rest > 0
    }

    /// What is wrong with it, when all of it was read.
    var problems: [String] {
        guard !isCut else { return [] }
        var problems: [String] = []
        if chunks?.isBroken == true { problems.append("a chunk of the body is broken: the body ends there") }
        if !block.holds { problems.append("the record is not what its WARC-Block-Digest says") }
        let isDecoded = chunks != nil && chunks?.isBroken == false && decoded.holds
        if !payload.holds, !isDecoded { problems.append("the payload is not what its WARC-Payload-Digest says") }
        return problems
    }
}

extension RecordScanner.Record {
    var place: RecordPlace { RecordPlace(offset: offset, inner: inner) }
}

/// Compares some bytes with a digest; one of an algorithm that is not known holds.
struct DigestCheck {
    private enum Hasher {
        case md5(Insecure.MD5)
        case sha1(Insecure.SHA1)
        case sha256(SHA256)
    }

    private let expected: RecordDigest?
    private var hasher: Hasher
    var isKnown: Bool

    init(_ digest: ArraySlice<UInt8>?) { self.init(digest.flatMap { RecordDigest($0) }) }

    init(_ digest: RecordDigest?) {
        expected = digest
        isKnown = digest != nil
        hasher =
            switch digest?.algorithm {
            case .md5: .md5(Insecure.MD5())
            case .sha1: .sha1(Insecure.SHA1())
            case .sha256, nil: .sha256(SHA256())
            }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard isKnown else { return }
        switch hasher {
        case .md5(var state):
            state.update(bufferPointer: bytes)
            hasher = .md5(state)
        case .sha1(var state):
            state.update(bufferPointer: bytes)
            hasher = .sha1(state)
        case .sha256(var state):
            state.update(bufferPointer: bytes)
            hasher = .sha256(state)
        }
    }

    /// Takes the next bytes of a block along, and passes over them.
    mutating func update(_ scanner: RecordScanner, count: Int) throws(ArchiveProblem) {
        guard count > 0 else { return }
        let bytes = try scanner.peek(count)
        update(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
        try scanner.advance(count)
    }

    /// Whether the bytes have the digest.
    var holds: Bool {
        guard isKnown, let expected else { return true }
        return switch hasher {
        case .md5(let state): state.finalize().elementsEqual(expected.value)
        case .sha1(let state): state.finalize().elementsEqual(expected.value)
        case .sha256(let state): state.finalize().elementsEqual(expected.value)
        }
    }
}
