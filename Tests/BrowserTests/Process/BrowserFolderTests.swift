import Glibc
import ProxyTestKit
import Testing

@testable import Browser

@Suite("The folder of a browser")
struct BrowserFolderTests {
    private let base = TemporaryFolder()

    private func age(_ path: String) {
        var times = [timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0)]
        utimes(path, &times)
    }

    @Test("is this user's alone, and goes with what is in it")
    func removal() throws {
        let folder = try BrowserFolder(in: base.path)
        var status = stat()
        #expect(stat(folder.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
        mkdir(folder.profile + "/deep", 0o700)
        try base.write("kept", "x")
        symlink(base.path, folder.profile + "/deep/link")
        creat(folder.profile + "/deep/file", 0o600)
        folder.remove()
        #expect(access(folder.path, F_OK) != 0)
        #expect(access(base.at("kept"), F_OK) == 0)
    }

    @Test("is removed by the next run where it was left behind, and not while it is used")
    func leftovers() throws {
        let left = base.at("subproxy-browser-AAAAAA")
        mkdir(left, 0o700)
        mkdir(left + "/profile", 0o700)
        age(left)
        let young = base.at("subproxy-browser-BBBBBB")
        mkdir(young, 0o700)
        let other = base.at("subproxy-other")
        mkdir(other, 0o700)
        age(other)
        let used = try BrowserFolder(in: base.path)
        age(used.path)
        #expect(access(left, F_OK) != 0)
        let next = try BrowserFolder(in: base.path)
        #expect(access(used.path, F_OK) == 0)
        #expect(access(young, F_OK) == 0)
        #expect(access(other, F_OK) == 0)
        next.remove()
        used.remove()
    }

    @Test("is not one that another browser uses")
    func used() throws {
        try BrowserSession.checkProfile(nil)
        try BrowserSession.checkProfile(base.path)
        symlink("host-name-\(getpid())", base.at("SingletonLock"))
        let failure = #expect(throws: BrowserFailure.self) { try BrowserSession.checkProfile(base.path) }
        #expect(failure?.kind == .unavailable)
        let ended = try ChildProcess.run(["true"])
        unlink(base.at("SingletonLock"))
        symlink("host-name-\(ended.identifier)", base.at("SingletonLock"))
        try BrowserSession.checkProfile(base.path)
    }

    @Test("can't be where there is none")
    func nowhere() {
        let failure = #expect(throws: BrowserFailure.self) { try BrowserFolder(in: "/nonexistent") }
        #expect(failure?.kind == .files)
    }
}
