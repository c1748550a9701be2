import Testing

@testable import Patterns

struct LinearExpressionTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let pattern: String
        let input: String
        let groups: [String?]?

        init(_ pattern: String, _ input: String, _ groups: [String?]?) {
            self.pattern = pattern
            self.input = input
            self.groups = groups
        }

        var testDescription: String { "\(pattern) in \(input)" }
    }

    private func check(_ row: Row) throws {
        let expression = try LinearExpression(row.pattern)
        #expect(expression.texts(in: row.input) == row.groups)
        let bytes = Array(row.input.utf8)
        for engine in Engine.allCases {
            let groups = expression.groups(in: bytes, engine: engine)?.map { range in
                range.map { String(decoding: bytes[$0], as: UTF8.self) }
            }
            #expect(groups == row.groups, "\(engine)")
        }
        var scratch = MatchScratch()
        #expect(bytes.withUnsafeBytes { expression.matches($0, scratch: &scratch) } == (row.groups != nil))
    }

    static let urls: [Row] = [
        Row(
            #"^https?://api\.example\.com/v(\d+)/users$"#, "https://api.example.com/v12/users",
            ["https://api.example.com/v12/users", "12"]),
        Row(
            #"^https?://api\.example\.com/v(\d+)/users$"#, "http://api.example.com/v1/users",
            ["http://api.example.com/v1/users", "1"]),
        Row(#"^https?://api\.example\.com/v(\d+)/users$"#, "https://api.example.com/v/users", nil),
        Row(#"^https?://api\.example\.com/v(\d+)/users$"#, "https://api.example.com/v1/users/2", nil),
        Row(#"^https?://api\.example\.com/v(\d+)/users$"#, "https://apixexample.com/v1/users", nil),
        Row(#"\.png$"#, "http://a/b.png", [".png"]),
        Row(#"\.png$"#, "http://a/b.png?x", nil),
        Row(#"/(\w+)\.(png|jpe?g)$"#, "http://a/b/c_1.jpeg", ["/c_1.jpeg", "c_1", "jpeg"]),
        Row(
            #"^https://(?<host>[^/]+)/(?P<path>.*)$"#, "https://a.b/c/d",
            ["https://a.b/c/d", "a.b", "c/d"]),
        Row(
            #"^(.*)/([^/]*)\.(\w+)$"#, "http://a/b/c.tar.gz", ["http://a/b/c.tar.gz", "http://a/b", "c.tar", "gz"]),
        Row(#"(?i)/INDEX\.html?$"#, "http://a/Index.HTM", ["/Index.HTM"]),
    ]

    @Test("URLs match with what their groups captured", arguments: urls)
    func url(row: Row) throws { try check(row) }

    static let syntax: [Row] = [
        Row("", "", [""]), Row("", "ab", [""]), Row("()", "a", ["", ""]), Row("a||b", "b", [""]),
        Row("b", "abc", ["b"]), Row("^b", "abc", nil), Row("^a", "abc", ["a"]), Row("c$", "abc", ["c"]),
        Row("b$", "abc", nil), Row("$", "abc", [""]), Row(#"\Aab\z"#, "ab", ["ab"]), Row(#"\Ab"#, "ab", nil),
        Row("a$", "a\n", nil), Row("a^b", "ab", nil), Row("x*^a", "a", ["a"]), Row("^a|b", "cb", ["b"]),
        Row(".", "\n", nil), Row("(?s).", "\n", ["\n"]), Row("(?s:.)b", "\nb", ["\nb"]), Row("(?s:a).", "a\n", nil),
        Row("[abc]+", "xxcab", ["cab"]), Row("[^abc]+", "abxyc", ["xy"]), Row("[a-c0-2]+", "b1z", ["b1"]),
        Row("[]a]+", "]a", ["]a"]), Row("[^]a]", "]ab", ["b"]), Row("[a-]+", "-a", ["-a"]), Row("[-a]+", "-a", ["-a"]),
        Row(#"[\]\\]+"#, #"\]"#, [#"\]"#]), Row(#"[\d/]+"#, "a1/2", ["1/2"]), Row(#"[^\W_]+"#, "_a1_", ["a1"]),
        Row("[[:alpha:]]+", "1ab2", ["ab"]), Row("[[:^alpha:]]+", "ab12", ["12"]), Row("[a[]+", "[a", ["[a"]),
        Row("[[:xdigit:]x]+", "zfFx0", ["fFx0"]), Row("[[:]+", "[:", ["[:"]), Row("[%&.:;]", "a:", [":"]),
        Row(#"\d+\D"#, "12a", ["12a"]), Row(#"\w+\W"#, "a_1-", ["a_1-"]), Row(#"\S\s\S"#, "a\tb", ["a\tb"]),
        Row(#"\t\n\r\f\v"#, "\t\n\r\u{C}\u{B}", ["\t\n\r\u{C}\u{B}"]), Row(#"\x41\x{42}"#, "AB", ["AB"]),
        Row(#"\x{E9}"#, "é", ["é"]), Row(#"\xC3\xA9"#, "é", ["é"]), Row(#"\.\*\/\_\ "#, ".*/_ ", [".*/_ "]),
        Row(#"\bab\b"#, "ab-", ["ab"]), Row(#"\bab\b"#, "xab ab", ["ab"]), Row(#"\Bb"#, "b ab", ["b"]),
        Row(#"a\B"#, "a", nil), Row("é+", "éé", ["éé"]), Row("[éa]+", "éaéb", ["éaé"]), Row("^.$", "é", nil),
        Row("(?i)aB[c-d]", "AbD", ["AbD"]), Row("a(?i)b", "aB", ["aB"]), Row("a(?i)b", "AB", nil),
        Row("(?:a(?i)b|c)d", "Cd", ["Cd"]), Row("(?:a(?i)b|c)d", "CD", nil), Row("(?i:a)b", "Ab", ["Ab"]),
        Row("(?i)a(?-i)b", "AB", nil), Row("(?i)a(?-i:b)C", "Abc", ["Abc"]), Row("(?is-i:a.)", "A\n", nil),
        Row("(?i)[^a]", "Ab", ["b"]), Row("(?i)é", "É", nil), Row(#"(?i)\x41"#, "a", ["a"]),
        Row("a{2}", "aaa", ["aa"]), Row("a{2,}", "baaa", ["aaa"]), Row("a{1,2}", "aaa", ["aa"]),
        Row("a{0}b", "ab", ["b"]), Row("a{0,1}b", "aab", ["ab"]), Row("(a){0}b", "b", ["b", nil]),
        Row("a{2,}?", "aaaa", ["aa"]), Row("a{1,3}?a", "aaaa", ["aa"]), Row("(?:ab){2}", "ababab", ["abab"]),
        Row("a}]", "a}]", ["a}]"]), Row("^*a", "a", ["a"]),
    ]

    @Test("Each part of the syntax means what it says", arguments: syntax)
    func part(row: Row) throws { try check(row) }

    static let priorities: [Row] = [
        Row("a|ab", "ab", ["a"]), Row("ab|a", "ab", ["ab"]), Row("(a|ab)(c|bcd)", "abcd", ["abcd", "a", "bcd"]),
        Row("(a*)(a*)", "aaa", ["aaa", "aaa", ""]), Row("(a*?)(a*)", "aaa", ["aaa", "", "aaa"]),
        Row("(a+?)(a*?)$", "aaa", ["aaa", "a", "aa"]), Row("a??b", "ab", ["ab"]),
        Row("(a??)(a?)", "a", ["a", "", "a"]),
        Row("(?:(a)|b)*", "ab", ["ab", "a"]), Row("(?:(a)|(b))+", "ab", ["ab", "a", "b"]),
        Row("(a|b)*", "ab", ["ab", "b"]),
        Row("(a*)*", "b", ["", ""]), Row("(a*)+", "aa", ["aa", "aa"]), Row("(|a)*", "aa", ["", ""]),
        Row("(|a)+", "aa", ["", ""]), Row("(a|)+", "aab", ["aa", "a"]), Row("(a|b*)*", "b", ["b", "b"]),
        Row("(?:a?)*?b", "aab", ["aab"]),
        Row("(a)|b", "b", ["b", nil]), Row("x(a)?y", "xy", ["xy", nil]), Row("(a+)(b+)?", "aac", ["aa", "aa", nil]),
        Row("b+|a+", "aabb", ["aa"]), Row(".*(b)", "abab", ["abab", "b"]), Row(".*?(b)", "abab", ["ab", "b"]),
    ]

    @Test("Of several matches the leftmost is found, and there the one of most priority", arguments: priorities)
    func priority(row: Row) throws { try check(row) }

    @Test("Bytes that are not UTF-8 are matched one by one")
    func anyBytes() throws {
        let expression = try LinearExpression(#"^[\x80-\xFF](.)\x00$"#)
        for engine in Engine.allCases {
            #expect(expression.groups(in: [0xFF, 0xE9, 0x00], engine: engine) == [0..<3, 1..<2])
            #expect(expression.groups(in: [0x7F, 0xE9, 0x00], engine: engine) == nil)
        }
    }

    @Test("An input without memory behind it is an empty input")
    func noBaseAddress() throws {
        var scratch = MatchScratch()
        var captures = CaptureList()
        let input = UnsafeRawBufferPointer(start: nil, count: 0)
        #expect(try LinearExpression("^$").firstMatch(in: input, scratch: &scratch, captures: &captures))
        #expect(captures[0] == 0..<0)
        #expect(try !LinearExpression("a").firstMatch(in: input, scratch: &scratch, captures: &captures))
    }

    @Test("Groups that do not exist are nil, and a failed match leaves no groups")
    func captureBounds() throws {
        var scratch = MatchScratch()
        var captures = CaptureList()
        let expression = try LinearExpression("(a)(b)?")
        let matched = [UInt8]("xa".utf8).withUnsafeBytes {
            expression.firstMatch(in: $0, scratch: &scratch, captures: &captures)
        }
        #expect(matched)
        #expect(captures.count == 3)
        #expect([captures[-1], captures[0], captures[1], captures[2], captures[3]] == [nil, 1..<2, 1..<2, nil, nil])
        let failed = [UInt8]("x".utf8).withUnsafeBytes {
            expression.firstMatch(in: $0, scratch: &scratch, captures: &captures)
        }
        #expect(!failed)
        #expect(captures.count == 0 && captures[0] == nil)
    }

    @Test("Scratch memory of one expression does not disturb the next")
    func sharedScratch() throws {
        var scratch = MatchScratch()
        let expressions = try ["(a|b)*c", "x", "^(.*)/(.*)$", "(?:a?){20}a{20}", #"\bq(.)"#].map {
            try LinearExpression($0)
        }
        let inputs = ["abac", "", "a/b/c", String(repeating: "a", count: 25), "zz qr"].map { Array($0.utf8) }
        for _ in 0..<2 {
            for expression in expressions {
                for input in inputs {
                    let fresh = expression.groups(in: input, engine: .backtracker)
                    for engine in Engine.allCases {
                        #expect(expression.groups(in: input, engine: engine, scratch: &scratch) == fresh)
                    }
                }
            }
        }
    }

    @Test("Groups are counted in the order of their parentheses, and named ones can be looked up")
    func groupNames() throws {
        let expression = try LinearExpression("(a)(?:b)(?<name>c(?P<Inner_2>d))")
        #expect(expression.groupCount == 3)
        #expect(expression.groupNames == ["name": 2, "Inner_2": 3])
    }

    @Test(
        "Anchoring is known",
        arguments: [
            ("^a", true), ("a", false), ("^a|^b", true), ("^a|b", false), ("(^a)b", true), ("(?:^a)+", true),
            ("(?:^a)?", false), (#"\Aa"#, true), ("a*^b", true), ("", false),
        ])
    func anchoring(pattern: String, isAnchored: Bool) throws {
        #expect(try LinearExpression(pattern).isAnchoredAtStart == isAnchored)
    }
}
