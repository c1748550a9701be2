import Crypto
import HTTPSemantics

/// Reads every record of a WARC file whole, and compares digests.
struct WARCVerifier {
    private let scanner: RecordScanner
    private let limits: ArchiveLimits
    /// The entries of the file that are next.
    private var entries: Range<Int>

    /// - Parameter entries: those of the file.
    init(_ source: RecordSource, _ limits: ArchiveLimits, entries: Range<Int>) {
        scanner = RecordScanner(source)
        self.limits = limits
        self.entries = entries
    }

    /// Checks all records; damage itself was told when the index was read. Does I/O.
    mutating func run(_ table: EntryTable, warn: (ArchiveProblem) -> Void) throws(ArchiveProblem) {
        while let record = try scanner.next() {
            var number: Int?
            if let first = entries.first, WARCReader.place(table[first].place) == record.place {
                number = first + 1
                entries = entries.dropFirst()
            }
            for text in try check(record) { warn(.warning(text, at: record.offset, entry: number)) }
            _ = try scanner.finish()
            _ = scanner.takeWarnings()
        }
    }

    /// - Returns: what is wrong.
    private func check(_ record: RecordScanner.Record) throws(ArchiveProblem) -> [String] {
        let head = record.head
        var block = DigestCheck(head[head.blockDigest])
        var payload = DigestCheck(head[head.payloadDigest])
        // What a revisit names is the other record's.
        if head.kind == .revisit { payload.isKnown = false }
        var message: MessageHead?
        if head.kind != .resource, try scanner.peek(5).starts(with: "HTTP/".utf8) || head.isHTTP {
            message = try WARCIndex.head(scanner, limits) { MessageHead($0, isWhole: $1) }
        }
        guard block.isKnown || payload.isKnown || message?.isChunked == true else { return [] }
        try block.update(scanner, count: message?.length ?? 0)
        // Some writers take the digest before the chunked coding, some behind it.
        var decoded = payload
        var chunks = message?.isChunked == true ? ChunkedBody() : nil
        var body: [UInt8] = []
        while scanner.rest > 0 {
            let bytes = try scanner.peek(1)
            guard !bytes.isEmpty else { return [] }
            block.update(bytes)
            payload.update(bytes)
            body.removeAll(keepingCapacity: true)
            chunks?.decode(bytes, into: &body)
            body.withUnsafeBytes { decoded.update($0) }
            try scanner.advance(bytes.count)
        }
        chunks?.finish(into: &body)
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
