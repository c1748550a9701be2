import Mustache
import Testing

@Suite("Values")
struct MustacheValueTests {
    @Test(
        "that are false, null, missing, empty or 0 render no section but inverted ones",
        arguments: [
            (MustacheValue.null, false), (.bool(false), false), (.list([]), false), (.text(""), false),
            (.integer(0), false), (.real(0), false), (.real(-0.0), false), (.real(.nan), false),
            (.rows(MustacheRows(columns: [[0x61]], cells: [])), false), (.bool(true), true), (.text("0"), true),
            (.text("false"), true), (.text(" "), true), (.integer(-1), true), (.real(1e-300), true),
            (.real(.infinity), true), (.list([.null]), true), (.mapping([:]), true),
            (.rows(MustacheRows(columns: [[0x61]], cells: [.null])), true),
        ])
    func truth(value: MustacheValue, isTrue: Bool) throws {
        let template = "{{#x}}true{{/x}}{{^x}}false{{/x}}"
        #expect(try rendered(template, .mapping(["x": value])) == (isTrue ? "true" : "false"))
    }

    @Test("are looked for by their parts, the first in all contexts, the others where the one before was")
    func names() throws {
        let values = MustacheValue.mapping([
            "a": .mapping(["b": .mapping(["c": .integer(1)]), "x": .null]), "x": .integer(2), "b": .integer(3),
        ])
        #expect(try rendered("{{a.b.c}}|{{a.b.d}}|{{a.c}}|{{x.y}}", values) == "1|||")
        // What is there and null hides what is further out.
        #expect(try rendered("{{#a}}{{x}}|{{b.c}}|{{a.b.c}}|{{b.d}}{{/a}}", values) == "|1|1|")
    }

    @Test("of lists are found by their numbers, which have no other forms")
    func elements() throws {
        let values = MustacheValue.mapping([
            "list": .list([.text("a"), .mapping(["b": .text("c")])]), "none": .list([]),
            "rows": .rows(MustacheRows(columns: [[0x61]], cells: [.integer(7), .integer(8)])),
        ])
        #expect(try rendered("{{list.0}}{{list.1.b}}{{rows.1.a}}", values) == "ac8")
        #expect(try rendered("{{list.2}}{{list.00}}{{list.+0}}{{list.-1}}{{list.99999999999999999999}}", values) == "")
        #expect(
            try rendered("{{list.length}}{{none.length}}{{rows.length}}{{#none.length}}x{{/none.length}}", values)
                == "202")
    }

    @Test("that are no mappings are contexts too")
    func contexts() throws {
        #expect(try rendered("{{.}}", .integer(4)) == "4")
        #expect(try rendered("{{#.}}<{{.}}>{{/.}}", .list([.integer(1), .text("&")])) == "<1><&amp;>")
        let values = MustacheValue.mapping([
            "t": .text("x"), "l": .list([.list([.integer(1), .integer(2)]), .integer(3)]),
        ])
        #expect(try rendered("{{#t}}{{.}}{{t}}{{/t}}", values) == "xx")
        #expect(try rendered("{{#l}}({{#.}}{{.}},{{/.}}){{/l}}", values) == "(1,2,)(3,)")
    }

    @Test("of several contexts hide each other, the last one first")
    func layers() throws {
        let page = try page("{{a}}{{b}}{{.}}")
        let output = try page.render(
            [.mapping(["a": .integer(1), "b": .integer(2)]), .mapping(["a": .integer(3)])], escaping: .none)
        #expect(String(decoding: output, as: UTF8.self) == "32{\"a\":3}")
    }

    @Test("of rows are found by the names of their columns, of one name the last")
    func rows() throws {
        let names = ["a", "b", "a"].map { Array($0.utf8) }
        let rows = MustacheRows(columns: names, cells: (1...7).map { .integer($0) })
        #expect(rows.count == 2)
        #expect(try rendered("{{#r}}{{a}}{{b}}{{c}};{{/r}}", .mapping(["r": .rows(rows)])) == "32;65;")
        let other = MustacheRows(columns: [Array("b".utf8)], cells: [.integer(9)])
        let both = MustacheValue.list([.row(rows[0]), .row(other[0]), .row(rows[1])])
        #expect(try rendered("{{#r}}{{b}}{{/r}}", .mapping(["r": both, "a": .text("!")])) == "295")
        #expect(try rendered("{{#r}}{{a}}{{/r}}", .mapping(["r": both, "a": .text("!")])) == "3!6")
    }

    @Test("of large mappings and tables are found as those of small ones", arguments: [1, 12, 13, 500])
    func large(count: Int) throws {
        let members = (0..<count).map { (name: Array("m\($0)".utf8), value: MustacheValue.integer(Int64($0))) }
        let values = [
            MustacheValue.mapping(MustacheMapping(members)),
            .row(MustacheRows(columns: members.map(\.name), cells: members.map(\.value))[0]),
        ]
        for value in values {
            for member in [0, count / 2, count - 1] {
                #expect(try rendered("{{m\(member)}}", value) == "\(member)")
            }
            #expect(try rendered("{{m}}{{m\(count)}}", value) == "")
        }
    }

    /// Counts how often it is asked.
    private final class Asked: MustacheObject, @unchecked Sendable {
        var names: [String] = []

        func member(named name: [UInt8]) -> MustacheValue? {
            names.append(String(decoding: name, as: UTF8.self))
            return names.last == "url" ? .text("http://a.test/") : nil
        }

        var whole: MustacheMapping { MustacheMapping(["url": .text("u")]) }
    }

    @Test("that are made at need are made when a tag asks for them")
    func objects() throws {
        let asked = Asked()
        let values = MustacheValue.mapping(["request": .object(asked), "x": .integer(1)])
        #expect(try rendered("{{x}}{{#no}}{{request.body}}{{/no}}", values) == "1")
        #expect(asked.names == [])
        #expect(
            try rendered("{{request.url}}{{request.b.c}}{{#request}}{{x}}{{/request}}", values) == "http://a.test/1")
        #expect(asked.names == ["url", "b", "x"])
        #expect(try rendered("{{{request}}}", values, escaping: .none) == "{\"url\":\"u\"}")
    }
}
