import Diagnostics
import Foundation
import SQLite
import Testing

@testable import Database

@Suite struct DatabaseCheckTests {
    private let folder = Folder()
    private var path: String { folder.path + "/shop.db" }

    private func seed(_ script: String, _ name: String = "s.sql") -> SeedFile {
        SeedFile(name: name, bytes: Array(script.utf8))
    }

    /// What is found of a rule with the shop's database.
    private func findings(_ change: (inout DatabaseRule) -> Void) -> [DatabaseCheck.Finding] {
        var rule = DatabaseRule.unhurried
        change(&rule)
        let check = DatabaseCheck(path: path, exists: false, name: "shop.db", seeds: [seed(Stage.shop)])
        return check.findings(rule.limits) + check.findings(rule)
    }

    @Test func `Names that are none are errors, with a name that is`() {
        let found = findings { rule in
            rule.tables = ["products", "Reviews", "prodcuts"]
            rule.keys = [.init(table: "cheap", columns: ["name"]), .init(table: "products", columns: ["nmae"])]
            rule.forms = [
                .init(table: "products", column: "extra", form: .text), .init(table: "plain", column: "c", form: .json),
                .init(table: "plan", column: "c", form: .json),
            ]
        }
        #expect(
            found.map(\.message) == [
                "'tables': shop.db has no table 'prodcuts'; did you mean 'products'?",
                "'keys': products has no column 'nmae'; did you mean 'name'?",
                "'columns': plain has no column 'c'",
                "'columns': shop.db has no table 'plan'; did you mean 'plain'?",
            ])
        #expect(!found.contains { !$0.isError })
        #expect(found.map(\.text) == ["prodcuts", "nmae", "plain.c", "plan"])
    }

    @Test func `A table that SQLite can't write is a warning where requests may write`() {
        let script = """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a, g AS (a)); CREATE TABLE log(what); CREATE TABLE n(a NOT NULL);
            CREATE TRIGGER changed AFTER UPDATE OF a ON t BEGIN INSERT INTO log VALUES("written"); END;
            CREATE VIEW v AS SELECT absent FROM t;
            """
        func messages(_ writes: DatabaseRule.Writes, sql: String? = nil) -> [String] {
            var rule = DatabaseRule.unhurried
            rule.writes = writes
            rule.statement = sql.map { DatabaseRule.Statement(sql: $0) }
            rule.forms = [.init(table: "v", column: "a", form: .json)]
            rule.keys = [.init(table: "v", columns: ["a"])]
            let check = DatabaseCheck(path: path, exists: false, name: "shop.db", seeds: [seed(script)])
            return (check.findings(rule.limits) + check.findings(rule)).map { "\($0.isError) \($0.message)" }
        }
        let view = "false v in shop.db can't be used: no such column: absent (SQLITE_ERROR)"
        #expect(messages(.off) == [view])
        // Newer versions of SQLite say what double quotes stand for.
        let found = messages(.memory)
        #expect(found.count == 2 && found.first == view, "\(found)")
        #expect(found.last?.hasPrefix("false rows of t in shop.db can't be changed: no such column: ") == true)
        #expect(messages(.memory, sql: "DELETE FROM log") == [view])
    }

    @Test func `A key that several rows may have is a warning`() {
        let script = """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE, b, c, d, UNIQUE(b, c));
            CREATE UNIQUE INDEX part ON t(d) WHERE d > 0; CREATE UNIQUE INDEX lowered ON t(lower(c));
            CREATE VIEW v AS SELECT * FROM t;
            """
        func messages(_ table: String, _ columns: [String]) -> [String] {
            var rule = DatabaseRule.unhurried
            rule.keys = [.init(table: table, columns: columns)]
            let check = DatabaseCheck(path: path, exists: false, name: "shop.db", seeds: [seed(script)])
            return (check.findings(rule.limits) + check.findings(rule)).map { "\($0.isError) \($0.message)" }
        }
        for columns in [["id"], ["A"], ["b", "c"], ["c", "d", "b"], ["d", "id"]] {
            #expect(messages("t", columns).isEmpty, "\(columns)")
        }
        #expect(messages("v", ["d"]).isEmpty)
        for columns in [["b"], ["c"], ["d"]] {
            #expect(
                messages("T", columns) == [
                    "false 'keys': no index keeps '\(columns[0])' of T unique, so a URL may name several rows"
                ])
        }
    }

    @Test(
        arguments: [
            ("SELECT prise FROM products", "'sql': no such column: prise", 7),
            ("SELECT 1 FROM nowhere", "'sql': no such table: nowhere", nil),
            ("SELECT 1 AS a, 2 AS a", "'sql' has two columns 'a'; give one another name with AS", nil),
            ("SELECT load_extension('x')", "'sql': not authorized to use function: load_extension", nil),
            (
                "SELECT name FROM pragma_table_info('products')",
                "'sql': access to pragma_table_info.name is prohibited", nil
            ),
            ("SELECT count(*) FROM Pragma_Table_List", "'sql': not authorized", nil),
            ("SELECT data_version FROM pragma_data_version", nil, nil),
            ("SELECT * FROM products WHERE id = $1", nil, nil), ("DELETE FROM products RETURNING id", nil, nil),
        ] as [(String, String?, Int?)])
    func `A statement that SQLite refuses is an error with its text and place`(
        sql: String, message: String?, offset: Int?
    ) throws {
        let found = findings { $0.statement = DatabaseRule.Statement(sql: sql) }
        #expect(found.map(\.message) == (message.map { [$0] } ?? []))
        if let offset { #expect(found.first?.offset == offset) }
        var rule = DatabaseRule.unhurried
        rule.statement = DatabaseRule.Statement(sql: sql)
        let served = try Stage(Stage.shop, rule: rule).send(.post, "", "{}")
        #expect((served.status == 502) == (message != nil), "\(served.body)")
        if let message { #expect(served.body.contains(message), "\(served.body)") }
    }

    @Test func `A statement that reads all of many rows is a warning, whatever it calls the table`() {
        let many = """
            CREATE TABLE big(id INTEGER PRIMARY KEY, a, b); CREATE INDEX i ON big(a);
            WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000)
              INSERT INTO big SELECT x, x, x FROM n;
            CREATE TABLE small(a); INSERT INTO small VALUES (1);
            """
        let check = DatabaseCheck(path: path, exists: false, name: "shop.db", seeds: [seed(many)])
        func messages(_ sql: String) -> [String] {
            var rule = DatabaseRule.unhurried
            rule.limits.time = 60_000_000_000
            rule.statement = DatabaseRule.Statement(sql: sql)
            return (check.findings(rule.limits) + check.findings(rule)).map { "\($0.isError) \($0.message)" }
        }
        let warning = "false 'sql' reads all of big, which has 100000 rows or more; an index may help"
        #expect(messages("SELECT * FROM big WHERE b = $1") == [warning])
        #expect(messages("SELECT count(*) AS n FROM big AS small") == [warning])
        #expect(messages("SELECT x.id FROM small JOIN big AS x ON x.b = small.a") == [warning])
        #expect(messages("SELECT * FROM big WHERE id = $1").isEmpty)
        #expect(messages("SELECT * FROM big WHERE a = $1").isEmpty)
        #expect(messages("SELECT * FROM small").isEmpty)
        for sql in [
            "UPDATE big SET b = 1 WHERE b = @x", "DELETE FROM big WHERE b = @x",
            "DELETE FROM big WHERE b = @x RETURNING id",
            "UPDATE small SET a = (SELECT max(b) FROM big) WHERE rowid = @x", "INSERT INTO small SELECT b FROM big",
            "SELECT max(b) AS n FROM big",
        ] { #expect(messages(sql) == [warning], "\(sql)") }
        for sql in [
            "UPDATE big SET b = 1 WHERE id = @x", "DELETE FROM big WHERE a = @x", "UPDATE small SET a = 1",
            "INSERT INTO big(a) VALUES (@x)", "SELECT min(id) AS n FROM big", "SELECT max(id) AS n FROM big",
            "SELECT max(a) AS n FROM big",
        ] { #expect(messages(sql).isEmpty, "\(sql)") }
    }

    @Test func `A seed that can't be read is an error with its file and line`() throws {
        let good = seed("CREATE TABLE t(a);")
        for (name, text, place) in [
            ("b.sql", "\n\nCREATE TABEL x(a);", "b.sql:3:"), ("t.csv", "a\n\"x", "t.csv:2:1:"),
            ("db.json", "{\"t\":[{\"a\":}]}", "db.json:1:12:"),
        ] {
            let check = DatabaseCheck(path: path, exists: false, name: "shop.db", seeds: [good, seed(text, name)])
            let found = check.findings(DatabaseRule.unhurried.limits)
            #expect(found.count == 1 && found.first?.isError == true)
            let headline = try #require(found.first?.diagnostic?.headline)
            #expect(headline.hasPrefix(place), "\(headline)")
            #expect(check.findings(DatabaseRule.unhurried).isEmpty)
        }
    }

    @Test func `Seeds that don't end are ended at the limit of time`() {
        let endless =
            "CREATE TABLE t AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n;"
        let check = DatabaseCheck(path: path, exists: false, name: "shop.db", seeds: [seed(endless)])
        var limits = DatabaseRule.unhurried.limits
        limits.time = 1_000_000
        #expect(
            check.findings(limits).map(\.message) == ["the seeds of shop.db: the query was ended at its limit of time"])
    }

    @Test func `A file that is no database is an error`() throws {
        let descriptor = open(path, O_CREAT | O_WRONLY, 0o600)
        defer { close(descriptor) }
        let text = Array("This is no database, but it is long enough to be taken for the first page of one.".utf8)
        #expect(write(descriptor, text, text.count) == text.count)
        let check = DatabaseCheck(path: path, exists: true, name: "shop.db", seeds: [])
        #expect(
            check.findings(DatabaseRule.unhurried.limits).map(\.message) == [
                "shop.db: file is not a database (SQLITE_NOTADB)"
            ])
        #expect(check.findings(DatabaseRule.unhurried).isEmpty)
    }

    // MARK: Nothing is left behind

    /// The names and contents of the folder's files.
    private func files() -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for suffix in ["", "-wal", "-shm", "-journal"] {
            files["shop.db" + suffix] = FileManager.default.contents(atPath: path + suffix).map(Array.init)
        }
        return files
    }

    private func copy(_ from: String, _ to: String) {
        _ = FileManager.default.createFile(atPath: to, contents: FileManager.default.contents(atPath: from))
    }

    @Test(arguments: ["plain", "log", "logWithIndex", "closed"])
    func `The database is read with its log, and no file is made, changed or left`(state: String) throws {
        var writer: SQLiteConnection? = try SQLiteConnection(path, mode: .create)
        if state != "plain" { _ = try writer?.prepare("PRAGMA journal_mode=WAL").step() }
        try writer?.execute("CREATE TABLE products(id INTEGER PRIMARY KEY, name TEXT)")
        try writer?.execute("INSERT INTO products VALUES (1,'x')")
        if state == "log" {
            // A database and its log as a program leaves them that was killed, without the index.
            for suffix in ["", "-wal"] { copy(path + suffix, path + suffix + ".copy") }
            writer = nil
            for suffix in ["", "-wal"] { rename(path + suffix + ".copy", path + suffix) }
        }
        // The log goes with its last connection; the file stays in WAL mode.
        if state == "closed" { writer = nil }
        let before = files()
        let names: Set<String> =
            switch state {
            case "log": ["shop.db", "shop.db-wal"]
            case "logWithIndex": ["shop.db", "shop.db-wal", "shop.db-shm"]
            default: ["shop.db"]
            }
        #expect(Set(before.keys) == names)
        do {
            let check = DatabaseCheck(path: path, exists: true, name: "shop.db", seeds: [])
            var rule = DatabaseRule.unhurried
            rule.tables = ["products", "nothing"]
            rule.statement = DatabaseRule.Statement(sql: "SELECT name FROM products WHERE id = $1")
            #expect(check.findings(rule.limits).isEmpty)
            #expect(check.findings(rule).map(\.message) == ["'tables': shop.db has no table 'nothing'"])
            let request = DatabaseRequest(.get, rule: DatabaseRule.unhurried, path: Array("products".utf8))
            let explanation = DatabaseExplanation(request, path: path, exists: true, name: "shop.db", seeds: [])
            #expect(explanation.problem == nil && explanation.plan == ["SCAN products"])
        }
        let after = files()
        #expect(Set(after.keys) == Set(before.keys))
        // Of the index readers change the marks of what they read.
        for name in before.keys where name != "shop.db-shm" { #expect(after[name] == before[name], "\(name)") }
        withExtendedLifetime(writer) {}
    }
}
