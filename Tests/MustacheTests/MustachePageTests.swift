import Mustache
import Testing

@Suite("A page")
struct MustachePageTests {
    @Test("asks for each partial of each template once, with the template that names it")
    func asking() throws {
        let files = [
            "/site/page.html": "{{> parts/nav }}{{>parts/nav}}{{<base}}{{$b}}{{>../x.svg}}{{/b}}{{/base}}",
            "/site/parts/nav.html": "{{>item}}", "/site/parts/item.html": "{{>item}}",
            "/site/base.html": "{{$b}}{{/b}}",
            "/x.svg": "",
        ]
        // As a caller may resolve names.
        let found = [
            "parts/nav": "/site/parts/nav.html", "base": "/site/base.html", "item": "/site/parts/item.html",
            "../x.svg": "/x.svg",
        ]
        var asked: [String] = []
        let load = { (path: String) throws(TemplateError) in
            try MustacheTemplate.parse(Array((files[path] ?? "").utf8), file: path)
        }
        let root = try load("/site/page.html")
        #expect(root.references.map(\.name) == ["parts/nav", "base", "../x.svg"])
        #expect(root.references.map(\.range) == [0..<16, 30..<39, 45..<58])
        let page = try MustachePage(root) { reference, template throws(TemplateError) in
            asked.append("\(template.file) \(reference.name)")
            return try found[reference.name].map { path throws(TemplateError) in try load(path) }
        }
        #expect(
            asked == [
                "/site/page.html parts/nav", "/site/page.html base", "/site/page.html ../x.svg",
                "/site/parts/nav.html item", "/site/parts/item.html item",
            ])
        #expect(
            page.templates.map(\.file) == [
                "/site/page.html", "/site/parts/nav.html", "/site/base.html", "/x.svg", "/site/parts/item.html",
            ])
    }

    @Test("can't be made where the caller has an error for a partial")
    func refusal() throws {
        let root = try MustacheTemplate.parse(Array("a {{> ../../etc/passwd}}".utf8), file: "a.html")
        let error = #expect(throws: TemplateError.self) {
            try MustachePage(root) { reference, template throws(TemplateError) in
                throw template.error("'\(reference.name)' is outside of the root", at: reference)
            }
        }
        #expect(error?.rendering.hasPrefix("a.html:1:3: error: '../../etc/passwd' is outside of the root\n") == true)
    }

    @Test("does not read what values bring as a template")
    func injection() throws {
        let values = MustacheValue.mapping(["x": .text("{{y}}{{>p}}{{=<% %>=}}"), "y": .text("!")])
        #expect(try rendered("{{{x}}}<%y%>{{y}}", values) == "{{y}}{{>p}}{{=<% %>=}}<%y%>!")
    }

    @Test("has delimiters of any bytes, which end with their file")
    func delimiters() throws {
        let values = MustacheValue.mapping(["x": .text("1")])
        #expect(try rendered("{{=\u{0} \u{1}=}}\u{0}x\u{1}{{x}}", values) == "1{{x}}")
        #expect(try rendered("{{=| |=}}|x||>p||x|", values, partials: ["p": "{{x}}|"]) == "11|1")
        #expect(try rendered("{{=<% %>=}}<%{x}%><%={{ }}=%>{{x}}", values) == "11")
        #expect(try rendered("{{=é 😀=}}éx😀", values) == "1")
        #expect(try rendered("{{={ }=}}{x} {{x}}", values) == "1 1")
        #expect(failure("{{=\(String(repeating: "a", count: 33)) b=}}")?.contains("at most 32 bytes") == true)
        #expect(failure("{{=a=b c=}}") != nil)
    }

    @Test("takes names as they are written, blanks around left out")
    func names() throws {
        let values = MustacheValue.mapping([
            "a b": .text("1"), "é": .text("2"), "else": .text("3"), "\u{0}": .text("4"),
        ])
        #expect(try rendered("{{ a b }}{{\n\té\r\n}}{{ else}}{{\u{0}}}", values) == "1234")
        #expect(try rendered("{{ #a b }}{{ & é }}{{ /a b }}{{ ! x }}", values) == "2")
    }
}
