import Mustache
import Testing

/// What the specification's own cases leave open about lines and blanks.
@Suite("Lines and indentation")
struct IndentationTests {
    @Test(
        "of standalone tags go with them",
        arguments: [
            ("a\n  {{#x}}  \nb\n\t{{/x}}\t\nc", "a\nb\nc"), ("a\r\n{{! c }}\r\nb\r\n", "a\r\nb\r\n"),
            ("{{! a\n b }}\nc", "c"), ("{{=<% %>=}}\n<%x%>", "1"), ("{{#x}}\n{{/x}}\n", ""),
            // More than one tag on a line, and other things, leave it as it is.
            ("{{#x}}{{/x}}\n", "\n"), (" {{! a }} {{! b }}\n", "  \n"), ("{{#x}} {{x}}\n{{/x}}", " 1\n"),
            ("{{x}}\n", "1\n"), ("a {{! b }}\n", "a \n"), ("{{! b }} a\n", " a\n"), ("\r{{! a }}\n", "\r\n"),
            ("\u{b}{{! a }}\n", "\u{b}\n"), ("{{! a }}\rb", "\rb"), ("", ""), ("\n\n", "\n\n"), ("{{! a }}", ""),
            ("\u{feff}{{! a }}\nb", "b"), ("\u{feff}{{x}}", "1"), ("a\u{feff}", "a\u{feff}"),
        ])
    func standalone(template: String, expected: String) throws {
        #expect(try rendered(template, .mapping(["x": .integer(1)])) == expected)
    }

    @Test(
        "of a partial come before each of its lines that isn't empty, but not before lines of values",
        arguments: [
            ("  {{>p}}\nb", "1\n2\n", "  1\n  2\nb"), ("  {{>p}}\nb", "1\n\n2", "  1\n\n  2b"),
            ("  {{>p}}\n", "1\r\n\r\n2\r\n", "  1\r\n\r\n  2\r\n"), (" \t{{>p}}", "{{x}}\n{{x}}", " \ta\nb\n \ta\nb"),
            ("  {{>p}}\n", "{{#x}}\n1\n{{/x}}\n", "  1\n"), ("  {{>p}}\n", "{{#x}}1{{/x}}\n", "  1\n"),
            ("  {{>p}}\n", "{{#no}}1{{/no}}\n", "  \n"),
            // One within a line has no blanks before its lines, and leaves those of its surroundings out.
            ("  {{>p}}\n", "1{{>r}}2\n3", "  11\n2\n 3\n2\n  3"), ("  {{>p}}\n", "1 {{<r}}{{/r}}2", "  1 1\n2\n 3\n2"),
            ("  {{>p}}\n", "{{! a }}\n1", "  1"),
            ("  {{>p}}\n", "a{{x}}\n{{>q}}\n {{>q}}", "  aa\nb\n  q   q"), ("x {{>p}}\n", "1\n2", "x 1\n2\n"),
            ("  {{>p}} {{! }}\n", "1\n2", "  1\n2 \n"), ("\u{a0}{{>p}}", "1\n2", "\u{a0}1\n2"),
            ("{{#l}}\n  {{>p}}\n{{/l}}", "{{.}}\n", "  1\n  2\n"),
        ])
    func partials(template: String, partial: String, expected: String) throws {
        let values = MustacheValue.mapping(["x": .text("a\nb"), "l": .list([.integer(1), .integer(2)])])
        #expect(
            try rendered(template, values, partials: ["p": partial, "q": "q", "r": "1\n2\n {{>s}}\n", "s": "3\n"])
                == expected)
    }

    @Test(
        "of an argument are those of the block whose place it takes",
        arguments: [
            // The page, its parent, what comes out.
            ("{{<p}}{{$b}}1\n2{{/b}}{{/p}}", "  {{$b}}0{{/b}}\n", "  1\n  2\n"),
            ("{{<p}}{{$b}}1\n2{{/b}}{{/p}}", "a {{$b}}0{{/b}}\n", "a 1\n2\n"),
            ("{{<p}}{{$b}}1\n2{{/b}}{{/p}}", "  {{$b}}\n    0\n  {{/b}}\n", "    1\n    2"),
            ("{{<p}}\n  {{$b}}\n    1\n      2\n   3\n\n    4\n  {{/b}}\n{{/p}}\n", "{{$b}}{{/b}}", "1\n  2\n3\n\n4\n"),
            ("{{<p}}\n{{$b}}\n\t1\n\t2\n{{/b}}\n{{/p}}", " {{$b}}\n {{/b}}\n", " 1\n 2\n"),
            ("{{<p}}\n{{$b}}\n  {{#t}}\n  1\n  {{/t}}\n{{/b}}\n{{/p}}", " {{$b}}\n {{/b}}\n", " 1\n 1\n"),
            ("{{<p}}\n{{$b}}\n  {{x}}\n  {{>q}}\n{{/b}}\n{{/p}}", " {{$b}}\n {{/b}}\n", " a\nb\n q\n q"),
            ("{{<p}}{{$b}}{{/b}}{{/p}}", "  {{$b}}\n 0\n  {{/b}}\n1", "1"),
            ("{{<p}}{{$b}}{{/b}}{{/p}}", "  {{$b}}0{{/b}}\n1", "  \n1"),
            ("{{<p}}{{$b}}\n {{#no}}1{{/no}}{{/b}}{{/p}}", "  {{$b}}0{{/b}}\n1", "  \n1"),
            // A default is written as it is.
            ("{{<p}}{{/p}}", "  {{$b}}\n    0\n  {{/b}}\n1", "    0\n1"),
            ("  {{<p}}{{/p}}\n", "{{$b}}\n  0\n{{/b}}\n1\n", "    0\n  1\n"),
            // Parents that are standalone, and not.
            ("  {{<p}}\n {{$b}}1{{/b}}\n {{/p}}  \n2", "{{$b}}0{{/b}}\n3\n", "  1\n  3\n2"),
            ("a {{<p}}{{/p}}\n2", "0\n3\n", "a 0\n3\n\n2"),
            ("  {{<p}}{{/p}} a\n", "0\n3\n", "  0\n3\n a\n"),
            ("{{#t}}{{<p}}{{$b}}{{.}}{{/b}}{{/p}}{{/t}}", "{{$b}}0{{/b}};", "7;8;"),
        ])
    func arguments(template: String, parent: String, expected: String) throws {
        let values = MustacheValue.mapping(["x": .text("a\nb"), "t": .list([.integer(7), .integer(8)])])
        #expect(try rendered(template, values, partials: ["p": parent, "q": "q\nq"]) == expected)
    }

    @Test("of arguments within arguments add up")
    func nested() throws {
        let partials = [
            "outer": "<body>\n  {{$body}}\n  {{/body}}\n</body>\n",
            "inner": "<ul>\n  {{$items}}\n  {{/items}}\n</ul>\n",
        ]
        let template = """
            {{<outer}}
              {{$body}}
                <main>
                  {{<inner}}
                    {{$items}}
                      <li>{{x}}</li>
                    {{/items}}
                  {{/inner}}
                </main>
              {{/body}}
            {{/outer}}
            """
        let expected = """
            <body>
              <main>
                <ul>
                  <li>1</li>
                </ul>
              </main>
            </body>

            """
        #expect(try rendered(template, .mapping(["x": .integer(1)]), partials: partials) == expected)
    }

    @Test("of an argument that begins within a line, in another argument, are less by that one's margin")
    func nestedWithinLine() throws {
        let template = "{{<p}}{{$b}}\n    a\n    {{<q}}{{$c}}1\n      2{{/c}}{{/q}}\n{{/b}}{{/p}}"
        let partials = ["p": "{{$b}}{{/b}}", "q": "{{$c}}{{/c}}\n"]
        #expect(try rendered(template, partials: partials) == "a\n1\n  2\n")
        let comment = "* {{<q}}{{$c}}\n        {{! deep }}\n        1{{/c}}{{/q}}\n* 2"
        #expect(try rendered(comment, partials: ["q": "{{$c}}0{{/c}}"]) == "* 1\n* 2")
    }

    @Test("do not matter for what is given to blocks: the outermost wins, and none reaches itself")
    func precedence() throws {
        let partials = ["p": "[{{$a}}0{{/a}}{{>q}}]", "q": "({{$a}}1{{/a}}{{$b}}2{{/b}})"]
        #expect(try rendered("{{<p}}{{$a}}x{{/a}}{{/p}}{{>q}}", partials: partials) == "[x(x2)](12)")
        #expect(
            try rendered("{{<p}}{{$a}}x{{$a}}y{{/a}}{{$b}}z{{/b}}{{/a}}{{/p}}", partials: partials) == "[xyz(xyz2)]")
        #expect(try rendered("{{$a}}d{{<q}}{{$b}}{{$a}}e{{/a}}{{/b}}{{/q}}{{/a}}", partials: partials) == "d(1e)")
    }
}
