import NIOCore
import Testing

@testable import HTTPCaching

@Suite("Entries of the store")
struct StoreEntryTests {
    @Test(
        "The cost counts key, metadata and the whole storage of the segments",
        arguments: [
            (0, 0, 0, 0), (10, 0, 0, 10), (0, 300, 0, 300), (0, -300, 0, 0), (0, 0, 1, 1), (0, 0, 65_536, 65_536),
            (7, 100, 65_537, 131_072 + 107),
        ] as [(Int, Int, Int, Int)])
    func cost(keyLength: Int, metadataCost: Int, size: Int, expected: Int) {
        func entry(keyLength: Int, metadataCost: Int, size: Int) -> LabelledEntry {
            var content = ByteBufferAllocator().buffer(capacity: size)
            content.writeRepeatingByte(1, count: size)
            return LabelledEntry(
                key: StoreKey([UInt8](repeating: 0, count: keyLength)),
                metadata: Label(number: 1, memoryCost: metadataCost), segments: [content])
        }
        let constant = entry(keyLength: 0, metadataCost: 0, size: 0).cost
        #expect(constant >= LabelledEntry.overhead)
        let entry = entry(keyLength: keyLength, metadataCost: metadataCost, size: size)
        #expect(entry.size == size)
        #expect(entry.segments.count == (size == 0 ? 0 : 1))
        #expect(entry.cost == constant + expected + (size == 0 ? 0 : LabelledEntry.segmentOverhead))
    }

    @Test("A slice is charged with all of the storage that it keeps")
    func slice() throws {
        var buffer = ByteBufferAllocator().buffer(capacity: 1 << 20)
        buffer.writeRepeatingByte(1, count: 1 << 20)
        let slice = try #require(buffer.getSlice(at: 0, length: 20_000))
        let entry = LabelledEntry(key: StoreKey("k"), metadata: Label(number: 0), segments: [slice])
        #expect(entry.cost > 1 << 20)
        #expect(entry.size == 20_000)
    }

    @Test("An entry that no store holds is not current, and its end not announced")
    func fresh() {
        let entry = LabelledEntry("k")
        #expect(!entry.isCurrent)
        #expect(!entry.markReady())
    }
}
