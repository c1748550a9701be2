import Foundation
import Glibc
import ProxyTestKit
import Testing

/// The built program with rules whose source is a SQLite database, its clients, and the program `sqlite3` beside it.
@Suite("Databases", .program("sqlite3", of: "sqlite3"), .onThreads)
struct ServedDatabaseTests {
    private static let schema = """
        CREATE TABLE products(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, brand TEXT, price REAL);
        CREATE TABLE reviews(id INTEGER PRIMARY KEY, product INTEGER REFERENCES products(id), stars INTEGER);

        """
    private static let rows = """
        INSERT INTO products VALUES(1, 'Hammer', 'acme', 19.9), (2, 'Saw', 'borg', 24), (3, 'Tape', 'acme', 3.2);
        INSERT INTO reviews VALUES(1, 1, 5), (2, 1, 3);

        """
    private static let hammer = #"{"id":1,"name":"Hammer","brand":"acme","price":19.9}"#
    private static let saw = #"{"id":2,"name":"Saw","brand":"borg","price":24.0}"#
    private static let tape = #"{"id":3,"name":"Tape","brand":"acme","price":3.2}"#
    private static let all = "[\(hammer),\(saw),\(tape)]"
    private static let json = "Content-Type: application/json"

    /// Serves a rule for `http://shop.test/` whose database is `shop.db`, made by `sqlite3`.
    private func serve(
        _ options: String = "", schema: String = schema + rows, files: [String: String] = [:], rules: String = ""
    ) throws -> ServedMap {
        // However busy the machine is, no answer takes too long.
        let limits = options.contains("limits:") ? "" : ", limits: { time: 10m }"
        let served = try ServedMap(
            "http://shop.test/: { sqlite: shop.db\(options)\(limits) }\n" + rules, files: files, options: ["--offline"])
        if !schema.isEmpty { try sqlite(served, schema) }
        return served
    }

    /// Runs statements by the program `sqlite3`; the lines that they print.
    @discardableResult
    private func sqlite(_ served: ServedMap, _ script: String) throws -> String {
        try sqlite(served.folder, script)
    }

    @discardableResult
    private func sqlite(_ folder: TemporaryFolder, _ script: String) throws -> String {
        let process = try ChildProcess.run([
            "sqlite3", "-bail", "-cmd", ".timeout 600000", folder.at("shop.db"), script,
        ])
        try #require(process.status == 0, "\(process.error)")
        return process.output.split(separator: "\n").joined(separator: "\n")
    }

    private func post(
        _ served: ServedMap, _ body: String, to path: String = "products", fields: [String] = [json]
    ) throws -> ProxyResponse {
        try served.binary.exchange("POST", "http://shop.test/\(path)", fields: fields, body: body)
    }

    /// The members `title` and `detail` of a problem document (RFC 9457).
    private func problem(_ response: ProxyResponse) throws -> (title: String, detail: String) {
        #expect(response.field("Content-Type") == "application/problem+json")
        #expect(response.field("Cache-Control") == "no-store")
        let document = try #require(try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
        #expect(document["status"] as? Int == response.status)
        return (document["title"] as? String ?? "", document["detail"] as? String ?? "")
    }

    // MARK: Reading

    @Test(
        "Tables, rows, children and views are read by URL",
        arguments: [
            ("products", "[\(hammer),\(saw),\(tape)]"), ("products/", "[\(hammer),\(saw),\(tape)]"),
            ("products/2", saw), ("PRODUCTS/2", saw),
            ("products/1/reviews", #"[{"id":1,"product":1,"stars":5},{"id":2,"product":1,"stars":3}]"#),
            ("products/2/reviews", "[]"), ("products?brand=acme", "[\(hammer),\(tape)]"),
            ("products?price:gt=3.2&brand=acme", "[\(hammer)]"), ("products?price_lte=19.9", "[\(hammer),\(tape)]"),
            ("products?id=1&id=3&_sort=-price", "[\(hammer),\(tape)]"), ("products?brand:ne=acme", "[\(saw)]"),
            ("products?name:contains=A&_sort=name&_order=desc", "[\(tape),\(saw),\(hammer)]"),
            ("products?q=ham", "[\(hammer)]"), ("products?_page=2&_limit=2", "[\(tape)]"),
            ("products?_start=1&_end=2", "[\(saw)]"), ("products?brand=none", "[]"),
            (
                "products?_per_page=2&_page=2",
                #"{"first":1,"prev":1,"next":null,"last":2,"pages":2,"items":3,"data":[\#(tape)]}"#
            ),
            ("reviews/2?_expand=products", #"{"id":2,"product":1,"stars":3,"products":\#(hammer)}"#),
            (
                "products?_embed=reviews&id=2",
                #"[{"id":2,"name":"Saw","brand":"borg","price":24.0,"reviews":[]}]"#
            ),
        ])
    func reading(path: String, body: String) throws {
        let served = try serve()
        let response = try served.binary.get("http://shop.test/\(path)")
        #expect(response.status == 200)
        #expect(response.text == body)
        #expect(response.field("Content-Type") == "application/json")
        #expect(response.field("Cache-Control") == "no-cache")
        #expect(response.field("Cache-Status") == "subproxy; hit; detail=\"m.yaml:2\"")
    }

    @Test("A list says how many rows there are, and where the other pages are")
    func pages() throws {
        let served = try serve()
        let response = try served.binary.get("http://shop.test/products?_page=2&_limit=1")
        #expect(response.field("X-Total-Count") == "3")
        let link = response.field("Link") ?? ""
        for (relation, page) in [("first", 1), ("prev", 1), ("next", 3), ("last", 3)] {
            #expect(link.contains("<http://shop.test/products?_page=\(page)&_limit=1>; rel=\"\(relation)\""))
        }
    }

    @Test("SQLite is loaded with the first request for a database, and not by a map that names one")
    func loading() throws {
        let served = try serve(rules: "http://other.test/x: { text: x }")
        #expect(try served.binary.get("http://other.test/x").status == 200)
        #expect(!served.binary.hasMapped("libsqlite3"))
        #expect(try served.binary.get("http://shop.test/products/3").text == ServedDatabaseTests.tape)
        #expect(served.binary.hasMapped("libsqlite3"))
    }

    @Test("In a URL of another scheme the host is the table")
    func ownScheme() throws {
        let served = try serve(rules: "sqlite://*/**: { sqlite: shop.db, limits: { time: 10m } }")
        func get(_ url: String) throws -> String {
            let curl = try ChildProcess.run([
                "curl", "--disable", "-sS", "--max-time", "300", "--noproxy", "*", "--request-target", url,
                "http://127.0.0.1:\(served.binary.port)/",
            ])
            return curl.output + curl.error
        }
        #expect(try get("sqlite://products?brand=acme&name=Tape") == "[\(ServedDatabaseTests.tape)]")
        #expect(try get("sqlite://products/2") == ServedDatabaseTests.saw)
        #expect(try get("sqlite://products/1/reviews?stars=3") == #"[{"id":2,"product":1,"stars":3}]"#)
    }

    @Test("A statement of the map answers, with captures and parameters bound and never pasted")
    func statement() throws {
        let served = try serve(
            rules: """
                http://top.test/*: { sqlite: shop.db, limits: { time: 10m }, sql: "SELECT name FROM products WHERE brand = $1 OR name = :n" }
                http://one.test/*: { sqlite: shop.db, limits: { time: 10m }, sql: "SELECT name FROM products WHERE id = $1", result: one }
                """)
        #expect(try served.binary.get("http://top.test/borg").text == #"[{"name":"Saw"}]"#)
        #expect(try served.binary.get("http://top.test/borg?n=Tape").text == #"[{"name":"Saw"},{"name":"Tape"}]"#)
        #expect(try served.binary.get("http://top.test/x'%20OR%201=1--?n='%20OR%201=1--").text == "[]")
        #expect(try served.binary.get("http://one.test/3").text == #"{"name":"Tape"}"#)
        #expect(try problem(try served.binary.get("http://one.test/9")).title == "no such row")
    }

    @Test("A table that 'tables' leaves out is not there for clients")
    func hiddenTables() throws {
        let served = try serve(", writes: memory, tables: [products]")
        func get(_ path: String) throws -> ProxyResponse { try served.binary.get("http://shop.test/\(path)") }
        #expect(try get("").text.hasPrefix(#"[{"name":"products","kind":"table","key":["id"]"#))
        #expect(try !get("").text.contains("reviews"))
        for path in ["reviews", "reviews/1", "products/1/reviews", "sqlite_schema", "sqlite_master"] {
            #expect(try get(path).status == 404, "\(path)")
        }
        #expect(try get("products?_embed=reviews").status == 400)
        #expect(try post(served, #"{"product":1}"#, to: "reviews").status == 404)
    }

    @Test("Answers of more rows, bytes or time than the limits are refused and never cut")
    func limits() throws {
        let served = try serve(
            ", limits: { rows: 2 }",
            rules: """
                http://bytes.test/: { sqlite: shop.db, limits: { bytes: 60B } }
                http://time.test/x: { sqlite: shop.db, limits: { time: 20ms }, sql: "WITH RECURSIVE c(x) AS \
                (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c" }
                """)
        #expect(
            try problem(try served.binary.get("http://shop.test/products"))
                == ("too many rows", "3 rows; ask for pages, as ?_page=1&_limit=100"))
        #expect(try served.binary.get("http://shop.test/products?_limit=2").status == 200)
        #expect(try problem(try served.binary.get("http://bytes.test/products")).title == "answer too large")
        #expect(try served.binary.get("http://bytes.test/products/1").text == ServedDatabaseTests.hammer)
        let endless = try served.binary.get("http://time.test/x")
        #expect(endless.status == 503)
        #expect(try problem(endless).title == "query took too long")
    }

    @Test("A reset drops what is in memory, for pages of this machine and not of others")
    func reset() throws {
        let served = try serve(", writes: memory")
        let list = "http://shop.test/products?_limit=0"
        func reset(_ fields: [String] = [], method: String = "POST") throws -> Int {
            let socket = try served.binary.connect()
            let lines =
                ["\(method) /reset HTTP/1.1", "Host: 127.0.0.1:\(served.binary.port)", "Connection: close"] + fields
            try socket.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
            return try socket.receiveResponse(to: method).status
        }
        #expect(try post(served, #"{"name":"Axe"}"#).status == 201)
        for refused in ["Origin: http://evil.test", "Sec-Fetch-Site: cross-site"] {
            #expect(try reset([refused]) == 403)
        }
        #expect(try reset(method: "GET") == 405)
        #expect(try served.binary.get(list).field("X-Total-Count") == "4")
        #expect(try reset() == 204)
        #expect(try served.binary.get(list).field("X-Total-Count") == "3")
    }

    @Test("With 'when: origin-fails' a write goes to the origin, and to the database if that fails")
    func originFirst() throws {
        let origin = try ScriptedOrigin { request, connection in
            let body = try connection.readBody(of: request).body
            let isFine = request.target == "/products"
            try connection.socket.send(
                "HTTP/1.1 \(isFine ? "201 Created" : "503 No")\r\nContent-Length: \(body.count)\r\n\r\n")
            try connection.socket.send(body)
            return true
        }
        let base = "http://127.0.0.1:\(origin.port)"
        let served = try ServedMap(
            "\(base)/: { sqlite: shop.db, limits: { time: 10m }, writes: file, when: origin-fails }")
        try sqlite(served, ServedDatabaseTests.schema + ServedDatabaseTests.rows)
        func write(_ method: String, _ path: String) throws -> ProxyResponse {
            try served.binary.exchange(
                method, "\(base)/\(path)", fields: [ServedDatabaseTests.json], body: #"{"name":"Axe"}"#)
        }
        let atOrigin = try write("POST", "products")
        #expect(atOrigin.status == 201)
        #expect(atOrigin.text == #"{"name":"Axe"}"#)
        #expect(try sqlite(served, "SELECT count(*) FROM products WHERE name = 'Axe'") == "0")
        #expect(try write("PATCH", "products/1").text == #"{"id":1,"name":"Axe","brand":"acme","price":19.9}"#)
        #expect(try sqlite(served, "SELECT count(*) FROM products WHERE name = 'Axe'") == "1")
    }

    // MARK: Fields

    @Test("A row has an ETag, by which GET is 304, a write 412, and a range is a part of the same row")
    func conditions() throws {
        let served = try serve(", writes: file")
        let row = "http://shop.test/products/1"
        let tag = try #require(try served.binary.get(row).field("ETag"))
        #expect(try served.binary.get(row, fields: ["If-None-Match: \(tag)"]).status == 304)
        let part = try served.binary.get(row, fields: ["Range: bytes=0-6", "If-Range: \(tag)"])
        #expect(part.status == 206)
        #expect(part.text == #"{"id":1"#)
        #expect(part.field("Content-Range") == "bytes 0-6/\(ServedDatabaseTests.hammer.utf8.count)")
        let head = try served.binary.exchange("HEAD", row)
        #expect(head.field("ETag") == tag)
        #expect(head.field("Content-Length") == "\(ServedDatabaseTests.hammer.utf8.count)")

        func patch(_ price: Int, _ tag: String) throws -> ProxyResponse {
            try served.binary.exchange(
                "PATCH", row, fields: [ServedDatabaseTests.json, "If-Match: \(tag)"], body: #"{"price":\#(price)}"#)
        }
        let changed = try patch(7, tag)
        #expect(changed.status == 200)
        #expect(changed.text.contains(#""price":7.0"#))
        #expect(try problem(try patch(8, tag)).title == "precondition failed")
        let newTag = try #require(changed.field("ETag"))
        #expect(newTag != tag)
        #expect(try served.binary.get(row).field("ETag") == newTag)
        #expect(try served.binary.get(row, fields: ["If-None-Match: \(tag)"]).text == changed.text)
        #expect(try patch(9, newTag).status == 200)
        #expect(try sqlite(served, "SELECT price FROM products WHERE id = 1") == "9.0")
    }

    @Test("Pages of other origins may read, preflights are answered, and problems can be read too")
    func crossOrigin() throws {
        let served = try serve(", writes: memory")
        let binary = served.binary
        let origin = "Origin: http://page.test"
        let list = try binary.get("http://shop.test/products?_limit=1", fields: [origin])
        #expect(list.field("Access-Control-Allow-Origin") == "http://page.test")
        #expect(list.field("Access-Control-Expose-Headers")?.contains("X-Total-Count") == true)
        #expect(list.field("Vary") == "Origin")
        let problem = try binary.get("http://shop.test/products/99", fields: [origin])
        #expect(problem.status == 404)
        #expect(problem.field("Access-Control-Allow-Origin") == "http://page.test")
        let preflight = try binary.exchange(
            "OPTIONS", "http://shop.test/products/1",
            fields: [
                origin, "Access-Control-Request-Method: PATCH",
                "Access-Control-Request-Headers: content-type, if-match",
            ])
        #expect(preflight.status == 204)
        #expect(preflight.field("Access-Control-Allow-Methods") == "PATCH")
        #expect(preflight.field("Access-Control-Allow-Headers") == "content-type, if-match")
        let options = try binary.exchange("OPTIONS", "http://shop.test/products/1")
        #expect(options.status == 204)
        #expect(options.field("Allow") == "GET, HEAD, OPTIONS, PUT, PATCH, DELETE")
    }

    @Test("100 Continue comes where the body is wanted, and not before a refusal")
    func expectation() throws {
        let served = try serve(", writes: memory, limits: { body: 1KiB }")
        func begin(_ method: String, _ path: String, type: String, length: Int) throws -> Socket {
            let socket = try served.binary.connect()
            try socket.send(
                """
                \(method) http://shop.test/\(path) HTTP/1.1\r\nHost: shop.test\r\nExpect: 100-continue\r
                Content-Type: \(type)\r\nContent-Length: \(length)\r\n\r\n
                """)
            return socket
        }
        let body = #"{"name":"Axe"}"#
        let wanted = try begin("POST", "products", type: "application/json", length: body.utf8.count)
        #expect(
            String(decoding: try wanted.receive(until: "\r\n\r\n"), as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
        try wanted.send(body)
        #expect(try wanted.receiveResponse().status == 201)
        for (method, path, type, length, status) in [
            ("POST", "products", "text/plain", 1, 415), ("POST", "products", "application/json", 1025, 413),
        ] {
            let refused = try begin(method, path, type: type, length: length).receiveResponse()
            #expect(refused.status == status)
            #expect(refused.interim.isEmpty)
        }
    }

    // MARK: Writing

    @Test("Rows are added, replaced, changed and deleted, in the file")
    func writingToFile() throws {
        let served = try serve(", writes: file")
        let added = try post(served, #"{"name":"Axe","price":30}"#)
        #expect(added.status == 201)
        #expect(added.field("Location") == "http://shop.test/products/4")
        #expect(added.text == #"{"id":4,"name":"Axe","brand":null,"price":30.0}"#)
        #expect(try served.binary.get("http://shop.test/products/4").text == added.text)
        func change(_ method: String, _ body: String? = nil) throws -> ProxyResponse {
            try served.binary.exchange(
                "\(method)", "http://shop.test/products/4", fields: [ServedDatabaseTests.json], body: body)
        }
        #expect(try change("PATCH", #"{"brand":"corax"}"#).text.contains(#""brand":"corax","price":30.0"#))
        #expect(try change("PUT", #"{"name":"Adze"}"#).text == #"{"id":4,"name":"Adze","brand":null,"price":null}"#)
        #expect(try sqlite(served, "SELECT * FROM products WHERE id = 4") == "4|Adze||")
        #expect(try change("DELETE").status == 200)
        #expect(try change("DELETE").status == 404)
        #expect(try sqlite(served, "SELECT count(*) FROM products") == "3")
        // A form, a child, and several rows of which all or none are added.
        #expect(
            try post(served, "name=Nail&price=0.1", fields: ["Content-Type: application/x-www-form-urlencoded"]).status
                == 201)
        #expect(try post(served, #"{"stars":2}"#, to: "products/2/reviews").text == #"{"id":3,"product":2,"stars":2}"#)
        #expect(try post(served, #"[{"name":"A"},{"name":"Saw"}]"#).status == 409)
        #expect(try sqlite(served, "SELECT count(*) FROM products WHERE name = 'A'") == "0")
        #expect(Wait.holds { served.binary.log.contains("(products: 1 inserted)") })
    }

    @Test("Writes in memory show in every answer, and never in the file")
    func writingInMemory() throws {
        let served = try serve(", writes: memory")
        let before = try ChildProcess.run(["sha256sum", served.folder.at("shop.db")]).output
        #expect(try post(served, #"{"name":"Axe"}"#).status == 201)
        #expect(try served.binary.exchange("DELETE", "http://shop.test/products/3").status == 200)
        #expect(try served.binary.get("http://shop.test/products?_limit=0").field("X-Total-Count") == "3")
        #expect(try ChildProcess.run(["sha256sum", served.folder.at("shop.db")]).output == before)
        #expect(try ChildProcess.run(["ls", served.folder.path]).output == "m.yaml\nshop.db\n")
    }

    @Test(
        "Seeds make a database: in memory without a file, with 'writes: file' the file", arguments: ["memory", "file"])
    func seeds(writes: String) throws {
        let served = try serve(
            ", writes: \(writes), seed: [schema.sql, products.csv, more.json]", schema: "",
            files: [
                "schema.sql": ServedDatabaseTests.schema, "products.csv": "id,name,brand,price\n1,Hammer,acme,19.9\n",
                "more.json": #"{"reviews":[{"id":7,"product":1,"stars":4}],"notes":[{"id":"a","done":true}]}"#,
            ])
        #expect(try served.binary.get("http://shop.test/products").text == "[\(ServedDatabaseTests.hammer)]")
        #expect(
            try served.binary.get("http://shop.test/products/1/reviews").text == #"[{"id":7,"product":1,"stars":4}]"#)
        #expect(try served.binary.get("http://shop.test/notes/a").text == #"{"id":"a","done":true}"#)
        #expect(try post(served, #"{"name":"Axe"}"#).status == 201)
        #expect((access(served.folder.at("shop.db"), F_OK) == 0) == (writes == "file"))
        if writes == "file" { #expect(try sqlite(served, "SELECT count(*) FROM products") == "2") }
    }

    @Test("An error of a seed names its file and line")
    func seedError() throws {
        let served = try serve(
            ", seed: [schema.sql, products.csv]", schema: "",
            files: ["schema.sql": ServedDatabaseTests.schema, "products.csv": "id,name\n1,Hammer\n2,Hammer\n"])
        let response = try served.binary.get("http://shop.test/products")
        #expect(response.status == 502)
        #expect(try problem(response).detail.hasPrefix("products.csv:3"))
    }

    // MARK: Refusals

    @Test(
        "A request that can't be answered gets a problem document that says why",
        arguments: [
            ("GET", "nothing", "", 404, "no such table", "there is no table 'nothing'"),
            ("GET", "products/99", "", 404, "no such row", "there is no row products/99"),
            (
                "GET", "products?prize=1", "", 400, "unknown column",
                "products has no column 'prize'; did you mean 'price'?"
            ),
            ("GET", "products?_pgae=1", "", 400, "unknown parameter", "'_pgae' is no parameter; did you mean '_page'?"),
            ("GET", "products?price:gt=many", "", 400, "bad value", "'price:gt' needs a number, not 'many'"),
            (
                "DELETE", "products", "", 405, "method not allowed",
                "DELETE does nothing here; GET, HEAD, OPTIONS, POST do"
            ),
            (
                "PURGE", "products", "", 405, "method not allowed",
                "PURGE does nothing here; GET, HEAD, OPTIONS, POST do"
            ),
            ("POST", "products", #"{"name":"#, 400, "bad body", "line 1, column 9: a value is missing"),
            ("POST", "products", #"{"name":"Saw"}"#, 409, "constraint", "UNIQUE constraint failed: products.name"),
            ("POST", "products", #"{"price":1}"#, 400, "constraint", "NOT NULL constraint failed: products.name"),
            ("POST", "reviews", #"{"product":99}"#, 409, "constraint", "FOREIGN KEY constraint failed"),
            (
                "POST", "products", #"{"name":"\#(String(repeating: "x", count: 2000))"}"#, 413, "body too large",
                "more than 1024 bytes; 'limits: { body: … }' allows more"
            ),
        ])
    func problems(
        method: String, path: String, body: String, status: Int, title: String, detail: String
    ) throws {
        let served = try serve(", writes: memory, limits: { body: 1KiB }")
        let response = try served.binary.exchange(
            method, "http://shop.test/\(path)", fields: [ServedDatabaseTests.json], body: body.isEmpty ? nil : body)
        #expect(response.status == status)
        #expect(try problem(response) == (title, detail))
        if status == 405 { #expect(response.field("Allow")?.hasPrefix("GET, HEAD, OPTIONS") == true) }
        #expect(Wait.holds { served.binary.log.contains("(\(title))") }, "\(served.binary.log)")
    }

    @Test("Without 'writes' nothing is written, and a body of another type is 415")
    func refusedWrites() throws {
        let readOnly = try post(serve(), #"{"name":"Axe"}"#)
        #expect(readOnly.status == 405)
        #expect(readOnly.field("Allow") == "GET, HEAD, OPTIONS")
        #expect(
            try problem(readOnly).detail
                == "shop.db is read only here; 'writes: memory' or 'writes: file' lets POST in")
        let text = try post(serve(", writes: memory"), "name", fields: ["Content-Type: text/plain"])
        #expect(text.status == 415)
        #expect(text.field("Accept-Post") == "application/json, application/x-www-form-urlencoded")
        #expect(try problem(text).title == "unsupported media type")
    }

    @Test("Only the site's own pages, loopback's, and those of 'origins' write to a file")
    func origins() throws {
        let served = try serve(", writes: file, origins: [https://admin.test]")
        for (origin, status) in [
            ("http://evil.test", 403), ("null", 403), ("http://localhost.evil.test", 403), ("http://shop.test:81", 403),
            ("https://shop.test", 403), ("http://admin.test", 403), ("http://shop.test", 201),
            ("https://admin.test", 201),
            ("http://localhost:3000", 201), ("http://127.0.0.1", 201), ("https://[::1]:8443", 201),
        ] {
            let response = try post(
                served, #"{"name":"\#(origin)"}"#, fields: [ServedDatabaseTests.json, "Origin: \(origin)"])
            #expect(response.status == status, "\(origin)")
            if status == 403 { #expect(try problem(response).title == "origin not allowed") }
        }
        #expect(try sqlite(served, "SELECT count(*) FROM products") == "8")
    }

    @Test("A file that is missing, no database, or behind a symbolic link is an error that names it")
    func badFiles() throws {
        let served = try serve(
            files: ["text.db": "this is not a database, but only a line of text\n"],
            rules: """
                http://gone.test/: { sqlite: gone.db }
                http://missing.test/: { sqlite: gone.db, missing: 404 }
                http://link.test/: { sqlite: link.db }
                http://text.test/: { sqlite: text.db }
                """)
        try #require(symlink("shop.db", served.folder.at("link.db")) == 0)
        func get(_ host: String) throws -> ProxyResponse { try served.binary.get("http://\(host).test/products") }
        let gone = try get("gone")
        #expect(gone.status == 502)
        #expect(Wait.holds { served.binary.log.contains("/gone.db does not exist)") })
        #expect(try problem(gone) == ("database missing", "m.yaml:3: \(served.folder.at("gone.db")) does not exist"))
        #expect(try get("missing").status == 404)
        let link = try get("link")
        #expect(link.status == 403)
        #expect(try problem(link).detail == "link.db: the path goes through a symbolic link")
        let text = try get("text")
        #expect(text.status == 502)
        #expect(try problem(text) == ("database error", "text.db: file is not a database (SQLITE_NOTADB)"))
        #expect(try get("shop").status == 200)
    }

    // MARK: Other processes

    @Test(
        "What another program commits is in the answers that are asked for 100 ms later",
        arguments: ["DELETE", "WAL"])
    func edits(journal: String) throws {
        let served = try serve(
            schema: "PRAGMA journal_mode = \(journal);" + ServedDatabaseTests.schema + ServedDatabaseTests.rows)
        let row = "http://shop.test/products/3"
        #expect(try served.binary.get(row).text == ServedDatabaseTests.tape)
        for price in 1...5 {
            try sqlite(served, "UPDATE products SET price = \(price) WHERE id = 3")
            usleep(100_000)
            #expect(try served.binary.get(row).text.contains(#""price":\#(price).0"#))
        }
    }

    @Test("A database that is replaced by rename is opened anew")
    func replaced() throws {
        let served = try serve()
        let row = "http://shop.test/products/3"
        #expect(try served.binary.get(row).text == ServedDatabaseTests.tape)
        try #require(rename(served.folder.at("shop.db"), served.folder.at("old.db")) == 0)
        try sqlite(served, ServedDatabaseTests.schema + "INSERT INTO products VALUES(3, 'Other', NULL, NULL)")
        #expect(
            try Wait.holds { try served.binary.get(row).text == #"{"id":3,"name":"Other","brand":null,"price":null}"# })
    }

    @Test(
        "Several proxies and the sqlite3 program write to one file at once, and nothing is lost",
        arguments: ["DELETE", "WAL"])
    func manyWriters(journal: String) async throws {
        let first = try serve(
            ", writes: file, limits: { wait: 10m, time: 10m }",
            schema: "PRAGMA journal_mode = \(journal);" + ServedDatabaseTests.schema)
        let binaries = [first.binary, try RunningBinary(map: first.mapPath)]
        let folder = first.folder
        let (writers, rows) = (3, 50)
        let accepted = try await atOnce(writers) { writer in
            var accepted = 0
            for row in 0..<rows {
                let name = "\(writer)-\(row)"
                if writer < binaries.count {
                    let response = try binaries[writer].exchange(
                        "POST", "http://shop.test/products", fields: [ServedDatabaseTests.json],
                        body: #"{"name":"\#(name)"}"#
                    )
                    if response.status == 201 { accepted += 1 }
                } else {
                    try sqlite(folder, "INSERT INTO products(name) VALUES('\(name)')")
                    accepted += 1
                }
            }
            return accepted
        }
        #expect(accepted == [rows, rows, rows])
        #expect(try sqlite(first, "SELECT count(DISTINCT name) FROM products; PRAGMA integrity_check") == "150\nok")
        for binary in binaries {
            #expect(try Wait.holds { try binary.get("http://shop.test/products").field("X-Total-Count") == "150" })
        }
    }

    @Test(
        "Killed in the middle of writes, it leaves a sound file with every row that it has answered 201 to",
        arguments: ["DELETE", "WAL"])
    func kill(journal: String) throws {
        let served = try serve(
            ", writes: file", schema: "PRAGMA journal_mode = \(journal);" + ServedDatabaseTests.schema)
        var accepted: [String] = []
        for round in 0..<3 {
            let binary = try RunningBinary(map: served.mapPath)
            let client = try binary.connect()
            for row in 0..<(20 + round) {
                let name = "\(round)-\(row)"
                try client.sendRequest(
                    "POST", "http://shop.test/products", fields: [ServedDatabaseTests.json],
                    body: #"{"name":"\#(name)"}"#)
                try #require(try client.receiveResponse().status == 201)
                accepted.append(name)
            }
            // Some more, of which nobody reads the answers: the kill comes while they are written.
            for row in 0..<50 {
                try client.sendRequest(
                    "POST", "http://shop.test/products", fields: [ServedDatabaseTests.json],
                    body: #"{"name":"unread-\#(round)-\#(row)"}"#)
            }
            binary.process.send(SIGKILL)
            try binary.process.finish()
            #expect(try sqlite(served, "PRAGMA integrity_check") == "ok")
            let names = try sqlite(served, "SELECT name FROM products").split(separator: "\n").map(String.init)
            #expect(Set(accepted).isSubset(of: names))
        }
    }

    @Test("Several proxies with 'writes: memory' begin with the same rows, and each has its own from then on")
    func severalMemories() throws {
        let first = try serve(", writes: memory")
        let others = try (0..<2).map { _ in try RunningBinary(map: first.mapPath) }
        let binaries = [first.binary] + others
        for (number, binary) in binaries.enumerated() {
            #expect(try binary.get("http://shop.test/products").field("X-Total-Count") == "3")
            for row in 0...number {
                let response = try binary.exchange(
                    "POST", "http://shop.test/products", fields: [ServedDatabaseTests.json],
                    body: #"{"name":"\#(number)-\#(row)"}"#)
                #expect(response.status == 201 && response.text.hasPrefix("{\"id\":\(4 + row),"))
            }
        }
        for (number, binary) in binaries.enumerated() {
            let response = try binary.get("http://shop.test/products?name:startsWith=\(number)-")
            #expect(response.field("X-Total-Count") == "\(number + 1)")
            #expect(try binary.get("http://shop.test/products").field("X-Total-Count") == "\(number + 4)")
        }
        #expect(try sqlite(first, "SELECT count(*) FROM products") == "3")
    }

    @Test("An MBTiles file is a tile server, whether its tiles are a table or a view", arguments: ["table", "view"])
    func tiles(kind: String) throws {
        let tables =
            kind == "table"
            ? "CREATE TABLE tiles(zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);"
            : """
            CREATE TABLE map(zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_id TEXT);
            CREATE TABLE images(tile_data BLOB, tile_id TEXT);
            CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM map JOIN images USING (tile_id);
            CREATE TRIGGER add_tile INSTEAD OF INSERT ON tiles BEGIN
              INSERT INTO images VALUES(NEW.tile_data, NEW.zoom_level || '/' || NEW.tile_row);
              INSERT INTO map VALUES(
                NEW.zoom_level, NEW.tile_column, NEW.tile_row, NEW.zoom_level || '/' || NEW.tile_row);
            END;
            """
        let served = try serve(
            schema: tables + "INSERT INTO tiles VALUES(0, 0, 0, x'89504e470d0a'), (2, 1, 3, x'00ff'), (2, 1, 2, NULL);",
            rules: """
                http://tiles.test/*/*/*.png:
                  { sqlite: shop.db, limits: { time: 10m }, result: value, type: image/png, sql: "SELECT tile_data FROM tiles WHERE \
                zoom_level = $1 AND tile_column = $2 AND tile_row = (1 << $1) - 1 - $3" }
                """)
        let world = try served.binary.get("http://tiles.test/0/0/0.png")
        #expect(world.status == 200 && world.field("Content-Type") == "image/png")
        #expect(world.body == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A])
        // Rows are counted from the south in the file, from the north in URLs.
        #expect(try served.binary.get("http://tiles.test/2/1/0.png").body == [0x00, 0xFF])
        for missing in ["2/1/1", "2/1/3", "2/1/-1", "x/y/z"] {
            #expect(try served.binary.get("http://tiles.test/\(missing).png").status == 404, "\(missing)")
        }
        let part = try served.binary.get("http://tiles.test/0/0/0.png", fields: ["Range: bytes=1-3"])
        #expect(part.status == 206 && part.text == "PNG")
    }

    @Test("A file made from seeds takes nothing in of the log that the one before has left")
    func leftLog() throws {
        let served = try serve(
            ", writes: file, seed: schema.sql", schema: "", files: ["schema.sql": ServedDatabaseTests.schema])
        #expect(try post(served, #"{"name":"Axe"}"#).status == 201)
        #expect(try served.binary.get("http://shop.test/products").text.contains("Axe"))
        // As 'rm shop.db' does, which is what people type.
        #expect(unlink(served.folder.at("shop.db")) == 0 && access(served.folder.at("shop.db-wal"), F_OK) == 0)
        try served.folder.write(
            "schema.sql", "CREATE TABLE first(id INTEGER PRIMARY KEY);\n" + ServedDatabaseTests.schema)
        func isRefused(_ binary: RunningBinary, _ suffix: String) throws -> Bool {
            let response = try binary.get("http://shop.test/products")
            let detail = "shop.db is gone, and shop.db\(suffix) is left of it: remove that too, or bring shop.db back"
            return try response.status == 502 && problem(response).detail == detail
                && access(served.folder.at("shop.db"), F_OK) != 0
        }
        #expect(try isRefused(served.binary, "-wal"))
        #expect(try post(served, #"{"name":"Saw"}"#).status == 502)
        #expect(unlink(served.folder.at("shop.db-wal")) == 0)
        #expect(try served.binary.get("http://shop.test/products").text == "[]")
        #expect(try served.binary.get("http://shop.test/first").text == "[]")
        #expect(try post(served, #"{"name":"Saw"}"#).status == 201)
        #expect(try sqlite(served, "PRAGMA integrity_check; SELECT name FROM products") == "ok\nSaw")
        // One that another process has left is refused too, as is a journal.
        served.binary.process.send(SIGKILL)
        try served.binary.process.finish()
        #expect(unlink(served.folder.at("shop.db")) == 0 && access(served.folder.at("shop.db-wal"), F_OK) == 0)
        let next = try RunningBinary(map: served.mapPath)
        #expect(try isRefused(next, "-wal"))
        #expect(rename(served.folder.at("shop.db-wal"), served.folder.at("shop.db-journal")) == 0)
        #expect(try isRefused(next, "-journal"))
        // An empty one has nothing that could be read.
        try served.folder.write("shop.db-journal", "")
        #expect(try next.get("http://shop.test/products").text == "[]")
    }

    @Test("A write that waits for the origin as the map changes brings nothing back of what the old one said")
    func reload() throws {
        let origin = try ListeningSocket()
        func rules(_ seed: String) -> String {
            """
            http://127.0.0.1:\(origin.port)/: { sqlite: shop.db, limits: { time: 10m }, seed: \(seed), writes: memory, when: origin-fails }
            http://shop.test/: { sqlite: shop.db, limits: { time: 10m }, seed: \(seed), writes: memory }
            """
        }
        let served = try ServedMap(
            rules("old.sql"),
            files: [
                "old.sql": ServedDatabaseTests.schema + ServedDatabaseTests.rows, "new.sql": ServedDatabaseTests.schema,
            ])
        let writer = try served.binary.connect()
        try writer.sendRequest(
            "POST", "http://127.0.0.1:\(origin.port)/products", fields: [ServedDatabaseTests.json],
            body: #"{"name":"Axe"}"#)
        let asked = origin.accept()
        #expect(asked >= 0)
        // One that has sent half of its body too.
        let half = try served.binary.connect()
        try half.send("POST http://shop.test/products HTTP/1.1\r\nHost: shop.test\r\n\(ServedDatabaseTests.json)\r\n")
        try half.send("Expect: 100-continue\r\nContent-Length: 14\r\n\r\n")
        #expect(String(decoding: try half.receive(until: "\r\n\r\n"), as: UTF8.self).hasPrefix("HTTP/1.1 100 "))
        try half.send("{\"name\"")
        #expect(try served.binary.get("http://shop.test/products").field("X-Total-Count") == "3")
        try served.folder.write("m.yaml", ServedMap.text(rules("new.sql")))
        served.binary.process.send(SIGHUP)
        #expect(Wait.holds { served.binary.process.error.contains("loaded anew") })
        close(asked)
        try half.send(":\"Saw\"}")
        for client in [writer, half] {
            let response = try client.receiveResponse()
            #expect(response.status == 503 && response.field("Retry-After") == "1")
            #expect(try problem(response).detail == "the map of shop.db has changed, or the proxy ends: ask again")
        }
        #expect(try served.binary.get("http://shop.test/products").text == "[]")
        #expect(try post(served, #"{"name":"Tape"}"#).status == 201)
        #expect(try served.binary.get("http://shop.test/products").field("X-Total-Count") == "1")
    }

    @Test("A write is sent to a failing origin once, also where a missing database leaves it to the origin")
    func oneWrite() throws {
        let origin = try ScriptedOrigin { request, connection in
            _ = try connection.readBody(of: request)
            try connection.respond("503 Service Unavailable")
            return true
        }
        let served = try ServedMap(
            "http://127.0.0.1:\(origin.port)/: "
                + "{ sqlite: shop.db, limits: { time: 10m }, writes: memory, missing: forward, when: origin-fails }")
        let response = try served.binary.exchange(
            "POST", "http://127.0.0.1:\(origin.port)/products", fields: [ServedDatabaseTests.json],
            body: #"{"name":"Axe"}"#)
        #expect(response.status == 502)
        #expect(try problem(response).title == "database missing")
        #expect(origin.requests.count == 1)
    }

    @Test("A stop leaves one file, with all rows in it")
    func stop() throws {
        let served = try serve(
            ", writes: file, seed: schema.sql", schema: "", files: ["schema.sql": ServedDatabaseTests.schema])
        #expect(try post(served, #"{"name":"Axe"}"#).status == 201)
        #expect(try served.binary.get("http://shop.test/products").status == 200)
        #expect(access(served.folder.at("shop.db-wal"), F_OK) == 0)
        served.binary.process.send(SIGTERM)
        #expect(try served.binary.process.finish() == 0)
        #expect(try ChildProcess.run(["ls", served.folder.path]).output == "m.yaml\nschema.sql\nshop.db\n")
        #expect(try sqlite(served, "SELECT name FROM products") == "Axe")
    }

    // MARK: Browser

    @Test(
        "The shop's page lists, searches, adds, edits and deletes in Chromium, without a network",
        .program(InstalledProgram.chromium, of: "chromium"))
    func chromium() throws {
        let shop = ServedDatabaseTests.shop + "/shop.yaml"
        let binary = try RunningBinary(map: shop, ["--offline"])
        let shown = try JSONDecoder().decode([String: Shown].self, from: browse("chromiumshop.py", binary))
        #expect(shown["list"]?.rows.first == "Chisel borg 9.80 25")
        #expect(shown["list"]?.page == "page 1 of 3, 12 products")
        #expect(shown["next"]?.rows.first == "Ladder corax 129.00 2")
        #expect(shown["filter"]?.page == "page 1 of 1, 5 products")
        #expect(shown["sort"]?.rows.first == "Hammer acme 19.90 12")
        #expect(shown["add"]?.rows.first == "Axe acme 30.00 3")
        #expect(shown["add"]?.page == "page 1 of 2, 6 products")
        #expect(shown["refuse"]?.message == "UNIQUE constraint failed: products.name")
        #expect(shown["save"]?.rows.contains("Axe acme 30.00 3") == false)
        #expect(shown["delete"]?.rows.last == "Axe acme 2.00 3")
        #expect(shown["reload"]?.rows.first == "Axe acme 2.00 3")
        #expect(shown["reload"]?.page == "page 1 of 3, 12 products")
        // It is in memory alone.
        #expect(access(ServedDatabaseTests.shop + "/shop.db", F_OK) != 0)
    }

    @Test(
        "With 'when: origin-fails' the shop's page goes on in Chromium as its origin goes away, comes back and fails",
        .program(InstalledProgram.chromium, of: "chromium"))
    func originGoesAndComes() throws {
        struct Report: Decodable {
            var shown: [String: Shown]
            var origin: [String]
        }
        let files = try ["index.html", "schema.sql", "products.csv", "reviews.json"].map { name in
            (name, try String(contentsOfFile: "\(ServedDatabaseTests.shop)/\(name)", encoding: .utf8))
        }
        // The stars stand for the origin's port, and for what follows it.
        let fallback =
            "sqlite: shop.db, limits: { time: 10m }, seed: [schema.sql, products.csv, reviews.json], writes: memory, when: origin-fails"
        let served = try ServedMap(
            """
            http://127.0.0.1:*/: { file: index.html }
            http://127.0.0.1:*/api/products: { \(fallback), resource: products }
            http://127.0.0.1:*/api/products/*: { \(fallback), resource: products/$2 }
            """, files: Dictionary(uniqueKeysWithValues: files))
        let report = try JSONDecoder().decode(Report.self, from: browse("chromiumfallback.py", served.binary))
        let shown = report.shown
        #expect(shown["from origin"]?.rows == ["Anvil origin 1.00 1", "Bellows origin 1.00 1"])
        #expect(shown["added there"]?.rows.last == "Vise origin 50.00 1")
        #expect(shown["gone"]?.rows.first == "Chisel borg 9.80 25")
        #expect(shown["added here"]?.rows.first == "Adze acme 30.00 3")
        #expect(shown["edited here"]?.rows.first == "Adze acme 31.00 3")
        #expect(shown["deleted here"]?.rows.contains("Chisel borg 9.80 25") == false)
        #expect(shown["back"]?.rows.last == "Vise origin 50.00 1")
        #expect(shown["deleted there"]?.page == "page 1 of 1, 2 products")
        // What was changed here is still there when the origin fails again.
        #expect(shown["failing"]?.rows.first == "Adze acme 31.00 3")
        #expect(shown["failing"]?.rows.contains("Chisel borg 9.80 25") == false)
        #expect(shown["well"]?.rows.first == "Anvil origin 1.00 1")
        #expect(report.origin == ["Anvil", "Bellows"])
    }

    /// What the shop's page shows.
    private struct Shown: Decodable {
        var rows: [String]
        var page: String
        var message: String
    }

    private static let shop = EndToEndTests.folder(of: EndToEndTests.folder(of: EndToEnd.folder)) + "/config/shop"

    /// Runs a script that uses the page in Chromium through the proxy; what it prints.
    private func browse(_ script: String, _ binary: RunningBinary) throws -> Data {
        let profile = TemporaryFolder()
        let browser = try ChildProcess.run(
            [
                "python3", "-B", "\(EndToEnd.scripts)/\(script)", "--chromium", InstalledProgram.chromium,
                "--proxy", "127.0.0.1:\(binary.port)", "--profile", profile.at("profile"),
            ], environment: ["http_proxy": "", "https_proxy": "", "no_proxy": ""])
        try #require(browser.status == 0, "\(browser.error)")
        return Data(browser.outputBytes)
    }

    // MARK: subproxy run

    @Test("Each run of 'subproxy run' begins with the same rows, whatever the one before has changed")
    func runs() throws {
        let folder = TemporaryFolder()
        try sqlite(folder, ServedDatabaseTests.schema + ServedDatabaseTests.rows)
        try folder.write("seed.sql", ServedDatabaseTests.schema + ServedDatabaseTests.rows)
        try folder.write(
            "m.yaml",
            ServedMap.text(
                """
                http://file.test/: { sqlite: shop.db, writes: memory, limits: { time: 10m } }
                http://seed.test/: { sqlite: other.db, seed: seed.sql, writes: memory, limits: { time: 10m } }
                """))
        // What a team's test does: it adds a row, whose id it knows, changes one and deletes one.
        let test = """
            set -e
            for site in file seed; do
              ask() { curl -sS --fail "$@"; }
              test "$(ask http://$site.test/products)" = '\(ServedDatabaseTests.all)'
              ask http://$site.test/products --json '{"name":"Axe"}'
              ask -X PATCH http://$site.test/products/2 --json '{"price":1}'
              ask -X DELETE http://$site.test/products/3
              ask http://$site.test/products
            done
            """
        let runs = try (0..<3).map { _ in
            try SubproxyProcess.run(
                ["run", "--map", "m.yaml", "--offline", "--", "sh", "-c", test], folder: folder.path)
        }
        for run in runs {
            #expect(run.status == 0, "\(run.error)")
            #expect(run.output.contains(#"{"id":4,"name":"Axe","brand":null,"price":null}"#))
            #expect(run.output == runs.first?.output)
        }
        #expect(try sqlite(folder, "SELECT count(*), sum(price) FROM products") == "3|47.1")
        #expect(access(folder.at("other.db"), F_OK) != 0)
    }
}
