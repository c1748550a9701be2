import HTTPSemantics

/// A content coding that can be decoded (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
enum ContentCoding: String, Sendable, CaseIterable {
    case gzip, deflate, br, zstd

    /// - Parameter name: in any case; `x-gzip` is gzip (RFC 9110 §8.4.1.3).
    init?(name: String) {
        let name = name.lowercased()
        guard let coding = ContentCoding(rawValue: name == "x-gzip" ? "gzip" : name) else { return nil }
        self = coding
    }

    /// What wrong servers write in the place of a coding, in lower case: transfer encodings of mail, and charsets.
    static let mistaken: Set<String> = ["none", "7bit", "8bit", "binary", "utf-8", "utf8", "iso-8859-1"]

    /// How many of the first bytes ``isWrong(for:isWhole:)`` takes.
    static let telling = 1024

    /// Whether a body that begins like this has not the coding, since its writer has decoded it and left the field.
    ///
    /// A body in gzip or zstd has a mark. In the others it is any bytes, and no text that stops to be decoded: of some
    /// text a few bytes are a whole stream, with nothing in it.
    ///
    /// - Parameter isWhole: whether these are all bytes of the body.
    func isWrong(for start: [UInt8], isWhole: Bool) -> Bool {
        guard self == .br || self == .deflate else { return !start.isEmpty && !canBegin(with: start) }
        guard !start.isEmpty, start.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }),
            let decompressor = try? decompressor(start.prefix(2))
        else { return false }
        return start.withUnsafeBytes { text in
            withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { room in
                var position = 0
                for _ in 0..<64 {
                    let step = decompressor.decode(text.rebased(position..<text.count), into: room)
                    position += step.consumed
                    switch step.state {
                    case .failed: return true
                    case .complete: return position < text.count || !isWhole
                    case .open where step.produced > 0: continue
                    case .open: return isWhole
                    }
                }
                return false
            }
        }
    }

    /// Whether a body that begins like this may have the coding: gzip and zstd have a mark, the others may be anything.
    func canBegin(with start: some Collection<UInt8>) -> Bool {
        switch self {
        case .gzip: start.starts(with: [0x1F, 0x8B])
        case .zstd:
            // A frame, or one to be skipped (RFC 8878 §3.1.1, §3.1.2).
            start.starts(with: [0x28, 0xB5, 0x2F, 0xFD])
                || (start.first.map { $0 & 0xF0 == 0x50 } == true
                    && start.dropFirst().starts(with: [0x2A, 0x4D, 0x18]))
        case .deflate, .br: true
        }
    }

    /// - Parameter start: the first two bytes of the body, which tell the two forms of `deflate` apart: it ought to be
    ///   zlib's, and servers send it bare (RFC 9110 §8.4.1.2).
    func decompressor(_ start: ArraySlice<UInt8>) throws(ArchiveProblem) -> any Decompressor {
        switch self {
        case .gzip: return try Inflater(.gzip)
        case .br: return try BrotliDecoder()
        case .zstd: return try ZstandardDecoder()
        case .deflate:
            guard let first = start.first, let second = start.dropFirst().first else { return try Inflater(.raw) }
            let isZlib = first & 15 == 8 && (Int(first) << 8 | Int(second)) % 31 == 0
            return try Inflater(isZlib ? .zlib : .raw)
        }
    }
}

/// Takes content codings off a body.
public enum ContentDecoder {
    /// The most codings that a body may have.
    static let mostCodings = 4

    /// The codings that Content-Encoding names, in the order in which they were put on, in lower case; without
    /// identity.
    public static func codings(of fields: [RecordedField]) -> [String] {
        fields.filter { $0.isNamed("content-encoding") }.flatMap { field in
            field.value.split(separator: UInt8(ascii: ",")).map { part in
                String(decoding: part.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self).lowercased()
            }
        }.filter { !$0.isEmpty && !isIdentity($0) }
    }

    /// Whether all codings of a list are known.
    public static func canDecode(_ codings: [String]) -> Bool {
        codings.count <= mostCodings && codings.allSatisfy { isIdentity($0) || ContentCoding(name: $0) != nil }
    }

    /// The body without its content codings.
    ///
    /// - Parameters:
    ///   - codings: in the order of Content-Encoding: the last is taken off first.
    ///   - storedBytes: how long the coded body is. The stream throws before it gives more than 1 MiB and 1,100 times
    ///     that, or more than `limits.body`.
    /// - Throws: ``ArchiveProblem`` where a coding is not known, or its library is missing.
    public static func stream(
        _ body: any BodyStream, codings: [String], storedBytes: Int, limits: ArchiveLimits
    ) throws(ArchiveProblem) -> any BodyStream {
        guard codings.count <= mostCodings else {
            throw ArchiveProblem(.error, "the body has more than \(mostCodings) content codings")
        }
        var stream = body
        for name in codings.reversed() where !isIdentity(name) {
            guard let coding = ContentCoding(name: name) else {
                throw ArchiveProblem(.error, "the content coding '\(name)' is not known")
            }
            stream = DecodingStream(stream, coding, limit: .init(storedBytes: storedBytes, limits))
        }
        return stream
    }

    private static func isIdentity(_ name: String) -> Bool { name.isEmpty || name.lowercased() == "identity" }
}

/// How long a body may get when it is decoded.
struct DecodingLimit {
    /// In bytes.
    let bytes: Int
    /// Whether it is the one that follows from the length of the coded body, and not `--max-entry-body`.
    private let isByRatio: Bool

    /// - Parameter storedBytes: how long the coded body is.
    init(storedBytes: Int, _ limits: ArchiveLimits) {
        let (product, isOver) = max(storedBytes, 0).multipliedReportingOverflow(by: 1100)
        let byRatio = isOver ? Int.max : max(1 << 20, product)
        bytes = min(byRatio, max(limits.body, 0))
        isByRatio = byRatio < limits.body
    }

    /// What is said of a body that is longer.
    func problem(at place: ArchiveProblem.Place = .file) -> ArchiveProblem {
        guard isByRatio else { return .tooLong(limit: bytes, at: place) }
        return ArchiveProblem(
            .error, "decoded, the body is longer than 1 MiB and 1,100 times its coded bytes", at: place)
    }
}
