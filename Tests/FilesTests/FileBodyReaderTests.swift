import Glibc
import NIOCore
import Testing

@testable import Files

struct FileBodyReaderTests {
    private let sandbox = FileSandbox()

    /// Reads with something done before each read, which gets the count of reads before.
    private func reader(limit: Int = 1 << 20, before: @escaping @Sendable (Int) -> Void = { _ in }) -> FileBodyReader {
        let calls = Collected<Int>()
        return FileBodyReader(limit: limit) { descriptor, space, offset in
            before(calls.all.count)
            calls.add(offset)
            return systemRead(descriptor, space, offset)
        }
    }

    private func read(_ reader: FileBodyReader) throws -> FileBodyReader.Outcome {
        let file = try sandbox.root.open("f".bytes)
        return try reader.read(file)
    }

    @Test("A file is read whole", arguments: [0, 1, 4096, 65_537, 1 << 20])
    func whole(size: Int) throws {
        let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        sandbox.write(content, to: "f")
        let outcome = try read(reader())
        #expect(outcome.body.map { Array($0.readableBytesView) } == content)
        #expect(outcome.isConsistent)
        #expect(outcome.identity == sandbox.identity("f"))
    }

    @Test("A file over the limit is not read")
    func overLimit() throws {
        sandbox.write("12345", to: "f")
        let outcome = try read(FileBodyReader(limit: 4) { _, _, _ in -Int(EIO) })
        #expect(outcome.body == nil)
        #expect(outcome.identity.size == 5)
    }

    @Test("Short reads are gone on with")
    func shortReads() throws {
        sandbox.write("content", to: "f")
        let reader = FileBodyReader(limit: 100) { descriptor, space, offset in
            systemRead(descriptor, UnsafeMutableRawBufferPointer(rebasing: space.prefix(2)), offset)
        }
        #expect(try read(reader).body == ByteBuffer(string: "content"))
    }

    @Test("An error while reading is thrown", arguments: [EIO, ESTALE])
    func errors(code: CInt) {
        sandbox.write("content", to: "f")
        let reader = FileBodyReader(limit: 100) { descriptor, space, offset in
            offset > 0
                ? -Int(code)
                : systemRead(descriptor, UnsafeMutableRawBufferPointer(rebasing: space.prefix(2)), offset)
        }
        #expect(throws: FileRefusal.io(errno: code)) { try read(reader) }
    }

    @Test("A file that grows while it is read is read again")
    func growth() throws {
        sandbox.write("short", to: "f")
        let sandbox = sandbox
        let outcome = try read(reader { if $0 == 0 { sandbox.append(" and long", to: "f") } })
        #expect(outcome.body == ByteBuffer(string: "short and long"))
        #expect(outcome.isConsistent)
        #expect(outcome.identity.size == 14)
    }

    @Test("A file that is truncated while it is read is read again")
    func truncation() throws {
        sandbox.write("long content", to: "f")
        let sandbox = sandbox
        let outcome = try read(reader { if $0 == 0 { sandbox.truncate("f", to: 4) } })
        #expect(outcome.body == ByteBuffer(string: "long"))
        #expect(outcome.isConsistent)
    }

    @Test("A file that grows over the limit while it is read is streamed")
    func growthOverLimit() throws {
        sandbox.write("short", to: "f")
        let sandbox = sandbox
        let outcome = try read(reader(limit: 10) { if $0 == 0 { sandbox.append(" and long", to: "f") } })
        #expect(outcome.body == nil)
        #expect(outcome.identity.size == 14)
    }

    @Test("A file that never stands still gives what was read last, and is known for it")
    func restless() throws {
        sandbox.write("x", to: "f")
        let sandbox = sandbox
        let outcome = try read(reader { _ in sandbox.append("x", to: "f") })
        #expect(!outcome.isConsistent)
        #expect(outcome.body?.readableBytes == 4)
    }

    @Test("A read that says more than it was asked for is not believed")
    func excess() throws {
        sandbox.write("ab", to: "f")
        let reader = FileBodyReader(limit: 100) { _, space, _ in space.count + 10 }
        #expect(try read(reader).body?.readableBytes == 2)
    }
}
