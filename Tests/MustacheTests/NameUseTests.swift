import Diagnostics
import Mustache
import Testing

@Suite("What a page uses")
struct NameUseTests {
    /// The names that are used outside of all sections, with their files and lines.
    private func outside(_ template: String, partials: [String: String] = [:]) throws -> [String] {
        let page = try MustacheTests.page(template, partials: partials)
        return page.uses().filter(\.isOutsideSections).map { use in
            "\(use.path.joined(separator: ".")) \(page.templates[use.template].file):\(use.span.start.line)"
        }
    }

    @Test("is told for each tag, with its place")
    func uses() throws {
        let page = try MustacheTests.page("é {{a.b}}\n{{#c}}\r\n {{{d}}}{{&.}}{{/c}}{{^e}}{{/e}}")
        let told = page.uses().map { use in
            "\(use.kind) \(use.path) \(use.span.start.line):\(use.span.start.column)-\(use.span.end.column) "
                + "\(use.isOutsideSections) \(use.sections.sorted())"
        }
        #expect(
            told == [
                "escaped [\"a\", \"b\"] 1:3-10 true []", "section [\"c\"] 2:1-7 true []",
                "raw [\"d\"] 3:2-9 false [\"c\"]", "raw [] 3:9-15 false [\"c\"]",
                "section [\"e\"] 3:21-27 true []",
            ])
    }

    @Test("counts as outside of sections where it may be rendered there")
    func sections() throws {
        #expect(
            try outside("{{a}}{{#b}}{{c}}{{#d}}{{/d}}{{/b}}{{^e}}{{f}}{{/e}}{{g}}").map { $0.prefix(1) } == [
                "a", "b", "e", "g",
            ])
        let partials = ["p": "\n{{x}}{{>q}}", "q": "{{y}}{{#z}}{{>p}}{{w}}{{/z}}"]
        #expect(try outside("{{#a}}{{>p}}{{/a}}", partials: partials) == ["a page.html:1"])
        #expect(try outside("{{>p}}", partials: partials) == ["x p:2", "y q:1", "z q:1"])
        #expect(try outside("{{#a}}{{>p}}{{/a}}{{>q}}", partials: partials) == ["a page.html:1", "y q:1", "z q:1"])
    }

    @Test("in blocks counts by where they are written")
    func blocks() throws {
        let partials = [
            "p": "{{$a}}{{default}}{{/a}}{{#s}}{{$b}}{{within}}{{/b}}{{/s}}{{$c}}{{own}}{{/c}}", "q": "{{>p}}",
        ]
        let given = "{{$a}}{{x}}{{/a}}{{$b}}{{y}}{{/b}}{{$no}}{{z}}{{/no}}"
        #expect(try outside("{{<p}}\(given){{/p}}", partials: partials) == ["x page.html:1", "s p:1", "own p:1"])
        #expect(try outside("{{<q}}\(given){{/q}}", partials: partials) == ["x page.html:1", "s p:1", "own p:1"])
        #expect(try outside("{{#t}}{{<p}}\(given){{/p}}{{/t}}", partials: partials) == ["t page.html:1"])
        #expect(try outside("{{<p}}{{/p}}", partials: partials) == ["default p:1", "s p:1", "own p:1"])
        let nested = "{{<p}}{{$a}}{{<p}}{{$c}}{{x}}{{#v}}{{w}}{{/v}}{{/c}}{{/p}}{{y}}{{/a}}{{/p}}{{z}}"
        #expect(
            try outside(nested, partials: partials)
                == ["x page.html:1", "v page.html:1", "y page.html:1", "z page.html:1", "s p:1"])
    }

    @Test("of a request is told by its paths, a section's as a whole")
    func paths() throws {
        let template = """
            {{request.url}}{{#a}}{{{request.query.x}}}{{request.url}}{{/a}}{{^request.headers.accept}}{{/request.headers.accept}}
            {{#request.query-all.tag}}{{.}}{{/request.query-all.tag}}{{requests.a}}{{a.request.b}}{{>p}}{{! {{request.no}}
            {{<p}}{{request.ignored}}{{$b}}{{request.id}}{{/b}}{{/p}}
            """
        let page = try MustacheTests.page(template, partials: ["p": "{{$b}}{{request.body}}{{/b}}"])
        let paths = page.paths(from: "request").map { $0.dropFirst().joined(separator: ".") }
        #expect(paths.sorted() == ["body", "headers.accept", "id", "query-all.tag", "query.x", "url"])
        #expect(
            try MustacheTests.page("{{a}}{{>p}}", partials: ["p": "{{#request}}{{url}}{{/request}}"]).paths(
                from: "request") == [["request"]])
        #expect(try MustacheTests.page("{{a}}").paths(from: "request").isEmpty)
    }

    @Test("can be warned of")
    func warning() throws {
        let page = try MustacheTests.page("a\n {{{request.url}}}{{#request.query}}{{{a}}}{{/request.query}}")
        let raw = page.uses().filter {
            $0.kind == .raw && ($0.path.first == "request" || $0.sections.contains("request"))
        }
        #expect(raw.map(\.path) == [["request", "url"], ["a"]])
        let warning = page.diagnostic(.warning, "'{{{' does not escape", at: try #require(raw.first))
        #expect(
            warning.rendering
                == "page.html:2:2: warning: '{{{' does not escape\n {{{request.url}}}{{#request.query}}{{{a}}}"
                + "{{/request.query}}\n ^~~~~~~~~~~~~~~~~")
        #expect(warning.diagnostic.severity == .warning)
    }
}
