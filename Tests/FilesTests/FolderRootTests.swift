import Glibc
import Testing

@testable import Files

struct FolderRootTests {
    private let sandbox = FileSandbox()

    /// What opening a path gives, in words.
    private func outcome(_ root: FolderRoot, _ path: [UInt8]) -> String {
        do {
            let file = try root.open(path)
            return "\(file.identity.size) bytes"
        } catch {
            return "\(error)"
        }
    }

    private static let symlinked = FileRefusal.symbolicLink.description
    private static let outside = FileRefusal.outsideRoot.description
    private static let missing = FileRefusal.notFound.description
    private static let invalid = FileRefusal.invalidName.description

    private static let cases: [(String, String)] = [
        ("a.txt", "1 bytes"), ("d/b.txt", "2 bytes"), ("d//b.txt", "2 bytes"), ("./d/./e/c.txt", "3 bytes"),
        (String(repeating: "n", count: 255), "5 bytes"), (String(repeating: "n", count: 256), invalid),
        (String(repeating: "n", count: 256) + "/x", invalid), ("d/A.TXT", missing), ("A.txt", missing),
        ("a b%20\n.txt", "4 bytes"), ("empty", "0 bytes"),
        ("missing", missing), ("missing/a", missing), ("a.txt/b", missing), ("a.txt/", missing), ("a.txt/.", missing),
        ("d", "not a regular file but a folder"), ("d/", "not a regular file but a folder"),
        ("", "not a regular file but a folder"), ("d/fifo", "not a regular file but a named pipe"),
        ("fifo/x", missing), ("socket", "not a regular file but a socket"),
        ("out", symlinked), ("in", symlinked), ("dirlink/passwd", symlinked), ("d/dirlink/b.txt", symlinked),
        ("d/dirlink/", symlinked), ("dangling", symlinked), ("chain41", symlinked), ("loop", symlinked),
        ("loop/x", symlinked), ("up/a.txt", symlinked),
        ("../a.txt", outside), ("d/../a.txt", outside), ("/etc/passwd", outside), ("/a.txt", outside),
        ("%2e%2e/etc/passwd", missing), ("....//etc/passwd", missing), ("..;/etc/passwd", missing),
        ("..\\..\\etc\\passwd", missing), ("%252e%252e/etc", missing), ("a.txt\0.html", invalid),
    ]

    private func fill() {
        sandbox.write("1", to: "a.txt")
        sandbox.write("12", to: "d/b.txt")
        sandbox.write("123", to: "d/e/c.txt")
        sandbox.write("1234", to: "a b%20\n.txt")
        sandbox.write("12345", to: String(repeating: "n", count: 255))
        sandbox.write("", to: "empty")
        sandbox.link("out", to: "/etc/passwd")
        sandbox.link("in", to: "a.txt")
        sandbox.link("dirlink", to: "/etc")
        sandbox.link("d/dirlink", to: "e/..")
        sandbox.link("dangling", to: "nowhere")
        sandbox.link("loop", to: "loop")
        sandbox.link("up", to: "..")
        sandbox.link("chain0", to: "a.txt")
        for index in 1...41 { sandbox.link("chain\(index)", to: "chain\(index - 1)") }
        mkfifo(sandbox.at("d/fifo"), 0o644)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) {
            $0.copyBytes(from: sandbox.at("socket").utf8CString.map(UInt8.init))
        }
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        close(descriptor)
    }

    @Test("Only regular files that a path leads to without links are opened", arguments: [true, false])
    func table(usesOpenat2: Bool) {
        fill()
        let root = FolderRoot(path: sandbox.path, usesOpenat2: usesOpenat2)
        for (path, expected) in FolderRootTests.cases {
            #expect(outcome(root, path.bytes) == expected, "\(path.debugDescription)")
        }
        #expect(sandbox.openDescriptors == 1, "the root's own")
    }

    @Test("A state is told without opening, by the same rules")
    func identities() throws {
        fill()
        #expect(try sandbox.root.identity(of: "d/b.txt".bytes) == sandbox.identity("d/b.txt"))
        #expect(throws: FileRefusal.symbolicLink) { try sandbox.root.identity(of: "in".bytes) }
        #expect(throws: FileRefusal.notRegularFile(.fifo)) { try sandbox.root.identity(of: "d/fifo".bytes) }
        #expect(throws: FileRefusal.notFound) { try sandbox.root.identity(of: "a.txt/".bytes) }
    }

    @Test("Kinds are told without opening", arguments: [true, false])
    func kinds(usesOpenat2: Bool) {
        fill()
        let root = FolderRoot(path: sandbox.path, usesOpenat2: usesOpenat2)
        let expected: [(String, FileKind?)] = [
            ("a.txt", .regular), ("a.txt/", nil), ("d", .directory), ("d/", .directory), ("", .directory),
            ("out", .symbolicLink), ("dirlink/passwd", nil), ("d/fifo", .fifo), ("socket", .socket), ("missing", nil),
            ("../x", nil), ("/etc", nil),
        ]
        for (path, kind) in expected { #expect(root.kind(of: path.bytes) == kind, "\(path)") }
    }

    @Test("Devices are refused and never opened")
    func devices() {
        let root = FolderRoot(path: "/dev")
        #expect(root.kind(of: "zero".bytes) == .characterDevice)
        #expect(throws: FileRefusal.notRegularFile(.characterDevice)) { _ = try root.open("zero".bytes) }
        #expect(throws: FileRefusal.notRegularFile(.characterDevice)) { _ = try root.open("tty".bytes) }
        #expect(throws: FileRefusal.symbolicLink) { _ = try root.open("stdin".bytes) }
        #expect(throws: FileRefusal.symbolicLink) { _ = try root.open("fd/0".bytes) }
        #expect(throws: FileRefusal.symbolicLink) { _ = try FolderRoot(path: "/proc").open("self/exe".bytes) }
    }

    @Test("Two ways to write é are two files")
    func unicodeForms() throws {
        sandbox.write("composed", to: "caf\u{E9}")
        #expect(throws: FileRefusal.notFound) { _ = try sandbox.root.open("cafe\u{301}".bytes) }
        sandbox.write("decomposed!", to: "cafe\u{301}")
        #expect(outcome(sandbox.root, "caf\u{E9}".bytes) == "8 bytes")
        #expect(outcome(sandbox.root, "cafe\u{301}".bytes) == "11 bytes")
    }

    @Test("A folder that is swapped for a link again and again never leads out", arguments: [true, false])
    func swapRace(usesOpenat2: Bool) {
        sandbox.write("good", to: "root/d/f")
        sandbox.write("evil!", to: "evil/f")
        sandbox.link("root/link", to: "../evil")
        sandbox.write("good", to: "root/f")
        sandbox.link("root/filelink", to: "../evil/f")
        let isOver = Completion<Bool>()
        let stop = Collected<Bool>()
        let sandbox = sandbox
        let swapper = startThread(0) { _ in
            while stop.all.isEmpty {
                sandbox.exchange("root/d", "root/link")
                sandbox.exchange("root/f", "root/filelink")
            }
            isOver.complete(true)
        }
        let root = FolderRoot(path: sandbox.at("root"), usesOpenat2: usesOpenat2)
        var sizes: Set<Int> = []
        var turn = 0
        // The swapper may stand still while both are links.
        while turn < 2000 || (sizes.isEmpty && turn < 10_000_000) {
            if let size = try? root.open((turn.isMultiple(of: 2) ? "d/f" : "f").bytes).identity.size {
                sizes.insert(size)
            }
            turn += 1
        }
        stop.add(true)
        pthread_join(swapper, nil)
        #expect(isOver.wait())
        #expect(sizes == [4])
    }

    @Test("A root that is replaced is opened again, one that vanishes is not found")
    func replacedRoot() {
        sandbox.write("old", to: "root/f")
        let root = FolderRoot(path: sandbox.at("root"))
        #expect(outcome(root, "f".bytes) == "3 bytes")
        sandbox.rename("root", to: "root.old")
        #expect(outcome(root, "f".bytes) == FolderRootTests.missing)
        sandbox.write("newer", to: "root/f")
        #expect(outcome(root, "f".bytes) == "5 bytes")
        #expect(sandbox.openDescriptors == 1)
    }

    @Test("The root's own path may be a link, and be led elsewhere")
    func linkedRoot() {
        sandbox.write("1", to: "release1/f")
        sandbox.write("12", to: "release2/f")
        sandbox.link("current", to: "release1")
        let root = FolderRoot(path: sandbox.at("current"))
        #expect(outcome(root, "f".bytes) == "1 bytes")
        sandbox.link("next", to: "release2")
        sandbox.rename("next", to: "current")
        #expect(outcome(root, "f".bytes) == "2 bytes")
    }

    @Test("A root that is a file, is missing or has no valid name refuses everything")
    func unusableRoots() {
        sandbox.write("1", to: "f")
        #expect(outcome(FolderRoot(path: sandbox.at("f")), "x".bytes) == FolderRootTests.missing)
        #expect(outcome(FolderRoot(path: sandbox.at("none")), "x".bytes) == FolderRootTests.missing)
        #expect(outcome(FolderRoot(path: sandbox.path + "\0"), "f".bytes) == FolderRootTests.invalid)
    }

    @Test("A file or folder without permission is refused")
    func permissions() {
        sandbox.write("secret", to: "f")
        sandbox.write("secret", to: "d/f")
        chmod(sandbox.path, 0o755)
        chmod(sandbox.at("f"), 0)
        chmod(sandbox.at("d"), 0)
        let refusals = Collected<FileRefusal>()
        let root = sandbox.root
        // The file system's user is the thread's own (setfsuid(2)), so other tests see nothing of it.
        onThreads(1) { _ in
            typealias SetUser = @convention(c) (uid_t) -> CInt
            if let function = dlsym(nil, "setfsuid") { _ = unsafeBitCast(function, to: SetUser.self)(65534) }
            for path in ["f", "d/f"] {
                do throws(FileRefusal) { _ = try root.open(path.bytes) } catch { refusals.add(error) }
            }
        }
        #expect(refusals.all == [.permissionDenied, .permissionDenied])
        chmod(sandbox.at("d"), 0o755)
    }
}
