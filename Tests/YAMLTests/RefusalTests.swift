import Diagnostics
import Testing
import YAML

@Suite("Well-formed YAML that is refused")
struct RefusalTests {
    @Test(
        "anchors, aliases, tags, merge keys and directives are errors that point at them",
        arguments: [
            ("a: &x 1", "anchors", 1, 4, "&x"),
            ("a: &x [*x]", "anchors", 1, 4, "&x"),
            ("a: &x\n  b: c", "anchors", 1, 4, "&x"),
            ("&x a: b", "anchors", 1, 1, "&x"),
            ("a: & b", "anchors", 1, 4, "&"),
            ("é: [ü, &ä b]", "anchors", 1, 8, "&ä"),
            ("a: *b", "aliases", 1, 4, "*b"),
            ("- [*b]", "aliases", 1, 4, "*b"),
            ("*.example.com: a", "aliases", 1, 1, "*.example.com:"),
            ("intercept: [*.corp.example]", "aliases", 1, 13, "*.corp.example"),
            ("a: !!binary aGk=", "tags", 1, 4, "!!binary"),
            ("a: !!python/object:os.system x", "tags", 1, 4, "!!python/object:os.system"),
            ("a: !!str 1", "tags", 1, 4, "!!str"),
            ("a: !x y", "tags", 1, 4, "!x"),
            ("a: ! y", "tags", 1, 4, "!"),
            ("a: ! 'y'", "tags", 1, 4, "!"),
            ("a: !", "tags", 1, 4, "!"),
            ("a: ![b]", "tags", 1, 4, "!"),
            ("a: ! {b: c}", "tags", 1, 4, "!"),
            ("a: !<tag:x,2000:y> z", "tags", 1, 4, "!<tag:x"),
            ("a: !unknown!x y", "tags", 1, 4, "!unknown!x"),
            ("a: !x &y z", "tags", 1, 4, "!x"),
            ("a: &y !x z", "anchors", 1, 4, "&y"),
            ("<<: {a: b}", "merge key", 1, 1, "<<"),
            ("a:\n  b: c\n  <<: d", "merge key", 3, 3, "<<"),
            ("[{a: b}, {<<: c}]", "merge key", 1, 11, "<<"),
            ("a: 1\n---\nb: 2", "second YAML document", 2, 1, "---"),
            ("---\n---\n", "second YAML document", 2, 1, "---"),
            ("%TAG ! tag:x,2000:\n---\na: b", "%TAG", 1, 1, "%TAG"),
            ("%YAML 1.1\n%TAG !e! tag:x,2000:\n---\na: b", "%TAG", 2, 1, "%TAG"),
        ])
    func refused(source: String, word: String, line: Int, column: Int, marked: String) throws {
        let error = try #require(failure(source))
        #expect(error.message.contains(word))
        #expect([error.span.start.line, error.span.start.column] == [line, column])
        #expect(text(of: error.span, in: [UInt8](source)) == marked)
    }

    @Test("an alias bomb is refused at its first anchor")
    func aliasBomb() throws {
        var source = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            source += "a\(level): &a\(level) [\(aliases)]\n"
        }
        let parser = YAMLEventParser([UInt8](source))
        var count = 0
        let error = #expect(throws: YAMLError.self) {
            while count < 100 {
                _ = try parser.next()
                count += 1
            }
        }
        #expect(count == 3)
        #expect(error?.span.start == TextMark(line: 1, column: 5, offset: 4))
    }

    @Test(
        "nesting of any depth is refused at the limit",
        arguments: [
            (String(repeating: "[", count: 100_000), 65, 64),
            (String(repeating: "{a: ", count: 100_000), 257, 64),
            (String(repeating: "- ", count: 100_000), 129, 64),
            (String(repeating: "? ", count: 100_000), 129, 64),
            (String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000), 65, 64),
        ])
    func depth(source: String, column: Int, limit: Int) throws {
        let error = try #require(failure(source))
        #expect(error.message.contains("at most \(limit) levels"))
        #expect([error.span.start.line, error.span.start.column] == [1, column])
        #expect(throws: YAMLError.self) { try YAMLNode.parse([UInt8](source)) }
    }

    @Test("nesting up to the limit is accepted, and counts open collections only")
    func depthWithinLimit() throws {
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(failure(deep) == nil)
        #expect(failure("[" + Array(repeating: "[[]]", count: 100).joined(separator: ",") + "]") == nil)
        #expect(try YAMLNode.parse([UInt8](deep)) != nil)
        #expect(failure([UInt8]("[[[]]]"), limits: YAMLLimits(nestingDepth: 2))?.span.start.column == 3)
    }
}
