import Foundation
import ProxyTestKit
import Testing

/// `check` and `explain` on maps whose rules name templates.
@Suite("Commands on maps with templates", .onThreads)
struct TemplateCommandTests {
    private let folder = TemporaryFolder()

    private static let shop = """
        CREATE TABLE products(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE log(line TEXT);
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000) INSERT INTO log SELECT 'x' FROM n;
        """

    private func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    private func run(_ arguments: String...) throws -> (status: Int32, output: String, error: String) {
        let finished = try SubproxyProcess.run(arguments, folder: folder.path)
        return (finished.status, finished.output, finished.error)
    }

    private func makeShop() throws {
        let made = try SubproxyProcess.run(["\(folder.path)/shop.db", Self.shop], program: "/usr/bin/sqlite3")
        try #require(made.status == 0, "\(made.error)")
    }

    @Test("check looks at templates, their partials and their statements")
    func check() throws {
        try makeShop()
        try folder.write("page.html", "<h1>{{titel}}</h1>\n{{> foot}}\n")
        try folder.write("foot.html", "{{#a}}")
        try folder.write("good.html", "{{title}} {{> good2}}")
        try folder.write("good2.html", "{{{request.query.q}}}")
        try folder.write(
            "m.yaml",
            """
            substitutions:
              http://a.example/1: { template: page.html }
              http://a.example/2: { template: good.html, values: { titel: x } }
              http://a.example/3/*:
                template: "$1.html"
                sqlite: shop.db
                sql: { one: "SELECT nmae FROM products", two: "SELECT * FROM log", three: "SELECT 1 AS a, 2 AS a" }

            """)
        let before = try files()
        let found = try run("check", "m.yaml")
        #expect(found.status == 1 && found.output.isEmpty)
        for message in [
            "foot.html:1:1: error: this tag is not closed; add a '{{/a}}'\n{{#a}}\n^~~~~~\n",
            "good.html:1:1: warning: 'title' is in neither 'values' nor 'sql' of m.yaml:3; did you mean 'titel'?\n",
            "good2.html:1:1: warning: {{{request.query.q}}} writes what the request brings into the page as it is",
            "m.yaml:7:25: error: 'one': no such column: nmae\n",
            "warning: 'two' reads all of log, which has 100000 rows or more; an index may help\n",
            "error: 'three' has two columns 'a'; give one another name with AS\n",
        ] {
            #expect(found.error.contains(message), "\(message) in \(found.error)")
        }
        #expect(try files() == before)
    }

    @Test("check tells errors of templates and statements beside those of the map itself, and warns of neither then")
    func besideOthers() throws {
        try makeShop()
        try folder.write("page.html", "{{#a}}")
        try folder.write("odd.html", "{{nix}}")
        try folder.write(
            "m.yaml",
            """
            substitutions:
              http://a.example/1: { text: x, stauts: 201 }
              http://a.example/2: { template: page.html }
              http://a.example/3: { sqlite: shop.db, sql: "SELECT nmae FROM products" }
              http://a.example/4: { template: odd.html }

            """)
        let found = try run("check", "m.yaml")
        #expect(found.status == 1)
        for message in [
            "unknown option 'stauts'", "page.html:1:1: error: ", "m.yaml:4:55: error: 'sql': no such column: nmae",
        ] {
            #expect(found.error.contains(message), "\(message) in \(found.error)")
        }
        #expect(!found.error.contains("warning"))
        // What is refused is told once.
        try folder.write(
            "m.yaml", "substitutions:\n  http://a.example/1: { sqlite: shop.db, sql: \"SELECT 1; SELECT 2\" }\n")
        #expect(try run("check", "m.yaml").error.components(separatedBy: ": error: ").count == 2)
    }

    @Test("check --strict has nothing to say of templates that are right")
    func rightMap() throws {
        try makeShop()
        try folder.write("page.html", "{{title}} {{#rows}}{{name}}{{/rows}} {{request.path}}")
        try folder.write(
            "m.yaml",
            """
            substitutions:
              http://a.example/p/*:
                { template: page.html, values: { title: x }, sqlite: shop.db, sql: { rows: "SELECT * FROM products WHERE id = $1" } }

            """)
        let found = try run("check", "--strict", "m.yaml")
        #expect(found.status == 0, "\(found.error)")
        #expect(found.error.isEmpty && found.output == "m.yaml: 1 map, 1 rule, no errors\n")
    }

    @Test("explain tells a template's file, what of the request it uses, and its statements")
    func explain() throws {
        try makeShop()
        try folder.write("page.html", "{{item.name}} {{> foot}}")
        try folder.write("foot.html", "{{request.query.q}}")
        try folder.write("bad.html", "{{#a}}")
        try folder.write(
            "m.yaml",
            """
            substitutions:
              http://a.example/p/*:
                template: page.html
                sqlite: shop.db
                sql: { item: { sql: "SELECT name FROM products WHERE id = $1", result: one }, all: "SELECT count(*) AS n FROM log" }
              http://a.example/bad: { template: bad.html }
              http://a.example/gone: { template: gone.html }
              http://a.example/hi*: { template: { text: hi } }
              http://a.example/row/*:
                template: { text: "{{#a}}{{name}}{{/a}}" }
                sqlite: shop.db
                sql: { a: "SELECT name FROM products WHERE id = $1" }
              http://a.example/none: { template: { text: hi }, sqlite: none.db, sql: { a: "SELECT 1" } }

            """)
        let before = try files()
        func explain(_ url: String, _ more: String...) throws -> String {
            try SubproxyProcess.run(["explain", "--map", "m.yaml", url] + more, folder: folder.path).output
        }
        let page = try explain("http://a.example/p/2?q=x")
        #expect(
            page.contains(
                """
                  template: \(folder.path)/page.html, text/html; charset=utf-8
                  partial: \(folder.path)/foot.html
                  request: request.query.q, and statements use $1; kept: by URL
                  statement: item
                  SQL: SELECT name FROM products WHERE id = $1
                  values: ["2"]
                  plan: SEARCH products USING INTEGER PRIMARY KEY (rowid=?)
                  statement: all
                  SQL: SELECT count(*) AS n FROM log
                  values: []
                  plan: SCAN log

                """), "\(page)")
        // Whether there is the row isn't known.
        #expect(!page.contains("  status:"))
        #expect(
            try explain("http://a.example/hi5").contains(
                "  template: in the map, text/html; charset=utf-8\n  request: nothing; kept: once for all URLs\n"))
        #expect(try explain("http://a.example/hi5", "-X", "POST").contains("kept: not"))
        #expect(
            try explain("http://a.example/row/2").contains(
                "  request: nothing, but statements use $1; kept: by URL\n"))
        let bad = try explain("http://a.example/bad")
        #expect(bad.contains("  error: bad.html:1:1: error: this tag is not closed") && bad.contains("  status: 500"))
        #expect(try explain("http://a.example/gone").contains("  status: 502"))
        #expect(try explain("http://a.example/none").contains("  status: 502"))

        let text = Data(try explain("http://a.example/p/2?q=x", "--json").utf8)
        let json = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
        #expect((json["sql"] as? [String: String])?["all"] == "SELECT count(*) AS n FROM log")
        #expect((json["values"] as? [String: [String]])?["item"] == ["2"])
        #expect(
            (json["plan"] as? [String: [String]])?["item"] == ["SEARCH products USING INTEGER PRIMARY KEY (rowid=?)"])
        let template = try #require(json["template"] as? [String: Any])
        #expect(template["path"] as? String == "\(folder.path)/page.html")
        #expect(template["partials"] as? [String] == ["\(folder.path)/foot.html"])
        #expect(template["request"] as? [String] == ["request.query.q"])
        #expect(
            template["kept"] as? String == "by URL" && template["media_type"] as? String == "text/html; charset=utf-8")
        #expect(template["error"] is NSNull)
        #expect(try files() == before)
    }
}
