import Files
import NIOCore
import Substitution

/// A body in memory, as the buffers that it came in: one for a file, one or more for a response that was stored.
struct BodySegments {
    let first: ByteBuffer
    let rest: [ByteBuffer]
    /// Bytes in all.
    let count: Int
    /// All of it as the kernel sends it by itself, where it is kept so too.
    let sealed: SealedContent?

    init(_ first: ByteBuffer, rest: [ByteBuffer] = [], sealed: SealedContent? = nil) {
        self.first = first
        self.rest = rest
        self.sealed = sealed
        count = rest.reduce(first.readableBytes) { $0 &+ $1.readableBytes }
    }

    init(_ segments: [ByteBuffer]) {
        self.init(segments.first ?? ByteBuffer(), rest: Array(segments.dropFirst()))
    }

    /// Calls `body` with the bytes of `range` in order, a slice of each buffer that they lie in.
    func forEachSlice(of range: Range<Int>, _ body: (ByteBuffer) -> Void) {
        var start = 0
        BodySegments.slice(first, start: &start, range, body)
        for segment in rest where start < range.upperBound { BodySegments.slice(segment, start: &start, range, body) }
    }

    private static func slice(
        _ segment: ByteBuffer, start: inout Int, _ range: Range<Int>, _ body: (ByteBuffer) -> Void
    ) {
        let all = start..<start &+ segment.readableBytes
        start = all.upperBound
        let wanted = range.clamped(to: all)
        guard !wanted.isEmpty,
            let slice = segment.getSlice(
                at: segment.readerIndex &+ (wanted.lowerBound &- all.lowerBound), length: wanted.count)
        else { return }
        body(slice)
    }
}
