/// A file of a zip while it is read: it is as long as the directory says, and has its checksum.
struct ZipStream: BodyStream {
    private var source: RangeStream
    private let entry: ZipEntry
    private let inflater: Inflater?
    private var input: [UInt8] = []
    private var position = 0
    private var sourceHasMore: Bool
    private var produced = 0
    private var checksum = CRC32()
    private var isComplete = false
    /// Whether a part was passed over, so that the checksum is not known.
    private var isPart = false

    /// - Parameter inflater: nil for a file that is stored.
    init(_ source: RangeStream, _ entry: ZipEntry, inflater: Inflater?) {
        self.source = source
        self.entry = entry
        self.inflater = inflater
        sourceHasMore = entry.storedSize > 0
    }

    mutating func read(_ count: Int, into bytes: inout [UInt8]) throws(ArchiveProblem) -> Bool {
        guard !isComplete else { return false }
        let start = bytes.count
        if let inflater {
            try inflate(max(count, 1), inflater, into: &bytes)
        } else {
            sourceHasMore = sourceHasMore ? try source.read(count, into: &bytes) : false
            produced += bytes.count - start
            isComplete = !sourceHasMore
        }
        bytes.withUnsafeBytes { checksum.update(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        guard isComplete else { return true }
        guard !isPart else { return false }
        guard produced == entry.size else { throw problem("it is not as long as the zip says") }
        guard checksum.value == entry.checksum else { throw problem("its checksum is not the zip's") }
        return false
    }

    /// Passes over a part of a file that is stored, whose checksum then counts no more.
    mutating func skip(_ count: Int) throws(ArchiveProblem) {
        guard inflater == nil else { return try readOver(count) }
        isPart = true
        try source.skip(count)
    }

    private mutating func inflate(
        _ count: Int, _ inflater: Inflater, into bytes: inout [UInt8]
    ) throws(ArchiveProblem) {
        var output = [UInt8](repeating: 0, count: min(count, 65_536))
        var given = 0
        while given < count, !isComplete {
            if position == input.count, sourceHasMore {
                input.removeAll(keepingCapacity: true)
                position = 0
                sourceHasMore = try source.read(32_768, into: &input)
            }
            let room = min(output.count, count - given)
            let step = input.withUnsafeBytes { input in
                output.withUnsafeMutableBytes {
                    inflater.decode(
                        UnsafeRawBufferPointer(rebasing: input[position...]),
                        into: UnsafeMutableRawBufferPointer(rebasing: $0[..<room]))
                }
            }
            position += step.consumed
            produced += step.produced
            given += step.produced
            guard produced <= entry.size else { throw problem("it is longer than the zip says") }
            bytes += output[..<step.produced]
            switch step.state {
            case .complete: isComplete = true
            case .failed(let reason): throw problem(reason)
            case .open where step.produced == 0 && step.consumed == 0 && !sourceHasMore:
                throw problem("it is cut short")
            case .open: break
            }
        }
    }

    private func problem(_ reason: String) -> ArchiveProblem {
        .error("the zip's file can't be read: \(reason)", at: entry.offset)
    }
}
