import HTTPSemantics
import Testing

@Suite("Content-Range")
struct ContentRangeTests {
    @Test("The texts of 206 and 416")
    func contentRange() {
        #expect(text(ContentRange.satisfied(0..<500, size: 1234)) == "bytes 0-499/1234")
        #expect(text(ContentRange.satisfied(7..<8, size: 8)) == "bytes 7-7/8")
        #expect(
            text(ContentRange.satisfied(0..<Int.max, size: .max))
                == "bytes 0-9223372036854775806/9223372036854775807")
        #expect(text(ContentRange.unsatisfied(size: 0)) == "bytes */0")
        #expect(text(ContentRange.unsatisfied(size: 47022)) == "bytes */47022")
    }
}
