import Testing

@testable import Diagnostics

@Suite("Did you mean")
struct DidYouMeanTests {
    private let options = [
        "file", "text", "json", "base64", "forward", "redirect", "block", "methods", "query", "request-headers",
        "status", "type", "headers", "cors", "delay", "rate", "bypass", "missing", "when", "retain",
    ]

    @Test(
        "offers the word that was meant",
        arguments: [
            ("stauts", "status"), ("statsu", "status"), ("Status", "status"), ("STATUS", "status"), ("stats", "status"),
            ("fiel", "file"), ("fil", "file"), ("request_headers", "request-headers"), ("header", "headers"),
            ("metods", "methods"), ("by-pass", "bypass"), ("jsn", "json"), ("redirct", "redirect"), ("typ", "type"),
        ])
    func offers(word: String, meant: String) {
        #expect(didYouMean(word, among: options) == meant)
        #expect(didYouMean(Array(word.utf8), among: options) == meant)
    }

    @Test("offers nothing far away", arguments: ["", "x", "zzz", "template", "encoding", "q", "colour", "\u{1F600}"])
    func offersNothing(word: String) {
        #expect(didYouMean(word, among: options) == nil)
    }

    @Test("bears any length")
    func lengths() {
        let long = String(repeating: "s", count: 100_000)
        #expect(didYouMean(long, among: options + [long]) == nil)
        #expect(didYouMean(Array(long.utf8), among: options) == nil)
        #expect(didYouMean("a", among: [String]()) == nil)
        #expect(didYouMean([0xFF, 0xFE] as [UInt8], among: options) == nil)
    }

    @Test("takes the first of equally near words")
    func ties() {
        #expect(didYouMean("bat", among: ["cat", "hat"]) == "cat")
    }

    @Test(
        "counts insertions, deletions, replacements and swaps",
        arguments: [
            ("", "", 0), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("abc", "abd", 1), ("abc", "acb", 1),
            ("abc", "ab", 1), ("abc", "abcd", 1), ("kitten", "sitting", 3), ("ca", "abc", 3), ("abcd", "badc", 2),
        ])
    func distance(first: String, second: String, expected: Int) {
        let (left, right) = (first.unicodeScalars.map(\.value), second.unicodeScalars.map(\.value))
        #expect(editDistance(left, right) == expected)
        #expect(editDistance(right, left) == expected)
    }
}
