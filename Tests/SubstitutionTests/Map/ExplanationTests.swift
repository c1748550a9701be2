import HTTPSemantics
import Substitution
import Testing

struct ExplanationTests {
    private let map = Result {
        try rules(
            "https://secure.example/a.png: a.png", "http://h/exact: exact", "http://h/q?x=1: q",
            "http://h/post: { text: p, methods: [POST, PUT] }",
            "http://h/field: { file: f, request-headers: { X-Key: \"v*\" } }", "http://h/folder/: folder/",
            "http://www.w/a: a", "http://bare/a: a", "http://port:8080/a: a", "http://h/Case/File.PNG: c",
            "http://h/param: { file: p, query: { v: \"1*\", w: \"\" } }", "//both/a: a", "http://ported/a: a",
            "https://s.pattern/*.png: $1.png", "http://q.pattern/*.png?size=*&n=1: $1.png",
            "\"http://*.host.pattern/a/*\": $2", "\"http://port.pattern:8*/a/*\": $2",
            "http://star.pattern/a/*.png: $1",
            "http://case.pattern/Case/*.PNG: $1", "http://deep.pattern/img/*.png: $1",
            "http://high.pattern/x/y/img/: i/",
            "http://post.pattern/*: { text: x, methods: [POST] }", "http://fixed.pattern:81/*/: a",
            "sqlite://products/**: { sqlite: a.db }",
            "\"~^http://[a-z]+[.]any[.]expression/a$\": a")
    }

    @Test(
        "the nearest miss is named, with what would help",
        arguments: [
            (
                "http://secure.example/a.png", "GET", 2,
                "matches but for the scheme: the rule is for https; a key that begins with // is for both"
            ),
            ("http://h/exact?v=1", "GET", 3, "matches but for its query; add 'query: ignore'"),
            ("http://h/q", "GET", 4, "matches but for its query; add 'query: ignore'"),
            ("http://h/q?x=2", "GET", 4, "matches but for its query; add 'query: ignore'"),
            (
                "http://h/exact", "POST", 3,
                "matches but for the method: the rule answers GET, HEAD; 'methods' may name more"
            ),
            (
                "http://h/post", "GET", 5,
                "matches but for the method: the rule answers POST, PUT; 'methods' may name more"
            ),
            ("http://h/field", "GET", 6, "matches but for the request field x-key, which is missing"),
            ("http://h/folder", "GET", 7, "matches but for a '/' at the end, which the rule's URL has"),
            ("http://h/exact/", "GET", 3, "matches but for the '/' at the end, which the rule's URL does not have"),
            ("http://w/a", "GET", 8, "matches but for the host: the rule's begins with 'www.'"),
            ("http://www.bare/a", "GET", 9, "matches but for the host: the rule's has no 'www.'"),
            ("http://port/a", "GET", 10, "matches but for the port: the rule is for port 8080"),
            ("http://ported:81/a", "GET", 14, "matches but for the port: the rule is for port 80"),
            ("http://h/case/file.png", "GET", 11, "matches but for the case of the path"),
            ("http://h/FOLDER/x", "GET", 7, "matches but for the case of the path"),
            ("http://h/param?v=2", "GET", 12, "matches but for its query: the rule wants v=1*, w="),
            (
                "http://s.pattern/a.png", "GET", 15,
                "matches but for the scheme: the rule is for https; a key that begins with // is for both"
            ),
            ("http://q.pattern/a.png?n=1", "GET", 16, "matches but for its query: the rule's URL has 'size=*&n=1'"),
            (
                "http://host.pattern/a/b", "GET", 17,
                "matches but for the host: the rule's is '*.host.pattern', and a star in it stands for a label or more"
            ),
            (
                "http://any.expression/a", "GET", 26,
                "matches but for the host: the rule's expression matches 'www.any.expression'"
            ),
            ("http://port.pattern/a/b", "GET", 18, "matches but for the port: the rule is for port 8*"),
            (
                "http://star.pattern/a/b/c.png", "GET", 19,
                "matches but for '*', which stands for text within one segment; '**' would match"
            ),
            ("http://case.pattern/case/a.png", "GET", 20, "matches but for the case of the path"),
            (
                "http://deep.pattern/app/v1/img/a.png", "GET", 21,
                "matches but for the beginning of the path: the rule's URL does not have '/app/v1'"
            ),
            (
                "http://high.pattern/img/a.png", "GET", 22,
                "matches but for the beginning of the path: the rule's URL has '/x/y' before it"
            ),
            (
                "http://post.pattern/a", "GET", 23,
                "matches but for the method: the rule answers POST; 'methods' may name more"
            ),
            ("http://fixed.pattern/a/", "GET", 24, "matches but for the port: the rule is for port 81"),
            (
                "http://fixed.pattern:81/a", "GET", 24, "matches but for a '/' at the end, which the rule's URL has"
            ),
            ("http://products/1", "GET", 25, "matches but for the scheme: the rule is for sqlite"),
        ])
    func nearestMiss(_ url: String, _ method: String, _ line: Int, _ reason: String) throws {
        let explanation = try map.get().explanation(url, method)
        #expect(explanation.answer == nil)
        #expect(explanation.nearestMiss?.rule.location.line == line)
        #expect(explanation.nearestMiss?.reason == reason)
    }

    @Test("a field with another value is told from a missing one")
    func otherValue() throws {
        let explanation = try map.get().explanation("http://h/field", "GET", [("x-key", "w")])
        #expect(explanation.nearestMiss?.reason == "matches but for the request field x-key, which is not v*")
    }

    @Test("all conditions that do not hold are named")
    func allConditions() throws {
        let map = try rules(
            "http://h/a: { text: a, methods: [POST], query: { a: \"1\" } }",
            "http://h/b: { text: b, request-headers: { X-One: \"1\", X-Two: \"2\" } }")
        #expect(
            try map.explanation("http://h/a", "GET").nearestMiss?.reason
                == "matches but for the method: the rule answers POST; 'methods' may name more, "
                + "and for its query: the rule wants a=1")
        #expect(
            try map.explanation("http://h/b", "GET", [("x-two", "3")]).nearestMiss?.reason
                == "matches but for the request field x-one, which is missing, "
                + "and for the request field x-two, which is not 2")
        #expect(
            try map.explanation("http://h/b", "GET", [("x-two", "2")]).nearestMiss?.reason
                == "matches but for the request field x-one, which is missing")
    }

    @Test(
        "where nothing is near, nothing is named",
        arguments: [
            "http://other/", "ftp://x/y", "http://h/nothing", "http://star.pattern/b.gif", "http://h/a/b/c",
            // Two things differ.
            "http://s.pattern:81/a.png", "https://www.bare/a",
        ])
    func nothing(_ url: String) throws {
        let explanation = try map.get().explanation(url)
        #expect(explanation.nearestMiss == nil && explanation.answer == nil)
        #expect(explanation.lines == ["no rule answers"])
    }

    @Test("the answer comes with its reasons, and with the rules passed over")
    func answer() throws {
        let map = try rules(
            "http://h/a/b: { file: b, methods: [POST], request-headers: { X: \"*\" } }",
            "http://h/a/: { file: a/, query: { v: \"*\" } }", "http://h/a/*: { text: hello, type: text/css }")
        #expect(
            try map.explanation("http://h/a/b").lines == [
                "substitutions.yaml:4 answers with 5 bytes of text/css",
                "  rule: http://h/a/*",
                "  because the URL matches the rule's pattern, and none with a longer beginning",
                "  because the query takes no part",
                "  captures: $1 = b",
                "passed over: substitutions.yaml:2: for the method: the rule answers POST; 'methods' may name more, "
                    + "and for the request field x, which is missing",
                "passed over: substitutions.yaml:3: for its query: the rule wants v=*",
            ])
        #expect(
            try map.explanation("http://h/a/b?v=1", "GET").lines == [
                "substitutions.yaml:3 answers with the file //a/b",
                "  rule: http://h/a/",
                "  because the URL is in the rule's folder, and no longer folder or pattern matches",
                "  because the method is one of GET, HEAD",
                "  because the query has v=*",
                "passed over: substitutions.yaml:2: for the method: the rule answers POST; 'methods' may name more, "
                    + "and for its query; add 'query: ignore', and for the request field x, which is missing",
            ])
        #expect(
            try map.explanation("http://h/a/b", "POST", [("X", "")]).answer?.reasons == [
                "the URL is the rule's", "the method is one of POST", "the query is the rule's",
                "the request field x is *",
            ])
    }

    @Test("what stars and groups have captured is shown as it stands in the URL")
    func captures() throws {
        let map = try rules(
            "http://h/*/p?x=*&n=1: $2/$1.png", "\"~^http://h/(?<lang>..)/q$\": ${lang}", "http://h/exact: e")
        let explanation = try map.explanation("http://h/a%20b/p?n=1&x=c%25")
        #expect(explanation.lines.contains("  captures: $1 = a%20b, $2 = c%25"))
        #expect(explanation.answer?.captures.map(\.value) == ["a%20b", "c%25"])
        #expect(explanation.answer?.sourceDescription == "the file //c%/a b.png")
        #expect(try map.explanation("http://h/de/q").lines.contains("  captures: $1 = de, ${lang} = de"))
        // The memory of the look-up before has captures in it still.
        var scratch = LookupScratch()
        _ = try map.match("http://h/a/p?n=1&x=c", scratch: &scratch)
        let exact = map.explain(
            try TargetURI("http://h/exact"), method: RequestMethod(.get), fields: section([]), scratch: &scratch)
        #expect(exact.answer?.captures.isEmpty == true)
    }

    @Test(
        "what answers is said in words",
        arguments: [
            ("{ forward: true }", "the origin's answer"), ("{ forward: \"http://o/\" }", "the answer of http://o/"),
            ("{ redirect: \"/b\" }", "a redirect to /b"), ("{ block: true }", "a refusal (block)"),
            ("{ json: {} }", "2 bytes of application/json"),
        ])
    func words(_ rule: String, _ expected: String) throws {
        #expect(try rules("http://h/a: \(rule)").explanation("http://h/a").answer?.sourceDescription == expected)
    }
}
