import Glibc
import ProxyTestKit
import Substitution
import Testing

@testable import ForwardProxy

@Suite struct DatabaseExchangeTests {
    @Test func `What one client's body brings is never another's answer`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/p: { sqlite: a.db, seed: a.sql, sql: "SELECT @x AS x" }
            """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY);"])
        let type = ["Content-Type: application/json"]
        #expect(
            try proxy.exchange("GET", "http://a.test/p", fields: type, body: #"{"x":"secret"}"#).body
                == #"[{"x":"secret"}]"#)
        #expect(try proxy.exchange("GET", "http://a.test/p").body == #"[{"x":null}]"#)
        #expect(try proxy.exchange("GET", "http://a.test/p", fields: type, body: #"{"x":2}"#).body == #"[{"x":2}]"#)
    }

    @Test func `A write goes to the origin first, with its body, and here where that fails`() throws {
        let origin = try ScriptedOrigin.echoing(status: "201 Created")
        let map = """
            substitutions:
              http://127.0.0.1:\(origin.port)/: { sqlite: a.db, seed: a.sql, writes: memory, when: origin-fails }
            """
        let proxy = try TestProxy(map, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY, a);"])
        let url = "http://127.0.0.1:\(origin.port)/t"
        let type = ["Content-Type: application/json"]
        let forwarded = try proxy.exchange("POST", url, fields: type, body: #"{"a":1}"#)
        #expect(forwarded.body == #"{"a":1}"#, "\(forwarded.head) \(forwarded.body)")
        origin.stop()
        let made = try proxy.exchange("POST", url, fields: type, body: #"{"a":2}"#)
        #expect(made.status == 201 && made.body == #"{"id":1,"a":2}"#)
        #expect(try proxy.exchange("GET", url).body == #"[{"id":1,"a":2}]"#)
        let line = try proxy.stopAndReadLog().split(separator: "\n").first { $0.contains("1 inserted") }
        #expect(line?.contains(" substituted ") == true, "\(line ?? "")")
    }

    @Test(arguments: ["delay: 20ms", "rate: 100KiB/s"])
    func `What is refused at its beginning is answered where the rule has a delay or a rate`(pace: String) throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/add:
                { sqlite: a.db, seed: a.sql, writes: memory, methods: [POST], sql: "INSERT INTO t(a) VALUES (@a)", \(pace) }
              http://a.test/: { sqlite: a.db, writes: memory, when: origin-fails, limits: { body: 4B }, \(pace) }
            """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY, a);"])
        let text = try proxy.exchange("POST", "http://a.test/add", fields: ["Content-Type: text/plain"], body: "x")
        #expect(text.status == 415 && text.body.hasSuffix("}"), "\(text.head)")
        let json = ["Content-Type: application/json"]
        let large = try proxy.exchange("POST", "http://a.test/t", fields: json, body: #"{"a":1}"#)
        #expect(large.status == 413 && large.body.hasSuffix("}"), "\(large.head)")
    }

    @Test func `Where there is no database, the origin gets a write with its body`() throws {
        let origin = try ScriptedOrigin.echoing()
        let proxy = try TestProxy(
            "substitutions:\n  http://127.0.0.1:\(origin.port)/: { sqlite: a.db, writes: file, missing: forward }\n")
        let answer = try proxy.exchange(
            "POST", "http://127.0.0.1:\(origin.port)/t", fields: ["Content-Type: application/json"], body: #"{"a":1}"#)
        #expect(answer.status == 200 && answer.body == #"{"a":1}"#, "\(answer.head)")
        #expect(try proxy.exchange("GET", "http://127.0.0.1:\(origin.port)/t").status == 200)
    }

    @Test(arguments: ["", ", writes: file", ", writes: memory, limits: { body: 4B }"])
    func `Where there is no database, the origin gets whatever body a request has`(options: String) throws {
        let origin = try ScriptedOrigin.echoing()
        let base = "http://127.0.0.1:\(origin.port)"
        let proxy = try TestProxy(
            """
            substitutions:
              \(base)/: { sqlite: nix.db, missing: forward\(options) }
              \(base)/s: { sqlite: nix.db, missing: forward, methods: [GET, POST], sql: "SELECT 1 AS a" }
            """)
        for (path, type) in [("t", "application/json"), ("t", "text/plain"), ("t/1", "application/json"), ("s", "a/b")]
        {
            for body in ["{}", "{\"a\":1}", String(repeating: "y", count: 300_000)] {
                for more in [[], ["Expect: 100-continue"]] {
                    let answer = try proxy.exchange(
                        "POST", "\(base)/\(path)", fields: ["Content-Type: \(type)"] + more, body: body)
                    let text = answer.head + answer.body
                    #expect(text.contains("200 OK") && text.hasSuffix(body), "\(path) \(type) \(answer.head)")
                }
            }
        }
        #expect(try proxy.exchange("DELETE", "\(base)/t/1", body: "gone").body == "gone")
    }

    @Test func `A body that no origin gets is read past, and the next request is answered`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/: { sqlite: a.db, seed: a.sql, missing: forward }
            """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY);"])
        let socket = try proxy.connect()
        let body = String(repeating: "z", count: 300)
        try socket.send(
            "POST http://a.test/t HTTP/1.1\r\nHost: a.test\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                + "GET http://a.test/t HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
        let text = String(decoding: try socket.receiveAll(), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 405 ") && text.contains("HTTP/1.1 200 OK") && text.hasSuffix("[]"), "\(text)")
    }

    @Test func `A file that roots name by a link and without is one database`() throws {
        for isMainLinked in [false, true] {
            let (main, included) = isMainLinked ? ("link", "real") : ("real", "link")
            let file = "real/x.sql"
            let folder = try TestProxy(files: [file: "CREATE TABLE t(id INTEGER PRIMARY KEY);"])
            symlink("\(folder.folder)/real", "\(folder.folder)/link")
            let inner = "root: \(folder.folder)/\(included)\nsubstitutions:\n  http://b.test/: "
            let outer = "include: [inc.yaml]\nroot: \(folder.folder)/\(main)\nsubstitutions:\n  http://a.test/: "
            let proxy = try TestProxy(
                outer + "{ sqlite: z.db, seed: x.sql, writes: memory }\n",
                files: ["inc.yaml": inner + "{ sqlite: z.db }\n"])
            let type = ["Content-Type: application/json"]
            #expect(try proxy.exchange("POST", "http://a.test/t", fields: type, body: "{}").status == 201)
            #expect(try proxy.exchange("GET", "http://b.test/t").body == #"[{"id":1}]"#)
            let error = #expect(throws: TestFailure.self) {
                try TestProxy(
                    outer + "{ sqlite: z.db, writes: memory }\n",
                    files: ["inc.yaml": inner + "{ sqlite: z.db, writes: file }\n"])
            }
            #expect(error?.description.contains("z.db has 'writes: ") == true)
        }
    }

    @Test func `Preconditions of a write are compared with the tag that the rule has sent`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/: { sqlite: a.db, seed: a.sql, writes: memory, headers: { ETag: '"own"' } }
            """, files: ["a.sql": DatabaseExchangeTests.refusing])
        let type = ["Content-Type: application/json"]
        #expect(try proxy.exchange("GET", "http://a.test/t/1").field("ETag") == "\"own\"")
        for (field, status) in [("If-Match: \"own\"", 200), ("If-Match: \"x\"", 412), ("If-None-Match: \"own\"", 412)] {
            let answer = try proxy.exchange("PATCH", "http://a.test/t/1", fields: type + [field], body: #"{"a":"y"}"#)
            #expect(answer.status == status, "\(field)")
        }
    }

    @Test func `A write to a list has the list's preconditions`() throws {
        let proxy = try TestProxy(
            "substitutions:\n  http://a.test/: { sqlite: a.db, seed: a.sql, writes: memory }\n",
            files: ["a.sql": DatabaseExchangeTests.refusing])
        let tag = try #require(try proxy.exchange("GET", "http://a.test/t").field("ETag"))
        for (field, status) in [
            ("If-None-Match: *", 412), ("If-Match: \"x\"", 412), ("If-None-Match: \(tag)", 412),
            ("If-Match: \(tag)", 201), ("If-Match: \(tag)", 412), ("If-Match: *", 201),
        ] {
            let answer = try proxy.exchange(
                "POST", "http://a.test/t", fields: ["Content-Type: application/json", field], body: "{}")
            #expect(answer.status == status, "\(field)")
        }
    }

    @Test func `A named capture of a resource is that of its own key`() throws {
        let users = "{ sqlite: a.db, seed: a.sql, writes: memory, resource: \"users/${id}\" }"
        let keys = ["http://a[.]test/users/(?<id>[0-9]+)", "http://a[.]test/v([0-9]+)/users/(?<id>[0-9]+)"]
        for keys in [keys, keys.reversed()] {
            let rules = keys.map { "  \"~^\($0)$\": \(users)\n" }.joined()
            let proxy = try TestProxy(
                "substitutions:\n" + rules,
                files: ["a.sql": "CREATE TABLE users(id INTEGER PRIMARY KEY); INSERT INTO users VALUES (1),(7);"])
            for url in ["http://a.test/users/7", "http://a.test/v1/users/7"] {
                #expect(try proxy.exchange("GET", url).body == #"{"id":7}"#, "\(url)")
            }
            #expect(try proxy.exchange("DELETE", "http://a.test/v1/users/7").status == 200)
            #expect(try proxy.exchange("GET", "http://a.test/users/1").status == 200)
            #expect(try proxy.exchange("GET", "http://a.test/users/7").status == 404)
        }
    }

    @Test func `A parameter of a rule's condition is none of the table's that answers in turn`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/api/:
                query: { token: "*" }
                answers: [{ json: [] }, { sqlite: a.db, seed: a.sql }]
            """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1);"])
        #expect(try proxy.exchange("GET", "http://a.test/api/t?token=x").body == "[]")
        #expect(try proxy.exchange("GET", "http://a.test/api/t?token=x").body == #"[{"id":1}]"#)
    }

    @Test func `A body with a content coding is refused with the codings that are read`() throws {
        let proxy = try TestProxy(
            "substitutions:\n  http://a.test/: { sqlite: a.db, seed: a.sql, writes: memory }\n",
            files: ["a.sql": DatabaseExchangeTests.refusing])
        let coded = try proxy.exchange(
            "POST", "http://a.test/t", fields: ["Content-Type: application/json", "Content-Encoding: gzip"], body: "{}")
        #expect(coded.status == 415 && coded.field("Accept-Encoding") == "identity", "\(coded.head)")
        let other = try proxy.exchange("POST", "http://a.test/t", fields: ["Content-Type: a/b"], body: "{}")
        #expect(other.status == 415 && other.field("Accept-Encoding") == nil && other.field("Accept-Post") != nil)
    }

    @Test func `The bypass of the command line holds in the place of the map's default`() throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.socket.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\norigin")
            return true
        }
        let base = "http://127.0.0.1:\(origin.port)"
        func bodies(_ defaults: String, _ bypass: RuleOptions.Bypass?) throws -> [String] {
            let proxy = try TestProxy(
                """
                \(defaults)
                substitutions:
                  \(base)/t: { template: { text: page } }
                  \(base)/d/: { sqlite: a.db, seed: a.sql }
                  \(base)/o: { template: { text: page }, bypass: origin }
                """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY);"]
            ) { $0.bypass = bypass }
            return try ["t", "d/t", "o"].map {
                try proxy.exchange("GET", "\(base)/\($0)", fields: ["Cache-Control: no-cache"]).body
            }
        }
        #expect(try bodies("", nil) == ["page", "[]", "origin"])
        #expect(try bodies("defaults: { bypass: origin }", nil) == ["origin", "origin", "origin"])
        #expect(try bodies("defaults: { bypass: origin }", .revalidate) == ["page", "[]", "origin"])
        #expect(try bodies("defaults: { bypass: origin }", .never) == ["page", "[]", "origin"])
        #expect(try bodies("", .origin) == ["origin", "origin", "origin"])
    }

    @Test func `Schemes that have no origin are answered whatever bypass and when say`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              foo://w/**: { sqlite: a.db, seed: a.sql, writes: memory, when: origin-fails, resource: t }
              foo://b/**: { sqlite: a.db, bypass: origin, resource: t }
              foo://t/**: { template: { text: "page" }, when: origin-fails, bypass: origin }
            """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY);"])
        let made = try proxy.exchange("POST", "foo://w/x", fields: ["Content-Type: application/json"], body: "{}")
        #expect(made.status == 201)
        #expect(try proxy.exchange("GET", "foo://w/x").body == #"[{"id":1}]"#)
        #expect(try proxy.exchange("GET", "foo://b/x", fields: ["Cache-Control: no-cache"]).body == #"[{"id":1}]"#)
        #expect(try proxy.exchange("GET", "foo://t/x", fields: ["Cache-Control: no-cache"]).body == "page")
    }

    @Test func `A GET that is repeated asks no database, whichever event loop its connection is on`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/: { sqlite: a.db, seed: a.sql, writes: memory }
              http://b.test/: { sqlite: a.db, seed: a.sql, writes: memory, keys: { t: a } }
            """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE); INSERT INTO t VALUES(1,'x');"]
        ) { $0.threads = 3 }
        for _ in 0..<12 {
            #expect(try proxy.exchange("GET", "http://a.test/t").body == #"[{"id":1,"a":"x"}]"#)
            #expect(try proxy.exchange("GET", "http://b.test/t/x").body == #"{"id":1,"a":"x"}"#)
        }
        let type = ["Content-Type: application/json"]
        #expect(try proxy.exchange("POST", "http://a.test/t", fields: type, body: #"{"a":"y"}"#).status == 201)
        for _ in 0..<12 {
            #expect(try proxy.exchange("GET", "http://a.test/t").body == #"[{"id":1,"a":"x"},{"id":2,"a":"y"}]"#)
        }
        let lines = try proxy.stopAndReadLog().split(separator: "\n")
        #expect(lines.count { $0.contains("(t: 1 row)") } == 2 && lines.count { $0.contains("(t: 2 rows)") } == 1)
    }

    @Test func `A file that maps name in two ways is one database`() throws {
        let proxy = try TestProxy(
            """
            include: [sub/inc.yaml]
            substitutions:
              http://a.test/: { sqlite: a.db, seed: a.sql, writes: memory }
            """,
            files: [
                "a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY);",
                "sub/inc.yaml": "root: ..\nsubstitutions:\n  http://b.test/: { sqlite: a.db }\n",
            ])
        let type = ["Content-Type: application/json"]
        #expect(try proxy.exchange("POST", "http://a.test/t", fields: type, body: "{}").status == 201)
        #expect(try proxy.exchange("GET", "http://b.test/t").body == #"[{"id":1}]"#)
        let error = #expect(throws: TestFailure.self) {
            try TestProxy(
                """
                include: [sub/inc.yaml]
                substitutions:
                  http://a.test/: { sqlite: a.db, writes: memory }
                """,
                files: [
                    "sub/inc.yaml": "root: ..\nsubstitutions:\n  http://b.test/: { sqlite: a.db, writes: file }\n"
                ])
        }
        #expect(error?.description.contains("a.db has 'writes: ") == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        ("PUT", "t", "405"), ("POST", "t/1", "405"), ("POST", "v", "405"), ("PATCH", "v/1", "405"),
        ("POST", "x", "404"), ("PUT", "t/1", "404"),
        ("PUT", "t/2", "100"), ("POST", "t", "100"),
    ])
    func `100 Continue doesn't come before a refusal that the schema shows`(
        method: String, path: String, status: String
    ) throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/: { sqlite: a.db, seed: a.sql, writes: memory, keys: { v: id } }
            """,
            files: [
                "a.sql": """
                CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(2, 'a');
                CREATE VIEW v AS SELECT id, a FROM t;
                """
            ])
        let socket = try proxy.connect()
        try socket.send(
            "\(method) http://a.test/\(path) HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/json\r\n"
                + "Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
        let head = String(decoding: try socket.receive(until: "\r\n"), as: UTF8.self)
        #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(head)")
    }

    private static let refusing = """
        CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1,'x');
        CREATE TABLE k(id INTEGER PRIMARY KEY, t REFERENCES t(id)); CREATE VIEW v AS SELECT id, a FROM t;
        """

    @Test(
        arguments: [
            ("PUT", "t", 405, "GET, HEAD, OPTIONS, POST"), ("PATCH", "t", 405, "GET, HEAD, OPTIONS, POST"),
            ("POST", "t/1", 405, "GET, HEAD, OPTIONS, PUT, PATCH, DELETE"), ("POST", "v", 405, "GET, HEAD, OPTIONS"),
            ("POST", "", 405, "GET, HEAD, OPTIONS"), ("BREW", "t", 405, "GET, HEAD, OPTIONS, POST"),
            ("BREW", "t/1", 405, "GET, HEAD, OPTIONS, PUT, PATCH, DELETE"), ("BREW", "x", 404, nil),
            ("POST", "x", 404, nil), ("PUT", "x/1", 404, nil), ("PATCH", "t/99", 404, nil), ("PUT", "t/99", 404, nil),
            ("POST", "t/99/k", 404, nil),
        ] as [(String, String, Int, String?)])
    func `A resource that can't do what is asked says so, whatever the body is`(
        method: String, path: String, status: Int, allow: String?
    ) throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/: { sqlite: a.db, seed: a.sql, writes: memory, limits: { body: 10B } }
            """, files: ["a.sql": DatabaseExchangeTests.refusing])
        let bodies: [(String?, String?)] = [
            (nil, nil), ("", nil), ("x", "text/plain"), ("{}", "application/json"),
            (String(repeating: "x", count: 3000), "application/json"),
        ]
        for (body, type) in bodies {
            let answer = try proxy.exchange(
                method, "http://a.test/\(path)", fields: type.map { ["Content-Type: \($0)"] } ?? [], body: body)
            #expect(answer.status == status && answer.field("Allow") == allow, "\(body ?? "none"): \(answer.head)")
        }
        let chunked = try proxy.connect()
        try chunked.send(
            "\(method) http://a.test/\(path) HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/json\r\n"
                + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\nc\r\n{\"a\":  \"yz\"}\r\n0\r\n\r\n")
        #expect(TestResponse(try chunked.receiveAll()).status == status)
    }

    @Test(arguments: [
        ("POST", "t", "x", "text/plain", 415), ("PATCH", "t/1", "", "", 415),
        ("POST", "t", #"{"a":"longer"}"#, "application/json", 413),
    ])
    func `A body that is not read is refused where its resource has the method`(
        method: String, path: String, body: String, type: String, status: Int
    ) throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/: { sqlite: a.db, seed: a.sql, writes: memory, limits: { body: 10B } }
            """, files: ["a.sql": DatabaseExchangeTests.refusing])
        let fields = type.isEmpty ? [] : ["Content-Type: \(type)"]
        #expect(try proxy.exchange(method, "http://a.test/\(path)", fields: fields, body: body).status == status)
        let made = try proxy.exchange("PUT", "http://a.test/t/99", fields: ["If-None-Match: *"] + fields, body: body)
        #expect(made.status == status, "the row need not be there that a PUT makes")
    }

    @Test func `Where the origin has failed, other methods are told what the resource can do`() throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.socket.send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
            return true
        }
        let base = "http://127.0.0.1:\(origin.port)"
        let proxy = try TestProxy(
            """
            substitutions:
              \(base)/w/: { sqlite: a.db, seed: a.sql, writes: memory, when: origin-fails, limits: { body: 10B } }
              \(base)/r/: { sqlite: b.db, seed: a.sql, when: origin-fails }
            """, files: ["a.sql": DatabaseExchangeTests.refusing])
        for (folder, allow) in [("w", "GET, HEAD, OPTIONS, POST"), ("r", "GET, HEAD, OPTIONS")] {
            let options = try proxy.exchange("OPTIONS", "\(base)/\(folder)/t")
            #expect(options.status == 204 && options.field("Allow") == allow, "\(options.head)")
            let unknown = try proxy.exchange("BREW", "\(base)/\(folder)/t", body: "a longer body")
            #expect(unknown.status == 405 && unknown.field("Allow") == allow, "\(unknown.head)")
        }
        let type = ["Content-Type: application/json"]
        #expect(try proxy.exchange("POST", "\(base)/r/t", fields: type, body: "{}").status == 503)
        #expect(try proxy.exchange("PUT", "\(base)/w/t", fields: type, body: "{}").status == 405)
        let long = try proxy.exchange("POST", "\(base)/w/t", fields: type, body: #"{"a":"longer"}"#)
        #expect(long.status == 413)
        let line = try proxy.stopAndReadLog().split(separator: "\n").first { $0.contains(" 413 ") }
        #expect(line?.contains(" substituted ") == true && line?.contains("(body too large)") == true, "\(line ?? "")")
    }

    @Test func `A parameter that the rule's condition wants is no column of the table`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/q: { sqlite: a.db, seed: a.sql, resource: t, query: { mode: live, "a%20b": "*" } }
            """, files: ["a.sql": DatabaseExchangeTests.refusing])
        #expect(try proxy.exchange("GET", "http://a.test/q?mode=live&a%20b=1&id=1").body == #"[{"id":1,"a":"x"}]"#)
        #expect(try proxy.exchange("GET", "http://a.test/q?mode=live&a%20b=1&mood=1").status == 400)
    }

    @Test func `A precondition that doesn't hold is a problem, of an answer that is kept too`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/: { sqlite: a.db, seed: a.sql }
              http://a.test/q: { sqlite: a.db, seed: a.sql, sql: SELECT a FROM t, methods: [GET, POST] }

            """, files: ["a.sql": DatabaseExchangeTests.refusing])
        let tag = try #require(try proxy.exchange("GET", "http://a.test/t/1").field("ETag"))
        #expect(try proxy.exchange("GET", "http://a.test/t/1", fields: ["If-Match: \(tag)"]).status == 200)
        for (field, status) in [("If-Match: \"other\"", 412), ("If-None-Match: *", 412), ("If-Match: *", 200)] {
            let posted = try proxy.exchange("POST", "http://a.test/q", fields: [field])
            #expect(posted.status == status, "\(field)")
            let problem = #"{"title":"precondition failed","status":412"#
            #expect(posted.body.hasPrefix(problem) == (status == 412), "\(field)")
        }
        for _ in 0..<2 {
            let failed = try proxy.exchange("GET", "http://a.test/t/1", fields: ["If-Match: \"other\""])
            #expect(failed.status == 412 && failed.body.hasPrefix(#"{"title":"precondition failed","status":412"#))
            #expect(failed.field("Content-Type") == "application/problem+json")
        }
    }

    @Test(arguments: ["w/ETAG", "xETAG", "ETAGx", "ETAGETAG", "\"x\", ETAGx", "W/ETAG", "\"\"", "ETAG, \"x\"", "*"])
    func `If-Match is read alike for reading and for writing`(written: String) throws {
        let proxy = try TestProxy(
            "substitutions:\n  http://a.test/: { sqlite: a.db, seed: a.sql, writes: memory }\n",
            files: ["a.sql": DatabaseExchangeTests.refusing])
        let url = "http://a.test/t/1"
        let tag = try #require(try proxy.exchange("GET", url).field("ETag"))
        let field = "If-Match: \(written.replacing("ETAG", with: tag))"
        let expected = ["ETAG, \"x\"", "*"].contains(written) ? 200 : 412
        #expect(try proxy.exchange("GET", url, fields: [field]).status == expected)
        let type = "Content-Type: application/json"
        #expect(try proxy.exchange("PATCH", url, fields: [field, type], body: "{}").status == expected)
        #expect(try proxy.exchange("DELETE", url, fields: [field]).status == expected)
    }

    @Test(arguments: ["status: 203", "status: 503", "type: text/plain", "status: 203, type: text/css"])
    func `A default status or type is not about a table's answers`(options: String) throws {
        func answers(_ map: String) throws -> [[String?]] {
            let proxy = try TestProxy(map, files: ["a.sql": DatabaseExchangeTests.refusing])
            let type = "Content-Type: application/json"
            let responses = [
                try proxy.exchange("GET", "http://a.test/t"), try proxy.exchange("GET", "http://a.test/t/1"),
                try proxy.exchange("POST", "http://a.test/t", fields: [type], body: #"{"a":"y"}"#),
                try proxy.exchange("PATCH", "http://a.test/t/1", fields: [type], body: #"{"a":"z"}"#),
                try proxy.exchange("DELETE", "http://a.test/t/1"), try proxy.exchange("OPTIONS", "http://a.test/t"),
            ]
            return responses.map { response in
                ["\(response.status)", response.body]
                    + ["Content-Type", "ETag", "Accept-Ranges", "Location"].map { response.field($0) }
            }
        }
        let rule = "sqlite: a.db, seed: a.sql, writes: memory"
        #expect(
            try answers("defaults: { \(options) }\nsubstitutions:\n  http://a.test/: { \(rule) }\n")
                == answers("substitutions:\n  http://a.test/: { \(rule) }\n"))
        func turns(_ beside: String) throws -> [[String?]] {
            try answers(
                """
                substitutions:
                  http://a.test/t: { answers: [{ \(rule), resource: t }]\(beside) }
                  http://a.test/t/1: { answers: [{ \(rule), resource: t/1 }]\(beside) }

                """)
        }
        #expect(try turns(", \(options)") == turns(""))
    }

    @Test func `A body that comes while its method is looked up is not lost`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/: { sqlite: a.db, seed: a.sql, writes: memory }
            """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY, a);"])
        for number in 1...5 {
            let answer = try proxy.exchange(
                "POST", "http://a.test/t", fields: ["Content-Type: application/json", "Expect: 100-continue"],
                body: #"{"a":\#(number)}"#)
            #expect((answer.head + answer.body).hasSuffix(#"{"id":\#(number),"a":\#(number)}"#), "\(answer.head)")
        }
    }

    @Test func `An answer without a body has no type`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/w: { sqlite: a.db, seed: a.sql, writes: memory, methods: [POST], status: 200, sql: "DELETE FROM t" }
              http://a.test/e: { sqlite: a.db, result: value, sql: "SELECT ''" }
              http://a.test/: { sqlite: a.db, writes: memory }
            """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY);"])
        let deleted = try proxy.exchange("POST", "http://a.test/w")
        #expect(deleted.status == 200 && deleted.body.isEmpty)
        #expect(deleted.field("Content-Type") == nil && deleted.field("Content-Length") == "0")
        let made = try proxy.exchange(
            "POST", "http://a.test/t", fields: ["Content-Type: application/json", "Prefer: return=minimal"], body: "{}")
        #expect(made.status == 201 && made.body.isEmpty && made.field("Content-Type") == nil)
        #expect(try proxy.exchange("GET", "http://a.test/e").field("Content-Type") == "text/plain; charset=utf-8")
    }

    @Test(arguments: ["", ", headers: { X-A: b }", ", cors: off", ", headers: { ETag: '\"own\"' }"])
    func `Each row has its own tag and length, and else the same fields`(options: String) throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/: { sqlite: a.db, seed: a.sql\(options) }
            """,
            files: [
                "a.sql": """
                CREATE TABLE t(id INTEGER PRIMARY KEY, a);
                INSERT INTO t VALUES (1,'x'), (2,'longer'), (3,'x');
                """
            ])
        let socket = try proxy.connect()
        func ask(_ target: String, closes: Bool = false) throws -> TestResponse {
            let field = closes ? "Connection: close\r\n" : ""
            try socket.send("GET http://a.test/\(target) HTTP/1.1\r\nHost: a.test\r\n\(field)\r\n")
            guard !closes else { return TestResponse(try socket.receiveAll()) }
            let head = try socket.receive(until: "\r\n\r\n")
            let length = TestResponse(head).field("Content-Length").flatMap { Int($0) } ?? 0
            return TestResponse(head + (try socket.receive(exactly: length)))
        }
        func fields(_ response: TestResponse) -> [String] {
            response.head.split(separator: "\r\n").map(String.init).filter { line in
                !["Date:", "Content-Length:", "ETag:"].contains { line.hasPrefix($0) }
            }
        }
        let responses = try ["t/1", "t/2", "t/3", "t/2", "t/1?_=1"].map { try ask($0) }
        #expect(
            responses.map(\.body) == [
                #"{"id":1,"a":"x"}"#, #"{"id":2,"a":"longer"}"#, #"{"id":3,"a":"x"}"#, #"{"id":2,"a":"longer"}"#,
                #"{"id":1,"a":"x"}"#,
            ])
        let last = try ask("t/1?_=2", closes: true)
        for response in responses {
            #expect(response.status == 200 && response.field("Content-Length") == String(response.body.utf8.count))
            #expect(fields(response) == fields(responses[0]))
        }
        #expect(fields(last).filter { $0 != "Connection: close" } == fields(responses[0]))
        let tags = responses.map { $0.field("ETag") ?? "" }
        #expect(tags[0] == tags[4] && tags[1] == tags[3] && tags[0] == last.field("ETag"))
        #expect(Set(tags).count == (options.contains("ETag") ? 1 : 3))
    }

    @Test func `A rule's fields stand in problems too, but not in the place of what makes them problems`() throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/:
                sqlite: a.db
                seed: a.sql
                headers: { X-A: b, Cache-Control: max-age=60, content-type: text/x, Allow: null }
            """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY);"])
        let row = try proxy.exchange("GET", "http://a.test/t")
        #expect(row.field("Cache-Control") == "max-age=60" && row.field("Content-Type") == "text/x")
        for (method, url, status) in [
            ("GET", "http://a.test/t/1", 404), ("GET", "http://a.test/t?x=1", 400), ("BREW", "http://a.test/t", 405),
        ] {
            let problem = try proxy.exchange(method, url)
            #expect(problem.status == status && problem.field("X-A") == "b")
            #expect(problem.field("Cache-Control") == "no-store")
            #expect(problem.field("Content-Type") == "application/problem+json" && problem.field("Allow") == nil)
        }
    }

    @Test(
        arguments: [
            ("http://a.test/:", "", "http://a.test/t", "http://a.test/t/1"),
            ("http://a.test/all:", ", resource: t", "http://a.test/all", nil),
            ("http://a.test/x/:", ", resource: t", "http://a.test/x/y", nil),
            ("http://a.test/*/list:", ", resource: $1", "http://a.test/t/list", nil),
            ("http://a.test/v/**:", ", resource: $1", "http://a.test/v/t/", "http://a.test/v/t/1"),
            ("http://a.test/p/*/c:", ", resource: p/$1/c", "http://a.test/p/7/c", nil),
            ("http://a.test/p/**:", ", resource: $1", "http://a.test/p/p/7/c", "http://a.test/p/c/1"),
            ("db://t:", "", "db://t", nil), ("db://*/**:", "", "db://t/", "db://t/1"),
            ("db://t/:", "", "db://t/", "db://t/1"), ("db://*/**:", "", "db://p/7/Notes", "db://Notes/1"),
            ("http://a.test/g:", ", resource: t, methods: [POST]", "http://a.test/g", nil),
        ] as [(String, String, String, String?)])
    func `Location is there where a rule answers it with the row`(
        key: String, options: String, url: String, location: String?
    ) throws {
        let proxy = try TestProxy(
            "substitutions:\n  \(key) { sqlite: a.db, seed: a.sql, writes: memory\(options) }\n",
            files: [
                "a.sql": """
                CREATE TABLE t(id INTEGER PRIMARY KEY, a);
                CREATE TABLE p(id INTEGER PRIMARY KEY); INSERT INTO p VALUES (7);
                CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p);
                CREATE TABLE Notes(id INTEGER PRIMARY KEY, p REFERENCES p);
                """
            ])
        let made = try proxy.exchange("POST", url, fields: ["Content-Type: application/json"], body: "{}")
        #expect(made.status == 201 && made.field("Location") == location, "\(made.head)")
        if let location { #expect(try proxy.exchange("GET", location).body == made.body) }
    }

    @Test(arguments: ["REPORT", "QUERY", "PROPFIND"])
    func `A statement answers whatever methods its rule names`(method: String) throws {
        let proxy = try TestProxy(
            """
            substitutions:
              http://a.test/read: { sqlite: a.db, seed: a.sql, sql: "SELECT 1 AS a", methods: [\(method)] }
              http://a.test/body: { sqlite: a.db, sql: "SELECT @x AS a", methods: [\(method)] }
              http://a.test/write:
                { sqlite: a.db, writes: memory, sql: "INSERT INTO t VALUES(7) RETURNING id", methods: [\(method)] }
              http://b.test/: { sqlite: a.db }
            """, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY);"])
        let read = try proxy.exchange(method, "http://a.test/read")
        #expect(read.status == 200 && read.body == #"[{"a":1}]"#, "\(read.head)")
        let type = ["Content-Type: application/json"]
        #expect(try proxy.exchange(method, "http://a.test/body", fields: type, body: #"{"x":2}"#).body == #"[{"a":2}]"#)
        #expect(try proxy.exchange(method, "http://a.test/write").body == #"[{"id":7}]"#)
        #expect(try proxy.exchange(method, "http://b.test/t").status == 405)
        #expect(try proxy.exchange("GET", "http://b.test/t").body == #"[{"id":7}]"#)
    }

    @Test func `Other machines and other sites may not write`() throws {
        let map =
            "substitutions:\n  http://a.test/: { sqlite: a.db, seed: a.sql, writes: file, origins: [\"http://ok.test\", \"http://Other.test:80\"] }\n"
        let proxy = try TestProxy(map, files: ["a.sql": "CREATE TABLE t(id INTEGER PRIMARY KEY);"])
        for (origin, status) in [
            ("http://evil.test", 403), ("null", 403), ("http://localhost.evil.test", 403),
            ("http://localhost:3000", 201),
            ("http://a.test", 201), ("http://ok.test", 201), ("http://[::1]", 201),
            ("http://a.test:80", 201), ("http://A.test", 201), ("http://a.test:81", 403), ("https://a.test", 403),
            ("http://ok.test:80", 201), ("http://other.test", 201), ("http://other.test:80", 201),
            ("http://u@a.test", 403), ("http://a.test/", 403),
        ] {
            let fields = ["Content-Type: application/json", "Origin: \(origin)"]
            #expect(
                try proxy.exchange("POST", "http://a.test/t", fields: fields, body: "{}").status == status, "\(origin)")
        }
    }
}
