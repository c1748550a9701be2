import NIOCore
import Testing

@testable import ForwardProxy

@Suite("What waits of a request's body for its origin")
struct UploadQueueTests {
    private func read(_ queue: inout UploadQueue, _ size: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: size) { space, count in
            count = queue.read(into: UnsafeMutableRawBufferPointer(space))
        }
    }

    @Test("is as few pieces of memory as bytes that came one by one need, and not all that was read with them")
    func gathering() {
        var queue = UploadQueue()
        let all = ByteBuffer(repeating: 7, count: 100_000)
        for index in 0..<all.readableBytes {
            guard let byte = all.getSlice(at: index, length: 1) else { continue }
            queue.append(byte)
        }
        #expect(queue.byteCount == 100_000)
        #expect(queue.bufferCount == (100_000 + UploadQueue.mostGathered - 1) / UploadQueue.mostGathered)
        #expect(read(&queue, 200_000) == [UInt8](repeating: 7, count: 100_000))
        #expect(queue.byteCount == 0 && queue.bufferCount == 0)
    }

    @Test("comes out in the order in which it came, whatever the sizes of what is added and read")
    func order() {
        var random = SystemRandomNumberGenerator()
        var queue = UploadQueue()
        var (written, taken): ([UInt8], [UInt8]) = ([], [])
        for step in 0..<2000 {
            let count = [0, 1, 3, 100, 4095, 4096, 9000].randomElement(using: &random) ?? 0
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: count)
            written += bytes
            queue.append(ByteBuffer(bytes: bytes))
            guard step % 3 == 0 else { continue }
            taken += read(&queue, [1, 10, 5000, 20_000].randomElement(using: &random) ?? 1)
            #expect(queue.byteCount == written.count - taken.count)
        }
        taken += read(&queue, written.count)
        #expect(taken == written)
    }

    @Test("takes no more and more memory where some of it always waits")
    func trickle() {
        var queue = UploadQueue()
        queue.append(ByteBuffer(string: "a"))
        for _ in 0..<2000 {
            queue.append(ByteBuffer(repeating: 7, count: 100))
            _ = read(&queue, 100)
        }
        #expect(queue.byteCount == 1 && queue.storedBytes <= 4 * UploadQueue.mostGathered)
    }

    @Test("is not copied where it is long")
    func long() {
        var queue = UploadQueue()
        queue.append(ByteBuffer(string: "a"))
        queue.append(ByteBuffer(repeating: 1, count: UploadQueue.leastKept))
        queue.append(ByteBuffer(string: "b"))
        #expect(queue.bufferCount == 3)
    }
}
