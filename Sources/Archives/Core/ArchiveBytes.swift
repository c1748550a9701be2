/// The bytes of an archive's file, read at offsets: of a file with pread(2), in tests of an array.
public struct ArchiveBytes: Sendable {
    /// How many there are.
    public let count: Int
    /// A text that another state of the file does not have; nil where that is not known.
    public let version: String?
    private let readInto: @Sendable (UnsafeMutableRawBufferPointer, Int) -> Int

    /// - Parameter read: fills the buffer from an offset on; returns how many bytes it read, 0 at the end, and a
    ///   negative number where they can't be read.
    public init(
        count: Int, version: String? = nil, read: @escaping @Sendable (UnsafeMutableRawBufferPointer, Int) -> Int
    ) {
        self.count = count
        self.version = version
        readInto = read
    }

    /// Bytes that are in memory.
    public init(_ bytes: [UInt8]) {
        self.init(count: bytes.count) { buffer, offset in
            guard offset >= 0, offset < bytes.count else { return 0 }
            let length = min(buffer.count, bytes.count - offset)
            bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[offset..<offset + length])) }
            return length
        }
    }

    /// Reads up to `length` bytes; fewer only at the end.
    ///
    /// - Throws: ``ArchiveProblem`` where the file can't be read.
    public func read(at offset: Int, upTo length: Int) throws(ArchiveProblem) -> [UInt8] {
        guard offset >= 0, offset < count, length > 0 else { return [] }
        let length = min(length, count - offset)
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, initialised in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            while initialised < length {
                let read = readInto(.init(rebasing: raw[initialised...]), offset + initialised)
                if read < 0 { failed = true }
                if read <= 0 { return }
                initialised += min(read, length - initialised)
            }
        }
        guard !failed else { throw .unreadable(at: offset) }
        return bytes
    }

    /// Fills a buffer from an offset on; less of it only at the end.
    ///
    /// - Returns: how many bytes were read.
    /// - Throws: ``ArchiveProblem`` where the file can't be read.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(ArchiveProblem) -> Int {
        guard offset >= 0, offset < count else { return 0 }
        let length = min(buffer.count, count - offset)
        var filled = 0
        while filled < length {
            let read = readInto(.init(rebasing: buffer[filled..<length]), offset + filled)
            guard read >= 0 else { throw .unreadable(at: offset) }
            guard read > 0 else { break }
            filled += min(read, length - filled)
        }
        return filled
    }

    /// Reads exactly these bytes.
    ///
    /// - Throws: ``ArchiveProblem`` where there are fewer, or they can't be read.
    public func read(_ range: Range<Int>) throws(ArchiveProblem) -> [UInt8] {
        let bytes = try read(at: range.lowerBound, upTo: range.count)
        guard bytes.count == range.count else { throw .cutShort(at: range.lowerBound) }
        return bytes
    }

    /// A part of them, whose offsets begin at 0.
    public func slice(_ range: Range<Int>) -> ArchiveBytes {
        let range = range.clamped(to: 0..<count)
        return ArchiveBytes(count: range.count) { [readInto] buffer, offset in
            guard offset >= 0, offset < range.count else { return 0 }
            let length = min(buffer.count, range.count - offset)
            return readInto(.init(rebasing: buffer[0..<length]), range.lowerBound + offset)
        }
    }
}
