import Files
import NIOCore
import ProxyTestKit
import Substitution
import Testing

@testable import ForwardProxy

@Suite("The answers that an event loop has ready")
struct AnswerTableTests {
    private let folder = TemporaryFolder()
    private let store = RetainedFiles(now: { 0 })
    private let map = SubstitutionMap.load(text: "substitutions:\n  http://h.test/x: { text: x }\n").map

    private func answer(_ file: LoadedFile? = nil, size: Int = 10) throws -> ReadyAnswer {
        let options = try #require(map).rule(RuleID(0)).options
        var content = AnswerContent(
            bodies: [
                .init(coding: nil, etag: Array("\"t\"".utf8), size: size, bytes: ByteBuffer(repeating: 65, count: size))
            ],
            mediaType: Array("text/plain".utf8))
        content.file = file
        return ReadyAnswer(
            options: options, position: "m:1", content: content, identity: ProxyIdentity(random: 1), checkedAt: 0)
    }

    private func load(_ name: String) throws -> LoadedFile {
        try folder.write(name, "text")
        return try store.load(FolderRoot(path: folder.path), Array(name.utf8))
    }

    private func with<Result>(_ text: String, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Array(text.utf8).withUnsafeBytes(body)
    }

    private func find(_ table: AnswerTable, _ url: String) -> ReadyAnswer? {
        with(url) { table.find(RuleID(1), url: $0) }
    }

    @Test("answers are found by rule, or by rule and URL")
    func finding() throws {
        let table = AnswerTable(limit: 1 << 20)
        let (one, two, three) = try (answer(), answer(), answer())
        table.insert(one, for: RuleID(1))
        with("a") { table.insert(two, for: RuleID(1), url: $0) }
        table.insert(three, for: RuleID(1))
        #expect(table.find(RuleID(1)) === three)
        #expect(find(table, "a") === two)
        #expect(find(table, "b") == nil)
        #expect(table.count == 2)
        table.remove(RuleID(1))
        with("a") { table.remove(RuleID(1), url: $0) }
        #expect(table.find(RuleID(1)) == nil && find(table, "a") == nil)
        #expect(table.count == 0 && table.bytes == 0)
    }

    @Test("the store's word that it gave a file up takes all answers of it, and no other")
    func evictions() throws {
        let table = AnswerTable(limit: 1 << 20)
        let (first, second) = (try load("f"), try load("g"))
        for url in ["a", "b", "c"] { try with(url) { try table.insert(answer(first), for: RuleID(1), url: $0) } }
        try with("d") { try table.insert(answer(second), for: RuleID(1), url: $0) }
        try table.insert(answer(first), for: RuleID(2))
        with("b") { table.remove(RuleID(1), url: $0) }
        table.remove(file: first.key)
        #expect(find(table, "a") == nil && find(table, "c") == nil && table.find(RuleID(2)) == nil)
        #expect(find(table, "d") != nil)
        #expect(table.count == 1)
        table.remove(file: second.key)
        #expect(table.bytes == 0)
    }

    @Test("ten thousand answers stay ready, and beyond the limit others go, one for one")
    func limit() throws {
        let table = AnswerTable(limit: 32 << 20)
        for number in 0..<10_000 { try with("\(number)") { try table.insert(answer(), for: RuleID(1), url: $0) } }
        #expect(table.count == 10_000)
        for number in 10_000..<20_000 {
            try with("\(number)") { try table.insert(answer(), for: RuleID(1), url: $0) }
        }
        #expect(table.bytes <= 32 << 20 && table.bytes > 31 << 20)
        #expect(find(table, "19999") != nil)
        try table.insert(answer(size: 8 << 20), for: RuleID(2))
        #expect(table.bytes <= 32 << 20 && table.find(RuleID(2)) != nil, "a body that is no file's counts too")
    }

    @Test("of one file no more answers are kept than go at once without being felt")
    func oneFile() throws {
        let table = AnswerTable(limit: 32 << 20)
        let (file, other) = (try load("f"), try load("g"))
        try with("other") { try table.insert(answer(other), for: RuleID(1), url: $0) }
        for number in 0..<5000 { try with("\(number)") { try table.insert(answer(file), for: RuleID(1), url: $0) } }
        #expect(table.count == 1025)
        #expect(find(table, "0") != nil && find(table, "4999") != nil && find(table, "other") != nil)
        for number in 0..<500 { with("\(number)") { table.remove(RuleID(1), url: $0) } }
        table.remove(file: file.key)
        #expect(table.count == 1)
    }

    @Test("a URL counts with its length, and a very long one has no answer kept")
    func longURLs() throws {
        let table = AnswerTable(limit: 32 << 20)
        let long = String(repeating: "x", count: 2000)
        try with("a") { try table.insert(answer(), for: RuleID(1), url: $0) }
        let short = table.bytes
        try with(long) { try table.insert(answer(), for: RuleID(1), url: $0) }
        #expect(table.bytes == 2 * short + 1999)
        try with(long + long) { try table.insert(answer(), for: RuleID(1), url: $0) }
        #expect(table.count == 2 && find(table, long) != nil)
    }

    @Test("a target is known when it comes again, until its answer is another one")
    func targets() throws {
        let table = AnswerTable(limit: 1 << 20)
        let url = ByteBuffer(string: "http://h.test/x")
        func note() { with("x") { part in with("target") { table.note(RuleID(1), url: part, for: $0, url: url) } } }
        func found() -> ReadyAnswer? { with("target") { table.find(target: $0)?.answer } }
        let file = try load("f")
        let first = try answer(file)
        with("x") { table.insert(first, for: RuleID(1), url: $0) }
        note()
        #expect(found() == nil, "once")
        note()
        #expect(found() === first)
        let second = try answer(file)
        with("x") { table.insert(second, for: RuleID(1), url: $0) }
        #expect(found() == nil)
        note()
        #expect(found() === second)
        table.remove(file: file.key)
        #expect(found() == nil)
    }

    @Test("as many targets are known as come again")
    func manyTargets() throws {
        let table = AnswerTable(limit: 1 << 30)
        let names = (0..<5000).map { "http://h.test/\($0)" }
        for name in names { try with(name) { try table.insert(answer(), for: RuleID(1), url: $0) } }
        for _ in 0..<30 {
            for name in names {
                with(name) { table.note(RuleID(1), url: $0, for: $0, url: ByteBuffer(string: name)) }
            }
        }
        let known = names.count { name in with(name) { table.find(target: $0) } != nil }
        #expect(known > 2500)
    }
}
