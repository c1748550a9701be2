import Testing

@testable import Patterns

struct RequiredSetsTests {
    @Test(
        "a match has a text of every set, without case",
        arguments: [
            (#"^https?://h\.example/v\d+/Users$"#, ["https://h.example/v|http://h.example/v", "/users"]),
            ("(?i)Item17", ["item17"]), ("(?i:AB|cd)x.+y", ["abx|cdx", "y"]), ("a.b.+c", ["a", "b", "c"]),
            ("[aA][bB]{2}", ["abb"]), ("(?:ab){2,}.c", ["abab", "c"]), ("(?:ab)*c", ["c"]), ("a*", []),
            (".*[0-9]{5}$", []),
            ("(?:foo.|.bar)x", ["foo|bar", "x"]), ("(?:foo|.*)x", ["x"]), ("(?:x.y)+", ["x", "y"]), ("", []),
            ("(?:a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q)", []), ("[abcdef]x", ["x"]),
            (
                "[ab][ab][ab][ab][ab]",
                ["aaaa|aaab|aaba|aabb|abaa|abab|abba|abbb|baaa|baab|baba|babb|bbaa|bbab|bbba|bbbb", "a|b"]
            ),
            ("x(?:ab){3}y", ["xabababy"]),
            (
                "x[ab]{9}y",
                ["x", "aaaa|aaab|aaba|aabb|abaa|abab|abba|abbb|baaa|baab|baba|babb|bbaa|bbab|bbba|bbbb", "y"]
            ),
        ] as [(String, [String])])
    func sets(pattern: String, expected: [String]) throws {
        let sets = LiteralAnalysis.requiredSets(in: try #require(LinearExpression(pattern).tree))
        #expect(sets.map { $0.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "|") } == expected)
    }

    @Test(
        "sets and texts are limited, however large the expression",
        arguments: [
            String(repeating: "ab.", count: 3000), "(?:[ab]{1000}.){9}", String(repeating: "a[b]", count: 2000),
            "(?:" + String(repeating: "[ab]x?", count: 1000) + "){2}",
        ])
    func limits(pattern: String) throws {
        let sets = LiteralAnalysis.requiredSets(in: try #require(LinearExpression(pattern).tree))
        #expect(sets.count <= LiteralAnalysis.maximumSets + 1)
        #expect(sets.allSatisfy { $0.count <= LiteralAnalysis.maximumCount && $0.allSatisfy { $0.count <= 128 } })
    }
}
