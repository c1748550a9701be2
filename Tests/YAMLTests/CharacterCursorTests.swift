import Diagnostics
import Testing
import YAML

@Suite("The marks of a YAML source")
struct CharacterCursorTests {
    @Test("are those that are found from their offsets")
    func agreement() throws {
        let source = "é: {b: [\"ü\", c]}\r\nd: 'e\n  f'\r\n# x\n\u{1F600}: |\n  g\nh: i\n"
        for scalar in try scalars(source) {
            #expect(TextMark(offset: scalar.span.start.offset, in: [UInt8](source)) == scalar.span.start)
            #expect(TextMark(offset: scalar.span.end.offset, in: [UInt8](source)) == scalar.span.end)
        }
    }
}
