/// Reads a part's body: decoded, and with URLs in place of `cid:`.
struct MHTMLStream: BodyStream {
    private let source: ArchiveBytes
    private var range: Range<Int>
    private let start: Int
    private var decoder: Decoder
    private(set) var rewriter: ContentIDRewriter?
    private var written = 0
    private let limit: Int
    private var isFinished = false

    private enum Decoder {
        case none
        case base64(Base64Decoder)
        case quotedPrintable(QuotedPrintableDecoder)
    }

    init(
        _ source: ArchiveBytes, _ range: Range<Int>, _ encoding: TransferEncoding, rewriter: ContentIDRewriter?,
        limit: Int
    ) {
        self.source = source
        self.range = range
        self.rewriter = rewriter
        self.limit = limit
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

    mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        guard !isFinished else { return false }
        let end = min(range.upperBound, range.lowerBound + min(max(count, 1), 1 << 20))
        let coded = try source.read(range.lowerBound..<end)
        range = end..<range.upperBound
        isFinished = range.isEmpty
        let before = bytes.count
        if rewriter == nil {
            decode(coded, into: &bytes)
        } else {
            var decoded: [UInt8] = []
            decode(coded, into: &decoded)
            rewriter?.rewrite(decoded, isLast: isFinished, into: &bytes)
        }
        written += bytes.count - before
        guard written <= limit else { throw .error("the body is longer than \(limit) bytes", at: start) }
        return !isFinished
    }

    private mutating func decode(_ coded: [UInt8], into bytes: inout [UInt8]) {
        switch decoder {
        case .none: bytes += coded
        case .base64(var base64):
            coded.withUnsafeBytes { base64.decode($0, into: &bytes) }
            if isFinished { base64.finish(into: &bytes) }
            decoder = .base64(base64)
        case .quotedPrintable(var quoted):
            coded.withUnsafeBytes { quoted.decode($0, into: &bytes) }
            if isFinished { quoted.finish(into: &bytes) }
            decoder = .quotedPrintable(quoted)
        }
    }
}
