import Mustache
import Testing

@Suite("Limits of templates")
struct MustacheLimitsTests {
    @Test("are 1 MiB, 256 sections, 32 partials and ten million tags")
    func defaults() {
        let limits = MustacheLimits()
        #expect(limits.templateBytes == 1 << 20)
        #expect(limits.sectionDepth == 256)
        #expect(limits.partialDepth == 32)
        #expect(limits.tags == 10_000_000)
    }

    @Test("hold for the size of a template")
    func size() throws {
        let limits = MustacheLimits(templateBytes: 10)
        #expect(try rendered("0123456789", limits: limits) == "0123456789")
        #expect(
            failure("01234567890", limits: limits)
                == "page.html: error: the template has 11 bytes; at most 10 are accepted")
        let large = [UInt8](repeating: 0x61, count: 10 << 20)
        #expect(throws: TemplateError.self) { try MustacheTemplate.parse(large, file: "a") }
    }

    @Test("hold for nested sections", arguments: ["#", "^", "$", "<"])
    func nesting(sigil: String) throws {
        let deep = { (depth: Int) in
            String(repeating: "{{\(sigil)a}}", count: depth) + String(repeating: "{{/a}}", count: depth)
        }
        let partials = ["a": ""]
        #expect(try rendered(deep(256), .mapping(["a": .bool(true)]), partials: partials) == "")
        let message = try #require(failure(deep(257), partials: partials))
        #expect(message.hasPrefix("page.html:1:1537: error: sections nest at most 256 deep\n"))
    }

    @Test("hold for partials that call each other")
    func partials() throws {
        func chain(_ length: Int) -> [String: String] {
            var partials = ["p\(length)": "end"]
            for number in 1..<length { partials["p\(number)"] = "{{>p\(number + 1)}}" }
            return partials
        }
        #expect(try rendered("{{>p1}}", partials: chain(32)) == "end")
        #expect(
            failure("{{>p1}}", partials: chain(33))
                == "p32:1:1: error: partials call each other at most 32 deep\n{{>p33}}\n^~~~~~~~")
        let itself = ["p": "{{$b}}{{/b}}{{>p}}", "q": "{{<p}}{{$b}}{{>q}}{{/b}}{{/p}}"]
        #expect(failure("{{>p}}", partials: itself)?.contains("at most 32 deep") == true)
        #expect(failure("{{>q}}", partials: itself)?.contains("at most 32 deep") == true)
    }

    @Test("hold for the size of a page")
    func pageSize() throws {
        #expect(MustacheLimits().pageBytes == 16 << 20)
        let limits = MustacheLimits(pageBytes: 30)
        let partials = ["a": "0123456789", "b": "0123456789"]
        #expect(try rendered("{{>a}}{{>a}}{{>a}}", partials: partials, limits: limits).utf8.count == 30)
        #expect(
            failure("{{>a}}{{>b}}", partials: partials, limits: limits)
                == "page.html:1:7: error: a page and its partials have at most 30 bytes\n{{>a}}{{>b}}\n      ^~~~~~")
    }

    @Test("let partials be told apart by their bytes")
    func names() throws {
        let page = try MustachePage(MustacheTemplate.parse(Array("{{>caf\u{E9}}}{{>cafe\u{301}}}".utf8), file: "page"))
        {
            reference, _ throws(TemplateError) in
            let isComposed = reference.name.utf8.count == 5
            return try MustacheTemplate.parse(Array((isComposed ? "1" : "2").utf8), file: reference.name)
        }
        #expect(String(decoding: try page.render([], escaping: .none), as: UTF8.self) == "12")
    }

    @Test("hold for a page's templates")
    func templates() throws {
        let limits = MustacheLimits(partialCount: 3)
        #expect(try rendered("{{>a}}{{>b}}", partials: ["a": "1", "b": "{{>a}}"], limits: limits) == "11")
        let message = failure("{{>a}}{{>b}}", partials: ["a": "1", "b": "{{>c}}", "c": ""], limits: limits)
        #expect(message == "b:1:1: error: a page consists of at most 3 templates\n{{>c}}\n^~~~~~")
    }

    @Test("hold for the tags of a rendering, each repetition counted")
    func tags() throws {
        let ten = MustacheValue.mapping(["l": .list(Array(repeating: .integer(1), count: 10))])
        let limits = MustacheLimits(tags: 20)
        // One section, nine repetitions, ten variables.
        #expect(try rendered("{{#l}}{{.}}{{/l}}", ten, limits: limits) == "1111111111")
        #expect(
            failure("{{#l}}{{.}}{{/l}}{{x}}", ten, limits: limits)
                == "page.html:1:18: error: more than 20 tags are carried out here\n{{#l}}{{.}}{{/l}}{{x}}\n"
                + "                 ^~~~~")
        #expect(failure("{{#l}}{{#l}}{{/l}}{{/l}}", ten, limits: limits) != nil)
        #expect(failure("{{#l}}{{^x}}{{/x}}{{$a}}{{/a}}{{/l}}", ten, limits: limits) != nil)
        #expect(failure("{{#l}}{{>p}}{{>p}}{{/l}}", ten, partials: ["p": ""], limits: limits) != nil)
    }

    @Test("end what would take forever")
    func repetition() {
        let thousand = MustacheValue.mapping(["l": .list(Array(repeating: .integer(1), count: 1000))])
        let limits = MustacheLimits(tags: 100_000)
        let template = String(repeating: "{{#l}}", count: 100) + String(repeating: "{{/l}}", count: 100)
        #expect(failure(template, thousand, limits: limits)?.contains("more than 100000 tags") == true)
        let partial = ["p": "{{#l}}{{>p}}{{/l}}"]
        #expect(failure("{{>p}}", thousand, partials: partial, limits: limits) != nil)
    }

    @Test(
        "hold for the bytes of an answer, to the byte",
        arguments: ["0123456789", "{{x}}", "{{{x}}}", "{{y}}{{y}}", "{{#l}}{{.}}{{/l}}", "{{{l}}}", "  {{>p}}\n{{y}}"])
    func answer(template: String) throws {
        let all = MustacheValue.mapping([
            "x": .text("0123456789"), "y": .text("<a"),
            "l": .list([.mapping(["a": .integer(1)]), .list([.real(3.5)])]),
        ])
        let page = try page(template, partials: ["p": "q\n"])
        let whole = try page.render([all], escaping: .html)
        #expect(try page.render([all], escaping: .html, answerBytes: whole.count) == whole)
        for size in 0..<whole.count {
            let error = #expect(throws: TemplateError.self) {
                try page.render([all], escaping: .html, answerBytes: size)
            }
            #expect(error?.rendering.contains("the answer would have more than \(size) bytes here") == true)
        }
    }

    @Test("hold for what indentation adds")
    func indentation() {
        let blanks = String(repeating: " ", count: 1000)
        let partials = ["p": "\(blanks){{>p}}\n", "q": String(repeating: "a\n", count: 1000)]
        #expect(failure("{{>p}}", partials: partials)?.contains("at most 32 deep") == true)
        let limits = MustacheLimits(answerBytes: 10_000)
        #expect(
            failure("\(blanks){{>q}}", partials: partials, limits: limits)?.contains("more than 10000 bytes") == true)
        #expect(failure("{{>p}}", partials: partials, limits: limits)?.contains("more than 10000 bytes") == true)
    }

    @Test("hold for the levels of a value that is printed")
    func levels() throws {
        var value = MustacheValue.integer(1)
        for _ in 0..<128 { value = .list([value]) }
        #expect(
            try rendered("{{.}}", value) == String(repeating: "[", count: 128) + "1"
                + String(repeating: "]", count: 128))
        #expect(
            failure("{{x}}", .mapping(["x": .list([value])]))
                == "page.html:1:1: error: this value has more than 128 levels\n{{x}}\n^~~~~")
        #expect(MustacheLimits(valueDepth: 100_000).valueDepth == 256)
    }
}
