public import NIOCore

/// The parts of a response's body that wait for their turn, in order.
public struct HTTP2PendingBody: Sendable {
    private var parts: [ByteBuffer] = []
    private var next = 0

    public init() {}

    public mutating func append(_ part: ByteBuffer) { parts.append(part) }

    /// The next bytes, as many as there are and may be; nil for none. Small parts are joined.
    public mutating func take(atMost limit: Int) -> ByteBuffer? {
        guard var bytes = takePart(atMost: limit) else { return nil }
        while let more = takePart(atMost: limit &- bytes.readableBytes) { bytes.writeImmutableBuffer(more) }
        return bytes
    }

    private mutating func takePart(atMost limit: Int) -> ByteBuffer? {
        guard limit > 0, next < parts.count else { return nil }
        let count = min(limit, parts[next].readableBytes)
        guard let part = parts[next].readSlice(length: count) else { return nil }
        if parts[next].readableBytes == 0 {
            parts[next] = ByteBuffer()
            next &+= 1
            if next == parts.count {
                parts.removeAll(keepingCapacity: true)
                next = 0
            } else if next > 64 {
                parts.removeFirst(next)
                next = 0
            }
        }
        return part
    }
}
