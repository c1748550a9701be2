import ProxyTestKit
import Testing

@testable import Patterns

struct ExpressionParserTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let pattern: String
        let range: Range<Int>
        let text: String

        init(_ pattern: String, _ range: Range<Int>, _ text: String) {
            self.pattern = pattern
            self.range = range
            self.text = text
        }

        var testDescription: String { pattern }
    }

    static let errors: [Row] = [
        Row("ab(c", 2..<3, #"has no ')'; add it, or write '\('"#), Row("(a(b)", 0..<1, "has no ')'"),
        Row("(?:a", 0..<1, "has no ')'"), Row("(?i", 0..<1, "has no ')'"), Row("(", 0..<1, "has no ')'"),
        Row("a)b", 1..<2, #"write '\)'"#), Row(")", 0..<1, "closes no group"),
        Row("*a", 0..<1, #"write '\*' for the character itself, or '.*'"#), Row("a|+", 2..<3, "nothing before it"),
        Row("(?)", 0..<3, "unknown kind of group '(?)'"), Row("(?", 0..<1, "has no ')'"),
        Row("(?i)*", 4..<5, "'*' has nothing"),
        Row("(?:?a)", 3..<4, "'?' has nothing"), Row("{2}", 0..<1, #"write '\{'"#),
        Row("a**", 1..<3, "write '(?:a*)' to repeat it as a whole"),
        Row("xa{2}{3}", 2..<6, "write '(?:a{2})'"), Row("a+*", 1..<3, "repetition of a repetition"),
        Row("a++", 1..<3, "leave out the last '+'"), Row("a*?+", 1..<4, "possessive"),
        Row("a{2}+", 1..<5, "possessive"),
        Row("a{,3}", 1..<5, "write '{0,3}'"), Row("a{", 1..<2, "{2,5}"), Row("a{x}", 1..<3, "begins no repetition"),
        Row("a{2", 1..<3, "begins no repetition"), Row("a{2,x}", 1..<5, "begins no repetition"),
        Row("a{}", 1..<3, "begins no repetition"), Row("a{3,2}", 1..<6, "write {2,3}"),
        Row("a{1001}", 1..<7, "1000 at most"), Row("a{2,99999999999999999999}", 1..<25, "1000 at most"),
        Row("a(?=b)", 1..<4, "before this one"), Row("(?!b)", 0..<3, "look-ahead"), Row("(?<=b)", 0..<4, "look-behind"),
        Row("(?<!b)", 0..<4, "look-behind"), Row(#"(a)\1"#, 3..<5, "back-references"),
        Row(#"\k<a>"#, 0..<2, "back-references"),
        Row("(?P=a)", 0..<4, "back-references"), Row("(?>a)", 0..<3, "write '(?:'"),
        Row("(?|a)", 0..<3, "branch reset"),
        Row("(?(1)a)", 0..<3, "conditionals"), Row("(?#a)", 0..<3, "comments"), Row("(?R)", 0..<3, "recursion"),
        Row("(?1)", 0..<3, "recursion"), Row("(?&a)", 0..<3, "recursion"), Row("(?'a'b)", 0..<3, "(?<name>…)"),
        Row("(*FAIL)", 0..<2, "verbs"), Row("(?m)a", 0..<3, "flag m"), Row("(?x)a", 0..<3, "flag x"),
        Row("(?U)a", 0..<3, "flag U"),
        Row("(?iq)", 0..<4, "unknown kind of group '(?iq'"), Row("(?-)", 0..<4, "unknown kind"),
        Row("(?é)", 0..<2, "'(?'"),
        Row("(?<1a>b)", 0..<6, "does not begin with a digit"), Row("(?<>b)", 0..<4, "a group's name"),
        Row("(?<a-b>c)", 0..<5, "a group's name"), Row("(?P<a", 0..<5, "a group's name"),
        Row("(?<a>b)(?<a>c)", 7..<12, "two groups have the name 'a'"),
        Row("a[b", 1..<2, #"has no ']'; add it, or write '\['"#), Row("[]", 0..<1, "has no ']'"),
        Row("[^]", 0..<1, "has no ']'"),
        Row("[a-", 0..<1, "has no ']'"), Row("[[:alpha:]", 0..<1, "has no ']'"),
        Row("[z-a]", 1..<4, "'z-a' is in the wrong order"),
        Row(#"[a-\d]"#, 1..<5, "a range needs a character at both ends"), Row(#"[\d-z]"#, 1..<5, "put '-' last"),
        Row("[a-é]", 1..<5, "list the characters"), Row("[^é]", 0..<5, "negated class"),
        Row("a[[:foo:]]", 2..<9, "'[:foo:]'; there are alnum"), Row("[:alpha:]", 0..<9, "write '[[:alpha:]]'"),
        Row(#"[^\x00-\xff]"#, 0..<12, "never matches"), Row(#"[\b]"#, 1..<3, "can't be in a class"),
        Row(#"a\"#, 1..<2, #"write '\\'"#), Row(#"[a\"#, 2..<3, #"write '\\'"#),
        Row(#"\q"#, 0..<2, "write 'q' for the letter itself"),
        Row(#"\pL"#, 0..<2, "Unicode properties"), Row(#"\Qa\E"#, 0..<2, "put '\\' before each"),
        Row(#"\0"#, 0..<2, #"'\x00'"#),
        Row(#"\Z"#, 0..<2, #"'\z'"#), Row(#"\K"#, 0..<2, "use a group"), Row(#"\h"#, 0..<2, "[ \\t]"),
        Row(#"\é"#, 0..<1, "leave it out"),
        Row(#"\x4"#, 0..<3, "two hex digits"), Row(#"\x"#, 0..<2, "two hex digits"),
        Row(#"\x{}"#, 0..<3, "two hex digits"),
        Row(#"\x{41"#, 0..<5, "two hex digits"), Row(#"\x{110000}"#, 0..<10, #"the last is '\x{10FFFF}'"#),
        Row(#"\x{D800}"#, 0..<8, "no such character"), Row(#"\x{FFFFFFFFFFFFFFFFFF}"#, 0..<22, "no such character"),
    ]

    @Test("What is wrong is said with its place and with what may be written instead", arguments: errors)
    func error(row: Row) throws {
        let error = try #require(patternError { _ = try LinearExpression(row.pattern) })
        #expect(error.range == row.range)
        #expect(error.message.contains(row.text), "\(error.message)")
        #expect(error.range.upperBound <= row.pattern.utf8.count)
    }

    @Test(
        "Bytes that are not UTF-8 are an error where they stand",
        arguments: [
            ([0x61, 0xFF], 1), ([0xC3], 0), ([0xC0, 0x80], 0), ([0x5B, 0xED, 0xA0, 0x80, 0x5D], 1),
            ([0xF4, 0x90, 0x80, 0x80], 0),
            ([0x61, 0x80], 1), ([0xE2, 0x82], 0),
        ] as [([UInt8], Int)])
    func notUTF8(pattern: [UInt8], offset: Int) {
        #expect(patternError { _ = try LinearExpression(pattern) }?.range == offset..<offset + 1)
    }

    @Test("Groups may be nested a hundred deep, and no deeper")
    func depth() {
        func nested(_ depth: Int) -> String {
            String(repeating: "(?:", count: depth) + "a" + String(repeating: ")", count: depth)
        }
        #expect(patternError { _ = try LinearExpression(nested(100)) } == nil)
        #expect(patternError { _ = try LinearExpression(nested(101)) }?.range == 300..<303)
        #expect(patternError { _ = try LinearExpression(String(repeating: "(", count: 100_000)) } != nil)
    }

    @Test("Ninety-nine groups may capture, and any number not")
    func groups() {
        let groups = String(repeating: "(a)", count: 99)
        #expect(patternError { _ = try LinearExpression(groups + String(repeating: "(?:a)", count: 99)) } == nil)
        #expect(patternError { _ = try LinearExpression(groups + "(b)") }?.range == 297..<298)
    }

    @Test("No text crashes the parser, and each error lies within the text", arguments: [11, 12, 13, 14] as [UInt64])
    func anyText(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "a", "(", ")", "[", "]", "{", "}", "*", "+", "?", "|", "^", "$", ".", "\\", "-", ":", "<", ">", ",", "1",
            "9", "é",
            "(?", "(?:", "(?i", "[^", "[:", ":]", "\\x", "\\d", "{2,", "P<n>", "=", "!", "\u{0}",
        ].map { Array($0.utf8) }
        for _ in 0..<3000 {
            let length = Int.random(in: 0...10, using: &generator)
            let pattern = (0..<length).flatMap { _ in pieces[Int.random(in: 0..<pieces.count, using: &generator)] }
            guard let error = patternError({ _ = try LinearExpression(pattern) }) else { continue }
            #expect(0...pattern.count ~= error.range.upperBound, "\(String(decoding: pattern, as: UTF8.self))")
        }
    }
}
