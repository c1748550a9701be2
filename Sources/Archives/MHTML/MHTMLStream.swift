/// Reads a part's body: decoded, and with URLs in place of `cid:`.
struct MHTMLStream: BodyStream {
    private let source: ArchiveBytes
    private var range: Range<Int>
    private let start: Int
    private var decoder: Decoder
    private(set) var rewriter: ContentIDRewriter?
    /// Whether the rewriter holds back what can be written.
    private var isHeld = false
    private var written = 0
    private let limit: DecodingLimit
    private var isDecoded = false
    private var isFinished = false

    private enum Decoder {
        case none
        case base64(Base64Decoder)
        case quotedPrintable(QuotedPrintableDecoder)
    }

    /// - Parameter limits: what is rewritten may get as long as what is decoded.
    init(
        _ source: ArchiveBytes, _ range: Range<Int>, _ encoding: TransferEncoding, rewriter: ContentIDRewriter?,
        limits: ArchiveLimits
    ) {
        self.source = source
        self.range = range
        self.rewriter = rewriter
        limit = DecodingLimit(storedBytes: range.count, limits)
        start = range.lowerBound
        decoder =
            switch encoding {
            case .binary: .none
            case .base64: .base64(Base64Decoder())
            case .quotedPrintable: .quotedPrintable(QuotedPrintableDecoder())
            }
    }

    /// Where in the file the first bytes stand that could not be decoded; nil where all could.
    var wrong: Int? {
        switch decoder {
        case .none: nil
        case .base64(let decoder): decoder.wrong.map { start + $0 }
        case .quotedPrintable(let decoder): decoder.wrong.map { start + $0 }
        }
    }

    /// Reads all, for what it shows; one that can't be read so far shows what it does up to there: that it can't be
    /// read, decoding it tells.
    mutating func readThrough() {
        var bytes: [UInt8] = []
        while (try? read(65_536, into: &bytes)) == true { bytes.removeAll(keepingCapacity: true) }
    }

    mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        guard !isFinished else { return false }
        let count = min(max(count, 1), 1 << 20)
        let before = bytes.count
        var decoded: [UInt8] = []
        if !isHeld { try decodeNext(count, into: &decoded) }
        if rewriter == nil { bytes += decoded }
        isHeld = rewriter?.rewrite(decoded, isLast: isDecoded, room: count, into: &bytes) == false
        isFinished = isDecoded && !isHeld
        written += bytes.count - before
        guard written <= limit.bytes else { throw limit.problem(at: .offset(start)) }
        return !isFinished
    }

    /// Passes over bytes: without reading them where they stand in the file as they are.
    mutating func skip(_ count: Int) throws(ArchiveProblem) {
        guard case .none = decoder, rewriter == nil else { return try readOver(count) }
        let end = range.lowerBound + min(max(count, 0), range.count)
        written += end - range.lowerBound
        range = end..<range.upperBound
    }

    var isRewritten: Bool { rewriter?.hasChanged ?? false }

    private mutating func decodeNext(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) {
        let end = min(range.upperBound, range.lowerBound + count)
        let coded = try source.read(range.lowerBound..<end)
        range = end..<range.upperBound
        isDecoded = range.isEmpty
        decode(coded, into: &bytes)
    }

    private mutating func decode(_ coded: [UInt8], into bytes: inout [UInt8]) {
        switch decoder {
        case .none: bytes += coded
        case .base64(var base64):
            coded.withUnsafeBytes { base64.decode($0, into: &bytes) }
            if isDecoded { base64.finish(into: &bytes) }
            decoder = .base64(base64)
        case .quotedPrintable(var quoted):
            coded.withUnsafeBytes { quoted.decode($0, into: &bytes) }
            if isDecoded { quoted.finish(into: &bytes) }
            decoder = .quotedPrintable(quoted)
        }
    }
}
