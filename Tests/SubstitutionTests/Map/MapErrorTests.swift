import Diagnostics
import Substitution
import Testing

/// Every error of a map with its place and its wording.
struct MapErrorTests {
    @Test("an error is printed as a compiler prints one")
    func rendering() {
        let text = """
            substitutions:
              https://api.example.com/session:
                json: { user: guest }
                stauts: 201
            """
        #expect(
            messages(text) == [
                """
                substitutions.yaml:4:5: error: unknown option 'stauts'; did you mean 'status'?
                    stauts: 201
                    ^~~~~~
                """
            ])
    }

    @Test("all errors of a file are reported, in its order, and no map is made")
    func allErrors() {
        let text = """
            rot: bundle
            defaults: { file: a, query: maybe }
            substitutions:
              http://h/a: { file: a, text: b }
              www.example.com/b: b
              http://h/c: ../../c
              http://h/*/d: $2
            """
        let result = SubstitutionMap.load(text: text)
        #expect(result.map == nil)
        #expect(result.diagnostics.map(\.diagnostic.span?.start.line) == [1, 2, 2, 4, 5, 6, 7])
        #expect(
            result.diagnostics.map(\.rendering).joined(separator: "\n") == """
                substitutions.yaml:1:1: error: unknown key 'rot'; did you mean 'root'?
                rot: bundle
                ^~~
                substitutions.yaml:2:13: error: 'file' can't be a default: it is what answers for one rule
                defaults: { file: a, query: maybe }
                            ^~~~
                substitutions.yaml:2:29: error: 'query' is exact, ignore, or a mapping of parameters
                defaults: { file: a, query: maybe }
                                            ^~~~~
                substitutions.yaml:4:26: error: two sources, 'file' and 'text'; a rule has one
                  http://h/a: { file: a, text: b }
                                         ^~~~
                substitutions.yaml:5:3: error: this is no URL: a key begins with a scheme, as in http://host/path, or with // for both http and https
                  www.example.com/b: b
                  ^~~~~~~~~~~~~~~~~
                substitutions.yaml:6:15: error: the path leaves the root; a file is below 'root'
                  http://h/c: ../../c
                              ^~~~~~~
                substitutions.yaml:7:17: error: there is no capture $2: the pattern has one star
                  http://h/*/d: $2
                                ^~
                """)
    }

    @Test(
        "keys that are no URL, pattern or expression are refused",
        arguments: [
            ("\"\"", "2:3: error: a key is a URL; this one is empty"),
            (
                "/path",
                "2:3: error: this is no URL: a key begins with a scheme, as in http://host/path, or with // for both http and https"
            ),
            ("http://", "2:3: error: the URL's host is not a host name or an IP address"),
            ("http://ho st/", "2:3: error: the URL has a space, a control character or a backslash in it"),
            ("http://h/a b", "2:3: error: the URL has a space, a control character or a backslash in it"),
            ("http://h:0/", "2:3: error: the URL's port is not a number from 1 to 65535"),
            ("http://h:70000/", "2:3: error: the URL's port is not a number from 1 to 65535"),
            ("http://a@b@c/", "2:3: error: the URL's authority is malformed"),
            ("ht_tp://h/", "2:3: error: the URL's scheme is not one (letters, digits, '+', '-', '.', then '://')"),
            (
                "http://bücher.example/x",
                "2:10: error: a host is written in ASCII; an international name in its form with 'xn--'"
            ),
            ("http://h/***/x", "2:12: error: there is no '***'; '*' matches text without '/', '**' any text"),
            ("http://**.h/x", "2:10: error: '**' can't stand in a host; write '*'"),
            ("h*p://h/x", "2:3: error: the URL's scheme is not one (letters, digits, '+', '-', '.', then '://')"),
            ("http://[*]/x", "2:10: error: a star can't stand in an IPv6 address; write '*' for the whole host"),
            ("http://h:8x*/x", "2:12: error: the URL's port is not a number from 1 to 65535"),
            ("http://h/*?a*=1", "2:3: error: a star can't stand in the name of a parameter"),
        ])
    func badKeys(_ key: String, _ expected: String) {
        let found = headlines("substitutions:\n  \(key): x\n")
        #expect(found == [expected])
    }

    @Test(
        "errors of regular expressions have their place in the key",
        arguments: [("\"~^http://h/(a\"", "\"~^http://h/"), ("~a**b", "~a*"), ("~a(?=b)", "~a"), ("~[a", "~")])
    func badExpressions(_ key: String, _ before: String) {
        let found = SubstitutionMap.load(text: "substitutions:\n  \(key): x\n").diagnostics
        #expect(found.count == 1)
        let columns = (found.first?.diagnostic.span).map { $0.start.column..<$0.end.column }
        // A quoted key without escapes is placed by its bytes too.
        #expect(columns?.contains(3 + before.count) == true, "\(found.map(\.rendering))")
    }

    @Test(
        "values that are no file name, rule or list are refused",
        arguments: [
            ("", "2:3: error: nothing answers here; a file name, a rule or a list of rules is expected"),
            ("null", "2:15: error: nothing answers here; a file name, a rule or a list of rules is expected"),
            ("404", "2:15: error: a file name is text, not an integer; put it in quotes"),
            ("true", "2:15: error: a file name is text, not a boolean; put it in quotes"),
            ("\"\"", "2:15: error: the file name is empty; './' is the folder that is the root"),
            ("/etc/passwd", "2:15: error: an absolute path; files are named relative to 'root', which may be absolute"),
            ("a/../../b", "2:15: error: the path leaves the root; a file is below 'root'"),
            ("..", "2:15: error: the path leaves the root; a file is below 'root'"),
            (
                "http://h/b",
                "2:15: error: a file name is expected, not a URL; write { forward: URL } or { redirect: URL }"
            ),
            ("\"a\\0b\"", "2:15: error: a file name has no NUL byte"),
            ("$HOME/a", "2:15: error: '$' begins no reference such as $1 or ${name}; write '$$' for a dollar"),
            ("a$1", "2:16: error: there is no capture $1: an exact URL has none; write '$$' for a dollar"),
            ("folder/", "2:15: error: one URL is mapped to a folder; end the key in '/' to map all that is below it"),
            (".", "2:15: error: one URL is mapped to a folder; end the key in '/' to map all that is below it"),
            ("[]", "2:15: error: an empty list of rules"),
            ("[[a]]", "2:16: error: a list of rules has no lists in it"),
            (
                "{}",
                "2:15: error: this rule does not say what answers: file, text, json, base64, forward, redirect, block, sqlite, template or answers"
            ),
            (
                "{ status: 404 }",
                "2:15: error: this rule does not say what answers: file, text, json, base64, forward, redirect, block, sqlite, template or answers"
            ),
            ("{ template: [] }", "2:27: error: 'template' is a path, or { text: … }, not a list"),
            ("{ file: a, values: {} }", "2:26: error: 'values' goes with 'template', not with 'file'"),
            ("{ sqlite: {} }", "2:25: error: 'sqlite' is the path of a database's file, not a mapping"),
            ("{ fil: a }", "2:17: error: unknown option 'fil'; did you mean 'file'?"),
            ("{ xyzzy: a, file: a }", "2:17: error: unknown option 'xyzzy'"),
            ("{ file: a, file: b }", "2:26: error: the option 'file' comes twice; it is on line 2 already"),
            ("{ [a]: b, file: a }", "2:17: error: an option's name is a word, not a list"),
            ("{ file: [a] }", "2:23: error: 'file' is a path, not a list"),
        ])
    func badValues(_ value: String, _ expected: String) {
        #expect(headlines("substitutions:\n  http://h/a: \(value)\n") == [expected])
    }

    @Test(
        "options of the wrong type are refused",
        arguments: [
            ("text: 5", "2:23: error: 'text' is text, not an integer; put it in quotes"),
            ("text:", "2:17: error: 'text' is text, not null"),
            ("json: .nan", "2:23: error: JSON has no number '.nan'; use null, or put it in quotes"),
            ("base64: \"a=\"", "2:25: error: this is no Base64 (RFC 4648)"),
            ("forward: false", "2:26: error: 'forward' is true or left out"),
            ("forward: yes", "2:26: error: 'forward' is true or a URL; for 'yes' write true"),
            ("forward: 1", "2:26: error: 'forward' is true or a URL"),
            ("forward: www.example.com", "2:26: error: the URL is not absolute (scheme://host/path)"),
            ("forward: \"ftp://h/\"", "2:26: error: requests are forwarded to http and https URLs only"),
            (
                "forward: \"http://h/a b\"",
                "2:26: error: a URL has no blanks and no control characters; percent-encode them"
            ),
            ("forward: \"http://h/é\"", "2:26: error: a URL is written in ASCII; percent-encode other characters"),
            (
                "forward: \"http://h/$1\"",
                "2:36: error: there is no capture $1: an exact URL has none; write '$$' for a dollar"
            ),
            ("redirect: true", "2:27: error: 'redirect' is a URL"),
            ("redirect: \"///h/b\"", "2:27: error: the URL's host is not a host name or an IP address"),
            (
                "redirect: '/\\h/b'",
                "2:27: error: a path does not begin with a backslash, which browsers take for a slash"
            ),
            (
                "block: true, bypass: origin",
                "2:38: error: a blocked URL never goes to its origin; 'bypass' is never, and may be left out"
            ),
            (
                "block: true, bypass: revalidate",
                "2:38: error: a blocked URL never goes to its origin; 'bypass' is never, and may be left out"
            ),
            (
                "block: true, when: origin-fails",
                "2:30: warning: 'when' has no effect with 'block': a blocked URL never goes to its origin"
            ),
            (
                "answers: [{ block: true }], bypass: origin",
                "2:53: error: a blocked URL never goes to its origin; 'bypass' is never, and may be left out"
            ),
            (
                "answers: [{ block: true }], when: origin-fails",
                "2:45: warning: 'when' has no effect with 'block': a blocked URL never goes to its origin"
            ),
            ("redirect: other", "2:27: error: the URL is not absolute (scheme://host/path)"),
            (
                "redirect: \"http://h/b\", status: 200",
                "2:49: error: the status of a redirect is one from 300 to 399, and not 304"
            ),
            (
                "redirect: \"http://h/b\", status: 304",
                "2:49: error: the status of a redirect is one from 300 to 399, and not 304"
            ),
            ("block: false", "2:24: error: 'block' is true or left out"),
            ("block: on", "2:24: error: 'block' is true; for 'on' write true"),
            ("block: maybe", "2:24: error: 'block' is true"),
            ("file: a, methods: GET", "2:35: error: 'methods' is a list, as in [GET, HEAD]"),
            ("file: a, methods: []", "2:35: error: an empty list of methods; this rule could never answer"),
            ("file: a, methods: [get]", "2:36: error: methods are case-sensitive; did you mean 'GET'?"),
            ("file: a, methods: [\"G T\"]", "2:36: error: a method is a word such as GET"),
            (
                "file: a, methods: [\"*\"]",
                "2:36: error: '*' is no method, and stands for none; name each, as in [GET, HEAD, POST]"
            ),
            ("file: a, methods: [CONNECT]", "2:36: error: a CONNECT request has no URL that a rule could answer"),
            (
                "file: a, query: ignor",
                "2:33: error: 'query' is exact, ignore, or a mapping of parameters; did you mean 'ignore'?"
            ),
            ("file: a, query: [a]", "2:33: error: 'query' is exact, ignore, or a mapping of parameters"),
            ("file: a, query: {}", "2:33: error: a mapping without parameters; write 'ignore'"),
            (
                "file: a, query: { v: [1] }",
                "2:38: error: a parameter's value is one text; \"*\" is any, and \"\" is none"
            ),
            ("file: a, query: { v: }", "2:35: error: a parameter's value is one text; \"*\" is any, and \"\" is none"),
            (
                "file: a, query: { a: 1, \"%61\": 2 }",
                "2:41: error: the parameter '%61' is 'a' percent-encoded, which is on line 2 already"
            ),
            ("file: a, query: { v: 1, v: 2 }", "2:41: error: the parameter 'v' comes twice; it is on line 2 already"),
            (
                "file: a, request-headers: [Accept]",
                "2:43: error: 'request-headers' is a mapping of field names to values, as in { Accept: \"image/*\" }"
            ),
            ("file: a, request-headers: { \"A B\": x }", "2:45: error: 'A B' is no field name"),
            ("file: a, request-headers: { A: x, a: y }", "2:51: error: the field 'a' comes twice"),
            ("file: a, request-headers: { A: }", "2:45: error: a field's value is one text; \"*\" is any"),
            ("file: a, status: \"201\"", "2:34: error: 'status' is a number from 200 to 599"),
            ("file: a, status: 199", "2:34: error: 'status' is a number from 200 to 599"),
            ("file: a, status: 600", "2:34: error: 'status' is a number from 200 to 599"),
            ("file: a, status: 2e2", "2:34: error: 'status' is a number from 200 to 599"),
            ("file: a, type: html", "2:32: error: 'type' is a media type, as in text/html or image/svg+xml"),
            (
                "file: a, headers: [X]",
                "2:35: error: 'headers' is a mapping of field names to values, as in { X-Mock: \"yes\" }"
            ),
            ("file: a, headers: { \"X Y\": a }", "2:37: error: 'X Y' is no field name"),
            ("file: a, headers: { X: [a] }", "2:40: error: a field's value is one text, or null to remove the field"),
            (
                "file: a, headers: { X: \"a\\nb\" }",
                "2:40: error: a field's value has no line break and no control character"
            ),
            ("file: a, headers: { X: a, x: b }", "2:43: error: the field 'x' comes twice"),
            (
                "file: a, headers: { Content-Length: 5 }",
                "2:37: error: the field 'Content-Length' can't be set: it says where the body ends, which the proxy does itself"
            ),
            (
                "file: a, headers: { connection: null }",
                "2:37: error: the field 'connection' can't be set: it speaks of the connection, which the proxy does itself"
            ),
            ("file: a, cors: on", "2:32: error: 'cors' is auto or off"),
            ("file: a, delay: 250", "2:33: error: 'delay': needs a unit, as in 250ms, 1.5s, 2m, 1h"),
            ("file: a, delay: -1s", "2:33: error: 'delay': must not be negative"),
            ("file: a, rate: 64KiB", "2:32: error: 'rate': unknown unit 'KiB'; write it as in 64KiB/s, 1.5MB/s"),
            ("file: a, rate: 0B/s", "2:32: error: 'rate': nothing could be sent; leave it out for no limit"),
            ("file: a, bypass: orgin", "2:34: error: 'bypass' is origin, revalidate or never; did you mean 'origin'?"),
            ("file: a, missing: 403", "2:35: error: 'missing' is error, forward or 404; did you mean '404'?"),
            ("file: a, when: true", "2:32: error: 'when' is always or origin-fails"),
            ("file: a, retain: NO", "2:34: error: 'retain' is true, pinned or false; for 'NO' write true or false"),
            ("file: a, retain: 1", "2:34: error: 'retain' is true, pinned or false"),
        ])
    func badOptions(_ options: String, _ expected: String) {
        #expect(headlines("substitutions:\n  http://h/a: { \(options) }\n") == [expected])
    }

    @Test("a regular expression has no query of its own to be exact about")
    func expressionQuery() {
        #expect(
            headlines("substitutions:\n  ~a: { text: a, query: exact }\n") == [
                "2:25: error: a regular expression is matched against the query too; write the query in it"
            ])
    }

    @Test("a key that is too long to be one is told how to be written", arguments: ["", "\""])
    func longKey(quote: String) {
        let key = quote + "http://h/" + String(repeating: "k", count: 1100) + quote
        let found = headlines("substitutions:\n  \(key): { text: a }\n")
        #expect(found.contains { $0.contains("a key of more than 1024 characters is written '? KEY'") }, "\(found)")
        #expect(headlines("substitutions:\n  ? \(key)\n  : { text: a }\n") == [])
    }

    @Test("options without effect are warned of")
    func withoutEffect() {
        #expect(
            headlines("substitutions:\n  http://h/a: { text: a, retain: false, missing: forward }\n") == [
                "2:26: warning: 'retain' has no effect with 'text'; it is for files",
                "2:41: warning: 'missing' has no effect with 'text'; it is for files",
            ])
        #expect(
            headlines("substitutions:\n  http://h/a: { forward: true, type: text/html }\n") == [
                "2:32: warning: 'type' has no effect with 'forward'"
            ])
        #expect(
            headlines("substitutions:\n  http://h/a: { when: origin-fails, forward: true }\n") == [
                "2:17: warning: 'when' has no effect with 'forward: true': there is nothing beside the origin to be asked"
            ])
        #expect(
            headlines(
                "defaults: { when: origin-fails }\nsubstitutions:\n  http://h/a: { forward: true }\n"
                    + "  http://h/b: { forward: \"http://c/\", when: origin-fails }\n"
                    + "  http://h/c: { forward: true, when: always }\n") == [])
        #expect(
            headlines("defaults: { type: text/css }\nsubstitutions:\n  http://h/a: { block: true, type: text/html }\n")
                == [
                    "3:30: warning: 'type' has no effect with 'block'"
                ])
    }

    @Test("YAML that is refused hides no other error")
    func refusedYAML() {
        let text = """
            root: bundle
            substitutions:
              http://h/a: &x one
              http://h/b: *x
              *x : two
              http://h/c: { <<: *x, stauts: 1, text: t }
              http://h/d: { status: !!str 5, text: t }
              http://h/e: { text: t, stauts: 201 }

            """
        let found = headlines(text).map { $0.split(separator: " ", maxSplits: 2).last.map(String.init) ?? "" }
        let places = headlines(text).compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(places == ["3:15:", "4:3:", "4:15:", "5:3:", "6:17:", "6:21:", "6:25:", "7:25:", "8:26:"])
        #expect(found.filter { $0.hasPrefix("YAML a") }.count == 4)
        #expect(found.filter { $0.hasPrefix("unknown option 'stauts'") }.count == 2)
    }

    @Test("a URL that comes twice is an error that names both lines")
    func duplicates() {
        let text = """
            substitutions:
              http://h/a: one
              http://h/b?x=1&y=2: two
              HTTP://H:80/./a: three
              http://h/b?y=2&x=1: four
              http://h/b?x=1&y=2: { file: five, query: { z: 1 } }
              //h/a: six
              http://h/d/: d/
              http://h/%64/: e/
              http://h/*.png: $1
              http://h/*.png: ${1}
              ~^a: { text: a }
              ~^a: { text: b }
            """
        #expect(
            headlines(text) == [
                "4:3: error: this URL comes twice; it is on line 2 already; normalised it is http://h/a",
                "5:3: error: this URL comes twice; it is on line 3 already",
                "6:3: error: this URL comes twice; it is on line 3 already",
                "7:3: error: this URL comes twice; it is on line 2 already; normalised it is http://h/a",
                "9:3: error: this URL comes twice; it is on line 8 already; normalised it is http://h/d/",
                "11:3: error: this pattern comes twice; it is on line 10 already",
                "13:3: error: this regular expression comes twice; it is on line 12 already",
            ])
    }

    @Test("URLs that differ in a query which is ignored answer alike, which a warning says")
    func ignoredQueries() throws {
        let text = """
            defaults: { query: ignore }
            substitutions:
              http://h/a?v=1: one
              http://h/a?v=2: two
              http://h/a: three
              http://h/b: four
              http://h/b?v=1: five
            """
        #expect(
            headlines(text) == [
                "3:3: warning: the query of this URL takes no part, because of 'query: ignore'",
                "4:3: warning: the query of this URL takes no part, because of 'query: ignore'",
                "4:3: warning: this URL answers any query, as the one on line 3 does for the same path; that one is tried first",
                "5:3: warning: this URL answers any query, as the one on line 3 does for the same path; this one is tried first",
                "7:3: warning: the query of this URL takes no part, because of 'query: ignore'",
                "7:3: warning: this URL answers any query, as the one on line 6 does for the same path; that one is tried first",
            ])
        let map = try map(text)
        for query in ["", "?v=1", "?v=2"] {
            #expect(try map.answer("http://h/a" + query) == "three")
            #expect(try map.answer("http://h/b" + query) == "four")
        }
    }

    @Test("URLs of one path that differ in their queries are no duplicates, whatever their rules want of the query")
    func differentQueries() throws {
        let bare = "http://h/x: { text: bare }"
        let mapped = "http://h/x: { text: bare, query: { c: \"1\" } }"
        let ignoring = "http://h/x?b=2: { text: b2, query: ignore }"
        for lines in [[bare, ignoring], [ignoring, bare]] {
            let text = "substitutions:\n" + lines.map { "  \($0)\n" }.joined()
            #expect(headlines(text).allSatisfy { $0.contains("warning: the query of this URL takes no part") })
            let map = try map(text)
            #expect(try map.answer("http://h/x").hasSuffix("bare"))
            #expect(try map.answer("http://h/x?b=2").hasSuffix("b2"))
            #expect(try map.answer("http://h/x?b=3").hasSuffix("b2"))
        }
        let map = try rules(ignoring, mapped)
        #expect(try map.answer("http://h/x?c=1").hasSuffix("bare"))
        #expect(try map.answer("http://h/x?b=2").hasSuffix("b2"))
        let byMethod = try rules(
            "http://h/x: { text: get, methods: [GET], query: ignore }",
            "http://h/x?b=2: { text: post, methods: [POST], query: ignore }")
        #expect(try byMethod.answer("http://h/x", "POST").hasSuffix("post"))
        #expect(try byMethod.answer("http://h/x").hasSuffix("get"))
    }

    @Test(
        "the same URL with the same parameters comes twice, whatever its rules want of the query",
        arguments: ["query: exact", "query: ignore", "query: { c: \"1\" }"],
        ["query: exact", "query: ignore", "query: { c: \"1\" }"])
    func sameParameters(_ one: String, _ other: String) {
        for (first, second) in [("", ""), ("?b=2&a", "?a&b=2")] {
            let found = headlines(
                """
                substitutions:
                  http://h/x\(first): { text: a, methods: [GET], \(one) }
                  http://h/x\(second): { text: b, methods: [POST], \(other) }
                """)
            #expect(found.filter { $0.contains("error") }.count == 1)
            #expect(found.contains("3:3: error: this URL comes twice; it is on line 2 already"))
        }
    }

    @Test("ten thousand URLs of one path whose queries are ignored load without a comparison of each with each")
    func manyIgnoredQueries() throws {
        var text = "defaults: { query: ignore }\nsubstitutions:\n"
        for number in 0..<10_000 { text += "  http://h/item?id=\(number): q/\(number)\n" }
        #expect(try map(text).answer("http://h/item") == "q/0")
    }

    @Test("a key that comes twice is found too where one of its rules, or both, are refused")
    func duplicatesOfRefusedRules() {
        let text = """
            defaults: { query: ignore }
            substitutions:
              http://h/a: { stauts: 201 }
              http://h/a: one
              http://h/b?x: two
              http://h/b?x: { text: three, file: four, query: exact }
              http://h/c/: 5
              http://h/c/: []
              ~d: ../d
              ~d: { text: d }
              http://*.h/: $9
              http://*.h/: { text: e }
            """
        let found = headlines(text)
        for (line, noun, first) in [
            (4, "URL", 3), (6, "URL", 5), (8, "URL", 7), (10, "regular expression", 9), (12, "pattern", 11),
        ] {
            #expect(found.contains("\(line):3: error: this \(noun) comes twice; it is on line \(first) already"))
        }
        #expect(found.filter { $0.contains("comes twice") }.count == 5)
        #expect(found.filter { $0.contains("warning") }.count == 1)
    }

    @Test("an empty regular expression is none", arguments: ["~", "\"~\"", "'~'"])
    func emptyExpression(_ key: String) throws {
        #expect(
            headlines("substitutions:\n  \(key): { text: a }\n") == [
                "2:3: error: there is no regular expression behind this '~'; '~.' matches every URL"
            ])
        #expect(try rules("~null: { text: a }").line("http://h/a") == nil)
        #expect(try rules("~null: { text: a }").line("http://h/null") == 2)
    }

    @Test(
        "what requests may have, and no URL has, is refused in a key",
        arguments: [
            ("http://h/%zz", "2:12: error: two hexadecimal digits follow '%' in a URL; write '%25' for a percent sign"),
            ("http://h/a%", "2:13: error: two hexadecimal digits follow '%' in a URL; write '%25' for a percent sign"),
            (
                "http://h/?a=%4",
                "2:15: error: two hexadecimal digits follow '%' in a URL; write '%25' for a percent sign"
            ),
            (
                "http://h/*%4*",
                "2:13: error: two hexadecimal digits follow '%' in a URL; write '%25' for a percent sign"
            ),
            ("http://.h/x", "2:10: error: a host has no empty label: a dot has a name before it"),
            ("//u.:p@h..x/x", "2:12: error: a host has no empty label: a dot has a name before it"),
            ("http://*..x/x", "2:12: error: a host has no empty label: a dot has a name before it"),
            ("http://.*/x", "2:10: error: a host has no empty label: a dot has a name before it"),
        ])
    func badURLs(_ key: String, _ expected: String) throws {
        #expect(headlines("substitutions:\n  \(key): { text: a }\n").filter { $0.contains("error") } == [expected])
        // A request for it is answered all the same.
        #expect(try rules("http://h/: { text: a }").line("http://h/%zz?%") == 2)
    }

    @Test("a fragment and an address with dots are no reason to refuse a key")
    func goodURLs() throws {
        #expect(try rules("\"http://h/a#%zz\": { text: a }").line("http://h/a") == 2)
        #expect(try rules("http://[::ffff:127.0.0.1]/a: { text: a }").line("http://[::ffff:127.0.0.1]/a") == 2)
        #expect(try rules("http://h/%25/*: { text: a }").line("http://h/%25/b") == 2)
    }

    @Test("a pattern that looks like a folder and is mapped to one is warned of")
    func patternAsFolder() {
        let warning =
            "a pattern is no folder: this answers with the folder's index.html, and nothing below the URL; end the key"
            + " in '/**' and this in"
        #expect(
            headlines("substitutions:\n  http://*.h/assets/: assets/\n") == [
                "2:23: warning: \(warning) '$2' for all that is below it"
            ])
        for rule in [
            "http://*.h/assets/: assets/index.html", "http://*.h/*/: pages/$2/", "http://*.h/assets/**: assets/$2",
            "http://*.h/assets/?x=*: assets/", "http://*.h/assets/: { text: a }",
        ] {
            #expect(headlines("substitutions:\n  \(rule)\n").isEmpty)
        }
    }

    @Test("a folder mapped to a file is an error, also where the disk alone tells")
    func folderToFile() throws {
        let text = "substitutions:\n  http://h/a/: a\n"
        let expected = "substitutions.yaml:2:16: error: a folder is mapped to a file; a folder's name ends in '/'"
        func found(_ existing: [String: MappedKind]) -> [String] {
            loadFiles(["substitutions.yaml": text], existing: existing).diagnostics.map(\.diagnostic.headline)
        }
        #expect(found([:]) == [expected])
        #expect(found(["/maps/a": .file]) == [expected])
        #expect(found(["/maps/a": .folder]) == [])
        // It is the folder then, whose files are below it.
        let map = try #require(
            loadFiles(["substitutions.yaml": text], existing: ["/maps/a": .folder]).map)
        #expect(try map.answer("http://h/a/x/y") == "a/x/y" && map.answer("http://h/a/") == "a/index.html")
        #expect(
            headlines("substitutions:\n  http://h: site/\n") == [
                "2:13: error: one URL is mapped to a folder: without a '/' at its end the key is the root page alone"
            ])
    }

    @Test("bytes that are not UTF-8 hide no other error")
    func otherBytes() {
        let text =
            [UInt8]("substitutions:\n  http://h/a: { stauts: 201, text: x }\n  # caf".utf8) + [0xE9]
            + [UInt8]("\n  http://h/c: $1\n".utf8)
        let files = MapFileSystem(
            read: { _, _ in .success(MapFileContents(bytes: text)) }, kind: { _, path in path.isEmpty ? .folder : nil },
            absolutePath: { "/maps/\($0)" }, identity: { $0 })
        let found = SubstitutionMap.load(files: ["m.yaml"], options: MapLoadOptions(fileSystem: files)).diagnostics
        let lines = found.map { $0.diagnostic.headline.split(separator: ":").dropFirst().first ?? "" }
        #expect(lines == ["2", "3", "4"])
    }

    @Test("fragment and user information take no part, which a warning says")
    func fragment() {
        #expect(
            headlines("substitutions:\n  http://u:p@h/a#b: a\n  \"http://h/*.png#x\": b\n") == [
                "2:3: warning: the fragment, from '#' on, takes no part: no request has it",
                "2:3: warning: the user information, before '@', takes no part",
                "3:3: warning: the fragment, from '#' on, takes no part: no request has it",
            ])
    }

    @Test(
        "what stands beside the rules is checked",
        arguments: [
            ("root: [a]", "1:7: error: 'root' is the path of a folder"),
            ("root: 5", "1:7: error: 'root' is the path of a folder"),
            ("include: a.yaml", "1:10: error: 'include' is a list of files, as in [icons.yaml]"),
            ("include: [{}]", "1:11: error: an included map is named by its path"),
            ("intercept: a.example", "1:12: error: 'intercept' is a list of hosts, as in [\"*.corp.example\"]"),
            (
                "intercept: [\"http://a\"]",
                "1:13: error: 'http://a' is no host; write one as in www.example.com or \"*.example.com\""
            ),
            (
                "intercept: [null]",
                "1:13: error: 'null' is no host; write one as in www.example.com or \"*.example.com\""
            ),
            (
                "intercept: [true]",
                "1:13: error: 'true' is no host; write one as in www.example.com or \"*.example.com\""
            ),
            ("intercept: [1]", "1:13: error: '1' is no host; write one as in www.example.com or \"*.example.com\""),
            ("intercept: [1.5]", "1:13: error: '1.5' is no host; write one as in www.example.com or \"*.example.com\""),
            (
                "intercept: [a..b]",
                "1:13: error: 'a..b' is no host; write one as in www.example.com or \"*.example.com\""
            ),
            ("intercept: [.x]", "1:13: error: '.x' is no host; write one as in www.example.com or \"*.example.com\""),
            ("defaults: [a]", "1:11: error: 'defaults' is a mapping of options, as in { query: ignore }"),
            ("defaults: { stauts: 201 }", "1:13: error: unknown option 'stauts'; did you mean 'status'?"),
            (
                "defaults: { redirect: \"http://h\" }",
                "1:13: error: 'redirect' can't be a default: it is what answers for one rule"
            ),
            (
                "defaults: { cors: auto, cors: off }",
                "1:25: error: the option 'cors' comes twice; it is on line 1 already"
            ),
            ("http://h/b: b", "1:1: error: unknown key 'http://h/b'; URLs stand below 'substitutions'"),
            ("[a]: b", "1:1: error: a key here is a word, not a list"),
        ])
    func topLevel(_ line: String, _ expected: String) {
        #expect(headlines("\(line)\nsubstitutions: { \"http://h/a\": a }\n") == [expected])
    }

    @Test("so many errors are shown, and the others counted")
    func manyErrors() {
        let text = "substitutions:\n" + (0..<1500).map { "  http://h/\($0): { fil: a }\n" }.joined()
        let found = SubstitutionMap.load(text: text).diagnostics
        #expect(found.count == 1001)
        #expect(found.last?.rendering == "substitutions.yaml: error: 500 further messages are not shown")
    }
}
