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

    /// Makes `length` bytes from `offset` on be in ``buffer``, or all up to the end where there are fewer; the two bytes
    /// before them too.
    ///
    /// - Throws: ``ArchiveProblem`` where they can't be read.
    mutating func require(_ length: Int, at offset: Int) throws(ArchiveProblem) {
        let needed = min(source.count - offset, length) + offset
        guard offset < start || needed > end else { return }
        let first = max(0, offset - 2)
        buffer = try source.read(at: first, upTo: max(size, length + 2))
        start = first
        guard end >= needed else { throw .cutShort(at: end) }
    }
}
