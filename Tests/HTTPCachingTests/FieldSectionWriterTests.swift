import HTTPSemantics
import NIOCore
import Testing

@testable import HTTPCaching

@Suite("Writing field sections")
struct FieldSectionWriterTests {
    @Test("Lines of other sections and new ones stand one after the other, and are found by name")
    func writing() {
        let other = fields(["eTag: \"a\"", "X-A: 1", "Empty:"])
        var writer = FieldSectionWriter(byteCount: 0, lineCount: 0)
        for line in other.lines { writer.copy(line, of: other) }
        writer.append(.date, spelling: "Date", value: Array("now".utf8))
        let section = writer.section
        #expect(lines(section) == ["eTag: \"a\"", "X-A: 1", "Empty: ", "Date: now"])
        #expect(section.firstText(.etag) == "\"a\"" && section.firstText(.date) == "now")
        #expect(!section.contains(.age))
        #expect(
            section.bytes.getString(at: 0, length: section.bytes.readableBytes)
                == "eTag: \"a\"\r\nX-A: 1\r\nEmpty: \r\nDate: now\r\n")
    }
}
