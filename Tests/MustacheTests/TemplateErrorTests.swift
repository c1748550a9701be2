import Diagnostics
import Mustache
import Testing

@Suite("Errors in templates")
struct TemplateErrorTests {
    @Test(
        "have a place, the line, and a mark",
        arguments: [
            ("a {{b", "1:3: error: this tag is not closed; add the '}}'\na {{b\n  ^~"),
            ("é\n\té {{{b}} c", "2:4: error: this tag is not closed; add the '}}}'\n\té {{{b}} c\n\t  ^~"),
            ("{{! a", "1:1: error: this tag is not closed; add the '}}'\n{{! a\n^~"),
            ("{{=| |", "1:1: error: this tag is not closed; add the '=}}'\n{{=| |\n^~"),
            ("{{=<% %>=}}\n<%a", "2:1: error: this tag is not closed; add the '%>'\n<%a\n^~"),
            (
                "{{a {{b}}",
                "1:1: error: this tag is not closed where the next one or the next line begins; add the '}}'\n"
                    + "{{a {{b}}\n^~"
            ),
            (
                "{{a\nb}}",
                "1:1: error: this tag is not closed where the next one or the next line begins; add the '}}'\n{{a\n^~"
            ),
            ("{{}}", "1:1: error: a name is missing in this tag\n{{}}\n^~~~"),
            ("{{ # }}", "1:1: error: a name is missing in this tag\n{{ # }}\n^~~~~~~"),
            ("{{> }}", "1:1: error: a name is missing in this tag\n{{> }}\n^~~~~~"),
            ("{{a..b}}", "1:1: error: a part of the name 'a..b' is empty\n{{a..b}}\n^~~~~~~~"),
            ("{{../a}}", "1:1: error: a part of the name '../a' is empty\n{{../a}}\n^~~~~~~~"),
            (
                "{{>*a}}",
                "1:1: error: dynamic names are not accepted; write the partial's own name\n{{>*a}}\n^~~~~~~"
            ),
            (
                "{{< *a }}",
                "1:1: error: dynamic names are not accepted; write the partial's own name\n{{< *a }}\n^~~~~~~~~"
            ),
            ("{{#a}}\n", "1:1: error: this tag is not closed; add a '{{/a}}'\n{{#a}}\n^~~~~~"),
            ("x{{$a}}", "1:2: error: this tag is not closed; add a '{{/a}}'\nx{{$a}}\n ^~~~~~"),
            ("x{{<a}}", "1:2: error: this tag is not closed; add a '{{/a}}'\nx{{<a}}\n ^~~~~~"),
            ("{{/a}}", "1:1: error: this tag closes nothing\n{{/a}}\n^~~~~~"),
            (
                "{{#a}}\n{{^b}}{{/a}}",
                "2:7: error: '{{/b}}' is expected here, for the tag of line 2\n{{^b}}{{/a}}\n      ^~~~~~"
            ),
            (
                "{{=a=}}",
                "1:1: error: new delimiters are two texts with a blank between and without '=', as in '{{=<% %>=}}'\n"
                    + "{{=a=}}\n^~~~~~~"
            ),
            (
                "{{=a b c=}}",
                "1:1: error: new delimiters are two texts with a blank between and without '=', as in '{{=<% %>=}}'\n"
                    + "{{=a b c=}}\n^~~~~~~~~~~"
            ),
            (
                "{{<p}}{{$b}}{{/b}}{{$b}}{{/b}}{{/p}}",
                "1:19: error: the block 'b' is given twice here\n{{<p}}{{$b}}{{/b}}{{$b}}{{/b}}{{/p}}\n"
                    + "                  ^~~~~~"
            ),
            ("a {{>p}}", "1:3: error: the partial 'p' is missing\na {{>p}}\n  ^~~~~~"),
            ("a\n {{<p}}{{/p}}", "2:2: error: the partial 'p' is missing\n {{<p}}{{/p}}\n ^~~~~~"),
        ])
    func places(template: String, message: String) {
        #expect(failure(template) == "page.html:\(message)")
    }

    @Test("end names that are longer than any")
    func longNames() throws {
        let name = String(repeating: "a", count: 1024)
        #expect(
            try rendered("{{\(name)}}", .mapping(MustacheMapping([(name: Array(name.utf8), value: .integer(1))])))
                == "1")
        for sigil in ["", "#", ">", "$"] {
            #expect(failure("{{\(sigil)\(name)a}}")?.contains("a name has at most 1024 bytes") == true)
        }
    }

    @Test("of bytes that are not UTF-8 are at the first of them")
    func encoding() {
        for bytes: [UInt8] in [[0x61, 0x0A, 0xFF], [0x61, 0x0A, 0xC3], [0x61, 0x0A, 0xED, 0xA0, 0x80]] {
            let error = #expect(throws: TemplateError.self) { try MustacheTemplate.parse(bytes, file: "a.html") }
            #expect(error?.diagnostic.span?.start.line == 2)
            #expect(error?.diagnostic.message == "a template is UTF-8, and this byte is not")
        }
    }

    @Test("of a partial are in the partial")
    func partials() {
        #expect(failure("{{>p}}", partials: ["p": "a\n{{#b}}"])?.hasPrefix("p:2:1: error: ") == true)
        #expect(
            failure("{{>p}}", partials: ["p": "{{>q}}"]) == "p:1:1: error: the partial 'q' is missing\n{{>q}}\n^~~~~~")
    }

    @Test("show no character that a terminal would obey")
    func terminals() throws {
        let message = try #require(failure("{{#\u{1B}[2J}}{{/\u{7}}}"))
        #expect(message.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 })
    }

    @Test("do not come from what is between a parent's blocks, as far as it is Mustache")
    func parents() throws {
        let partials = ["p": "{{$a}}{{/a}}"]
        let template = "{{<p}}{{x}} {{>no}}{{#s}}{{$b}}1{{/b}}{{<no}}{{/no}}{{/s}}{{$a}}2{{/a}}{{!c}}{{/p}}"
        #expect(try rendered(template, partials: partials) == "2")
        #expect(failure("{{<p}}{{#s}}{{/p}}", partials: partials)?.contains("'{{/s}}' is expected here") == true)
    }
}
