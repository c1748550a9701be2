import Glibc
import HTTPSemantics
import NIOCore
import Testing

@testable import Files

struct FileLoaderTests {
    private let sandbox = FileSandbox()
    private let clock = SettableClock()

    private func loader(limit: Int = 1 << 20) -> FileLoader {
        FileLoader(bodies: FileBodyReader(limit: limit, read: systemRead), now: clock.read)
    }

    private func load(
        _ path: String, limit: Int = 1 << 20, mode: RetentionMode = .retain
    ) throws(FileRefusal) -> LoadedFile {
        try loader(limit: limit).load(sandbox.root, try RelativePath(path.bytes), mode: mode)
    }

    @Test("Encoded siblings are found, the file itself first")
    func siblings() throws {
        for name in ["a.js", "a.js.gz", "a.js.br", "a.js.zst"] { sandbox.write("same", to: name) }
        let file = try load("a.js")
        #expect(file.variants.map(\.coding) == [nil, .brotli, .zstandard, .gzip])
        #expect(Set(file.variants.map(\.etag)).count == 4, "equal bytes, different representations")
        #expect(file.variants.allSatisfy { $0.size == 4 && $0.body?.readableBytes == 4 })
        #expect(file.isSettled && file.isInMemory)
    }

    @Test("A sibling more than two seconds older than its file is stale", arguments: [(8, true), (7, false)])
    func stale(seconds: Int, isServed: Bool) throws {
        sandbox.write("new", to: "a.js")
        sandbox.write("old", to: "a.js.br")
        sandbox.setModified("a.js", seconds: 10)
        sandbox.setModified("a.js.br", seconds: seconds)
        #expect(try load("a.js").variants.count == (isServed ? 2 : 1))
        #expect(try load("a.js").variants[0].lastModified == 10)
    }

    @Test("A sibling that stayed as it was while the file was edited is stale, however little older it is")
    func outdated() throws {
        let path = try RelativePath("a.js".bytes)
        sandbox.write("old", to: "a.js")
        sandbox.write("old, coded", to: "a.js.br")
        sandbox.setModified("a.js", seconds: 10)
        sandbox.setModified("a.js.br", seconds: 10)
        let first = try load("a.js")
        #expect(first.variants.count == 2)
        sandbox.write("new", to: "a.js")
        sandbox.setModified("a.js", seconds: 11)
        let edited = try loader().load(sandbox.root, path, mode: .retain, after: first)
        #expect(edited.variants.count == 1)
        // So it stays, whatever is looked at again, until the sibling is made anew.
        #expect(try loader().load(sandbox.root, path, mode: .retain, after: edited).variants.count == 1)
        sandbox.passTick()
        sandbox.write("new, coded", to: "a.js.br")
        sandbox.setModified("a.js.br", seconds: 10)
        #expect(try loader().load(sandbox.root, path, mode: .retain, after: edited).variants.count == 2)
    }

    @Test("Siblings that are links, folders, empty or not to be read are passed over")
    func unfitSiblings() throws {
        sandbox.write("file", to: "a.js")
        sandbox.link("a.js.br", to: "/etc/passwd")
        sandbox.makeFolder("a.js.zst")
        sandbox.write("", to: "a.js.gz")
        #expect(try load("a.js").variants.count == 1)
    }

    @Test("A name too long for a sibling has none")
    func longName() throws {
        let name = String(repeating: "x", count: 254)
        sandbox.write("file", to: name)
        #expect(try load(name).variants.count == 1)
    }

    @Test("An empty file is a file")
    func empty() throws {
        sandbox.write("", to: "f")
        let file = try load("f")
        #expect(file.variants[0].size == 0)
        #expect(file.variants[0].body?.readableBytes == 0)
        #expect(file.tags[0].count == 26)
    }

    @Test("A huge file is streamed and never read")
    func sparse() throws {
        sandbox.truncate("f", to: 5 << 30)
        let file = try load("f")
        #expect(file.variants[0].size == 5_368_709_120)
        #expect(file.variants[0].body == nil)
        #expect(!file.isPinned)
    }

    @Test("What is not to be kept is not read")
    func modeNone() throws {
        sandbox.write("text", to: "f")
        let file = try load("f", mode: .none)
        #expect(file.variants[0].body == nil)
        #expect(file.variants[0].size == 4)
    }

    @Test("The tag of a streamed file that may still change unseen is used once")
    func salt() throws {
        sandbox.write("text", to: "f")
        let settled = try load("f", mode: .none)
        clock.set(sandbox.identity("f").changed)
        let fresh = try load("f", mode: .none)
        #expect(!fresh.isSettled)
        #expect(fresh.tags != settled.tags)
        #expect(try load("f", mode: .none).tags == fresh.tags, "the same reading of the clock")
    }

    @Test("The tag of content follows the content alone")
    func contentTag() throws {
        sandbox.write("text", to: "f")
        let first = try load("f")
        sandbox.setModified("f", seconds: 5)
        let touched = try load("f")
        #expect(touched.tags == first.tags)
        #expect(!touched.answersLike(first), "Last-Modified is another")
        sandbox.write("tixt", to: "f")
        #expect(try load("f").tags != first.tags)
    }

    @Test("Whatever changes beside or in the file shows in a check")
    func checks() throws {
        let changes: [(String, (FileSandbox) -> Void)] = [
            ("edit", { $0.append("!", to: "d/a.js") }),
            ("touch", { $0.setModified("d/a.js", seconds: 77) }),
            (
                "rename over",
                {
                    $0.write("new!", to: "tmp"); $0.rename("tmp", to: "d/a.js")
                }
            ),
            ("sibling comes", { $0.write("br", to: "d/a.js.br") }),
            ("sibling changes", { $0.append("gz", to: "d/a.js.gz") }),
            ("sibling goes", { $0.remove("d/a.js.gz") }),
            ("stale sibling changes", { $0.write("zst", to: "d/a.js.zst") }),
            (
                "folder replaced",
                {
                    $0.rename("d", to: "old"); $0.write("same", to: "d/a.js")
                }
            ),
        ]
        for (name, change) in changes {
            let sandbox = FileSandbox()
            sandbox.write("same", to: "d/a.js")
            sandbox.write("gzip", to: "d/a.js.gz")
            sandbox.write("old", to: "d/a.js.zst")
            sandbox.setModified("d/a.js.zst", seconds: 5)
            let loaded = try loader().load(sandbox.root, try RelativePath("d/a.js".bytes), mode: .retain)
            #expect(try loader().isCurrent(loaded), "\(name)")
            change(sandbox)
            #expect(try !loader().isCurrent(loaded), "\(name)")
        }
    }

    @Test("A path that has become a link or leads through one is refused by a check")
    func checkedLinks() throws {
        sandbox.write("text", to: "d/f")
        let loaded = try load("d/f")
        sandbox.rename("d/f", to: "d/g")
        sandbox.link("d/f", to: "g")
        #expect(throws: FileRefusal.symbolicLink) { try loader().isCurrent(loaded) }
        sandbox.remove("d/f")
        sandbox.rename("d/g", to: "d/f")
        sandbox.rename("d", to: "e")
        sandbox.link("d", to: "e")
        #expect(throws: FileRefusal.symbolicLink) { try loader().isCurrent(loaded) }
    }
}
