import Database
import SQLite
import Testing

@Suite("Seeding")
struct SeedingTests {
    @Test("takes files in their order, and makes tables where they aren't there")
    func order() throws {
        let database = try seeded(
            ("schema.sql", "CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, price REAL)"),
            ("products.csv", "id,name,price\n1,a,2\n"), ("products.json", "[{\"name\":\"b\"}]"), ("more.csv", "x\n1\n"))
        #expect(try database.rows("SELECT * FROM products") == ["1|'a'|2.0", "2|'b'|NULL"])
        #expect(try database.rows("SELECT * FROM more") == ["1"])
    }

    @Test("leaves nothing where a later file has an error")
    func rollback() throws {
        let message = try seedError(("a.csv", "x\n1\n"), ("b.sql", "BEGIN; CREATE TABLE t (a); COMMIT;"), ("c.csv", ""))
        #expect(message == "c.csv:1:1: error: a header is missing\n\n^")
    }

    @Test("names the row or the statement that a reference to nothing comes from")
    func openReferences() throws {
        let schema =
            "CREATE TABLE p (id INTEGER PRIMARY KEY);\nCREATE TABLE r (id INTEGER PRIMARY KEY, p REFERENCES p);"
        let message = "error: r row 2: p = 5 refers to a row that p doesn't have"
        #expect(
            try seedError(("s.sql", schema), ("r.json", "[{\"id\":1},\n  {\"id\":2,\n\"p\":5}]"))
                == "r.json:2:3: \(message)\n  {\"id\":2,\n  ^")
        #expect(
            try seedError(("s.sql", schema), ("db.json", "{\"p\":[],\n\"r\":[{\"id\":2,\"p\":5}]}"))?
                .hasPrefix("db.json:2:6: \(message)") == true)
        // It isn't the last file that is to blame.
        #expect(
            try seedError(
                ("s.sql", schema + "\nINSERT INTO r VALUES (1, NULL);\nINSERT INTO r\nVALUES (2, 5);"),
                ("p.csv", "id\n6\n"))
                == "s.sql:4:1: \(message)\nINSERT INTO r\n^")
        // Of a row that is changed later, the change is.
        #expect(
            try seedError(("s.sql", schema + "\nINSERT INTO r VALUES (2, NULL);\nUPDATE r SET p = 5;"))?
                .hasPrefix("s.sql:4:1: \(message)") == true)
        // What a trigger does is done by the row that sets it off.
        let trigger = "\nCREATE TRIGGER g AFTER INSERT ON p BEGIN INSERT INTO r VALUES (NEW.id, 5); END;"
        #expect(
            try seedError(("s.sql", schema + trigger), ("p.csv", "id\n2\n"))?
                .hasPrefix("p.csv:2:1: \(message)") == true)
    }

    @Test("checks foreign keys at its end")
    func foreignKeys() throws {
        let schema = "CREATE TABLE r (id INTEGER PRIMARY KEY, product INTEGER REFERENCES products);"
        let products = "CREATE TABLE products (id INTEGER PRIMARY KEY);"
        let rows = ("r.csv", "id,product\n1,\n7,99\n")
        _ = try seeded(("s.sql", schema), rows, ("p.sql", products + "INSERT INTO products VALUES (99);"))
        #expect(
            try seedError(("s.sql", schema + products), rows)
                == "r.csv:3:1: error: r row 7: product = 99 refers to a row that products doesn't have\n7,99\n^")
        #expect(
            try seedError(("s.sql", schema + "CREATE TABLE products (a); INSERT INTO r VALUES (1, 2)"))
                == "s.sql: error: foreign key mismatch - \"r\" referencing \"products\"")
    }

    @Test(
        "names the row and its place for a reference of a table WITHOUT ROWID",
        arguments: [
            ("r.csv", "lang,word,b\nde,Haus,2\nen,house,\nen,home,1\nde,Heim,7\n", "5:1", "de,Heim,7"),
            (
                "r.json", "[{\"lang\":\"en\",\"word\":\"home\",\"b\":1},\n{\"lang\":\"de\",\"word\":\"Heim\",\"b\":7}]",
                "2:1",
                "{\"lang\":\"de\",\"word\":\"Heim\",\"b\":7}]"
            ),
            (
                "r.sql",
                "INSERT INTO r VALUES ('en','home',1), ('de','Heim',1);\nUPDATE r SET b = 7 WHERE lang = 'de';", "2:1",
                "UPDATE r SET b = 7 WHERE lang = 'de';"
            ),
            (
                "r.sql",
                "INSERT INTO r VALUES ('de','Heim',7);\nDELETE FROM r;\n  INSERT INTO r VALUES ('de','Heim',7);",
                "3:3", "  INSERT INTO r VALUES ('de','Heim',7);"
            ),
        ])
    func foreignKeysWithoutRowid(name: String, text: String, place: String, line: String) throws {
        let schema = """
            PRAGMA page_size = 8192; CREATE TABLE parents (id TEXT PRIMARY KEY);
            CREATE TABLE r (lang, word, b INTEGER REFERENCES parents, PRIMARY KEY (lang, word)) WITHOUT ROWID;
            """
        // In a column of TEXT '1' is what the number 1 refers to.
        let error = try seedError(("s.sql", schema), (name, text), ("parents.csv", "id\n1\n2\n"))
        let indent = String(repeating: " ", count: line.prefix { $0 == " " }.count)
        #expect(
            error == "\(name):\(place): error: r row de/Heim: b = 7 refers to a row that parents doesn't have\n"
                + "\(line)\n\(indent)^")
    }

    @Test("names the first such row by its key, whatever the tables and columns are called")
    func foreignKeysOfTwoColumns() throws {
        let pairs =
            "CREATE TABLE \"a b\" (\"x\"\"\", y, FOREIGN KEY (\"x\"\"\", y) REFERENCES b (x, y), PRIMARY KEY (y)) WITHOUT ROWID;\n"
        let parent = "CREATE TABLE b (x COLLATE NOCASE, y, UNIQUE (x, y));\n"
        let rows =
            "INSERT INTO b VALUES ('one', 1);\nINSERT INTO \"a b\" VALUES (NULL, 0), ('ONE', 1), ('two', 3), ('two', 2);"
        #expect(
            try seedError(("s.sql", pairs + parent + rows))?.hasPrefix(
                "s.sql:4:1: error: a b row 2: x\" = two, y = 2 refers to a row that b doesn't have\n") == true)
        // A table that isn't there has no rows.
        #expect(
            try seedError(("s.sql", pairs + "INSERT INTO \"a b\" VALUES ('one', 1);"))?.hasPrefix(
                "s.sql:2:1: error: a b row 1: x\" = one, y = 1 refers to a row that b doesn't have\n") == true)
    }

    /// A text in which what stands in `<` and `>…` is repeated. (Long arguments of tests are printed.)
    private func long(_ text: String, _ count: Int) -> [UInt8] {
        let parts = text.split(separator: "<", maxSplits: 1).flatMap { $0.split(separator: ">…", maxSplits: 1) }
        guard parts.count == 3 else { return Array(text.utf8) }
        return Array((parts[0] + String(repeating: String(parts[1]), count: count) + parts[2]).utf8)
    }

    @Test(
        "ends when it should not go on",
        arguments: [
            ("s.sql", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"),
            ("s.sql", "--\n<SELECT 1;>… "), ("t.csv", "a\n<x\n>…x"), ("t.json", "[{}<,{}>…]"),
        ])
    func interruption(name: String, text: String) throws {
        let connection = try emptyDatabase()
        var questions = 0
        connection.goesOn = {
            questions += 1
            return questions < 3
        }
        let error = #expect(throws: SeedError.self) {
            try Seeding.run([SeedFile(name: name, bytes: long(text, 3000))], on: connection)
        }
        #expect(error?.cause?.isInterrupt == true)
        #expect(questions >= 3)
        connection.goesOn = nil
        #expect(try connection.integer("PRAGMA foreign_keys") == 1)
        #expect(try connection.integer("SELECT count(*) FROM sqlite_schema") == 0)
    }

    @Test(
        "tells when there is no room",
        arguments: [
            ("s.sql", "CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(200000))"),
            ("s.sql", "PRAGMA page_size = 65536; CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(200000))"),
            ("s.sql", "CREATE TEMP TABLE t (a); INSERT INTO t VALUES (zeroblob(200000))"),
            ("t.csv", "a\n<x>…x"), ("t.json", "[{\"a\":\"<x>…\"}]"),
        ])
    func full(name: String, text: String) throws {
        let connection = try emptyDatabase()
        try connection.execute("PRAGMA max_page_count = 20")
        let error = #expect(throws: SeedError.self) {
            try Seeding.run([SeedFile(name: name, bytes: long(text, 100_000))], on: connection)
        }
        #expect(error?.cause?.isFull == true)
        #expect(try connection.integer("SELECT count(*) FROM sqlite_schema") == 0)
    }

    @Test("keeps the connection's authorizer")
    func authorizer() throws {
        let connection = try emptyDatabase()
        connection.authorizer = { _ in false }
        try Seeding.run([SeedFile(name: "s.sql", bytes: Array("CREATE TABLE t (a)".utf8))], on: connection)
        #expect(throws: SQLiteError.self) { try connection.execute("SELECT * FROM t") }
    }

    @Test("doesn't let names stand for strings afterwards")
    func doubleQuotes() throws {
        let database = try seeded(("s.sql", "CREATE TABLE t (a CHECK (a <> \"x\")); INSERT INTO t VALUES (\"y\")"))
        #expect(throws: SQLiteError.self) { try database.execute("INSERT INTO t VALUES (\"z\")") }
        try database.execute("INSERT INTO t VALUES ('z')")
    }

    @Test("of nothing does nothing")
    func nothing() throws { #expect(try seedError() == nil) }

    @Test(
        "knows files by their extension",
        arguments: [
            ("a.sql", .sql), ("a/b.JSON", .json), ("a.b.Csv", .csv), ("a", nil), ("a.sql/b", nil), ("a.", nil),
            ("", nil),
        ] as [(String, SeedFile.Kind?)])
    func kinds(name: String, kind: SeedFile.Kind?) { #expect(SeedFile.kind(of: name) == kind) }
}
