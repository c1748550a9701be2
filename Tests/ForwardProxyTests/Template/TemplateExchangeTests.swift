import Glibc
import ProxyTestKit
import Substitution
import Testing

@testable import ForwardProxy

@Suite struct TemplateExchangeTests {
    private func proxy(_ rules: String, files: [String: String] = [:]) throws -> TestProxy {
        try TestProxy("substitutions:\n" + rules, files: files)
    }

    @Test func `A page is made from values, partials and the request`() throws {
        let proxy = try proxy(
            "  http://a.test/*.html: { template: page.html, values: { title: \"A & B\" } }\n",
            files: ["page.html": "{{title}} {{> parts/foot}}"])
        #expect(try proxy.exchange("GET", "http://a.test/x.html").status == 500)
        try proxy.write("{{title}} {{> foot}}", to: "page.html")
        try proxy.write("<{{request.captures.1}} {{request.query.q}}>", to: "foot.html")
        let response = try proxy.exchange("GET", "http://a.test/x.html?q=%3Cb%3E")
        #expect(response.body == "A &amp; B <x &lt;b&gt;>")
        #expect(response.field("Content-Type") == "text/html; charset=utf-8")
        #expect(response.field("ETag") != nil && response.field("Cache-Control") == "no-cache")
    }

    @Test(arguments: [
        ("plain", true, nil), ("{{request.query.a}}", true, nil),
        ("{{request.headers.accept}}", true, "accept, Origin"),
        ("{{request.cookies.c}}", true, "Cookie, Origin"), ("{{request.id}}", false, "Origin"),
        ("{{request.number}}", false, "Origin"), ("{{#request}}{{path}}{{/request}}", false, "Origin"),
    ])
    func `What a page uses of the request decides how long it holds`(text: String, hasTag: Bool, vary: String?) throws {
        let proxy = try proxy(
            "  http://a.test/: { text: x }\n  http://a.test/p: { template: p.txt }\n", files: ["p.txt": text])
        let response = try proxy.exchange("GET", "http://a.test/p?a=1", fields: ["Accept: */*"])
        #expect(response.status == 200)
        #expect((response.field("ETag") != nil) == hasTag)
        #expect(response.field("Cache-Control") == (hasTag ? "no-cache" : "no-store"))
        #expect(response.field("Vary") == (vary ?? "Origin"))
    }

    @Test func `A page that uses nothing of the request is rendered once for all URLs`() throws {
        let proxy = try proxy(
            """
              http://a.test/*: { template: { text: "hi" } }
              http://b.test/*: { template: p.html, values: { a: x } }
              http://c.test/*/*: { template: "$1.html" }
              http://d.test/*:
                { template: p.html, sqlite: a.db, seed: a.sql, sql: { a: { sql: "SELECT a FROM t", result: value } } }
            """,
            files: ["p.html": "{{a}}", "q.html": "q", "a.sql": "CREATE TABLE t(a); INSERT INTO t VALUES ('row');"])
        let templates = proxy.server.core.templates
        func ask(_ url: (Int) -> String, expecting body: String) throws -> (rendered: Int, kept: Int) {
            let before = (templates.renderingCount, proxy.server.core.databases.kept.count)
            for number in 0..<50 {
                let response = try proxy.exchange("GET", url(number))
                #expect(response.status == 200 && response.body == body)
                #expect(response.field("ETag") != nil)
            }
            return (
                templates.renderingCount - before.0, proxy.server.core.databases.kept.count - before.1
            )
        }
        for (url, body) in [("http://a.test/", "hi"), ("http://b.test/", "x"), ("http://d.test/", "row")] {
            #expect(try ask({ "\(url)\($0)?n=\($0)" }, expecting: body) == (1, 1), "\(url)")
        }
        // Other templates are other pages.
        #expect(try ask({ "http://c.test/p/\($0)" }, expecting: "") == (1, 1))
        #expect(try ask({ "http://c.test/q/\($0)" }, expecting: "q") == (1, 1))
        #expect(try ask({ "http://c.test/p/\($0)" }, expecting: "") == (0, 0))
    }

    @Test func `A page whose statement has a parameter is one of its URL`() throws {
        let proxy = try proxy(
            """
              http://a.test/c/*:
                { template: p.txt, sqlite: a.db, seed: a.sql, sql: { a: { sql: "SELECT $1", result: value } } }
              http://a.test/q/*:
                { template: p.txt, sqlite: a.db, sql: { a: { sql: "SELECT :q", result: value } } }
              http://a.test/b/*:
                { template: p.txt, sqlite: a.db, sql: { a: { sql: "SELECT @q", result: value } } }
            """, files: ["p.txt": "{{a}}", "a.sql": "CREATE TABLE t(a);"])
        for value in ["one", "two", "one"] {
            #expect(try proxy.exchange("GET", "http://a.test/c/\(value)").body == value)
            #expect(try proxy.exchange("GET", "http://a.test/q/x?q=\(value)").body == value)
            let type = ["Content-Type: application/x-www-form-urlencoded"]
            let posted = try proxy.exchange("POST", "http://a.test/b/x", fields: type, body: "q=\(value)")
            #expect(posted.body == value && posted.field("Cache-Control") == "no-store")
        }
    }

    @Test func `An edit changes how many URLs a page is for`() throws {
        let proxy = try proxy("  http://a.test/*: { template: p.txt }\n", files: ["p.txt": "one"])
        func ask() throws -> [String] {
            try (0..<3).map { try proxy.exchange("GET", "http://a.test/\($0)").body }
        }
        #expect(try ask() == ["one", "one", "one"])
        try proxy.write("{{request.captures.1}}", to: "p.txt")
        usleep(150_000)
        #expect(try ask() == ["0", "1", "2"])
        try proxy.write("three", to: "p.txt")
        usleep(150_000)
        let before = proxy.server.core.templates.renderingCount
        #expect(try ask() == ["three", "three", "three"])
        #expect(try ask() == ["three", "three", "three"])
        #expect(proxy.server.core.templates.renderingCount == before + 1)
    }

    @Test(arguments: [
        ("{{request.headers.accept-language}}", "headers: { Vary: X-Z }", "X-Z, accept-language, Origin"),
        ("{{request.cookies.a}}", "headers: { Vary: X-Z }, cors: off", "X-Z, Cookie"),
        ("{{request.headers.accept}}", "headers: { vary: \"Accept, Origin\" }", "Accept, Origin"),
        ("{{request.headers.accept}}", "headers: { Vary: null }", "accept, Origin"),
        ("{{request.headers.accept}}", "headers: { Vary: \"*\" }", "*"),
        ("{{request.headers.cookie}}{{request.cookies.a}}", "cors: off", "Cookie"),
        ("{{request.headers.accept}}{{request.headers.Accept}}", "cors: off", "Accept"),
        ("x", "headers: { Vary: X-Z }", "X-Z, Origin"), ("x", "headers: { Vary: null }, cors: off", nil),
    ])
    func `Vary has the fields that a page depends on, whatever the rule says of it`(
        text: String, options: String, vary: String?
    ) throws {
        let proxy = try proxy("  http://a.test/p: { template: { text: \"\(text)\" }, \(options) }\n")
        for _ in 0..<2 { #expect(try proxy.exchange("GET", "http://a.test/p").field("Vary") == vary) }
    }

    @Test func `Escapes that are none and bytes that are not UTF-8 are the same in a query and in a form`() throws {
        let proxy = try proxy(
            "  http://a.test/p: { template: { text: \"{{{request.query}}}{{{request.form}}}\" }, type: text/plain }\n")
        let pairs = "a=%zz&b&c=%ff&d=x+y%2B&=e&b=2&%c3%a9=%"
        let response = try proxy.exchange("POST", "http://a.test/p?\(pairs)", body: pairs)
        let expected = #"{"a":"%zz","b":"","c":"\u{FFFD}","d":"x y+","":"e","é":"%"}"#
            .replacing("\\u{FFFD}", with: "\u{FFFD}")
        #expect(response.body == expected + expected, "\(response.body)")
    }

    @Test func `A rule that has moved within its file goes on counting its answers`() throws {
        func map(_ before: String, _ first: String = "") -> String {
            """
            \(before)substitutions:
              \(first)http://a.test/n: { template: { text: "{{request.number}}" } }
              //a.test/both: { template: { text: "{{request.number}}" } }
              http://a.test/other: { template: { text: "{{request.number}}" } }
              http://a.test/t:
                answers: [{ template: { text: "{{request.number}}" } }, { template: { text: "{{request.number}}b" } }]
                repeat: cycle

            """
        }
        let proxy = try TestProxy(map(""))
        func ask() throws -> [String] {
            try ["n", "n", "both", "other", "t", "t"].map { try proxy.exchange("GET", "http://a.test/\($0)").body }
        }
        func adopt(_ text: String) throws {
            try proxy.write(text, to: "m.yaml")
            proxy.server.adopt(try #require(SubstitutionMap.load(files: ["\(proxy.folder)/m.yaml"]).map))
        }
        #expect(try ask() == ["1", "2", "1", "1", "1", "1b"])
        try adopt(map("# moved\n"))
        #expect(try ask() == ["3", "4", "2", "2", "2", "2b"])
        try adopt(map("", "http://a.test/new: { template: { text: \"{{request.number}}\" } }\n  "))
        #expect(try ask() == ["5", "6", "3", "3", "3", "3b"])
        #expect(try proxy.exchange("GET", "http://a.test/new").body == "1")
    }

    @Test func `A rule's rows take the place of the file's value of that name`() throws {
        let proxy = try TestProxy(
            """
            defaults: { values: { q: DEF, r: more } }
            substitutions:
              http://a.test/x:
                { template: p.json, sqlite: a.db, seed: a.sql, sql: { q: { sql: "SELECT a FROM t", result: value } } }

            """, files: ["p.json": "{{{.}}}", "a.sql": "CREATE TABLE t(a); INSERT INTO t VALUES ('row');"])
        #expect(try proxy.exchange("GET", "http://a.test/x").body == #"{"r":"more","q":"row"}"#)
    }

    @Test func `A name that is no field's does not get into Vary`() throws {
        let proxy = try proxy(
            "  http://a.test/p: { template: p.txt }\n",
            files: ["p.txt": "{{request.headers.a b}}{{request.headers.x\u{E9}}}{{request.headers.accept}}"])
        #expect(try proxy.exchange("GET", "http://a.test/p").field("Vary")?.contains("b") != true)
    }

    @Test func `One client's page is never another's`() throws {
        let proxy = try proxy(
            "  http://a.test/p: { template: p.txt }\n",
            files: ["p.txt": "{{request.headers.authorization}}|{{request.cookies.c}}|{{request.query.a}}"])
        for user in ["one", "two", "one"] {
            let fields = ["Authorization: \(user)", "Cookie: c=\(user)"]
            #expect(
                try proxy.exchange("GET", "http://a.test/p?a=\(user)", fields: fields).body == "\(user)|\(user)|\(user)"
            )
        }
    }

    @Test func `A body is read where the page uses it`() throws {
        let proxy = try proxy(
            "  http://a.test/json: { template: j.json }\n  http://a.test/form: { template: f.txt }\n  http://a.test/none: { template: n.txt, limits: { body: 10B } }\n",
            files: ["j.json": "{\"x\":{{{request.json.x}}}}", "f.txt": "{{request.form.a}}", "n.txt": "n"])
        #expect(try proxy.exchange("POST", "http://a.test/json", body: #"{"x":["<"]}"#).body == #"{"x":["\u003c"]}"#)
        #expect(try proxy.exchange("POST", "http://a.test/form", body: "a=b+c").body == "b c")
        #expect(try proxy.exchange("POST", "http://a.test/none", body: String(repeating: "x", count: 100)).body == "n")
    }

    @Test(arguments: [
        ("<{{request.body}}>", "abc", "<abc>"), ("{{request.form.a}}", "a=b+c", "b c"), ("-", "abc", "-"),
        ("-", String(repeating: "x", count: 300_000), "-"), ("{{#open}}", "abc", "500"), ("{{request.body}}", "", ""),
        ("{{request.body}}", String(repeating: "x", count: 2000), String(repeating: "x", count: 2000)),
    ])
    func `An origin that is asked first has the body, and the page that is made where it fails`(
        text: String, body: String, page: String
    ) throws {
        let origin = try ScriptedOrigin { request, connection in
            let request = try connection.readBody(of: request)
            let fails = String(decoding: request.head, as: UTF8.self).contains("X-Fail")
            let status = fails ? "503 No" : "200 OK"
            try connection.socket.send("HTTP/1.1 \(status)\r\nContent-Length: \(request.body.count)\r\n\r\n")
            try connection.socket.send(String(decoding: request.body, as: UTF8.self))
            return true
        }
        let url = "http://127.0.0.1:\(origin.port)/p"
        let proxy = try proxy(
            "  \(url): { template: p.txt, when: origin-fails, limits: { body: 2000B } }\n", files: ["p.txt": text])
        #expect(try proxy.exchange("POST", url, body: body).body == body)
        let made = try proxy.exchange("POST", url, fields: ["X-Fail: 1"], body: body)
        #expect(page == "500" ? made.status == 500 : made.status == 200 && made.body == page, "\(made.head)")
        origin.stop()
        let again = try proxy.exchange("PUT", url, body: body)
        #expect(again.status == made.status && (page == "500" || again.body == page))
    }

    @Test func `Escaping is by the type that the answer is sent with, whichever option names it`() throws {
        let proxy = try proxy(
            """
              http://a.test/h: { template: t.txt, headers: { Content-Type: text/html } }
              http://a.test/j: { template: t.html, type: text/html, headers: { content-type: application/json } }
              http://a.test/n: { template: t.html, headers: { Content-Type: null } }
            """, files: ["t.txt": "{{request.query.x}}", "t.html": "{{request.query.x}}"])
        let html = try proxy.exchange("GET", "http://a.test/h?x=%3Cb%3E")
        #expect(html.body == "&lt;b&gt;" && html.field("Content-Type") == "text/html")
        let json = try proxy.exchange("GET", "http://a.test/j?x=%22%26")
        #expect(json.body == "\\\"&" && json.field("Content-Type") == "application/json")
        #expect(try proxy.exchange("GET", "http://a.test/n?x=%3Cb%3E").body == "&lt;b&gt;")
    }

    @Test(arguments: [0, 3, 5000, 300_000])
    func `Where there is no template, the origin gets a request with its body`(length: Int) throws {
        let origin = try ScriptedOrigin.echoing()
        let url = "http://127.0.0.1:\(origin.port)/p"
        let proxy = try proxy("  \(url): { template: nix.html, missing: forward, limits: { body: 4B } }\n")
        let body = String(repeating: "x", count: length)
        for fields in [[], ["Expect: 100-continue"]] {
            let answer = try proxy.exchange("POST", url, fields: fields, body: body)
            #expect((answer.head + answer.body).contains("200 OK") && answer.body.hasSuffix(body), "\(answer.head)")
        }
        try proxy.write("{{request.body}}", to: "nix.html")
        #expect(try proxy.exchange("POST", url, body: "abcd").body == "abcd")
        #expect(try proxy.exchange("POST", url, body: "abcde").status == 413)
    }

    @Test func `A body that is longer than a page may have is refused before the origin is asked`() throws {
        let proxy = try proxy(
            """
              http://host.invalid/p:
                { template: { text: "{{request.body}}" }, when: origin-fails, limits: { body: 10B } }
            """)
        let refused = try proxy.exchange("POST", "http://host.invalid/p", body: "12345678901")
        #expect(refused.status == 413)
        let chunked = try proxy.connect()
        try chunked.send(
            "POST http://host.invalid/p HTTP/1.1\r\nHost: host.invalid\r\nTransfer-Encoding: chunked\r\n"
                + "Connection: close\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n")
        #expect(TestResponse(try chunked.receiveAll()).status == 413)
        #expect(try proxy.exchange("POST", "http://host.invalid/p", body: "1234567890").body == "1234567890")
    }

    @Test func `An error has its place, and is gone with the next edit`() throws {
        let proxy = try proxy("  http://a.test/p: { template: p.html }\n", files: ["p.html": "a\n {{#b}}"])
        let response = try proxy.exchange("GET", "http://a.test/p")
        #expect(response.status == 500)
        #expect(response.body.contains("p.html:2:2: error: this tag is not closed"))
        #expect(response.body.contains("\n         {{#b}}\n         ^~~~~~"), "\(response.body)")
        try proxy.write("mended", to: "p.html")
        #expect(try proxy.exchange("GET", "http://a.test/p").body == "mended")
    }

    @Test func `An error in a template of the map has its place in the map`() throws {
        let rules = """
              http://a.test/one: { template: { text: "a {{> none}}" } }
              http://a.test/lines:
                template:
                  text: |
                    a
                    {{> none}}

            """
        let proxy = try proxy(rules)
        let one = try proxy.exchange("GET", "http://a.test/one")
        #expect(one.status == 500)
        #expect(one.body.contains("m.yaml:2:45: error: the partial 'none' is missing"), "\(one.body)")
        let lines = try proxy.exchange("GET", "http://a.test/lines").body
        #expect(lines.contains("m.yaml:3:") && lines.contains("(line 2, column 1 of the template)"), "\(lines)")
        try proxy.write("{{#b}}", to: "none.html")
        #expect(try proxy.exchange("GET", "http://a.test/one").body.contains("none.html:1:1: error: "))
    }

    @Test func `A template that is not retained is read for each request`() throws {
        let proxy = try proxy(
            "  http://a.test/p: { template: p.txt, retain: false }\n", files: ["p.txt": "0", "part.txt": "x"])
        for number in 1...5 {
            try proxy.write("\(number){{> part}}", to: "p.txt")
            #expect(try proxy.exchange("GET", "http://a.test/p").body == "\(number)x")
        }
        try proxy.write("y", to: "part.txt")
        #expect(try proxy.exchange("GET", "http://a.test/p").body == "5y")
    }

    @Test func `The reason for a refusal is that of what stands there now`() throws {
        let proxy = try proxy("  http://a.test/p: { template: p.html }\n", files: ["p.html/x": ""])
        let folder = try proxy.exchange("GET", "http://a.test/p")
        #expect(folder.status == 403 && folder.body.contains("a folder"), "\(folder.body)")
        unlink("\(proxy.folder)/p.html/x")
        rmdir("\(proxy.folder)/p.html")
        #expect(mkfifo("\(proxy.folder)/p.html", 0o600) == 0)
        let pipe = try proxy.exchange("GET", "http://a.test/p")
        #expect(pipe.status == 403 && pipe.body.contains("a named pipe"), "\(pipe.body)")
    }

    @Test func `A page sees several lines of a field as one, and not the password for the proxy`() throws {
        let proxy = try proxy(
            "  http://a.test/p: { template: p.txt }\n  http://a.test/all: { template: all.txt }\n",
            files: [
                "p.txt": "{{request.headers.cookie}}|{{request.cookies.b}}|{{request.headers.x-a}}",
                "all.txt": "{{request.headers}} {{request.headers.proxy-authorization}} {{request}}",
            ])
        let fields = ["Cookie: a=1", "Cookie: b=2", "X-A: 1", "X-A: 2", "Proxy-Authorization: Basic c2VjcmV0OnB3"]
        #expect(try proxy.exchange("GET", "http://a.test/p", fields: fields).body == "a=1; b=2|2|1, 2")
        let all = try proxy.exchange("GET", "http://a.test/all", fields: fields).body
        #expect(all.contains(#""cookie":"a=1; b=2""#), "\(all)")
        #expect(!all.lowercased().contains("proxy-authorization") && !all.contains("c2VjcmV0OnB3"), "\(all)")
    }

    @Test func `Rows of a database are values of a page`() throws {
        let proxy = try proxy(
            """
              http://a.test/p/*:
                template: p.html
                sqlite: shop.db
                seed: shop.sql
                sql: { item: { sql: "SELECT * FROM items WHERE id = $1", result: one }, all: "SELECT name FROM items" }
            """,
            files: [
                "p.html": "{{item.name}}:{{#all}} {{name}}{{/all}}",
                "shop.sql":
                    "CREATE TABLE items(id INTEGER PRIMARY KEY, name); INSERT INTO items VALUES (1,'<a>'),(2,'b');",
            ])
        #expect(try proxy.exchange("GET", "http://a.test/p/1").body == "&lt;a&gt;: &lt;a&gt; b")
        #expect(try proxy.exchange("GET", "http://a.test/p/9").status == 404)
    }

    @Test func `A reset begins the numbers of answers anew`() throws {
        let proxy = try proxy("  http://a.test/p: { template: { text: \"{{request.number}}\" } }\n")
        #expect(try proxy.exchange("GET", "http://a.test/p").body == "1")
        #expect(try proxy.exchange("GET", "http://a.test/p").body == "2")
        func own(_ method: String, _ field: String = "X: y") throws -> Int {
            let socket = try proxy.connect()
            try socket.send(
                "\(method) /reset HTTP/1.1\r\nHost: 127.0.0.1:\(proxy.port)\r\n\(field)\r\nConnection: close\r\n\r\n")
            return TestResponse(try socket.receiveAll()).status
        }
        #expect(try own("POST", "Origin: http://evil.test") == 403)
        #expect(try own("POST", "Sec-Fetch-Site: cross-site") == 403)
        #expect(try own("GET") == 405)
        #expect(try proxy.exchange("GET", "http://a.test/p").body == "3")
        #expect(try own("POST") == 204)
        #expect(try proxy.exchange("GET", "http://a.test/p").body == "1")
    }

    @Test func `Pages that are found at once are answered in turn`() throws {
        let proxy = try proxy(
            """
              http://a.test/kept: { template: { text: kept }, delay: 50ms }
              http://a.test/made: { template: { text: "{{request.method}}" }, delay: 20ms }
              http://a.test/text: { text: end }
            """)
        func request(_ path: String, _ field: String = "") -> String {
            "GET http://a.test/\(path) HTTP/1.1\r\nHost: a.test\r\n\(field)\r\n"
        }
        for _ in 0..<3 {
            let socket = try proxy.connect()
            try socket.send(
                request("kept") + request("made") + request("kept") + request("text", "Connection: close\r\n"))
            let text = String(decoding: try socket.receiveAll(), as: UTF8.self)
            let bodies = text.components(between: "\r\n\r\n", and: "HTTP/1.1 ")
            #expect(bodies == ["kept", "GET", "kept", "end"], "\(text)")
        }
    }

    @Test(arguments: [
        ("http://a.test/f/: { template: p.html }", "not for folders"),
        ("http://a.test/p: { template: { text: \"{{#a}}\" } }", "is not closed"),
        ("http://a.test/p: { template: p.html, values: { request: 1 } }", "no value may be called 'request'"),
        ("http://a.test/p: { template: p.html, sql: { a: \"SELECT 1\" } }", "needs the database"),
        ("http://a.test/p: { template: p.html, sqlite: a.db, sql: { a: \"DELETE FROM x\" } }", "writes"),
        ("http://a.test/p: { text: x, values: { a: 1 } }", "'values' goes with 'template', not with 'text'"),
        ("http://a.test/p: { sqlite: a.db }", "one URL needs 'resource' or 'sql'"),
        ("http://a.test/*: { sqlite: a.db, sql: \"SELECT $2\" }", "the key has no capture $2"),
        ("http://a.test/p: { sqlite: a.db, sql: \"SELECT ?\" }", "'?' has no name"),
        ("http://a.test/: { sqlite: a.db, writes: sometimes }", "'writes' is off, memory or file"),
        ("http://a.test/p: { sqlite: a.db, sql: \"DELETE FROM x\" }", "'writes' is off, and this statement writes"),
        (
            "http://a.test/: { sqlite: a.db, writes: file }\n  http://b.test/: { sqlite: a.db, writes: memory }",
            "a.db has 'writes: file' in line 2"
        ),
        ("http://a.test/p: { template: { text: 5 } }", "; put it in quotes"),
        (
            "http://a.test/p: { template: p.html, sqlite: a.db, sql: \"SELECT 1\" }",
            "'sql' is a mapping of names to statements"
        ),
        ("http://a.test/: { sqlite: a.db, sql: { a: \"SELECT 1\" } }", "'sql' is one statement here"),
        ("http://a.test/: { sqlite: a.db, columns: { t.a: blob } }", "to json, boolean or text"),
        ("http://a.test/: { sqlite: a.db, columns: { t.a: plain } }", "to json, boolean or text"),
    ])
    func `Maps say what can't be`(rule: String, message: String) throws {
        let error = #expect(throws: TestFailure.self) { try proxy("  \(rule)\n", files: ["p.html": ""]) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
        // What is refused isn't said to be missing too.
        #expect(message.contains("need") || error?.description.contains(" need") != true)
    }
}

extension String {
    /// What stands between each `start` and the `end` behind it, or the text's end.
    fileprivate func components(between start: String, and end: String) -> [String] {
        var found: [String] = []
        var rest = self[...]
        while let begin = rest.firstRange(of: start) {
            rest = rest[begin.upperBound...]
            let stop = rest.firstRange(of: end)
            found.append(String(rest[..<(stop?.lowerBound ?? rest.endIndex)]))
            rest = rest[(stop?.lowerBound ?? rest.endIndex)...]
        }
        return found
    }
}
