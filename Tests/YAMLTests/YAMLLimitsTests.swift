import Diagnostics
import Testing
import YAML

@Suite("Limits of a source")
struct YAMLLimitsTests {
    @Test("have the documented defaults")
    func defaults() {
        let limits = YAMLLimits()
        #expect(limits.inputBytes == 256 << 20)
        #expect(limits.nestingDepth == 64)
        #expect(limits.scalarBytes == 16 << 20)
        #expect(limits.treeNodes == 4_000_000)
    }

    @Test("can't be raised beyond what marks and recursion bear")
    func ceilings() {
        var limits = YAMLLimits(inputBytes: .max, nestingDepth: .max)
        #expect(limits.inputBytes == Int(Int32.max))
        #expect(limits.nestingDepth == 512)
        limits.inputBytes = .max
        limits.nestingDepth = .max
        #expect(limits.inputBytes == Int(Int32.max))
        #expect(limits.nestingDepth == 512)
    }

    @Test("hold at their largest: a tree of 512 levels is built, serialised and freed")
    func deepest() throws {
        let limits = YAMLLimits(nestingDepth: 512)
        let source = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        let node = try #require(try YAMLNode.parse([UInt8](source), limits: limits))
        #expect(try node.jsonBytes() == [UInt8](source))
    }

    @Test("refuse a source that is one byte too large before reading it")
    func input() {
        let limits = YAMLLimits(inputBytes: 8)
        #expect(failure([UInt8]("a: bcdef"), limits: limits) == nil)
        let error = failure([UInt8]("a: bcdef\0"), limits: limits)
        #expect(error?.message == "the file has 9 bytes; at most 8 are read")
    }

    @Test("refuse a scalar that is one byte too long, after its escapes")
    func scalar() {
        let limits = YAMLLimits(scalarBytes: 4)
        #expect(failure([UInt8](#"- "\u0061bcd""#), limits: limits) == nil)
        let error = failure([UInt8]("- abcd\n- abcde\n"), limits: limits)
        #expect(error?.message == "this text has 5 bytes; at most 4 are accepted")
        #expect(error?.span.start.line == 2)
    }

    @Test("refuse a tree of too many values, and let events pass")
    func nodes() throws {
        let limits = YAMLLimits(treeNodes: 4)
        let source = [UInt8]("[a, b, c]")
        #expect(try YAMLNode.parse(source, limits: limits)?.elements?.count == 3)
        let more = [UInt8]("[a, b, c, d]")
        #expect(failure(more, limits: limits) == nil)
        let error = #expect(throws: YAMLError.self) { try YAMLNode.parse(more, limits: limits) }
        #expect(error?.span.start.column == 11)
    }
}
