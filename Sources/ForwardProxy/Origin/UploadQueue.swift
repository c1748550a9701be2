import NIOCore

/// The bytes of a request's body that wait for their origin.
///
/// A chunk or a frame may have one byte, and be a slice of all that was read with it. Small ones are copied one behind
/// the other, so that what they take of time and memory is not many times their bytes.
struct UploadQueue {
    /// Shorter ones are copied.
    static let leastKept = 4 << 10
    /// So long, what others are copied behind is full.
    static let mostGathered = 16 << 10

    private var buffers = CircularBuffer<ByteBuffer>(initialCapacity: 1)
    /// Whether the last one is a copy.
    private var isGathering = false
    /// Bytes that wait.
    private(set) var byteCount = 0

    /// How many pieces of memory hold them, and how long these are.
    var bufferCount: Int { buffers.count }
    var storedBytes: Int { buffers.reduce(0) { $0 &+ $1.storageCapacity } }

    mutating func append(_ body: ByteBuffer) {
        byteCount &+= body.readableBytes
        guard body.readableBytes < UploadQueue.leastKept else {
            isGathering = false
            return buffers.append(body)
        }
        guard body.readableBytes > 0 else { return }
        // Taken out, so that nobody else holds it while it grows.
        if isGathering, var last = buffers.popLast() {
            isGathering = last.writerIndex < UploadQueue.mostGathered
            if isGathering { last.writeImmutableBuffer(body) }
            buffers.append(last)
            if isGathering { return }
        }
        buffers.append(ByteBuffer(bytes: body.readableBytesView))
        isGathering = true
    }

    /// Moves bytes into `space`, until it is full or none are left.
    ///
    /// - Returns: how many.
    mutating func read(into space: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        while count < space.count, var first = buffers.popFirst() {
            let portion = min(first.readableBytes, space.count &- count)
            first.readWithUnsafeReadableBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: space[count..<count &+ portion])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[0..<portion]))
                return portion
            }
            count &+= portion
            if first.readableBytes > 0 { buffers.prepend(first) }
        }
        if buffers.isEmpty { isGathering = false }
        byteCount &-= count
        return count
    }
}
