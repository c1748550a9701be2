import Diagnostics
import Testing

@Suite("A mark")
struct TextMarkTests {
    @Test(
        "is found from an offset",
        arguments: [
            ("", 0, 1, 1), ("abc", 2, 1, 3), ("a\nb", 2, 2, 1), ("a\r\nb", 3, 2, 1), ("a\rb", 2, 2, 1),
            ("éa", 2, 1, 2), ("\u{1F600}\n\u{1F600}x", 9, 2, 2), ("\u{FEFF}ab", 4, 1, 2), ("abc", 99, 1, 4),
            ("abc", -1, 1, 1), ("\u{FEFF}", 1, 1, 1), ("a\n", 2, 2, 1),
        ])
    func fromOffset(source: String, offset: Int, line: Int, column: Int) {
        let mark = TextMark(offset: offset, in: Array(source.utf8))
        #expect([mark.line, mark.column] == [line, column])
        #expect((0...source.utf8.count).contains(mark.offset))
    }

    @Test("clamps numbers that it can't hold")
    func clamping() {
        let mark = TextMark(line: -1, column: .max, offset: .max)
        #expect(mark.line == 0)
        #expect(mark.column == Int(UInt32.max))
    }
}
