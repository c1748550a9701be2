import Glibc
import Testing

@testable import Files

/// Linux 5.12, and no filter; the folder of the tests on a file system that is known to be local.
private let loopsLook: Bool = {
    let sandbox = FileSandbox()
    sandbox.write("text", to: "f")
    let file = try? RetainedFiles(now: SettableClock().read).load(sandbox.root, "f".bytes)
    return file?.folder != nil && CachedState.of("/", in: AT_FDCWD, resolve: 0) != nil
}()

@Suite(
    "Looks that wait for nothing",
    .enabled(if: loopsLook, "kernel: openat2(2) with RESOLVE_CACHED, a local file system in /tmp"))
struct CachedStateTests {
    private let sandbox = FileSandbox()
    private let clock = SettableClock()
    private let store: RetainedFiles

    init() {
        store = RetainedFiles(
            limits: RetentionLimits(memory: 1 << 20, file: 1 << 16), now: clock.read, onEvict: { _ in },
            read: systemRead)
        sandbox.write("text", to: "a/d/f")
        sandbox.write("other", to: "a/d/g.gz")
        sandbox.write("short", to: "a/d/g")
    }

    private static let second: UInt64 = 1_000_000_000

    private func store(places: Int) -> RetainedFiles {
        RetainedFiles(
            limits: RetentionLimits(memory: 1 << 20, file: 1 << 16), now: clock.read, onEvict: { _ in },
            read: systemRead, looks: DescriptorPlaces(places))
    }

    @Test("What is unchanged is known to be, with one descriptor more, which goes with the file")
    func unchanged() throws {
        let root = sandbox.root
        do {
            let store = store(places: 1)
            let file = try store.load(root, "a/d/f".bytes)
            #expect(sandbox.openDescriptors == 1, "the root's own")
            for time in [5, 6, 16, 17] as [UInt64] {
                #expect(store.glance(at: file, now: time * Self.second) == time * Self.second)
                #expect(sandbox.openDescriptors == 2)
            }
        }
        #expect(sandbox.openDescriptors == 1)
    }

    @Test("Without room for a descriptor it is known too, and a file that goes gives its room to another")
    func room() throws {
        let root = sandbox.root
        let store = store(places: 1)
        var file: LoadedFile? = try store.load(root, "a/d/f".bytes)
        #expect(file.flatMap { store.glance(at: $0, now: Self.second) } != nil)
        sandbox.write("new", to: "a/e")
        let third = try store.load(root, "a/e".bytes)
        #expect(store.glance(at: third, now: Self.second) != nil)
        #expect(third.descriptor(at: Self.second) == nil)
        file = nil
        sandbox.remove("a/d/f")
        #expect(throws: FileRefusal.notFound) { try store.load(root, "a/d/f".bytes) }
        #expect(store.glance(at: third, now: 3 * Self.second) != nil)
        #expect(third.descriptor(at: 3 * Self.second) != nil)
    }

    @Test("A file with an encoded sibling is looked at by its path")
    func siblingsByPath() throws {
        let file = try store.load(sandbox.root, "a/d/g".bytes)
        #expect(store.glance(at: file, now: Self.second) != nil)
        #expect(file.descriptor(at: Self.second) == nil)
    }

    @Test("One look at a folder serves its files for ten milliseconds, and they are known since then")
    func shared() throws {
        let root = sandbox.root
        let first = try store.load(root, "a/d/f".bytes)
        let second = try store.load(root, "a/d/g".bytes)
        #expect(store.glance(at: first, now: 1_000_000_000) == 1_000_000_000)
        #expect(store.glance(at: second, now: 1_009_999_999) == 1_000_000_000)
        #expect(store.glance(at: second, now: 1_010_000_000) == 1_010_000_000)
    }

    /// What is done to the file `a/d/f` or around it, and what it is then.
    enum Edit: String, CaseIterable {
        case inPlace, sameSize, replaced, removed, linked, becameFolder
        case siblingCame, folderRenamed, folderReplaced, aboveRenamed, aboveReplaced, folderLinked

        var expected: String {
            switch self {
            case .inPlace, .replaced, .folderReplaced, .aboveReplaced: "changed: edited"
            case .sameSize: "changed: TEXT"
            case .siblingCame: "changed: text"
            case .linked, .folderLinked: "gone: the path goes through a symbolic link"
            case .removed, .folderRenamed, .aboveRenamed: "gone: no such file"
            case .becameFolder: "gone: not a regular file but a folder"
            }
        }
    }

    private func perform(_ edit: Edit) {
        switch edit {
        case .inPlace: sandbox.write("edited", to: "a/d/f")
        case .sameSize: sandbox.write("TEXT", to: "a/d/f")
        case .replaced:
            sandbox.write("edited", to: "new")
            sandbox.rename("new", to: "a/d/f")
        case .removed: sandbox.remove("a/d/f")
        case .linked:
            sandbox.rename("a/d/f", to: "a/d/h")
            sandbox.link("a/d/f", to: "h")
        case .becameFolder:
            sandbox.remove("a/d/f")
            sandbox.makeFolder("a/d/f")
        case .siblingCame: sandbox.write("packed", to: "a/d/f.gz")
        case .folderRenamed: sandbox.rename("a/d", to: "a/e")
        case .folderReplaced:
            sandbox.write("edited", to: "a/e/f")
            sandbox.exchange("a/d", "a/e")
        case .aboveRenamed: sandbox.rename("a", to: "b")
        case .aboveReplaced:
            sandbox.write("edited", to: "b/d/f")
            sandbox.exchange("a", "b")
        case .folderLinked:
            sandbox.rename("a/d", to: "a/e")
            sandbox.link("a/d", to: "e")
        }
    }

    /// How a file is asked for its state: by a descriptor of its own, or where there is no room for one by its path,
    /// for which the kernel has to promise not to wait, or has done so lately.
    enum Way: CaseIterable {
        case descriptor, pathAfterDescriptor, pathLately, path

        var since: UInt64 {
            switch self {
            case .descriptor: CachedState.leadsThereFor - 1
            case .pathAfterDescriptor: CachedState.leadsThereFor
            case .pathLately: CachedState.staysFor - 1
            case .path: CachedState.staysFor
            }
        }
    }

    @Test("An edit shows, in the file or on the way to it", arguments: Edit.allCases, Way.allCases)
    func edits(_ edit: Edit, _ way: Way) throws {
        let isHeld = way == .descriptor || way == .pathAfterDescriptor
        let store = store(places: isHeld ? 1 : 0)
        let file = try store.load(sandbox.root, "a/d/f".bytes)
        #expect(store.glance(at: file, now: Self.second) != nil)
        #expect((file.descriptor(at: Self.second) != nil) == isHeld)
        let later = Self.second + way.since
        #expect((file.descriptor(at: later) != nil) == (way == .descriptor))
        #expect(file.wasInKernel(at: later) == (way == .pathLately))
        sandbox.passTick()
        perform(edit)
        #expect(store.glance(at: file, now: later) == nil)
        #expect(store.recheck(file).name.hasPrefix(edit.expected), "\(store.recheck(file).name)")
    }

    @Test("Another folder in the root's place shows, and so does a root that has gone")
    func root() throws {
        let root = FolderRoot(path: sandbox.at("a"))
        let file = try store.load(root, "d/f".bytes)
        #expect(store.glance(at: file, now: Self.second) != nil)
        sandbox.write("edited", to: "b/d/f")
        sandbox.exchange("a", "b")
        #expect(store.glance(at: file, now: 2 * Self.second) == nil)
        #expect(store.recheck(file).name == "changed: edited")
        let other = try store.load(root, "d/f".bytes)
        #expect(store.glance(at: other, now: 3 * Self.second) != nil)
        sandbox.rename("a", to: "c")
        #expect(store.glance(at: other, now: 4 * Self.second) == nil)
    }

    @Test("An edit of a sibling shows, and so does its removal")
    func siblings() throws {
        let file = try store.load(sandbox.root, "a/d/g".bytes)
        #expect(file.variants.count == 2)
        #expect(store.glance(at: file, now: Self.second) != nil)
        sandbox.passTick()
        sandbox.write("OTHER", to: "a/d/g.gz")
        #expect(store.glance(at: file, now: 2 * Self.second) == nil)
        let edited = try store.load(sandbox.root, "a/d/g".bytes)
        #expect(store.glance(at: edited, now: 3 * Self.second) != nil)
        sandbox.passTick()
        sandbox.remove("a/d/g.gz")
        #expect(store.glance(at: edited, now: 4 * Self.second) == nil)
    }

    @Test("Another name in the folder is looked at once, and then known")
    func otherName() throws {
        let file = try store.load(sandbox.root, "a/d/f".bytes)
        sandbox.passTick()
        sandbox.write("new", to: "a/d/n")
        #expect(store.glance(at: file, now: Self.second) == nil, "it could be a sibling")
        #expect(store.recheck(file).name == "current")
        #expect(store.glance(at: file, now: 2 * Self.second) == 2 * Self.second)
    }

    @Test("A file that was written a moment ago, or whose folder was, is not known before times tell")
    func unsettled() throws {
        clock.set(sandbox.identity("a/d").changed)
        let file = try store.load(sandbox.root, "a/d/f".bytes)
        #expect(store.glance(at: file, now: Self.second) == nil)
        #expect(store.recheck(file).name == "current")
        #expect(store.glance(at: file, now: 2 * Self.second) == nil)
        var later = sandbox.identity("a/d").changed
        later.seconds += 3
        clock.set(later)
        guard case .current(let settled) = store.recheck(file) else {
            Issue.record("not current")
            return
        }
        #expect(store.recheck(settled).name == "current")
        #expect(store.glance(at: settled, now: 3 * Self.second) != nil)
    }

    @Test("A file that a loop has looked at is in use, and is dropped later")
    func use() throws {
        let store = RetainedFiles(
            limits: RetentionLimits(memory: 2 * (RetainedFiles.entryCost + 10)), now: clock.read,
            onEvict: { _ in }, read: systemRead)
        let root = sandbox.root
        for name in ["f1", "f2", "f3"] { sandbox.write("text", to: name) }
        let first = try store.load(root, "f1".bytes)
        let second = try store.load(root, "f2".bytes)
        #expect(store.glance(at: first, now: Self.second) != nil)
        _ = try store.load(root, "f3".bytes)
        #expect(store.holds(first))
        #expect(!store.holds(second))
    }

    @Test("Files of a file system that may make a loop wait are not looked at")
    func otherFileSystem() throws {
        let file = try store.load(FolderRoot(path: "/proc"), "filesystems".bytes)
        #expect(store.glance(at: file, now: Self.second) == nil)
    }

    @Test("Where component by component is looked up, no loop looks")
    func withoutOpenat2() throws {
        let file = try store.load(FolderRoot(path: sandbox.path, usesOpenat2: false), "a/d/f".bytes)
        #expect(store.glance(at: file, now: Self.second) == nil)
        #expect(store.recheck(file).name == "current")
    }
}
