import NIOCore
import Testing

@testable import HTTPCaching

@Suite("Content as it is stored")
struct StoredContentTests {
    @Test(
        "Small contents become one segment, larger ones keep theirs, empty ones go",
        arguments: [
            ([], []), ([0], []), ([5], [5]), ([5, 0, 6], [11]), ([0, 16_384], [16_384]), ([1, 16_383], [16_384]),
            ([1, 16_384], [1, 16_384]), ([0, 65_536, 0, 65_536, 7], [65_536, 65_536, 7]),
        ] as [([Int], [Int])])
    func joining(sizes: [Int], expected: [Int]) {
        let segments = sizes.enumerated().map { ByteBuffer(repeating: UInt8($0.offset), count: $0.element) }
        let joined = StoredContent.joined(segments)
        #expect(joined.map(\.readableBytes) == expected)
        #expect(joined.flatMap { $0.readableBytesView } == segments.flatMap { $0.readableBytesView })
    }

    @Test("A small slice doesn't keep the buffer that it was read into")
    func slices() throws {
        var buffer = ByteBufferAllocator().buffer(capacity: 65_536)
        buffer.writeRepeatingByte(7, count: 65_536)
        let slice = try #require(buffer.getSlice(at: 0, length: 200))
        let joined = StoredContent.joined([slice])
        #expect(joined.map(\.storageCapacity) == [256])
        #expect(joined == [slice])
    }
}
