import Mustache
import Testing

@Suite("Escaping")
struct MustacheEscapingTests {
    @Test(
        "is that of the media type",
        arguments: [
            ("text/html", MustacheEscaping.html), ("Text/HTML; charset=utf-8", .html), ("text/xml", .html),
            ("application/xml", .html), ("image/svg+xml", .html), ("application/xhtml+xml;x=y", .html),
            ("application/json", .json), ("application/problem+json", .json), ("text/json", .json),
            ("text/javascript", .json), ("application/javascript ; charset=utf-8", .json),
            ("application/x-javascript", .json), ("application/ecmascript", .json), ("text/plain", .none),
            ("text/css", .none), ("text/csv", .none), ("application/yaml", .none), ("", .none), ("text/htmlx", .none),
            ("application/xml-dtd", .none), ("text/plain;x=text/html", .none),
        ])
    func mediaTypes(type: String, escaping: MustacheEscaping) {
        #expect(MustacheEscaping(mediaType: type) == escaping)
    }

    @Test(
        "changes the characters that mean something there, and those alone",
        arguments: [
            (MustacheEscaping.html, "&<>\"'", "&amp;&lt;&gt;&quot;&#39;"),
            (.html, "a\\\u{1}\n\u{2028}é", "a\\\u{1}\n\u{2028}é"),
            (.html, "&amp;", "&amp;amp;"),
            (.json, "\"\\</script>&'>", "\\\"\\\\\\u003c/script>&'>"),
            (.json, "\u{8}\t\n\u{c}\r\u{0}\u{1b}\u{1f}\u{7f}", "\\b\\t\\n\\f\\r\\u0000\\u001b\\u001f\u{7f}"),
            (.json, "a\u{2027}\u{2028}\u{2029}\u{202a}é€", "a\u{2027}\\u2028\\u2029\u{202a}é€"),
            (.none, "&<>\"'\\\n\u{2028}", "&<>\"'\\\n\u{2028}"),
        ])
    func characters(escaping: MustacheEscaping, text: String, expected: String) throws {
        #expect(try rendered("{{x}}", .mapping(["x": .text(text)]), escaping: escaping) == expected)
    }

    @Test("is left out by three braces and by an ampersand, but for JSON")
    func raw() throws {
        let values = MustacheValue.mapping(["x": .text("<'\"&")])
        #expect(try rendered("{{{x}}}{{& x }}", values) == "<'\"&<'\"&")
        #expect(try rendered("{{{x}}}{{&x}}", values, escaping: .none) == "<'\"&<'\"&")
        #expect(try rendered("[{{{x}}},{{&x}}]", values, escaping: .json) == #"["\u003c'\"&","\u003c'\"&"]"#)
    }

    static let samples = MustacheValue.mapping([
        "null": .null, "yes": .bool(true), "no": .bool(false), "zero": .integer(0), "least": .integer(.min),
        "whole": .real(5), "tenth": .real(0.1), "large": .real(1e300), "infinite": .real(-.infinity),
        "nan": .real(.nan), "empty": .text(""), "text": .text("a\"b"), "list": .list([.integer(1), .text("<")]),
        "none": .list([]), "map": .mapping(["b": .null, "a": .list([.real(2)])]),
        "rows": .rows(
            MustacheRows(
                columns: [Array("i".utf8), Array("t".utf8)], cells: [.integer(1), .text("x"), .integer(2), .null])),
    ])

    @Test(
        "of values of other kinds goes by what they print",
        arguments: [
            // The name; HTML, HTML raw, JSON, JSON raw, other, other raw.
            ("null", ["", "", "", "null", "", ""]), ("missing", ["", "", "", "null", "", ""]),
            ("yes", ["true", "true", "true", "true", "true", "true"]),
            ("no", ["false", "false", "false", "false", "false", "false"]),
            ("zero", ["0", "0", "0", "0", "0", "0"]),
            ("least", Array(repeating: "-9223372036854775808", count: 6)),
            ("whole", Array(repeating: "5.0", count: 6)), ("tenth", Array(repeating: "0.1", count: 6)),
            ("large", Array(repeating: "1e+300", count: 6)), ("infinite", ["", "", "", "null", "", ""]),
            ("nan", ["", "", "", "null", "", ""]), ("empty", ["", "", "", "\"\"", "", ""]),
            ("text", ["a&quot;b", "a\"b", "a\\\"b", "\"a\\\"b\"", "a\"b", "a\"b"]),
            (
                "list",
                [
                    "[1,&quot;&lt;&quot;]", "[1,\"\\u003c\"]", "[1,\\\"\\u003c\\\"]", "[1,\"\\u003c\"]", "[1,\"<\"]",
                    "[1,\"<\"]",
                ]
            ),
            ("none", Array(repeating: "[]", count: 6)),
            (
                "map",
                [
                    "{&quot;b&quot;:null,&quot;a&quot;:[2.0]}", "{\"b\":null,\"a\":[2.0]}",
                    "{\\\"b\\\":null,\\\"a\\\":[2.0]}", "{\"b\":null,\"a\":[2.0]}", "{\"b\":null,\"a\":[2.0]}",
                    "{\"b\":null,\"a\":[2.0]}",
                ]
            ),
            (
                "rows",
                [
                    "[{&quot;i&quot;:1,&quot;t&quot;:&quot;x&quot;},{&quot;i&quot;:2,&quot;t&quot;:null}]",
                    "[{\"i\":1,\"t\":\"x\"},{\"i\":2,\"t\":null}]",
                    "[{\\\"i\\\":1,\\\"t\\\":\\\"x\\\"},{\\\"i\\\":2,\\\"t\\\":null}]",
                    "[{\"i\":1,\"t\":\"x\"},{\"i\":2,\"t\":null}]", "[{\"i\":1,\"t\":\"x\"},{\"i\":2,\"t\":null}]",
                    "[{\"i\":1,\"t\":\"x\"},{\"i\":2,\"t\":null}]",
                ]
            ),
        ])
    func values(name: String, expected: [String]) throws {
        let outputs = try [MustacheEscaping.html, .json, .none].flatMap { escaping in
            try ["{{\(name)}}", "{{{\(name)}}}"].map { try rendered($0, Self.samples, escaping: escaping) }
        }
        #expect(outputs == expected)
    }

    @Test("in a partial is that of the page")
    func partials() throws {
        let values = MustacheValue.mapping(["x": .text("<\"")])
        #expect(try rendered("{{>p}}", values, partials: ["p": "{{x}}"], escaping: .json) == "\\u003c\\\"")
        #expect(try rendered("{{>p}}", values, partials: ["p": "{{x}}"], escaping: .none) == "<\"")
    }
}
