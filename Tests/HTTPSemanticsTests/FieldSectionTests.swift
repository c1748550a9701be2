import HTTPSemantics
import NIOCore
import Testing

@Suite("Field sections")
struct FieldSectionTests {
    @Test("Order, case, repetition and bytes that are not UTF-8 survive")
    func survival() {
        var section = FieldSection()
        section.append(name: "X-B".utf8, value: [0x63, 0xe9])
        section.append(name: "sEt-cOOkie".utf8, value: "a=1".utf8)
        section.append(name: "x-b".utf8, value: [])
        section.append(name: "Set-Cookie".utf8, value: "b=2".utf8)
        #expect(section.count == 4)
        #expect(section.lines.map { section.withName($0) { text($0) } } == ["X-B", "sEt-cOOkie", "x-b", "Set-Cookie"])
        #expect(section.lines.map { section.withValue($0) { Array($0) } }[0] == [0x63, 0xe9])
        #expect(section.count(of: .setCookie) == 2)
        #expect(section.firstText(.setCookie) == "a=1")
        var values: [String] = []
        section.forEach(.setCookie) { values.append(text($0)) }
        #expect(values == ["a=1", "b=2"])
        var unknown: [[UInt8]] = []
        section.forEach(named: Array("X-b".utf8)) { unknown.append(Array($0)) }
        #expect(unknown == [[0x63, 0xe9], []])
    }

    @Test("An absent name is absent")
    func absent() {
        let section = fields("Host: a")
        #expect(!section.contains(.via))
        #expect(section.count(of: .via) == 0)
        #expect(section.withFirst(.via) { $0.count } == nil)
        #expect(section.firstText(.via) == nil)
        section.forEach(.via) { _ in Issue.record("there is no Via") }
        section.forEach(named: []) { _ in Issue.record("there is no empty name") }
        #expect(FieldSection().count == 0)
    }

    @Test("Bytes that are not UTF-8 are replaced in text only")
    func replaced() {
        var section = FieldSection()
        section.append(name: "Server".utf8, value: [0x63, 0xe9])
        #expect(section.firstText(.server) == "c\u{FFFD}")
    }

    @Test("Lines that a parser found refer to the buffer from its reader index")
    func parsed() {
        var bytes = ByteBuffer(string: "junkHost: a\r\n")
        bytes.moveReaderIndex(forwardBy: 4)
        let line = FieldSection.Line(nameStart: 0, nameLength: 4, valueStart: 6, valueLength: 1, name: .host)
        let section = FieldSection(bytes: bytes, lines: [line])
        #expect(section.contains(.host))
        #expect(section.firstText(.host) == "a")
        #expect(section.withName(line) { text($0) } == "Host")
    }

    @Test("A line outside of the buffer gives what is inside, and no trap")
    func outside() {
        let line = FieldSection.Line(nameStart: 2, nameLength: 9, valueStart: 90, valueLength: 9, name: .host)
        let section = FieldSection(bytes: ByteBuffer(string: "Host"), lines: [line])
        #expect(section.firstText(.host) == "")
        #expect(section.withName(line) { text($0) } == "st")
    }
}
