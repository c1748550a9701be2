import Testing
import YAML

@Suite("A mark")
struct YAMLMarkTests {
    @Test(
        "is found from an offset",
        arguments: [
            ("", 0, 1, 1), ("abc", 2, 1, 3), ("a\nb", 2, 2, 1), ("a\r\nb", 3, 2, 1), ("a\rb", 2, 2, 1),
            ("éa", 2, 1, 2), ("\u{1F600}\n\u{1F600}x", 9, 2, 2), ("\u{FEFF}ab", 4, 1, 2), ("abc", 99, 1, 4),
            ("abc", -1, 1, 1), ("\u{FEFF}", 1, 1, 1), ("a\n", 2, 2, 1),
        ])
    func fromOffset(source: String, offset: Int, line: Int, column: Int) {
        let mark = YAMLMark(offset: offset, in: [UInt8](source))
        #expect([mark.line, mark.column] == [line, column])
        #expect((0...source.utf8.count).contains(mark.offset))
    }

    @Test("agrees with the parser's marks")
    func agreement() throws {
        let source = "é: {b: [\"ü\", c]}\r\nd: 'e\n  f'\r\n# x\n\u{1F600}: |\n  g\nh: i\n"
        for scalar in try scalars(source) {
            #expect(YAMLMark(offset: scalar.span.start.offset, in: [UInt8](source)) == scalar.span.start)
            #expect(YAMLMark(offset: scalar.span.end.offset, in: [UInt8](source)) == scalar.span.end)
        }
    }

    @Test("clamps numbers that it can't hold")
    func clamping() {
        let mark = YAMLMark(line: -1, column: .max, offset: .max)
        #expect(mark.line == 0)
        #expect(mark.column == Int(UInt32.max))
    }
}
