import Glibc
import NIOCore
import Testing

@testable import Files

struct SealedContentTests {
    private let sandbox = FileSandbox()
    private let clock = SettableClock()

    private static func content(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
    }

    private func load(_ content: [UInt8], places: DescriptorPlaces = .forContents()) throws -> FileVariant {
        sandbox.write(content, to: "f")
        let loader = FileLoader(
            bodies: FileBodyReader(limit: 1 << 22, read: systemRead), places: places, now: clock.read)
        return try #require(try loader.load(sandbox.root, try RelativePath("f".bytes), mode: .retain).variants.first)
    }

    /// What sendfile(2) would send.
    private func sent(_ content: SealedContent) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: content.count) { buffer, count in
            count = max(0, pread(content.descriptor, buffer.baseAddress, content.count, 0))
        }
    }

    @Test("Content from 64 KiB on is sealed", arguments: [(65_535, false), (65_536, true), (1_000_001, true)])
    func sizes(count: Int, isSealed: Bool) throws {
        let content = Self.content(count)
        let variant = try load(content)
        #expect(variant.body == ByteBuffer(bytes: content))
        #expect(variant.size == count)
        #expect(variant.sealed.map(sent) == (isSealed ? content : nil))
    }

    @Test("Nobody can change sealed content, by its descriptor or by its file")
    func sealing() throws {
        let content = Self.content(100_000)
        let variant = try load(content)
        let sealed = try #require(variant.sealed)
        #expect(pwrite(sealed.descriptor, "x", 1, 0) == -1 && errno == EPERM)
        #expect(ftruncate(sealed.descriptor, 10) == -1 && errno == EPERM)
        #expect(ftruncate(sealed.descriptor, 1 << 20) == -1 && errno == EPERM)
        #expect(fcntl(sealed.descriptor, F_GETFD) == FD_CLOEXEC)
        sandbox.truncate("f", to: 10)
        #expect(sent(sealed) == content)
        #expect(variant.body == ByteBuffer(bytes: content))
    }

    @Test(
        "Large content is the same in large pages, and takes no more memory than its bytes",
        arguments: [600_000, 1 << 20, (2 << 20) + 5, 3_000_000, 4 << 20])
    func largePages(count: Int) throws {
        let content = Self.content(count)
        let made = try #require(SealedContent.make(ByteBuffer(bytes: content), .forContents()))
        #expect(made.bytes == ByteBuffer(bytes: content))
        #expect(sent(made.sealed) == content)
        var status = stat()
        #expect(fstat(made.sealed.descriptor, &status) == 0)
        #expect(status.st_size == count)
        #expect(status.st_blocks * 512 < count + 4096)
        #expect(ftruncate(made.sealed.descriptor, 1) == -1 && errno == EPERM)
    }

    @Test("A buffer of sealed content that is written to, or grows, is a copy")
    func copies() throws {
        let content = Self.content(100_000)
        let made = try #require(SealedContent.make(ByteBuffer(bytes: content), .forContents()))
        var bytes = made.bytes
        bytes.setInteger(UInt8(1), at: 0)
        bytes.setInteger(UInt8(1), at: 50_000)
        bytes.writeBytes(content)
        #expect(Array(bytes.readableBytesView.dropFirst(100_000)) == content)
        #expect(bytes.getInteger(at: 50_000, as: UInt8.self) == 1)
        #expect(sent(made.sealed) == content)
        #expect(made.bytes == ByteBuffer(bytes: content))
    }

    @Test("The bytes outlive the descriptor, and a buffer that nobody shares may be written to")
    func lifetime() throws {
        let content = Self.content(100_000)
        var bytes = try #require(SealedContent.make(ByteBuffer(bytes: content), .forContents())).bytes
        #expect(bytes == ByteBuffer(bytes: content))
        bytes.setInteger(content[7] &+ 1, at: 7)
        bytes.writeBytes(content)
        #expect(bytes.getInteger(at: 7) == content[7] &+ 1)
        #expect(Array(bytes.readableBytesView.dropFirst(100_000)) == content)
    }

    @Test("Where all places are taken, content is kept without; a place is given back with its content")
    func places() throws {
        let places = DescriptorPlaces(1)
        var first: FileVariant? = try load(Self.content(70_000), places: places)
        #expect(first?.sealed != nil)
        let second = try load(Self.content(80_000), places: places)
        #expect(second.sealed == nil)
        #expect(second.body == ByteBuffer(bytes: Self.content(80_000)))
        first = nil
        #expect(try load(Self.content(90_000), places: places).sealed != nil)
    }

    @Test("Sealed content counts against the memory for files, with what it takes beside its bytes")
    func cost() throws {
        sandbox.write(Self.content(70_000), to: "f")
        let store = RetainedFiles(limits: RetentionLimits(memory: 1 << 20, file: 1 << 20), now: clock.read)
        let first = try store.load(sandbox.root, "f".bytes)
        #expect(first.variants.first?.sealed != nil)
        #expect(store.statistics.bytes == 70_000 + 8192 + 1024)
    }
}
