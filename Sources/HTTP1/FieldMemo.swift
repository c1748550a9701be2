import Glibc
import HTTPSemantics
import NIOCore

/// The header section of a connection's last request, found once and taken as found where the next one has the same bytes.
///
/// A browser sends the same fields with request after request of a page, so that most of a head is old. Equal bytes behind
/// a request line of the same version mean the same, and a section's end is part of it: nothing has to be read again.
struct FieldMemo {
    /// Bytes of a section that are kept at most; few are longer, and each connection keeps its own.
    private static let capacity = 4096

    /// The section with the empty line at its end; empty where none is known.
    private var bytes: [UInt8] = []
    /// Where the section began, which the lines' offsets count with.
    private var start = 0
    private(set) var lines: ContiguousArray<FieldSection.Line> = []
    private(set) var present = FieldNameSet()
    private(set) var framing = FramingFields()
    /// Whether a section has been seen: the first one isn't kept, since many connections carry a single request.
    private var hasSeenOne = false

    /// How far the lines' offsets have to be moved for a section that begins at `offset`, if it is this one; else nil.
    @inline(__always)
    func displacement(at offset: Int, in all: UnsafeRawBufferPointer, _ version: HTTPVersion) -> Int? {
        guard !bytes.isEmpty, all.count &- offset >= bytes.count, version == framing.version,
            let base = all.baseAddress
        else { return nil }
        let isSame = bytes.withUnsafeBytes { kept in
            kept.baseAddress.map { memcmp($0, base + offset, kept.count) == 0 } ?? false
        }
        return isSame ? offset &- start : nil
    }

    /// Length of the section that is kept.
    var count: Int { bytes.count }

    /// Keeps the section that ends a head.
    mutating func keep(
        _ head: ByteBuffer, from start: Int, _ lines: ContiguousArray<FieldSection.Line>, _ present: FieldNameSet,
        _ framing: FramingFields
    ) {
        guard hasSeenOne else {
            hasSeenOne = true
            return
        }
        bytes.removeAll(keepingCapacity: true)
        guard head.readableBytes &- start <= FieldMemo.capacity else { return }
        head.withUnsafeReadableBytes { bytes.append(contentsOf: $0.dropFirst(start)) }
        self.start = start
        self.lines.removeAll(keepingCapacity: true)
        self.lines.append(contentsOf: lines)
        self.present = present
        self.framing = framing
    }
}
