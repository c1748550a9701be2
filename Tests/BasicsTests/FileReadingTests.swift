import Basics
import Glibc
import ProxyTestKit
import Testing

@Suite("Reading a file")
struct FileReadingTests {
    private let folder = TemporaryFolder()

    private func write(_ bytes: [UInt8], to name: String) throws -> String {
        let file = try #require(fopen(folder.at(name), "w"))
        defer { fclose(file) }
        #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
        return folder.at(name)
    }

    @Test("gives all of it, or as much as its reader takes", arguments: [0, 1, 65_535, 65_536, 65_537, 200_000])
    func limit(size: Int) throws {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let path = try write(bytes, to: "file")
        #expect(try FileReading.contents(of: path, upTo: size + 1) == bytes)
        #expect(try FileReading.contents(of: path, upTo: size) == bytes)
        #expect(try FileReading.contents(of: path, upTo: size / 2) == Array(bytes.prefix(size / 2)))
        #expect(try FileReading.contents(of: path, upTo: 0).isEmpty)
    }

    @Test(
        "gives all of it whatever size was expected",
        arguments: [0, 1, 999, 1000, 1001, 200_000], [0, 1, 1000, 70_000, 200_000])
    func expecting(size: Int, expected: Int) throws {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let path = try write(bytes, to: "file")
        for limit in [size / 2, size, size + 1, .max] {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            let read = try FileReading.contents(of: descriptor, upTo: limit, expecting: expected)
            #expect(read == Array(bytes.prefix(limit)))
        }
    }

    @Test("gives what is there for one reading, and nothing at the end")
    func pieces() throws {
        var ends: [CInt] = [-1, -1]
        #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(throws: SystemError(EAGAIN)) { try FileReading.next(of: ends[0]) }
        #expect(Glibc.write(ends[1], "abc", 3) == 3)
        #expect(try FileReading.next(of: ends[0], upTo: 2) == Array("ab".utf8))
        #expect(try FileReading.next(of: ends[0]) == Array("c".utf8))
        // Not closed: a process that another test starts at this moment has a copy until it runs its program.
        shutdown(ends[1], CInt(SHUT_WR))
        #expect(try FileReading.next(of: ends[0]).isEmpty)
    }

    @Test("says why it can't be read")
    func failures() {
        #expect(throws: SystemError(ENOENT)) { try FileReading.contents(of: folder.at("nowhere"), upTo: 1) }
        #expect(throws: SystemError(EISDIR)) { try FileReading.contents(of: folder.path, upTo: 1) }
        #expect(throws: SystemError(EBADF)) { try FileReading.contents(of: -1, upTo: 1) }
        #expect(SystemError(ENOENT).text == "No such file or directory")
    }

    @Test("waits for nobody who might write to a named pipe")
    func pipe() throws {
        #expect(mkfifo(folder.at("pipe"), 0o600) == 0)
        #expect(try FileReading.contents(of: folder.at("pipe"), upTo: 10).isEmpty)
    }
}
