/// A part of a file in memory, which is moved through it: readers that go from beginning to end need no more.
struct ByteWindow {
    let source: ArchiveBytes
    /// Where in the file ``buffer`` begins.
    private(set) var start = 0
    private(set) var buffer: [UInt8] = []
    private let size: Int

    init(_ source: ArchiveBytes, size: Int = 1 << 20) {
        self.source = source
        self.size = max(size, 16)
    }

    /// Where in the file ``buffer`` ends.
    var end: Int { start + buffer.count }
    /// Whether nothing is behind ``buffer``.
    var isLast: Bool { end >= source.count }

    /// Makes `length` bytes from `offset` on be in ``buffer``, or all up to the end where there are fewer; the two
    /// bytes before them too.
    ///
    /// - Throws: ``ArchiveProblem`` where they can't be read.
    mutating func require(_ length: Int, at offset: Int) throws(ArchiveProblem) {
        let needed = min(source.count - offset, length) + offset
        guard offset < start || needed > end else { return }
        start = max(0, offset - 2)
        try read(max(0, min(max(size, length + 2), source.count - start)))
        guard end >= needed else { throw .cutShort(at: end) }
    }

    /// Reads that many bytes into ``buffer``: into the memory that it has, since the kernel has to give and clear what
    /// is new.
    private mutating func read(_ length: Int) throws(ArchiveProblem) {
        // What was there is gone where reading fails.
        var bytes: [UInt8] = []
        swap(&bytes, &buffer)
        guard length <= bytes.count else {
            bytes = []
            buffer = try source.read(at: start, upTo: length)
            return
        }
        let (source, start) = (source, start)
        let count = try bytes.withUnsafeMutableBufferPointer { memory throws(ArchiveProblem) in
            try source.read(
                at: start, into: UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: memory[..<length])))
        }
        bytes.removeLast(bytes.count - count)
        swap(&bytes, &buffer)
    }
}
