import Database
import SQLite
import Testing

@Suite("A CSV file")
struct CSVSeedTests {
    @Test(
        "has records and fields by RFC 4180",
        arguments: [
            ("a,b\n1,2\n", ["1|2"]), ("a,b\r\n1,2\r\n3,4", ["1|2", "3|4"]), ("a,b\r1,2\r", ["1|2"]),
            ("a,b\nx,\"y\nz\"\n", ["'x'|'y\nz'"]), ("a,b\nx,\"y\r\n,z\"", ["'x'|'y\r\n,z'"]),
            ("a,b\n\"say \"\"hi\"\"\",\"\"\"\"\n", ["'say \"hi\"'|'\"'"]), ("\"a\",\"b,c\"\nx,y\n", ["'x'|'y'"]),
            ("\u{FEFF}a,b\nx,y\n", ["'x'|'y'"]), ("a,b\n x ,y\n", ["' x '|'y'"]),
            ("a,b\nx,\n,\"\"\n", ["'x'|NULL", "NULL|''"]), ("a,b\n\nx,y\n\n\n", ["'x'|'y'"]),
            ("a\nx\n\n\"\"\n", ["'x'", "NULL", "''"]), ("a,b\n", []), ("a,b", []), ("a,b\né,\0\n", ["'é'|'\0'"]),
        ])
    func records(text: String, rows: [String]) throws {
        #expect(try seeded(("t.csv", text)).rows("SELECT * FROM t") == rows)
    }

    @Test(
        "has columns of the type that all their fields have",
        arguments: [
            ("1,-2,0", "INTEGER", "1,-2,0"), ("9223372036854775807,,1", "INTEGER", "9223372036854775807,NULL,1"),
            ("1,2.5,-3e2", "REAL", "1.0,2.5,-300.0"), ("9.50", "REAL", "9.5"),
            ("true,false", "BOOLEAN", "1,0"), ("true,1", "TEXT", "'true','1'"), ("True", "TEXT", "'True'"),
            ("007,8", "TEXT", "'007','8'"), ("00", "TEXT", "'00'"), ("+1", "TEXT", "'+1'"), (".5", "TEXT", "'.5'"),
            ("1,x", "TEXT", "'1','x'"), ("9223372036854775808", "TEXT", "'9223372036854775808'"),
            ("9007199254740993,0.5", "TEXT", "'9007199254740993','0.5'"), ("1e999", "TEXT", "'1e999'"),
            ("\"1\",\"2\"", "INTEGER", "1,2"), ("1,\"\"", "TEXT", "'1',''"), (",", "TEXT", "NULL,NULL"),
            ("[],{}", "JSON", "'[]','{}'"), ("\"[1,{\"\"a\"\":2}]\"", "JSON", "'[1,{\"a\":2}]'"),
            ("[],[", "TEXT", "'[]','['"), ("[],x", "TEXT", "'[]','x'"), ("12E4567", "TEXT", "'12E4567'"),
            ("0x10", "TEXT", "'0x10'"), ("2024-01-01", "TEXT", "'2024-01-01'"),
        ])
    func types(fields: String, type: String, values: String) throws {
        // Fields are split at commas that aren't in quotes.
        let parts =
            fields.contains("{\"\"")
            ? [fields]
            : fields.split(separator: ",", omittingEmptySubsequences: false)
                .map(String.init)
        let database = try seeded(("t.csv", "k,v\n" + parts.map { "x,\($0)\n" }.joined()))
        #expect(try database.types(of: "t") == "k TEXT, v \(type)")
        #expect(try database.rows("SELECT v FROM t").joined(separator: ",") == values)
    }

    @Test("whose column id has integers gets them as its key")
    func integerKey() throws {
        let database = try seeded(("things.csv", "name,Id\na,7\nb,\nc,3\n"))
        #expect(try database.rows("SELECT name, id FROM things ORDER BY rowid") == ["'c'|3", "'a'|7", "'b'|8"])
        #expect(try database.rows("SELECT name FROM pragma_table_info('things') WHERE pk") == ["'Id'"])
    }

    @Test("whose column id has other values gets them as its key, and random ones where there is none")
    func textKey() throws {
        let database = try seeded(("things.csv", "id,name\n007,a\n,b\n,c\n"))
        #expect(try database.rows("SELECT name FROM things WHERE id = '007'") == ["'a'"])
        #expect(
            try database.rows("SELECT count(DISTINCT id), min(length(id)) FROM things WHERE name > 'a'") == ["2|16"])
        try database.execute("INSERT INTO things (name) VALUES ('d')")
        #expect(try database.rows("SELECT typeof(id) FROM things WHERE name = 'd'") == ["'text'"])
    }

    @Test("fills a table that is there by the names of its columns")
    func existing() throws {
        let schema = """
            CREATE TABLE Products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL, ok BOOLEAN, raw BLOB,
            extra JSON, stock INTEGER DEFAULT 9, twice AS (stock * 2));
            """
        let rows = "OK,NAME,price,raw,extra,twice\ntrue,a,9.50,AQI=,\"[1, 2]\",5\nfalse,007,,,,\n"
        let database = try seeded(("s.sql", schema), ("in/products.CSV", rows))
        #expect(
            try database.rows("SELECT * FROM products") == [
                "1|'a'|9.5|1|x[1, 2]|'[1, 2]'|9|18", "2|'007'|NULL|0|NULL|NULL|9|18",
            ])
    }

    @Test(
        "with an error is refused with its place",
        arguments: [
            ("t.csv", "", "t.csv:1:1: error: a header is missing\n\n^"),
            ("t.csv", "a,b\n1\n", "t.csv:2:1: error: 1 field, but the header has 2\n1\n^"),
            ("t.csv", "a,b\n1,\"x\ny\"\n1,2,3\n", "t.csv:4:1: error: 3 fields, but the header has 2\n1,2,3\n^"),
            ("t.csv", "a,a\n", "t.csv:1:3: error: this column comes twice\na,a\n  ^"),
            ("t.csv", "a,A\n", "t.csv:1:3: error: this column comes twice\na,A\n  ^"),
            ("t.csv", "a,,b\n", "t.csv:1:3: error: a column's name is missing\na,,b\n  ^"),
            ("t.csv", "a\0b\n", "t.csv:1:1: error: a column's name can't have a NUL byte\na<U+0000>b\n^"),
            ("t.csv", "a\n\"x\n", "t.csv:2:1: error: a field's quote has no end\n\"x\n^"),
            (
                "t.csv", "a\n\"x\"y\n",
                "t.csv:2:4: error: a comma is missing behind a field in quotes\n\"x\"y\n   ^"
            ),
            (
                "t.csv", "a\nx\"y\n",
                "t.csv:2:2: error: a quote in a field that doesn't begin with one; the field needs quotes\nx\"y\n ^"
            ),
            ("t.csv", "id\n1\n1\n", "t.csv:3:1: error: UNIQUE constraint failed: t.id\n1\n^"),
            ("sqlite_x.csv", "a\n", "sqlite_x.csv: error: names that begin with sqlite_ are SQLite's own"),
            (".csv", "a\n", ".csv: error: a table's name is missing"),
            ("t.tsv", "a\n", "t.tsv: error: a seed is a file of .sql, .json or .csv"),
            ("csv", "a\n", "csv: error: a seed is a file of .sql, .json or .csv"),
        ])
    func refusals(name: String, text: String, message: String) throws {
        #expect(try seedError((name, text)) == message)
    }

    @Test("that isn't UTF-8 is refused with its place")
    func invalidUTF8() throws {
        let error = #expect(throws: SeedError.self) {
            try Seeding.run([SeedFile(name: "t.csv", bytes: [0x61, 0x0A, 0x62, 0xE9, 0x0A])], on: emptyDatabase())
        }
        #expect(error?.rendering == "t.csv:2:2: error: this is not UTF-8\nb<E9>\n ^")
    }

    @Test(
        "is refused where a table that is there can't take it",
        arguments: [
            ("prize\n1\n", "t.csv:1:1: error: t has no column 'prize'; did you mean 'price'?\nprize\n^"),
            ("raw\n!\n", "t.csv:2:1: error: 'raw' is declared BLOB, and this is no text of base64\n!\n^"),
            (
                "extra\nx\n",
                """
                t.csv:2:1: error: 'extra' is declared JSON, and this is none: this is no value; texts stand in \
                double quotes\nx\n^
                """
            ),
            ("price\n\n", "t.csv:2:1: error: NOT NULL constraint failed: t.price\n\n^"),
        ])
    func mismatches(text: String, message: String) throws {
        let schema = "CREATE TABLE t (price NOT NULL, raw BLOB, extra JSON)"
        #expect(try seedError(("s.sql", schema), ("t.csv", text)) == message)
    }

    @Test("may have names that SQL would take for something else")
    func names() throws {
        let database = try seeded(("a\"b'];--.csv", "select,\"x\"\"y\",\"'\"\n1,2,3\n"))
        #expect(try database.rows(#"SELECT "select", "x""y", "'" FROM "a""b'];--""#) == ["1|2|3"])
    }

    @Test("may have more columns than SQLite: then it is refused")
    func tooManyColumns() throws {
        let header = (0..<2001).map { "c\($0)" }.joined(separator: ",")
        #expect(try seedError(("t.csv", header))?.contains("t.csv:1:1: error: too many columns on t") == true)
    }
}
