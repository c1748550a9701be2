import Diagnostics
import Testing

@Suite("The excerpt of a diagnostic")
struct ExcerptTests {
    /// The source line and the mark under it.
    private func excerpt(_ source: [UInt8], _ offsets: Range<Int>) -> [String] {
        let span = TextSpan(
            start: TextMark(offset: offsets.lowerBound, in: source),
            end: TextMark(offset: offsets.upperBound, in: source))
        let text = Diagnostic(.error, "m", file: "f", span: span).rendered(source: source)
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().map(String.init)
    }

    @Test(
        "marks the span under the line's text",
        arguments: [
            ("abc", 0..<3, "abc", "^~~"), ("abc", 1..<1, "abc", " ^"), ("abc", 3..<3, "abc", "   ^"),
            ("a\n  bc: d\ne", 4..<6, "  bc: d", "  ^~"), ("a\r\nbc\r\n", 3..<5, "bc", "^~"),
            ("\tab: c", 1..<3, "\tab: c", "\t^~"), ("a\tb\tc", 4..<5, "a\tb\tc", " \t \t^"),
            ("ab\ncd", 1..<4, "ab", " ^"), ("a\n", 2..<2, "", "^"), ("", 0..<0, "", "^"),
            ("é: ü", 4..<6, "é: ü", "   ^"), ("漢字: x", 3..<6, "漢字: x", "  ^~"),
            ("e\u{301}x: y", 3..<4, "e\u{301}x: y", " ^"),
            ("\u{FEFF}ab", 3..<5, "ab", "^~"), ("\u{FEFF}ab", 0..<0, "ab", "^"),
        ])
    func marked(source: String, offsets: Range<Int>, line: String, mark: String) {
        #expect(excerpt(Array(source.utf8), offsets) == [line, mark])
    }

    @Test("keeps the mark under the text after characters that are shown escaped")
    func escaped() {
        #expect(excerpt([0xE9, 0x80, 0x61, 0x62], 2..<4) == ["<E9><80>ab", "        ^~"])
        #expect(excerpt([0xC3, 0xA9, 0xA9, 0x62], 3..<4) == ["é<A9>b", "     ^"])
    }

    @Test("shows lines up to 120 characters whole")
    func whole() {
        let line = String(repeating: "x", count: 120)
        #expect(excerpt(Array("\(line)\n".utf8), 119..<120) == [line, String(repeating: " ", count: 119) + "^"])
    }

    @Test("cuts a longer line to a window around the span", arguments: [0, 1, 39, 40, 41, 80, 500, 960, 999])
    func window(offset: Int) {
        var source = [UInt8](repeating: UInt8(ascii: "-"), count: 1000)
        source[offset] = UInt8(ascii: "X")
        let lines = excerpt(Array("first\n".utf8) + source + Array("\nlast".utf8), (6 + offset)..<(7 + offset))
        #expect(lines.count == 2)
        #expect(lines[0].unicodeScalars.count <= 122)
        #expect(lines[0].hasPrefix("…") == (offset > 40))
        #expect(lines[0].hasSuffix("…") == (offset < 920))
        #expect(lines[1].hasSuffix("^"))
        let column = lines[1].unicodeScalars.count - 1
        #expect(Array(lines[0].unicodeScalars)[column] == "X")
    }

    @Test("underlines no more than it shows")
    func longSpan() {
        let source = [UInt8](repeating: UInt8(ascii: "x"), count: 10_000)
        let lines = excerpt(source, 5_000..<10_000)
        #expect(lines[0].unicodeScalars.count == 122)
        #expect(lines[1].unicodeScalars.count == 121)
    }

    @Test("bears spans that are not of its source")
    func foreignSpan() {
        let span = TextSpan(
            start: TextMark(line: 9, column: 9, offset: 99), end: TextMark(line: 1, column: 1, offset: 0))
        #expect(Diagnostic(.error, "m", file: "f", span: span).rendered(source: [0x61]) == "f:9:9: error: m\na\n ^")
    }
}
