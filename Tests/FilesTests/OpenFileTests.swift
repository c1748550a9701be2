import Glibc
import Testing

@testable import Files

struct OpenFileTests {
    private let sandbox = FileSandbox()

    @Test("The descriptor is closed with the file, unless it was handed over")
    func ownership() throws {
        sandbox.write("content", to: "f")
        let root = sandbox.root
        _ = try root.open("f".bytes)
        #expect(sandbox.openDescriptors == 1, "the root's own")
        let descriptor = try root.open("f".bytes).takeDescriptor()
        #expect(sandbox.openDescriptors == 2)
        #expect(close(descriptor) == 0)
        #expect(sandbox.openDescriptors == 1)
    }

    @Test("The descriptor is not inherited, and can't be written to")
    func flags() throws {
        sandbox.write("content", to: "f")
        let file = try sandbox.root.open("f".bytes)
        #expect(fcntl(file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(file.descriptor, F_GETFL) & O_ACCMODE == O_RDONLY)
    }

    @Test("Reads are at an offset, and end with the file")
    func reading() throws {
        sandbox.write("content", to: "f")
        let file = try sandbox.root.open("f".bytes)
        var space = [UInt8](repeating: 0, count: 4)
        #expect(try space.withUnsafeMutableBytes { try file.read(at: 3, into: $0) } == 4)
        #expect(space == "tent".bytes)
        #expect(try space.withUnsafeMutableBytes { try file.read(at: 6, into: $0) } == 1)
        #expect(try space.withUnsafeMutableBytes { try file.read(at: 7, into: $0) } == 0)
    }

    @Test("The state now differs from the one at opening after a write")
    func currentIdentity() throws {
        sandbox.write("content", to: "f")
        let file = try sandbox.root.open("f".bytes)
        #expect(try file.currentIdentity() == file.identity)
        sandbox.append("!", to: "f")
        #expect(try file.currentIdentity().size == 8)
        #expect(file.identity.size == 7)
    }

    @Test("A read that a signal cut is done again, an error is not")
    func interruptions() throws {
        let calls = Collected<Int>()
        let read: PositionedRead = { _, _, offset in
            calls.add(offset)
            return calls.all.count < 3 ? -Int(EINTR) : 1
        }
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 1)
        defer { space.deallocate() }
        #expect(try retryingRead(0, space, 9, by: read) == 1)
        #expect(throws: FileRefusal.io(errno: EIO)) { try retryingRead(0, space, 9) { _, _, _ in -Int(EIO) } }
        #expect(calls.all == [9, 9, 9])
    }
}
