import Basics
import Glibc
import ProxyTestKit
import Testing

@Suite("A file that is opened with its lock")
struct LockedFileTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.at("f") }

    private func number(_ descriptor: CInt) -> ino_t {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_ino : 0
    }

    private func number(_ path: String) -> ino_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_ino : 0
    }

    @Test("is another one's no more until it is closed")
    func exclusive() throws {
        let first = try LockedFile.open(path, flags: O_RDWR | O_CREAT, mode: 0o600)
        #expect(throws: SystemError(EWOULDBLOCK)) { _ = try LockedFile.open(path, flags: O_RDONLY) }
        #expect(fcntl(first, F_GETFD) & FD_CLOEXEC != 0)
        close(first)
        var second: CInt = -1
        // A child that another test begins has a copy of the descriptor, and with it the lock, until it runs its
        // program.
        try Wait.until {
            do throws(SystemError) { second = try LockedFile.open(path, flags: O_RDONLY) } catch {
                guard error == SystemError(EWOULDBLOCK) else { throw error }
            }
            return second >= 0
        }
        close(second)
    }

    @Test("is the one that has the name once the lock is held, where another one took its place before that")
    func replaced() throws {
        try folder.write("f", "old")
        try folder.write("g", "new")
        var times = 0
        let descriptor = try LockedFile.open(path, flags: O_RDWR) {
            times += 1
            if times == 1 { rename(folder.at("g"), path) }
        }
        defer { close(descriptor) }
        #expect(times == 2 && number(descriptor) == number(path))
        #expect(try FileReading.contents(of: descriptor, upTo: 10) == Array("new".utf8))
    }

    @Test("is made anew, or is not there, where it was removed before it was locked", arguments: [O_CREAT, 0])
    func removed(flag: CInt) throws {
        try folder.write("f", "old")
        var isFirst = true
        func open() throws(SystemError) -> CInt {
            try LockedFile.open(path, flags: O_RDWR | flag, mode: 0o600) {
                if isFirst { unlink(path) }
                isFirst = false
            }
        }
        guard flag != 0 else {
            #expect(throws: SystemError(ENOENT)) { _ = try open() }
            return
        }
        let descriptor = try open()
        #expect(number(descriptor) == number(path))
        close(descriptor)
    }

    @Test("is not waited for without end where it is replaced again and again")
    func endless() throws {
        try folder.write("f", "0")
        var times = 0
        #expect(throws: SystemError(EWOULDBLOCK)) {
            _ = try LockedFile.open(path, flags: O_RDWR) {
                times += 1
                _ = try? folder.write("g", "\(times)")
                rename(folder.at("g"), path)
            }
        }
        #expect(times == 100)
    }

    @Test("that can't be locked is told as what it is: here a link, a folder, and what has no lock")
    func refused() throws {
        #expect(symlink("/dev/null", folder.at("l")) == 0)
        #expect(throws: SystemError(ELOOP)) { _ = try LockedFile.open(folder.at("l"), flags: O_RDWR) }
        #expect(throws: SystemError(EISDIR)) { _ = try LockedFile.open(folder.path, flags: O_RDWR) }
        // Of a descriptor that stands for a path alone nothing can be locked.
        try folder.write("f", "x")
        let pathAlone: CInt = 0o10_000_000
        #expect(throws: SystemError(EBADF)) { _ = try LockedFile.open(path, flags: pathAlone) }
    }
}
