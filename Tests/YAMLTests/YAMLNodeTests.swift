import Diagnostics
import Testing
import YAML

@Suite("A tree")
struct YAMLNodeTests {
    @Test("keeps order and spans")
    func order() throws {
        let source = [UInt8]("z: 1\na:\n  - x\n  - {y: [w]}\n\n# comment\nlast: |\n  t\n")
        let root = try #require(try YAMLNode.parse(source))
        #expect(root.entries?.compactMap { $0.key.scalar?.string } == ["z", "a", "last"])
        let list = try #require(root["a"])
        #expect(text(of: list.span, in: source) == "- x\n  - {y: [w]}")
        #expect(list.elements?.map { text(of: $0.span, in: source) } == ["x", "{y: [w]}"])
        #expect(list.elements?.last?["y"].map { text(of: $0.span, in: source) } == "[w]")
        #expect(root["missing"] == nil)
        #expect(list["a"] == nil)
        #expect(root.scalar == nil && root.elements == nil && list.entries == nil)
    }

    @Test(
        "is nil for a source without a value",
        arguments: ["", "\n\n", "# a\n# b", "---\n", "--- # c\n...\n", "\u{FEFF}"])
    func empty(source: String) throws {
        #expect(try YAMLNode.parse([UInt8](source)) == nil)
    }

    @Test(
        "says what it is",
        arguments: [
            ("null", "null"), ("''", "text"), ("a", "text"), ("[a]", "a list"), ("- a", "a list"),
            ("a: b", "a mapping"),
            ("{}", "a mapping"), ("[]", "a list"), ("7", "an integer"), ("9999999999999999999", "an integer"),
            ("1.5", "a number"), ("true", "a boolean"), ("no", "text"),
        ])
    func kinds(source: String, kind: String) throws {
        #expect(try YAMLNode.parse([UInt8](source))?.kind == kind)
    }

    @Test("finds errors behind the value")
    func trailingErrors() {
        #expect(throws: YAMLError.self) { try YAMLNode.parse([UInt8]("a: b\n---\nc: d")) }
        #expect(throws: YAMLError.self) { try YAMLNode.parse([UInt8]("[a] b")) }
    }

    @Test("names keys that come twice with their first place")
    func duplicates() throws {
        let root = try #require(try YAMLNode.parse([UInt8]("a: 1\nb: 2\n\"a\": 3\n[x]: 4\n[x]: 5\na: 6\nA: 7\n")))
        let duplicates = root.duplicateKeys()
        #expect(duplicates.map(\.first.span.start.line) == [1, 1])
        #expect(duplicates.map(\.repeated.span.start.line) == [3, 6])
        #expect(try #require(try YAMLNode.parse([UInt8]("[a, a]"))).duplicateKeys().isEmpty)
    }

    @Test("compares keys by bytes, not by canonical equivalence")
    func canonicalEquivalence() throws {
        let root = try #require(try YAMLNode.parse([UInt8]("\u{E9}: 1\ne\u{301}: 2\n")))
        #expect(root.duplicateKeys().isEmpty)
    }

    @Test("is taken from the middle of a stream of events")
    func streaming() throws {
        let parser = YAMLEventParser([UInt8]("u1: f1\nu2: {file: f2, status: 201}\nu3: [a, [b]]\nu4: f4\n"))
        guard case .documentStart = try parser.next(), case .mappingStart = try parser.next() else {
            Issue.record("no mapping")
            return
        }
        var read: [String] = []
        loop: while true {
            switch try parser.next() {
            case .mappingEnd: break loop
            case .scalar(let key):
                let value = try parser.next()
                if key == "u3" {
                    try parser.skipNode(startingWith: value)
                    read.append("u3 skipped")
                } else {
                    let node = try parser.node(startingWith: value)
                    read.append("\(key.string) \(String(decoding: try node.jsonBytes(), as: UTF8.self))")
                }
            default: Issue.record("a key is a scalar here")
            }
        }
        #expect(read == ["u1 \"f1\"", "u2 {\"file\":\"f2\",\"status\":201}", "u3 skipped", "u4 \"f4\""])
        guard case .documentEnd = try parser.next() else {
            Issue.record("no end")
            return
        }
    }

    @Test("is not built from an event that begins none")
    func wrongEvent() throws {
        let parser = YAMLEventParser([UInt8]("a"))
        let start = try parser.next()
        #expect(throws: YAMLError.self) { try parser.node(startingWith: start) }
    }
}
