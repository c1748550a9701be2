/// A body without one of its content codings.
struct DecodingStream: BodyStream {
    private var source: any BodyStream
    private let coding: ContentCoding
    private let limit: DecodingLimit
    private var decompressor: (any Decompressor)?
    private var input: [UInt8] = []
    private var position = 0
    private var sourceHasMore = true
    private var produced = 0
    /// Whether what was decoded last ends here: what follows is another stream, garbage, or nothing.
    private var isComplete = false
    private var isOver = false
    private var output: [UInt8] = []

    init(_ source: any BodyStream, _ coding: ContentCoding, limit: DecodingLimit) {
        self.source = source
        self.coding = coding
        self.limit = limit
    }

    mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        let wanted = max(count, 1)
        var given = 0
        while given < wanted, !isOver {
            try fill()
            guard position < input.count || !isComplete else {
                isOver = true
                break
            }
            if isComplete, try !begin() { break }
            given += try step(wanted - given, into: &bytes)
        }
        return !isOver
    }

    /// Has some input, unless there is no more. The first time there are two bytes, which tell the form of `deflate`.
    private mutating func fill() throws(ArchiveProblem) {
        guard position == input.count || decompressor == nil else { return }
        input.removeFirst(position)
        position = 0
        while sourceHasMore, input.count < 2 { sourceHasMore = try source.read(32_768, into: &input) }
        guard decompressor == nil else { return }
        decompressor = try coding.decompressor(input.prefix(2))
        // A body without a byte has no coding (a HEAD's, a redirect's).
        isComplete = input.isEmpty
    }

    /// Begins what follows a stream that is complete: gzip and zstd may have several (RFC 1952 §2.2, RFC 8878 §3);
    /// anything else is passed over, as browsers do.
    private mutating func begin() throws(ArchiveProblem) -> Bool {
        while sourceHasMore, input.count - position < 4 {
            input.removeFirst(position)
            position = 0
            sourceHasMore = try source.read(32_768, into: &input)
        }
        guard coding == .gzip || coding == .zstd, coding.canBegin(with: input[position...]) else {
            isOver = true
            return false
        }
        decompressor = try coding.decompressor(input[position...])
        isComplete = false
        return true
    }

    /// - Returns: how many bytes were appended.
    private mutating func step(_ wanted: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Int {
        guard let decompressor else { return 0 }
        // One more than the limit, so that what is over it shows.
        let room = min(wanted, 65_536, limit.bytes - produced + 1)
        if output.count < room { output = [UInt8](repeating: 0, count: room) }
        let step = input.withUnsafeBytes { input in
            output.withUnsafeMutableBytes { output in
                decompressor.decode(
                    UnsafeRawBufferPointer(rebasing: input[position...]),
                    into: UnsafeMutableRawBufferPointer(rebasing: output[..<room]))
            }
        }
        position += step.consumed
        produced += step.produced
        guard produced <= limit.bytes else { throw limit.problem() }
        bytes += output[..<step.produced]
        switch step.state {
        case .complete: isComplete = true
        case .failed(let reason):
            throw ArchiveProblem(.error, "the body can't be decoded (\(coding.rawValue)): \(reason)")
        case .open:
            guard step.produced > 0 || step.consumed > 0 || sourceHasMore else {
                // Nothing of the body is missing: clients take it too.
                if decompressor.isWhole {
                    isOver = true
                    return 0
                }
                throw ArchiveProblem(.error, "the body can't be decoded (\(coding.rawValue)): it is cut short")
            }
        }
        return step.produced
    }
}

/// A body that may not get longer than a limit.
struct LimitedStream: BodyStream {
    private var source: any BodyStream
    private let limit: Int
    private var given = 0

    /// - Parameter limit: in bytes; reading beyond throws.
    init(_ source: any BodyStream, limit: Int) {
        self.source = source
        self.limit = limit
    }

    mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        let start = bytes.count
        let hasMore = try source.read(count, into: &bytes)
        given += bytes.count - start
        try LimitedStream.check(given, limit: limit)
        return hasMore
    }

    mutating func skip(_ count: Int) throws(ArchiveProblem) {
        try source.skip(count)
        given += count
        try LimitedStream.check(given, limit: limit)
    }

    var isRewritten: Bool { source.isRewritten }

    /// - Throws: ``ArchiveProblem`` where a body of so many bytes is too long.
    static func check(_ size: Int, limit: Int) throws(ArchiveProblem) {
        guard size <= limit else { throw .tooLong(limit: limit) }
    }
}
