import Testing

@testable import Substitution

/// Which rule answers a URL (docs/map.md, "Which rule answers").
struct LookupTests {
    static let exampleMap = """
        root: bundle
        substitutions:
          http://images.apple.com/global/nav/images/globalnavbg.png: fakeGlobalNavBG.png
          https://cdn.example.com/assets/: assets/
          https://*.example.com/img/**/*.png: img/$2/$3.png
          ~^https?://api\\.example\\.com/v(\\d+)/users$: users-v$1.json
          //fonts.example.com/inter.woff2: inter.woff2
          assets://test.jpg: test.jpg
          https://api.example.com/session:
            json: { user: guest }
            status: 201
            headers: { X-Mock: "yes", Server: null }
          https://cdn.example.com/assets/live.js: { forward: true }
        """

    @Test(
        "a map with every kind of key answers as documented",
        arguments: [
            ("http://images.apple.com/global/nav/images/globalnavbg.png", "fakeGlobalNavBG.png"),
            ("http://IMAGES.apple.com:80/global/./nav/x/../images/globalnavbg%2Epng", "fakeGlobalNavBG.png"),
            ("https://images.apple.com/global/nav/images/globalnavbg.png", "-"),
            ("https://cdn.example.com/assets/a/b.js", "assets/a/b.js"),
            ("https://cdn.example.com/assets/", "assets/index.html"),
            ("https://cdn.example.com/assets/sub/", "assets/sub/index.html"),
            ("https://cdn.example.com/assets/a%20b.js?v=1", "assets/a b.js"),
            ("https://cdn.example.com/assets", "-"),
            ("https://cdn.example.com/assets/live.js", "forward"),
            ("https://a.b.example.com/img/x/y/z.png", "img/x/y/z.png"),
            ("https://a.example.com/img/z.png", "img/z.png"),
            ("https://example.com/img/x/z.png", "-"),
            ("https://api.example.com/v12/users", "users-v12.json"),
            ("http://api.example.com/v1/users", "users-v1.json"),
            ("http://api.example.com/v1/users?x=1", "-"),
            ("http://fonts.example.com/inter.woff2", "inter.woff2"),
            ("https://fonts.example.com/inter.woff2", "inter.woff2"),
            ("assets://test.jpg", "test.jpg"),
            ("https://api.example.com/session", #"application/json: {"user":"guest"}"#),
            ("https://api.example.com/other", "-"),
        ])
    func everyKind(_ url: String, _ expected: String) throws {
        #expect(try map(Self.exampleMap).answer(url) == expected)
    }

    @Test("an exact URL goes before every folder, pattern and expression")
    func exactFirst() throws {
        let map = try rules(
            "~^http://h/a/b$: expression", "http://h/a/*: pattern", "http://h/a/: folder/", "http://h/a/b: exact")
        #expect(try map.answer("http://h/a/b") == "exact")
        #expect(try map.answer("http://h/a/c") == "pattern")
        #expect(try map.answer("http://h/a/c/d") == "folder/c/d")
    }

    @Test(
        "of folders and patterns the longest literal prefix answers",
        arguments: [
            ("http://h/x", "root/x"), ("http://h/a/x", "a/x"), ("http://h/a/b/x", "ab/x"),
            ("http://h/a/b/c/x", "ab/c/x"),
            ("http://h/a/b/cool/x", "coolx"), ("http://h/a/b/coolest", "coolest"), ("http://h/", "root/index.html"),
            ("http://g/a/b/x", "anyhost"), ("http://h.org/a/b/cool/x", "anyhost"),
        ])
    func longestPrefix(_ url: String, _ expected: String) throws {
        let map = try rules(
            "http://*/a/**: anyhost", "http://h/: root/", "http://h/a/: a/", "http://h/a/b/: ab/",
            "http://h/a/b/co*: $1", "http://h/a/b/cool/*: cool$1", "http://h/a/b/cool*: cool$1")
        #expect(try map.answer(url) == expected)
    }

    @Test("at equal length the rule that comes first answers")
    func firstAtEqualLength() throws {
        #expect(try rules("http://h/a/*: pattern", "http://h/a/: folder/").answer("http://h/a/x") == "pattern")
        #expect(try rules("http://h/a/: folder/", "http://h/a/*: pattern").answer("http://h/a/x") == "folder/x")
        #expect(
            try rules("http://h/*/b: first", "http://h/a*: longer", "http://h/*b: second").answer("http://h/x/b")
                == "first")
        #expect(try rules("http://h/**b: second", "http://h/*/b: first").answer("http://h/x/b") == "second")
    }

    @Test("the literal prefix of a pattern goes on in its query where its path has no star")
    func prefixInQuery() throws {
        let patterns = [
            "http://h/p/x*: short", "http://h/p/: folder/", "http://h/p/x?a=*: long", "http://h/p/x?a=1&b=*: longest",
            "http://h/p/?q=*: page", "http://h/p/x*y?a=1&b=2&c=*: star",
        ]
        for order in [patterns, patterns.reversed()] {
            let map = try map("substitutions:\n" + order.map { "  \($0)\n" }.joined())
            #expect(try map.answer("http://h/p/x?a=1") == "long")
            #expect(try map.answer("http://h/p/x?b=2&a=1") == "longest")
            #expect(try map.answer("http://h/p/x") == "short")
            #expect(try map.answer("http://h/p/?q=1") == "page")
            #expect(try map.answer("http://h/p/") == "folder/index.html")
        }
        // Equally long ones: the first of the file, whatever the query of the pattern with a star in its path is.
        #expect(try rules("http://h/p/x*: a", "http://h/p/x*y?a=1&c=*: b").answer("http://h/p/xy?a=1&c=2") == "a")
        #expect(try rules("http://h/p/x*y?a=1&c=*: b", "http://h/p/x*: a").answer("http://h/p/xy?a=1&c=2") == "b")
        #expect(try rules("http://h/x?a=*: a", "http://h/x?b=*: b").answer("http://h/x?b=1&a=1") == "a")
    }

    @Test("the first regular expression of the file answers")
    func firstExpression() throws {
        let map = try rules("~/b$: first", "~^http://h/a/b: second", "~.: third")
        #expect(try map.answer("http://h/a/b") == "first")
        #expect(try map.answer("http://h/a/b?x") == "second")
        #expect(try map.answer("ftp://x/") == "third")
    }

    @Test("rules whose conditions do not hold are passed over, down to the next step")
    func passedOver() throws {
        let map = try rules(
            "http://h/a/b: { file: post, methods: [POST] }",
            "http://h/a/: { file: put/, methods: [PUT] }",
            "http://h/: root/",
            "~.: { text: all }")
        #expect(try map.answer("http://h/a/b", "POST") == "post")
        #expect(try map.answer("http://h/a/b", "PUT") == "put/b")
        #expect(try map.answer("http://h/a/b", "GET") == "root/a/b")
        #expect(try map.answer("http://h/a/b", "DELETE") == "text/plain; charset=utf-8: all")
    }

    @Test("of a list of rules the first whose conditions hold answers, with its own line")
    func list() throws {
        let map = try map(
            """
            substitutions:
              http://h/api:
                - { methods: [POST], json: { ok: true }, status: 201 }
                - query: { v: "2*" }
                  file: two.json
                - file: one.json
                - unreachable.json
            """)
        #expect(try map.answer("http://h/api", "POST") == #"application/json: {"ok":true}"#)
        #expect(try map.line("http://h/api", "POST") == 3)
        #expect(try map.answer("http://h/api?v=2.1") == "two.json")
        #expect(try map.line("http://h/api?v=2.1") == 4)
        #expect(try map.answer("http://h/api") == "one.json")
        #expect(try map.line("http://h/api") == 6)
        #expect(try map.line("http://h/api?x=1") == nil)
        #expect(map.ruleCount == 4)
    }

    @Test(
        "keys and URLs are normalised alike",
        arguments: [
            ("HTTP://Example.COM:80", "http://example.com/"), ("http://h/%7Euser/%c3%a9", "http://h/~user/%C3%A9"),
            ("http://h/é", "http://h/%C3%A9"), ("http://h/a/../b/./c", "http://h/b/c"),
            ("http://h:8080/x", "http://h:8080/x"),
            ("https://h:443/x?%41=%2f", "https://h/x?A=%2F"), ("http://u:p@h/x#frag", "http://h/x"),
            ("http://h./x", "http://h./x"), ("http://[::1]:80/x", "http://[::1]/x"),
            ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/index.html"),
            ("http://h/a%2Ab", "http://h/a%2Ab"),
        ])
    func normalisation(_ key: String, _ url: String) throws {
        let value = key.hasSuffix("/") ? "x/" : "x"
        let map = try rules("\"\(key)\": \(value)")
        #expect(try map.line(url) == 2)
        if value == "x" { #expect(try map.line(key) == 2) }
    }

    @Test("a key without a path is the root page alone, one with a slash the whole host")
    func rootPage() throws {
        let map = try rules("http://page.example: page.html", "http://host.example/: site/")
        #expect(try map.answer("http://page.example/") == "page.html")
        #expect(try map.answer("http://page.example/x") == "-")
        #expect(try map.answer("http://host.example/") == "site/index.html")
        #expect(try map.answer("http://host.example/x") == "site/x")
    }

    @Test("a folder with a query is one URL")
    func folderWithQuery() throws {
        let map = try rules("http://h/a/?x=1: one", "http://h/b/?: two")
        #expect(try map.answer("http://h/a/?x=1") == "one")
        #expect(try map.answer("http://h/a/b") == "-")
        #expect(try map.answer("http://h/b/") == "two")
    }

    @Test("keys for both schemes drop the default port of each")
    func bothSchemes() throws {
        let map = try rules("//h:443/x: x", "//h/dir/: dir/", "//*.h/*.png: $2")
        #expect(try map.line("https://h/x") == 2)
        #expect(try map.line("http://h:443/x") == 2)
        #expect(try map.line("http://h/x") == nil)
        #expect(try map.answer("https://h/dir/a") == "dir/a")
        #expect(try map.answer("http://a.b.h/z.png") == "z")
        #expect(try map.answer("https://a.h/z.png") == "z")
        #expect(map.ruleCount == 3)
    }

    @Test("named groups and groups that took no part are filled in")
    func groups() throws {
        let map = try rules(
            "~^http://h/(?<lang>[a-z]{2})/(\\d+)?(.*)$: ${lang}/n$2-$3.txt", "http://h/*/**/*.css: $3/$1.css")
        #expect(try map.answer("http://h/de/12x") == "de/n12-x.txt")
        #expect(try map.answer("http://h/de/x") == "de/n-x.txt")
        #expect(try map.answer("http://h/a/b/c/d.css") == "d/a.css")
    }

    @Test("a star in host and port matches what is documented")
    func stars() throws {
        let map = try rules("http://*.example.com/: sub", "http://*:*/p: port", "\"//img.*.net:8*/**\": $2")
        #expect(try map.line("http://a.b.example.com/") == 2)
        #expect(try map.line("http://example.com/") == nil)
        #expect(try map.line("http://x:8080/p") == 3)
        #expect(try map.line("http://x/p") == nil)
        #expect(try map.answer("http://img.a.net:81/x/y") == "1")
        #expect(try map.line("http://img.a.net/x/y") == nil)
    }

    @Test(
        "a star between digits and hexadecimal digits of a host makes no address of it",
        arguments: [
            ("0*0.0*0.0*0.0*0", "0y0.0y0.0y0.0y0"), ("0*1", "0y1"), ("0*7f.1", "0y7f.1"), ("*", "127.0.0.1"),
            ("127.*", "127.0.0.1"), ("127.*.1", "127.0.0.1"), ("0*", "0y"), ("1*.2*", "1y.2y"),
            ("2130706433*", "2130706433y"),
        ])
    func starInAddress(pattern: String, host: String) throws {
        let map = try rules("http://\(pattern)/x: x")
        #expect(try map.answer("http://\(host)/x") == "x")
        #expect(try map.answer("http://other.test/x") == (pattern == "*" ? "x" : "-"))
    }

    @Test("a star in the port of an IPv6 address matches its digits")
    func starInAddressPort() throws {
        let map = try rules("http://[::1]:1*/x: x")
        #expect(try map.answer("http://[::1]:18/x") == "x")
        #expect(try map.answer("http://[::1]:81/x") == "-")
        #expect(try map.answer("http://[::1]/x") == "-")
        #expect(
            headlines("substitutions:\n  http://[::*]:1/x: x\n") == [
                "2:10: error: a star can't stand in an IPv6 address; write '*' for the whole host"
            ])
    }

    @Test(
        "a tunnel is decrypted where a URL of a rule with stars can match, and nowhere else",
        arguments: [
            ("cdn.test", 443, false), ("cdn1.test", 443, true), ("CDN1.a.test.", 443, true), ("cdn1.test", 444, false),
            ("h2", 443, false), ("h2", 8443, true), ("h2", 8, false), ("h2", 18, false), ("p", 444, true),
            ("p", 443, false), (".b.test", 444, false), ("a.b.test", 444, true), ("a.b.test", 443, false),
            ("x.corp.test", 1, true), ("[::1]", 81, true), ("[::1]", 443, false),
        ])
    func decryptedHosts(_ host: String, _ port: UInt16, _ isDecrypted: Bool) throws {
        let map = try map(
            """
            intercept: ["*.corp.test"]
            substitutions:
              https://cdn*.test/x: { text: a }
              https://h2:8*/x: { text: a }
              https://p:*/x: { text: a }
              https://*.b.test:444/x: { text: a }
              "https://[::1]:8*/x": { text: a }
            """)
        let hosts = InterceptedHosts(map)
        #expect(hosts.contains(host: host, port: port) == isDecrypted)
        #expect(hosts.names == ["h2", "p", "[::1]"])
        #expect(hosts.patternTexts == ["cdn*.test", "*.b.test", "*.corp.test"])
    }

    @Test("a look-up does not depend on what the scratch memory was used for before")
    func scratch() throws {
        let map = try map(Self.exampleMap)
        var scratch = LookupScratch()
        for _ in 0..<3 {
            #expect(try map.match("https://a.example.com/img/x/z.png", scratch: &scratch) != nil)
            #expect(try map.match("https://cdn.example.com/assets/a", scratch: &scratch)?.rest == 31..<32)
            #expect(try map.match("https://unknown.example/", scratch: &scratch) == nil)
        }
    }

    @Test("a map without rules answers nothing")
    func empty() throws {
        #expect(try SubstitutionMap.empty.answer("http://h/a/b?c") == "-")
        #expect(SubstitutionMap.empty.ruleCount == 0)
    }

    @Test("a host with the root's dot is the host without it, in keys and in requests")
    func rootDot() throws {
        let map = try rules(
            "http://one.test/a: { text: one }", "http://two.test./a: { text: two }",
            "//*.three.test.:81/a: { text: three }",
            "\"~^http://four[.]test/\": { text: four }")
        for dot in ["", "."] {
            #expect(try map.answer("http://one.test\(dot)/a").hasSuffix(": one"))
            #expect(try map.answer("http://two.test\(dot)/a").hasSuffix(": two"))
            #expect(try map.answer("https://x.three.test\(dot):81/a").hasSuffix(": three"))
            #expect(try map.answer("http://four.test\(dot)/a").hasSuffix(": four"))
        }
        #expect(map.namedHosts().map(\.host) == ["one.test", "two.test", "*.three.test", "*.three.test"])
    }

    @Test(
        "hosts of intercept are named without the root's dot",
        arguments: [("a.test.", "a.test"), ("*.a.test.", "*.a.test")])
    func interceptRootDot(written: String, host: String) throws {
        let map = try map("intercept: [\"\(written)\"]\nsubstitutions:\n  http://h/a: a\n")
        #expect(map.interceptPatterns == [host])
        #expect(InterceptedHosts(map).contains(host: host.replacingOccurrences("*", "x"), port: 443))
        #expect(headlines("intercept: [\"a.test..\"]\nsubstitutions:\n  http://h/a: a\n").count == 1)
    }
}

extension String {
    fileprivate func replacingOccurrences(_ one: Character, _ other: Character) -> String {
        String(map { $0 == one ? other : $0 })
    }
}
