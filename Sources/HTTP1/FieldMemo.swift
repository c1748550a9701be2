import HTTPSemantics
import NIOCore

/// The header section of a connection's last request, whose lines are used again if the next section has the same
/// bytes, or begins with them.
///
/// A browser sends the same fields with request after request of a page. Equal bytes after a request line of the same
/// version mean the same fields, and the section's end is among them. So nothing has to be parsed again. Fields that
/// change from request to request, as Referer and Cookie, come behind others that don't.
struct FieldMemo {
    /// Bytes of a section that are kept at most; few are longer, and each connection keeps its own.
    private static let capacity = 4096

    /// The section with the empty line at its end; empty where none is known.
    private var bytes: [UInt8] = []
    /// Where the section began, which the lines' offsets count with.
    private var start = 0
    private var lines: ContiguousArray<FieldSection.Line> = []
    private(set) var present = FieldNameSet()
    private(set) var framing = FramingFields()
    /// Whether a section has been seen: the first one isn't kept, since many connections carry a single request.
    private var hasSeenOne = false

    /// Whether the section that begins at `offset` is this one.
    @inline(__always)
    func isFound(at offset: Int, in all: UnsafeRawBufferPointer, _ version: HTTPVersion) -> Bool {
        guard !bytes.isEmpty, all.count &- offset >= bytes.count, version == framing.version else { return false }
        return bytes.withUnsafeBytes { $0.equals(all.rebased(offset..<offset &+ $0.count)) }
    }

    /// How many lines of the section that begins at `offset` are those of this one, and where the first other byte
    /// behind them is.
    func knownLines(at offset: Int, in all: UnsafeRawBufferPointer) -> (count: Int, end: Int) {
        guard !bytes.isEmpty else { return (0, offset) }
        let same = bytes.withUnsafeBytes { $0.commonPrefix(with: all.rebased(offset..<all.count)) }
        var count = 0
        var length = 0
        while count < lines.count {
            let next = count &+ 1
            // A line ends where the next one begins, and the last one before the empty line.
            let end = next < lines.count ? Int(lines[next].nameStart) &- start : bytes.count &- 2
            guard end <= same else { break }
            (count, length) = (next, end)
        }
        return (count, offset &+ length)
    }

    /// A line of this section, as it is where the section begins at `offset`.
    @inline(__always)
    func line(_ index: Int, at offset: Int) -> FieldSection.Line {
        var line = lines[index]
        let distance = UInt32(truncatingIfNeeded: offset &- start)
        line.nameStart &+= distance
        line.valueStart &+= distance
        return line
    }

    /// The lines of the same section where it begins at `offset`.
    mutating func lines(at offset: Int) -> ContiguousArray<FieldSection.Line> {
        let distance = UInt32(truncatingIfNeeded: offset &- start)
        if distance != 0 {
            for index in lines.indices {
                lines[index].nameStart &+= distance
                lines[index].valueStart &+= distance
            }
            start = offset
        }
        return lines
    }

    /// Gives the lines away; another section is to be kept in their place.
    mutating func takeLines() -> ContiguousArray<FieldSection.Line> {
        var taken: ContiguousArray<FieldSection.Line> = []
        swap(&taken, &lines)
        return taken
    }

    /// Length of the section that is kept.
    var count: Int { bytes.count }

    /// Keeps the section that ends a head, and shares its lines.
    ///
    /// - Returns: whether it is kept.
    mutating func keep(_ fields: FieldSection, from start: Int, _ framing: FramingFields) -> Bool {
        guard hasSeenOne else {
            hasSeenOne = true
            return false
        }
        bytes.removeAll(keepingCapacity: true)
        guard fields.bytes.readableBytes &- start <= FieldMemo.capacity else { return false }
        fields.bytes.withUnsafeReadableBytes { bytes.append(contentsOf: $0.dropFirst(start)) }
        self.start = start
        lines = fields.lines
        present = fields.present
        self.framing = framing
        return true
    }
}
