import NIOCore
import Testing

@testable import Files

struct RetentionRingTests {
    private func key(_ name: String) -> FileKey { FileKey(root: "/", path: name.bytes) }

    private func file(_ name: String) -> LoadedFile {
        LoadedFile(
            root: FolderRoot(path: "/"), path: name.bytes, mode: .retain, variants: [], seen: [], isSettled: true)
    }

    private func ring(_ names: [String]) -> RetentionRing {
        var ring = RetentionRing()
        for name in names { ring.insert(file(name), key(name), cost: 10) }
        return ring
    }

    @Test("Files leave in the order they came, those in use later")
    func order() {
        var ring = ring(["a", "b", "c", "d"])
        ring.markUsed(key("a"))
        ring.markUsed(key("c"))
        var gone: [String] = []
        while let key = ring.evict() { gone.append(String(decoding: key.path, as: UTF8.self)) }
        #expect(gone == ["b", "d", "a", "c"])
        #expect(ring.cost == 0 && ring.count == 0)
    }

    @Test("A crawl of many files leaves those in use alone")
    func scan() {
        var ring = ring(["hot1", "hot2", "x1", "x2"])
        for index in 0..<100 {
            ring.markUsed(key("hot1"))
            ring.markUsed(key("hot2"))
            #expect(ring.evict() != nil)
            ring.insert(file("cold\(index)"), key("cold\(index)"), cost: 10)
        }
        #expect(ring.file(key("hot1")) != nil)
        #expect(ring.file(key("hot2")) != nil)
        #expect(ring.count == 4)
        #expect(ring.cost == 40)
    }

    @Test("An eviction looks at a few entries only, however many are in use, and all get their turn")
    func boundedTurn() {
        let names = (0..<2000).map { "f\($0)" }
        var ring = ring(names)
        for name in names where name != "f1500" { ring.markUsed(key(name)) }
        var rounds = 0
        while ring.file(key("f1500")) != nil, rounds < names.count {
            let before = ring.passedCount
            #expect(ring.evict() != nil)
            #expect(ring.passedCount - before <= RetentionRing.maximumPassedCount)
            rounds += 1
        }
        // 128 that are in use are passed, and one is dropped, until the hand is there.
        #expect(rounds == 1500 / 129 + 1)
        var left = 0
        while ring.evict() != nil { left += 1 }
        #expect(left == names.count - rounds)
    }

    @Test("Entries that are removed and added leave a whole ring")
    func removals() {
        var ring = ring(["a", "b", "c", "d", "e"])
        #expect(ring.evict() == key("a"))
        ring.remove(key("b"))
        ring.remove(key("d"))
        ring.insert(file("f"), key("f"), cost: 10)
        ring.insert(file("c"), key("c"), cost: 10)
        var gone: [String] = []
        while let key = ring.evict() { gone.append(String(decoding: key.path, as: UTF8.self)) }
        #expect(gone == ["e", "f", "c"])
        ring.insert(file("g"), key("g"), cost: 10)
        #expect(ring.evict() == key("g"))
        #expect(ring.cost == 0)
    }

    @Test("An entry that comes again replaces the old one")
    func replacement() {
        var ring = ring(["a"])
        let newer = file("a")
        ring.insert(newer, key("a"), cost: 7)
        #expect(ring.count == 1)
        #expect(ring.cost == 7)
        #expect(ring.file(key("a")) === newer)
        #expect(ring.remove(key("a")) === newer)
        #expect(ring.remove(key("a")) == nil)
        #expect(ring.evict() == nil)
    }

    @Test("Keys are compared by bytes")
    func keys() {
        #expect(FileKey(root: "/caf\u{E9}", path: []) != FileKey(root: "/cafe\u{301}", path: []))
        #expect(FileKey(root: "/a", path: "b".bytes) == FileKey(root: "/a", path: "b".bytes))
        #expect(FileKey(root: "/a", path: "b".bytes) != FileKey(root: "/a", path: "B".bytes))
    }
}
