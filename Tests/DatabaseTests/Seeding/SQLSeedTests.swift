import CSQLite
import Database
import SQLite
import Testing

@Suite("A script")
struct SQLSeedTests {
    /// What the sqlite3 program (3.40) writes of a database with much in it.
    private static let dump = #"""
        PRAGMA foreign_keys=OFF;
        BEGIN TRANSACTION;
        CREATE TABLE products (id INTEGER PRIMARY KEY AUTOINCREMENT, brand INTEGER REFERENCES brands ON DELETE CASCADE,
        name TEXT DEFAULT "none", price REAL, raw BLOB, size TEXT CHECK(size IN ("S","M")), twice AS (price*2) STORED);
        INSERT INTO products VALUES(1,1,replace('line\nbreak; -- no comment','\n',char(10)),9.5,X'0001ff','S');
        INSERT INTO products VALUES(2,5,replace(replace('crlf\r\nx','\r',char(13)),'\n',char(10)),1e+300,NULL,'M');
        INSERT INTO products VALUES(4,NULL,'it''s',1e999,NULL,NULL);
        CREATE TABLE brands (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE COLLATE NOCASE);
        INSERT INTO brands VALUES(1,'a');
        INSERT INTO brands VALUES(5,'é😀');
        CREATE TABLE log (at TEXT, what);
        CREATE TABLE pairs (a, b, PRIMARY KEY (a,b)) WITHOUT ROWID;
        INSERT INTO pairs VALUES('x','y');
        CREATE TABLE strict1 (id INTEGER PRIMARY KEY, x ANY) STRICT;
        INSERT INTO strict1 VALUES(2,5);
        CREATE TABLE IF NOT EXISTS "we;ird ""name" ("a;b" TEXT, "end" INT);
        INSERT INTO "we;ird ""name" VALUES(';',5);
        ANALYZE sqlite_schema;
        INSERT INTO sqlite_stat1 VALUES('products','by_price','3 1');
        DELETE FROM sqlite_sequence;
        INSERT INTO sqlite_sequence VALUES('brands',5);
        INSERT INTO sqlite_sequence VALUES('products',7);
        CREATE INDEX by_price ON products(price DESC) WHERE price > 5;
        CREATE VIEW cheap AS SELECT * FROM products WHERE price < 10;
        CREATE TRIGGER logged AFTER INSERT ON products WHEN new.price > 0 BEGIN
          INSERT INTO log VALUES ('now', CASE WHEN new.price > 5 THEN 'big;' ELSE 'small' END);
          SELECT 1; -- end; here
        END
        ;
        CREATE TRIGGER removed INSTEAD OF DELETE ON cheap BEGIN DELETE FROM products WHERE id = old.id; END;
        COMMIT;
        """#

    @Test("that sqlite3 has dumped makes the database anew")
    func dump() throws {
        let database = try seeded(("shop.sql", SQLSeedTests.dump))
        #expect(
            try database.rows("SELECT * FROM products") == [
                "1|1|'line\nbreak; -- no comment'|9.5|x[0, 1, 255]|'S'|19.0",
                "2|5|'crlf\r\nx'|1e+300|NULL|'M'|2e+300", "4|NULL|'it's'|inf|NULL|NULL|inf",
            ])
        #expect(try database.rows("SELECT * FROM brands") == ["1|'a'", "5|'é😀'"])
        #expect(try database.rows("SELECT * FROM \"we;ird \"\"name\"") == ["';'|5"])
        #expect(try database.integer("SELECT count(*) FROM sqlite_schema WHERE sql NOT NULL") == 12)
        try database.execute("INSERT INTO products (price) VALUES (6)")
        #expect(try database.rows("SELECT max(id) FROM products") == ["8"])
        #expect(try database.rows("SELECT * FROM log") == ["'now'|'big;'"])
        try database.execute("DELETE FROM cheap WHERE id = 1")
        #expect(try database.rows("SELECT count(*) FROM products") == ["3"])
    }

    @Test("may set what belongs to the database")
    func pragmas() throws {
        let database = try seeded(
            (
                "s.sql",
                """
                \u{FEFF}PRAGMA page_size = 8192; pragma Encoding = 'UTF-16le'; PRAGMA main.user_version=7;
                PRAGMA application_id = 5; PRAGMA foreign_keys = ON; PRAGMA page_size; CREATE TABLE t (a);
                """
            ))
        let values = try ["page_size", "encoding", "user_version", "application_id"].flatMap {
            try database.rows("PRAGMA \($0)")
        }
        #expect(values == ["8192", "'UTF-16le'", "7", "5"])
        #expect(try database.integer("PRAGMA foreign_keys") == 1)
    }

    @Test(
        "has its own transactions within that of all seeds",
        arguments: [
            ("BEGIN; INSERT INTO t VALUES (1); COMMIT;", "1"),
            ("BEGIN; INSERT INTO t VALUES (1); END TRANSACTION", "1"),
            ("BEGIN IMMEDIATE; INSERT INTO t VALUES (1); ROLLBACK;", ""),
            ("BEGIN; INSERT INTO t VALUES (1); COMMIT; BEGIN; INSERT INTO t VALUES (2); ROLLBACK;", "1"),
            ("SAVEPOINT a; INSERT INTO t VALUES (1); ROLLBACK TO a; INSERT INTO t VALUES (2); RELEASE a;", "2"),
            ("BEGIN; SAVEPOINT a; INSERT INTO t VALUES (1); SAVEPOINT b; INSERT INTO t VALUES (2); COMMIT;", "1,2"),
            ("BEGIN; SAVEPOINT a; INSERT INTO t VALUES (1); ROLLBACK;", ""),
            ("BEGIN; INSERT INTO t VALUES (1); SAVEPOINT a; INSERT INTO t VALUES (2); ROLLBACK TO a; COMMIT;", "1"),
            ("SAVEPOINT a; INSERT INTO t VALUES (1);", "1"), ("INSERT OR IGNORE INTO t VALUES (1), (1);", "1"),
        ])
    func transactions(script: String, values: String) throws {
        let database = try seeded(("a.sql", "CREATE TABLE t (a UNIQUE);"), ("b.sql", script), ("c.json", "[]"))
        #expect(!database.isInTransaction)
        #expect(try database.rows("SELECT a FROM t").joined(separator: ",") == values)
        #expect(try database.rows("SELECT * FROM c") == [])
    }

    @Test(
        "that breaks out of its transaction is refused",
        arguments: [
            ("COMMIT", "s.sql:1:1: error: cannot end a transaction: no BEGIN came before"),
            ("BEGIN; BEGIN", "s.sql:1:8: error: cannot start a transaction within a transaction"),
            ("BEGIN; CREATE TABLE t (a);", "s.sql:1:1: error: this transaction has no COMMIT"),
            ("BEGIN; RELEASE \"Subproxy seed\"", "s.sql:1:8: error: a seed can't use the savepoint 'subproxy seed'"),
            (
                "CREATE TABLE t (a UNIQUE); INSERT OR ROLLBACK INTO t VALUES (1), (1)",
                "s.sql:1:28: error: UNIQUE constraint failed: t.a"
            ),
            ("VACUUM", "s.sql:1:1: error: cannot VACUUM from within a transaction"),
            ("VACUUM INTO '/tmp/x'", "s.sql:1:1: error: cannot VACUUM from within a transaction"),
        ])
    func brokenTransactions(script: String, headline: String) throws {
        #expect(try seedError(("s.sql", script))?.hasPrefix(headline + "\n") == true)
    }

    @Test(
        "can't reach beyond the database",
        arguments: [
            ("ATTACH 'x.db' AS x", "ATTACH"), ("DETACH main", "DETACH"),
            ("SELECT load_extension('x')", "load_extension"), ("SELECT Load_Extension('x', 'y')", "load_extension"),
            (
                "CREATE TABLE t (a); CREATE VIEW v AS SELECT 1; SELECT * FROM v; SELECT load_extension(a) FROM t",
                "load_ext"
            ),
            ("PRAGMA writable_schema=ON", "PRAGMA writable_schema"), ("PRAGMA journal_mode", "PRAGMA journal_mode"),
            ("PRAGMA main.Max_Page_Count=5", "PRAGMA Max_Page_Count"), ("PRAGMA data_version=5", "PRAGMA data_version"),
            ("PRAGMA temp_store_directory='/'", "PRAGMA temp_store_directory"),
            ("PRAGMA trusted_schema=1", "PRAGMA trusted_schema"),
            ("SELECT * FROM pragma_database_list", "PRAGMA database_list"),
            ("EXPLAIN ATTACH 'x.db' AS x", "ATTACH"),
        ])
    func refusals(script: String, what: String) throws {
        let error = try #require(try seedError(("s.sql", "\n" + script)))
        #expect(error.hasPrefix("s.sql:2:") && error.contains("error: a seed can't use \(what)"), "\(error)")
    }

    @Test(
        "with an error is refused with its place",
        arguments: [
            (
                "CREATE TABLE t (a);\n  SELECT b FROM t;",
                "s.sql:2:10: error: no such column: b\n  SELECT b FROM t;\n         ^"
            ),
            ("/* é */ CREAT;", "s.sql:1:9: error: near \"CREAT\": syntax error\n/* é */ CREAT;\n        ^"),
            (
                "CREATE TABLE t (a NOT NULL);\n-- x;\n/* ; */ INSERT INTO t VALUES (NULL)",
                "s.sql:3:9: error: NOT NULL constraint failed: t.a\n/* ; */ INSERT INTO t VALUES (NULL)\n        ^"
            ),
            ("SELECT 'x", "s.sql:1:8: error: unrecognized token: \"'x\"\nSELECT 'x\n       ^"),
            ("SELECT 1;;\n.tables", "s.sql:2:1: error: near \".\": syntax error\n.tables\n^"),
            ("SELECT \0 1", "s.sql:1:8: error: a script has no NUL byte\nSELECT <U+0000> 1\n       ^"),
            ("CREATE TABLE sqlite_x (a)", "s.sql:1:1: error: object name reserved for internal use: sqlite_x"),
        ])
    func errors(script: String, message: String) throws {
        #expect(try seedError(("s.sql", script))?.hasPrefix(message) == true)
    }

    @Test(
        "may be of blanks and comments",
        arguments: ["", ";", " ;;\n", "-- x", "/* x", "/**/", "/*;*/;--;\n;", "\u{FEFF}"])
    func empty(script: String) throws { #expect(try seedError(("s.sql", script)) == nil) }

    @Test("may make triggers of any form")
    func triggers() throws {
        let database = try seeded(
            (
                "s.sql",
                """
                CREATE TABLE t (a); CREATE TABLE end (a);
                CREATE /* ; */ TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END;
                create trigger if not exists "y;" after insert on t begin
                  insert into end values (case when new.a then ';' else [x;] end); end;
                EXPLAIN CREATE TRIGGER z AFTER INSERT ON t BEGIN SELECT 1; END;
                EXPLAIN QUERY PLAN SELECT 1; INSERT INTO t VALUES (1)
                """
                .replacing("[x;]", with: "'x;'")
            ))
        #expect(try database.rows("SELECT * FROM end") == ["';'"])
        #expect(try database.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger'") == ["'y;'"])
    }

    @Test("has temporary tables for itself only")
    func temporary() throws {
        let database = try seeded(
            (
                "s.sql",
                """
                CREATE TEMP TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a); INSERT INTO t (a) VALUES ('x');
                CREATE TABLE u AS SELECT a FROM t; CREATE TEMP VIEW v AS SELECT * FROM t;
                CREATE TEMP TRIGGER r AFTER INSERT ON main.u BEGIN SELECT raise(abort, 'no'); END;
                """
            ), ("t.csv", "b\n1\n"), ("u.csv", "a\ny\n"))
        #expect(try database.rows("SELECT * FROM u UNION ALL SELECT * FROM t") == ["'x'", "'y'", "1"])
        #expect(try database.integer("SELECT count(*) FROM sqlite_temp_schema WHERE name <> 'sqlite_sequence'") == 0)
    }

    @Test("may use a full-text index")
    func fullText() throws {
        let script = "CREATE VIRTUAL TABLE f USING fts5(a); INSERT INTO f VALUES ('one two'); PRAGMA data_version;"
        let database = try seeded(("s.sql", script), ("f.json", #"[{"a":"two three"}]"#))
        #expect(try database.rows("SELECT a FROM f WHERE f MATCH 'three'") == ["'two three'"])
    }

    @Test("that refers to itself in triggers ends")
    func recursion() throws {
        let schema = """
            CREATE TABLE a (x); CREATE TABLE b (x);
            CREATE TRIGGER r AFTER INSERT ON a BEGIN INSERT INTO b VALUES (new.x); END;
            CREATE TRIGGER s AFTER INSERT ON b BEGIN INSERT INTO a VALUES (new.x); END;
            INSERT INTO a VALUES (1);
            """
        #expect(try seeded(("s.sql", schema)).rows("SELECT count(*) FROM a") == ["2"])
    }
}
