import Foundation
import ProxyTestKit
import Testing

/// `check` and `explain` on maps whose rules name databases.
@Suite("Commands on maps with databases", .onThreads)
struct DatabaseCommandTests {
    private let folder = TemporaryFolder()

    private static let shop = """
        CREATE TABLE products(id INTEGER PRIMARY KEY, name TEXT, price REAL);
        INSERT INTO products VALUES (1,'Apple',1.5),(2,'Banana',20.0);
        CREATE TABLE reviews(id INTEGER PRIMARY KEY, product INTEGER REFERENCES products(id));
        """

    /// Runs a command in the folder.
    private func run(_ arguments: String...) throws -> (status: Int32, output: String, error: String) {
        let finished = try SubproxyProcess.run(arguments, folder: folder.path)
        return (finished.status, finished.output, finished.error)
    }

    private func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test("check finds what a rule says of its database and what is not so, each at its place")
    func check() throws {
        try folder.write("shop.sql", Self.shop)
        try folder.write("bad.sql", "CREATE TABLE a(b);\nINSERT INTO a VALUES (1,2);\n")
        try folder.write(
            "none.db", "This is no database, though it has the name of one, and is long enough for a header of it.")
        try folder.write(
            "m.yaml",
            """
            substitutions:
              http://a.example/v1/: { sqlite: a.db, seed: shop.sql, tables: [products, reveiws] }
              http://a.example/top: { sqlite: a.db, sql: "SELECT nmae FROM products" }
              http://a.example/two: { sqlite: a.db, sql: "SELECT 1 AS a, 2 AS a" }
              http://a.example/b/: { sqlite: b.db, seed: bad.sql }
              http://a.example/c/: { sqlite: c.db, seed: gone.sql }
              http://a.example/d/: { sqlite: d.db }
              http://a.example/e/: { sqlite: none.db }
              http://a.example/f/: { sqlite: a.db, keys: { products: nam }, columns: { products.prise: text } }

            """)
        let before = try files()
        let found = try run("check", "m.yaml")
        #expect(found.status == 1 && found.output.isEmpty)
        for message in [
            "m.yaml:2:76: error: 'tables': a.db has no table 'reveiws'; did you mean 'reviews'?\n",
            "m.yaml:3:54: error: 'sql': no such column: nmae\n",
            "error: 'sql' has two columns 'a'; give one another name",
            "bad.sql:2:", "table a has 1 columns but 2 values were supplied",
            "m.yaml:6:46: error: the seed 'gone.sql' can't be read: no such file",
            "m.yaml:7:34: warning: the database '\(folder.path)/d.db' does not exist, and no 'seed' makes it\n",
            "m.yaml:8:34: error: none.db: file is not a database (SQLITE_NOTADB)\n",
            "error: 'keys': products has no column 'nam'; did you mean 'name'?",
            "error: 'columns': products has no column 'prise'; did you mean 'price'?",
        ] {
            #expect(found.error.contains(message), "\(message) in \(found.error)")
        }
        #expect(try files() == before)
    }

    @Test("check has nothing to say of a map whose databases are right, and makes none of them")
    func rightMap() throws {
        try folder.write("shop.sql", Self.shop)
        try folder.write(
            "m.yaml",
            """
            substitutions:
              http://a.example/v1/: { sqlite: a.db, seed: shop.sql, tables: [products], writes: file }
              http://a.example/top/*: { sqlite: a.db, sql: "SELECT name FROM products WHERE id = $1" }

            """)
        let found = try run("check", "--strict", "m.yaml")
        #expect(found.status == 0, "\(found.error)")
        #expect(found.error.isEmpty && found.output == "m.yaml: 1 map, 2 rules, no errors\n")
        #expect(try files() == ["m.yaml", "shop.sql"])
    }

    @Test("explain tells the SQL, its values and its plan, and runs nothing")
    func explain() throws {
        let made = try SubproxyProcess.run(["\(folder.path)/a.db", Self.shop], program: "/usr/bin/sqlite3")
        try #require(made.status == 0, "\(made.error)")
        try folder.write(
            "m.yaml",
            """
            substitutions:
              http://a.example/v1/: { sqlite: a.db }
              http://a.example/v2/: { sqlite: b.db, seed: shop.sql }
              http://a.example/v3/: { sqlite: c.db }
              http://a.example/top/*: { sqlite: a.db, sql: "SELECT name FROM products WHERE id = $1" }
              http://a.example/v5/: { sqlite: d.db, writes: memory }

            """)
        try #require(
            try SubproxyProcess.run(["\(folder.path)/d.db", Self.shop], program: "/usr/bin/sqlite3").status == 0)
        let before = try files()
        func explain(_ url: String, _ more: String...) throws -> String {
            try SubproxyProcess.run(["explain", "--map", "m.yaml", url] + more, folder: folder.path).output
        }
        let row = try explain("http://a.example/v1/products/2")
        #expect(
            row.contains(#"  SQL: SELECT "products"."id","products"."name","products"."price" FROM "products" WHERE "#))
        #expect(row.contains("  values: [2]\n  plan: SEARCH products USING INTEGER PRIMARY KEY (rowid=?)\n"))
        #expect(row.contains("outcome: substituted: the rule answers\n") && !row.contains("  status:"))
        #expect(try explain("http://a.example/v1/products?_page=1").contains("  status: 200"))
        #expect(!(try explain("http://a.example/v1/products").contains("  status:")))
        let unknown = try explain("http://a.example/v1/products?prise=1")
        #expect(
            unknown.contains(
                "the rule answers with 'unknown column': products has no column 'prise'; did you mean 'price'?"))
        #expect(unknown.contains("  status: 400"))
        #expect(try explain("http://a.example/v1/nothing").contains("  status: 404"))
        #expect(try explain("http://a.example/v1/products", "-X", "POST").contains("  status: 405"))
        #expect(try explain("http://a.example/v1/products", "-X", "PURGE").contains("  status: 405"))
        #expect(
            try explain("http://a.example/v2/products").contains(
                "b.db does not exist; shop.sql would make one in memory"))
        #expect(try explain("http://a.example/v3/products").contains("  status: 502"))
        let deletion = try explain("http://a.example/v5/products/2", "-X", "DELETE")
        #expect(
            deletion.contains("  SQL: DELETE FROM \"products\" WHERE \"products\".rowid=?\n  values: [2]\n"),
            "\(deletion)")
        let change = try explain(
            "http://a.example/v5/products/2", "-X", "PATCH", "-H", "Content-Type: application/json", "-d",
            #"{"price":3}"#)
        #expect(change.contains("  SQL: UPDATE \"products\" SET \"price\"=? WHERE "), "\(change)")
        #expect(
            try explain("http://a.example/v5/products/2", "-X", "PATCH", "-d", "price=3").contains("  SQL: UPDATE "))
        let unread = try explain("http://a.example/v5/products", "-d", "x", "-H", "Content-Type: text/plain")
        #expect(unread.contains("  status: 415"), "\(unread)")
        let json =
            try JSONSerialization.jsonObject(
                with: Data(try explain("http://a.example/top/2", "--json").utf8)) as? [String: Any]
        #expect(json?["sql"] as? String == "SELECT name FROM products WHERE id = $1")
        #expect(json?["values"] as? [String] == ["2"])
        #expect(json?["plan"] as? [String] == ["SEARCH products USING INTEGER PRIMARY KEY (rowid=?)"])
        #expect(json?["status"] as? Int == nil)
        #expect(try files() == before)
    }
}
