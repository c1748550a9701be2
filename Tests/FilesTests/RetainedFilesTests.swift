import Glibc
import NIOCore
import Testing

@testable import Files

struct RetainedFilesTests {
    private let sandbox = FileSandbox()
    private let clock = SettableClock()
    private let evicted = Collected<String>()

    private func store(
        memory: Int = 1 << 20, file: Int = 1 << 16, read: @escaping PositionedRead = systemRead
    ) -> RetainedFiles {
        RetainedFiles(
            limits: RetentionLimits(memory: memory, file: file), now: clock.read,
            onEvict: { [evicted] in evicted.add(String(decoding: $0.path, as: UTF8.self)) }, read: read)
    }

    @Test("A file is read once and then given from memory")
    func retaining() throws {
        sandbox.write("text", to: "d/f")
        let store = store()
        let root = sandbox.root
        let first = try store.load(root, "d/f".bytes)
        #expect(first.text == "text")
        #expect(try store.load(root, "d//./f".bytes) === first)
        #expect(store.recheck(first).name == "current")
        #expect(store.holds(first))
        #expect(store.statistics == .init(entries: 1, pinnedEntries: 0, bytes: 1028, evictions: 0, loads: 1))
        #expect(sandbox.openDescriptors == 1, "the root's own")
    }

    @Test("An edit shows in the next check and the next load")
    func edits() throws {
        sandbox.write("one", to: "f")
        let store = store()
        let root = sandbox.root
        let first = try store.load(root, "f".bytes)
        sandbox.passTick()
        sandbox.write("two", to: "f")
        #expect(store.recheck(first).name == "changed: two")
        sandbox.passTick()
        sandbox.write("three", to: "tmp")
        sandbox.rename("tmp", to: "f")
        let third = try store.load(root, "f".bytes)
        #expect(third.text == "three")
        #expect(third.tags != first.tags)
        #expect(!store.holds(first))
        #expect(evicted.all == ["f", "f"], "tables may hold the old states")
        #expect(store.statistics.entries == 1)
        #expect(store.statistics.bytes == 1029)
    }

    @Test("An edit of equal size with the old time of modification shows")
    func restoredTime() throws {
        sandbox.write("one", to: "f")
        sandbox.setModified("f", seconds: 1000)
        let store = store()
        let first = try store.load(sandbox.root, "f".bytes)
        sandbox.passTick()
        sandbox.write("two", to: "f")
        sandbox.setModified("f", seconds: 1000)
        #expect(store.recheck(first).name == "changed: two")
    }

    @Test("A touch alone is a change of Last-Modified, and the bytes are shared")
    func touch() throws {
        sandbox.write("one", to: "f")
        let store = store()
        let first = try store.load(sandbox.root, "f".bytes)
        sandbox.setModified("f", seconds: 1000)
        guard case .changed(let touched) = store.recheck(first) else {
            Issue.record("not changed")
            return
        }
        #expect(touched.variants[0].lastModified == 1000)
        #expect(touched.tags == first.tags)
        let addresses = [first, touched].map { file in
            file.variants[0].body?.withUnsafeReadableBytes { $0.baseAddress.map(UInt.init(bitPattern:)) }
        }
        #expect(addresses[0] == addresses[1])
    }

    @Test("A write that the times don't show is found while the file is not settled")
    func racyWrite() throws {
        sandbox.write("....", to: "f")
        let content = Collected<String>()
        content.add("old!")
        let reads = Collected<Int>()
        let store = store { _, space, offset in
            reads.add(offset)
            let bytes = (content.all.last ?? "").bytes.dropFirst(offset)
            space.copyBytes(from: bytes)
            return bytes.count
        }
        let root = sandbox.root
        clock.set(sandbox.identity("f").changed)
        let first = try store.load(root, "f".bytes)
        #expect(first.text == "old!")
        #expect(!first.isSettled)
        #expect(store.recheck(first).name == "current", "read again, and the same")
        #expect(reads.all.count == 2)
        content.add("new!")
        guard case .changed(let second) = store.recheck(first) else {
            Issue.record("not changed")
            return
        }
        #expect(second.text == "new!")
        var later = sandbox.identity("f").changed
        later.seconds += 3
        clock.set(later)
        guard case .current(let settled) = store.recheck(second) else {
            Issue.record("not current")
            return
        }
        #expect(settled.isSettled)
        let before = reads.all.count
        #expect(store.recheck(settled).name == "current")
        #expect(reads.all.count == before, "settled: not read any more")
    }

    @Test("A file that goes is gone, and comes back")
    func vanishing() throws {
        sandbox.write("one", to: "f")
        let store = store()
        let root = sandbox.root
        let first = try store.load(root, "f".bytes)
        sandbox.remove("f")
        #expect(store.recheck(first).name == "gone: no such file")
        #expect(evicted.all == ["f"])
        #expect(store.statistics.entries == 0 && store.statistics.bytes == 0)
        #expect(throws: FileRefusal.notFound) { try store.load(root, "f".bytes) }
        sandbox.passTick()
        sandbox.write("two", to: "f")
        #expect(store.recheck(first).name == "changed: two")
    }

    @Test("A path that now goes through a link is gone")
    func linked() throws {
        sandbox.write("one", to: "f")
        let store = store()
        let first = try store.load(sandbox.root, "f".bytes)
        sandbox.rename("f", to: "g")
        sandbox.link("f", to: "g")
        #expect(store.recheck(first).name == "gone: the path goes through a symbolic link")
    }

    @Test("A root that is replaced gives the new root's file")
    func replacedRoot() throws {
        sandbox.write("one", to: "root/f")
        let store = store()
        let root = FolderRoot(path: sandbox.at("root"))
        let first = try store.load(root, "f".bytes)
        sandbox.rename("root", to: "old")
        sandbox.write("two", to: "root/f")
        #expect(store.recheck(first).name == "changed: two")
    }

    @Test("Siblings that come, go or grow stale are changes")
    func siblings() throws {
        sandbox.write("text", to: "f")
        let store = store()
        let first = try store.load(sandbox.root, "f".bytes)
        sandbox.write("br", to: "f.br")
        guard case .changed(let second) = store.recheck(first) else {
            Issue.record("not changed")
            return
        }
        #expect(second.variants.count == 2)
        sandbox.setModified("f.br", seconds: 1000)
        guard case .changed(let third) = store.recheck(second) else {
            Issue.record("not changed")
            return
        }
        #expect(third.variants.count == 1)
    }

    @Test("A path that ends in a slash is no file, also when the file is in memory")
    func trailingSlash() throws {
        sandbox.write("text", to: "f")
        let store = store()
        _ = try store.load(sandbox.root, "f".bytes)
        #expect(throws: FileRefusal.notFound) { try store.load(sandbox.root, "f/".bytes) }
        #expect(throws: FileRefusal.notRegularFile(.directory)) { try store.load(sandbox.root, []) }
    }

    @Test("Files leave memory when the limit is reached, the used ones last")
    func eviction() throws {
        for name in ["a", "b", "c", "d"] { sandbox.write([UInt8](repeating: 1, count: 976), to: name) }
        let store = store(memory: 6000)
        let root = sandbox.root
        let a = try store.load(root, "a".bytes)
        let b = try store.load(root, "b".bytes)
        _ = try store.load(root, "c".bytes)
        #expect(store.statistics.bytes == 6000)
        #expect(store.recheck(a).name == "current")
        _ = try store.load(root, "d".bytes)
        #expect(evicted.all == ["b"])
        #expect(store.holds(a) && !store.holds(b))
        #expect(store.statistics == .init(entries: 3, pinnedEntries: 0, bytes: 6000, evictions: 1, loads: 4))
        #expect(store.recheck(b).name == "current", "the caller's copy is as good as before")
    }

    @Test("A file that does not fit is given and not kept; one over the file limit is streamed")
    func tooLarge() throws {
        sandbox.write([UInt8](repeating: 1, count: 5000), to: "large")
        sandbox.write([UInt8](repeating: 1, count: 20_000), to: "huge")
        let store = store(memory: 5000, file: 10_000)
        let large = try store.load(sandbox.root, "large".bytes)
        #expect(large.variants[0].body?.readableBytes == 5000)
        #expect(!store.holds(large))
        let huge = try store.load(sandbox.root, "huge".bytes)
        #expect(huge.variants[0].body == nil)
        #expect(store.statistics.entries == 0 && store.statistics.bytes == 0)
        #expect(store.recheck(huge).name == "current")
        #expect(store.recheck(large).name == "current")
    }

    @Test("A retained file that grows over the limit leaves memory")
    func growth() throws {
        sandbox.write("text", to: "f")
        let store = store(memory: 5000, file: 10_000)
        let first = try store.load(sandbox.root, "f".bytes)
        sandbox.write([UInt8](repeating: 1, count: 6000), to: "f")
        #expect(store.recheck(first).name.hasPrefix("changed"))
        #expect(store.statistics.entries == 0 && store.statistics.bytes == 0)
        #expect(evicted.all == ["f"])
    }

    @Test("A pinned file stays as first read, whatever becomes of it")
    func pinned() throws {
        sandbox.write("one", to: "f")
        let store = store()
        let root = sandbox.root
        let first = try store.load(root, "f".bytes, mode: .pinned)
        #expect(first.isPinned)
        sandbox.write("two", to: "f")
        #expect(store.recheck(first).name == "current")
        #expect(try store.load(root, "f".bytes).text == "two", "another rule retains it")
        sandbox.remove("f")
        #expect(store.recheck(first).name == "current")
        #expect(try store.load(root, "f".bytes, mode: .pinned) === first)
        #expect(throws: FileRefusal.notFound) { try store.load(root, "f".bytes) }
        #expect(store.statistics.pinnedEntries == 1)
    }

    @Test("Pinned files are counted and never evicted; retained ones make room")
    func pinnedMemory() throws {
        for name in ["a", "b", "c"] { sandbox.write([UInt8](repeating: 1, count: 976), to: name) }
        let store = store(memory: 3000)
        let root = sandbox.root
        let a = try store.load(root, "a".bytes)
        let b = try store.load(root, "b".bytes, mode: .pinned)
        #expect(evicted.all == ["a"])
        #expect(try !store.holds(store.load(root, "a".bytes)), "no room beside the pinned one")
        _ = try store.load(root, "c".bytes, mode: .pinned)
        #expect(store.holds(b) && !store.holds(a))
        #expect(store.statistics == .init(entries: 2, pinnedEntries: 2, bytes: 4000, evictions: 1, loads: 4))
        store.drop { $0.path == "b".bytes }
        #expect(!store.holds(b))
        #expect(store.statistics.bytes == 2000)
        #expect(evicted.all == ["a", "b"])
        store.drop { $0.path == "c".bytes }
        let retained = try store.load(root, "a".bytes)
        #expect(store.holds(retained))
        store.drop { $0.path == "a".bytes }
        #expect(!store.holds(retained), "one that is not pinned goes too")
        #expect(store.statistics.entries == 0)
    }

    @Test("Content that was made is pinned only within the memory, and keeps its note")
    func pinnedContent() throws {
        let store = store(memory: 3 * 2024)
        let root = sandbox.root
        let content = MadeContent(coding: nil, etag: [], body: ByteBuffer(bytes: [UInt8](repeating: 1, count: 900)))
        for name in ["a", "b", "c", "d"] {
            _ = store.keep([content], as: name.bytes, below: root, mode: .pinned, note: MadeNote(name, cost: 100))
        }
        #expect(store.statistics.pinnedEntries == 3 && store.statistics.bytes <= 3 * 2024)
        #expect(store.kept(as: "b".bytes, below: root)?.note?.value as? String == "b")
        #expect(store.kept(as: "d".bytes, below: root) == nil)
    }

    @Test("A file too large to be kept can't be pinned")
    func unpinnable() throws {
        sandbox.write("large", to: "f")
        let store = store(file: 3)
        let file = try store.load(sandbox.root, "f".bytes, mode: .pinned)
        #expect(!file.isPinned)
        #expect(store.recheck(file).name == "current")
        sandbox.remove("f")
        #expect(store.recheck(file).name == "gone: no such file")
    }

    @Test("What is not to be kept is checked and streamed, and not in memory")
    func unretained() throws {
        sandbox.write("text", to: "f")
        let store = store()
        let file = try store.load(sandbox.root, "f".bytes, mode: .none)
        #expect(store.statistics.entries == 0)
        #expect(store.recheck(file).name == "current")
        let stream = try #require(try store.open(file.variants[0], of: file))
        #expect(try stream.next() == ByteBuffer(string: "text"))
        sandbox.append("!", to: "f")
        #expect(try store.open(file.variants[0], of: file) == nil, "another state: announced sizes would be wrong")
        #expect(store.recheck(file).name == "changed: streamed")
    }

    @Test("An encoded sibling is opened by its own name")
    func streamedSibling() throws {
        sandbox.write("plain text", to: "d/f")
        sandbox.write("brotli", to: "d/f.br")
        let store = store(file: 1)
        let file = try store.load(sandbox.root, "d/f".bytes)
        let stream = try #require(try store.open(file.variants[1], of: file))
        #expect(try stream.next() == ByteBuffer(string: "brotli"))
    }

    @Test("Loads of a file at the same time are one reading")
    func coalescing() throws {
        sandbox.write("text", to: "f")
        let started = Collected<Int>()
        let reads = Collected<Int>()
        let gate = Completion<Bool>()
        let store = store { descriptor, space, offset in
            reads.add(offset)
            _ = gate.wait()
            return systemRead(descriptor, space, offset)
        }
        let root = sandbox.root
        let loaded = Collected<LoadedFile?>()
        onThreads(8) { _ in
            started.add(1)
            if started.all.count == 8 { gate.complete(true) }
            loaded.add(try? store.load(root, "f".bytes))
        }
        #expect(loaded.all.compactMap { $0?.text } == Array(repeating: "text", count: 8))
        #expect(Set(loaded.all.compactMap { $0.map(ObjectIdentifier.init) }).count == 1)
        #expect(reads.all == [0])
        #expect(store.statistics.loads == 1)
    }

    @Test("Different files are read in parallel")
    func parallelReads() throws {
        sandbox.write("slow", to: "slow")
        sandbox.write("quick!", to: "quick")
        let quickIsRead = Completion<Bool>()
        let slowHasBegun = Completion<Bool>()
        let store = store { descriptor, space, offset in
            if space.count == 4 {
                slowHasBegun.complete(true)
                _ = quickIsRead.wait()
            }
            return systemRead(descriptor, space, offset)
        }
        let root = sandbox.root
        let texts = Collected<String?>()
        let slow = startThread(0) { _ in texts.add((try? store.load(root, "slow".bytes))?.text) }
        _ = slowHasBegun.wait()
        texts.add(try store.load(root, "quick".bytes).text)
        #expect(store.statistics.entries == 1, "the lock is free while a file is read")
        quickIsRead.complete(true)
        pthread_join(slow, nil)
        #expect(texts.all == ["quick!", "slow"])
    }

    @Test("An error of a reading is everybody's, and the next load tries again")
    func failing() throws {
        sandbox.write("text", to: "f")
        let fails = Collected<Bool>()
        let store = store { descriptor, space, offset in
            fails.all.isEmpty ? -Int(EIO) : systemRead(descriptor, space, offset)
        }
        #expect(throws: FileRefusal.io(errno: EIO)) { try store.load(sandbox.root, "f".bytes) }
        fails.add(false)
        #expect(try store.load(sandbox.root, "f".bytes).text == "text")
    }

    @Test("Threads that load, check and edit at once end with what is on disk and with exact accounts")
    func storm() throws {
        let names = (0..<6).map { "f\($0)" }
        for name in names { sandbox.write([UInt8](repeating: 1, count: 500), to: name) }
        let store = store(memory: 5000)
        let root = sandbox.root
        let sandbox = sandbox
        onThreads(4) { thread in
            for turn in 0..<200 {
                let name = names[(turn &* 7 &+ thread) % names.count]
                if thread == 0, turn.isMultiple(of: 5) {
                    sandbox.write([UInt8](repeating: 2, count: 400 &+ turn), to: "tmp")
                    sandbox.rename("tmp", to: name)
                }
                guard let file = try? store.load(root, name.bytes) else { continue }
                _ = store.recheck(file)
            }
        }
        var bytes = 0
        for name in names {
            let file = try store.load(root, name.bytes)
            #expect(file.variants[0].size == sandbox.identity(name).size)
            #expect(file.variants[0].body?.readableBytes == file.variants[0].size)
        }
        for name in names {
            let file = try store.load(root, name.bytes)
            bytes = max(bytes, store.statistics.bytes)
            #expect(store.holds(file))
        }
        #expect(bytes <= 5000)
        #expect(store.statistics.entries > 0)
    }
}
