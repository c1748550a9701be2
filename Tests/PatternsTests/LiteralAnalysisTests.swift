import Testing

@testable import Patterns

struct LiteralAnalysisTests {
    private func texts(_ literals: [[UInt8]]) -> [String] {
        literals.map { String(decoding: $0, as: UTF8.self) }.sorted()
    }

    @Test(
        "Every match begins with one of the prefixes",
        arguments: [
            (#"^https?://api\.example\.com/v"#, ["http://api.example.com/v", "https://api.example.com/v"]),
            (#"^https?://api\.example\.com/v(\d+)/users$"#, ["http://api.example.com/v", "https://api.example.com/v"]),
            (#"^https://(?:a|b)\.example/(\w+)"#, ["https://a.example/", "https://b.example/"]),
            (#"^https://(a|b)[cd]/"#, ["https://ac/", "https://ad/", "https://bc/", "https://bd/"]),
            ("^(?:http|https)://x", ["http://x", "https://x"]), ("^a|^b", ["a", "b"]), ("^(?:ab|abc)d?", ["ab"]),
            ("^ab*c", ["a"]), ("^ab+c", ["ab"]), ("^a{3}b", ["aaab"]), ("^a{2,3}b", ["aa"]),
            ("^[abcd]x", ["ax", "bx", "cx", "dx"]),
            ("^a[abcde]x", ["a"]), ("^(?i)aB", ["AB", "Ab", "aB", "ab"]), ("^a.b", ["a"]), ("^a$", ["a"]),
            (#"^a\bb"#, ["ab"]),
            ("ab", []), ("^.*a", []), ("^a?", []), ("^(?:a|)b", ["ab", "b"]), ("^", []), ("^a|b", []),
            ("^[ab]{2}", ["aa", "ab", "ba", "bb"]),
            ("^(?:x1|x2|x3|x4|x5|x6|x7|x8|x9|y1|y2|y3|y4|y5|y6|y7|y8)z", ["x", "y"]), ("^a{0}b", ["b"]),
        ] as [(String, [String])])
    func prefixes(pattern: String, expected: [String]) throws {
        #expect(try texts(LinearExpression(pattern).literalPrefixes) == expected)
    }

    @Test(
        "Every match contains one of the required literals",
        arguments: [
            (#"/api/v\d+/users/$"#, ["/users/"]), (#"^https?://[^/]+/.*\.png$"#, ["http://", "https://"]),
            (#"\.(?:png|jpe?g)$"#, [".jpeg", ".jpg", ".png"]), ("a.*bc.*d", ["bc"]),
            ("(?:foo|.*bar)x", ["bar", "foo"]), ("(?:ab|a.)c", ["c"]), ("a*", []), ("a|.*", []), ("(?:abc)+", ["abc"]),
            ("(?:ab)?c", ["c"]),
            ("x(?:foo.|bar.)y", ["bar", "foo"]), ("(?:http|https)x?", ["http"]), ("[^/]+", []), ("", []),
            ("a{0}bc", ["bc"]),
        ] as [(String, [String])])
    func required(pattern: String, expected: [String]) throws {
        #expect(try texts(LinearExpression(pattern).requiredLiterals) == expected)
    }

    @Test(
        "There are never more than sixteen",
        arguments: [
            "^[ab][ab][ab][ab][ab][ab]x", "^(?:a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p|q|r|s)x", "^(?i)https://api",
            "^(?:a?b?c?d?e?){3}x",
        ])
    func limit(pattern: String) throws {
        let expression = try LinearExpression(pattern)
        #expect(expression.literalPrefixes.count <= 16)
        #expect(expression.requiredLiterals.count <= 16)
    }

    @Test(
        "Deep and wide expressions are analysed in little time",
        arguments: [
            String(repeating: "(?:", count: 100) + "a" + String(repeating: "{1,2})", count: 12)
                + String(repeating: ")", count: 88),
            "^" + String(repeating: "(?:", count: 99) + String(repeating: "){8}", count: 99),
            "^" + String(repeating: "[ab]?", count: 3000), "^" + String(repeating: "(?:a|b)c", count: 1500),
        ])
    func effort(pattern: String) throws {
        let expression = try LinearExpression(pattern)
        #expect(expression.literalPrefixes.allSatisfy { $0.count < 10_000 })
    }
}
