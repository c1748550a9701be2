import Diagnostics
import Testing
import YAML

@Suite("A scalar")
struct YAMLScalarTests {
    @Test("compares with a text by bytes")
    func comparison() throws {
        let scalar = try #require(try scalars("a: status").last)
        #expect(scalar == "status")
        #expect(!(scalar == "Status"))
        #expect(!(scalar == "statu"))
        #expect(YAMLScalar([]) == "")
        // Canonically equivalent and still another text: é in one scalar and in two.
        #expect(YAMLScalar([UInt8]("\u{E9}")) == "\u{E9}")
        #expect(!(YAMLScalar([UInt8]("e\u{301}")) == "\u{E9}"))
    }

    @Test("gives its text in place")
    func inPlace() throws {
        let scalar = try #require(try scalars("a: 'b c'").last)
        #expect(scalar.count == 3)
        #expect(scalar.withBytes { Array($0) } == [UInt8]("b c"))
    }

    @Test("tells where a part of its text stands")
    func parts() throws {
        let source = "ä: 'ü$3.png'"
        let scalar = try #require(try scalars(source).last)
        let span = scalar.span(ofBytes: 2..<4)
        #expect(text(of: span, in: [UInt8](source)) == "$3")
        #expect([span.start.column, span.end.column] == [6, 8])
    }

    @Test(
        "gives its whole span for a part that has no one place",
        arguments: [#"a: "b\u0063d""#, "a: b\n c", "a: |\n  bcd\n"])
    func partsWithoutPlace(source: String) throws {
        let scalar = try #require(try scalars(source).last)
        #expect(scalar.span(ofBytes: 1..<2) == scalar.span)
    }

    @Test("gives its whole span for a range that it doesn't have")
    func partsOutside() throws {
        let scalar = try #require(try scalars("abc").last)
        #expect(scalar.span(ofBytes: 2..<9) == scalar.span)
        #expect(scalar.span(ofBytes: -1..<1) == scalar.span)
    }

    @Test("describes itself in quotes, short and visible")
    func description() {
        #expect("\(YAMLScalar([UInt8]("stauts")))" == "'stauts'")
        #expect("\(YAMLScalar([UInt8]("a\u{1B}[2J")))" == "'a<U+001B>[2J'")
        #expect(
            "\(YAMLScalar([UInt8](String(repeating: "x", count: 99))))" == "'\(String(repeating: "x", count: 60))…'")
    }
}
