import Testing

@testable import Substitution

struct WildcardTextTests {
    @Test(
        "a star stands for any text",
        arguments: [
            ("", "", true), ("", "a", false), ("*", "", true), ("*", "abc", true), ("a*", "a", true),
            ("*a", "ba", true),
            ("*a", "ab", false), ("a*b", "ab", true), ("a*b", "a", false), ("ab*ab", "ab", false),
            ("ab*ab", "abab", true),
            ("*b*", "abc", true), ("*b*", "ac", false), ("**", "x", true), ("a**b", "axb", true),
            ("*ab*ab*", "abxab", true), ("*ab*ab*", "aba", false), ("a*bc*c", "abcc", true), ("a*bc*c", "abc", false),
        ])
    func matches(_ pattern: String, _ text: String, _ expected: Bool) {
        let found = Array(text.utf8).withUnsafeBytes { WildcardText(pattern.utf8).matches($0) }
        #expect(found == expected)
        #expect(WildcardText(pattern.utf8).description == pattern)
    }

    @Test(
        "each star stands for as much as it can, the first one first",
        arguments: [
            ("a", "a", []), ("*", "abc", ["abc"]), ("*", "", [""]), ("a*", "abc", ["bc"]), ("*c", "abc", ["ab"]),
            ("a*a", "aa", [""]), ("*x*", "1x2x3", ["1x2", "3"]), ("a*b*c", "abbc", ["b", ""]),
            ("**", "ab", ["ab", ""]), ("*ab*ab*", "abxababy", ["abx", "", "y"]),
            ("*a*ab*", "aaaab", ["aa", "", ""]),
        ])
    func stars(_ pattern: String, _ text: String, _ expected: [String]) {
        let bytes = Array(text.utf8)
        let found = bytes.withUnsafeBytes { WildcardText(pattern.utf8).stars(in: $0) }
        #expect(found.map { String(decoding: bytes[$0], as: UTF8.self) } == expected)
        #expect(WildcardText(pattern.utf8).starCount == expected.count)
    }
}
