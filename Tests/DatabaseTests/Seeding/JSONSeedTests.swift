import Database
import JSON
import SQLite
import Testing

@Suite("A JSON file")
struct JSONSeedTests {
    @Test("has the tables of json-server's db.json")
    func tables() throws {
        let database = try seeded(
            (
                "db.json",
                """
                { "$schema": "./node_modules/json-server/schema.json",
                  "posts": [{ "id": "1", "title": "a title", "views": 100 }, { "id": "2", "title": null, "tags": [] }],
                  "comments": [{ "id": 1, "text": "a comment", "postId": "1" }],
                  "profile": { "name": "typicode", "admin": true }, "empty": [] }
                """
            ))
        #expect(try database.types(of: "posts") == "id TEXT, title TEXT, views INTEGER, tags JSON")
        #expect(
            try database.rows("SELECT * FROM posts") == ["'1'|'a title'|100|NULL", "'2'|NULL|NULL|'[]'"])
        #expect(try database.types(of: "comments") == "id INTEGER, text TEXT, postId TEXT")
        #expect(try database.rows("SELECT * FROM profile") == ["'typicode'|1"])
        #expect(try database.types(of: "profile") == "name TEXT, admin BOOLEAN")
        #expect(try database.types(of: "empty") == "id INTEGER")
        #expect(try database.rows("SELECT * FROM empty") == [])
    }

    @Test("that is an array has the rows of the table of its name")
    func array() throws {
        let database = try seeded(("a/things.v1.json", "\u{FEFF}[{\"b\":1},{\"a\":2.5,\"B\":2},{}]"))
        #expect(try database.types(of: "things.v1") == "b INTEGER, a REAL")
        #expect(try database.rows("SELECT * FROM \"things.v1\"") == ["1|NULL", "2|2.5", "NULL|NULL"])
    }

    @Test("of empty objects makes rows of an id")
    func emptyRows() throws { #expect(try seeded(("t.json", "[{},{}]")).rows("SELECT * FROM t") == ["1", "2"]) }

    @Test(
        "has columns of the type that all their values have",
        arguments: [
            ("1,2,null", "INTEGER", "1,2,NULL"), ("1,2.5", "REAL", "1.0,2.5"), ("1.0", "REAL", "1.0"),
            ("1e2", "REAL", "100.0"), ("9223372036854775807", "INTEGER", "9223372036854775807"),
            ("9223372036854775808", "REAL", "9.223372036854776e+18"),
            ("9007199254740993,0.5", "", "9007199254740993,0.5"), ("true,false,null", "BOOLEAN", "1,0,NULL"),
            (#""a","1""#, "TEXT", "'a','1'"), (#""007""#, "TEXT", "'007'"), (#""a",1"#, "", "'a',1"),
            ("true,1", "", "1,1"), ("null,null", "", "NULL,NULL"),
            (#"[1, 2],{"a" : 1}"#, "JSON", #"'[1,2]','{"a":1}'"#),
            (#"{},"x",5,5.0,true,null"#, "JSON", #"'{}','"x"',5,5,'true',NULL"#), (#""a\u0000b""#, "TEXT", "'a\0b'"),
        ])
    func types(values: String, type: String, stored: String) throws {
        let array = try JSONReader.value(Array("[\(values)]".utf8))
        guard case .array(let elements) = array else { return }
        let rows = elements.map { "{\"k\":\"x\",\"v\":\(String(decoding: $0.text, as: UTF8.self))}" }
        let database = try seeded(("t.json", "[\(rows.joined(separator: ","))]"))
        #expect(try database.types(of: "t") == (type.isEmpty ? "k TEXT, v" : "k TEXT, v \(type)"))
        #expect(try database.rows("SELECT v FROM t").joined(separator: ",") == stored)
    }

    @Test(
        "has its ids as the key",
        arguments: [
            (#"[{"id":2},{"id":null},{}]"#, "INTEGER", "2,3,4"), (#"[{"ID":"b"},{"id":"a"}]"#, "TEXT", "'b','a'"),
            (#"[{"id":1},{"id":"a"}]"#, "TEXT", "'1','a'"), (#"[{"id":null}]"#, "INTEGER", "1"),
            (#"[{"id":1.5}]"#, "TEXT", "'1.5'"),
        ])
    func keys(text: String, type: String, ids: String) throws {
        let database = try seeded(("t.json", text))
        #expect(try database.rows("SELECT type FROM pragma_table_info('t') WHERE pk") == ["'\(type)'"])
        #expect(try database.rows("SELECT id FROM t ORDER BY rowid").joined(separator: ",") == ids)
    }

    @Test("gets a random id where a row has none, and the others are texts")
    func randomKeys() throws {
        let database = try seeded(("t.json", #"[{"id":"a"},{"n":1},{"id":null,"n":2}]"#))
        #expect(try database.rows("SELECT count(DISTINCT id), max(length(id)) FROM t") == ["3|16"])
    }

    @Test("fills a table that is there by the names of its columns, and leaves the others to their defaults")
    func existing() throws {
        let schema = """
            CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, price REAL, ok BOOLEAN, raw BLOB, extra JSON,
            stock INTEGER DEFAULT 9, twice AS (stock * 2));
            """
        let rows = """
            {"T": [{"OK":true,"name":"a","price":5,"raw":"AQI=","extra":{"a" : [1]},"twice":5},
            {"stock":null,"name":5,"extra":"x"},{"extra":5.0,"ok":1},{}]}
            """
        let database = try seeded(("s.sql", schema), ("db.json", rows))
        #expect(
            try database.rows("SELECT * FROM t") == [
                #"1|'a'|5.0|1|x[1, 2]|'{"a":[1]}'|9|18"#, #"2|'5'|NULL|NULL|NULL|'"x"'|NULL|NULL"#,
                "3|NULL|NULL|1|NULL|5|9|18", "4|NULL|NULL|NULL|NULL|NULL|9|18",
            ])
    }

    @Test(
        "with an error is refused with its place",
        arguments: [
            ("", "db.json:1:1: error: a value is missing\n\n^"),
            ("5", "db.json:1:1: error: an object of tables or an array of rows is missing\n5\n^"),
            ("{\"t\":[5]}", "db.json:1:7: error: a row is an object, not a number\n{\"t\":[5]}\n      ^"),
            (
                "{\"t\":5}",
                "db.json:1:6: error: a table is an array of objects or an object, not a number\n{\"t\":5}\n     ^"
            ),
            ("{\"t\":[],\"T\":[]}", "db.json:1:9: error: the table 'T' comes twice\n{\"t\":[],\"T\":[]}\n        ^"),
            ("[{\"a\":1,\n\"A\":2}]", "db.json:2:1: error: the column 'A' comes twice\n\"A\":2}]\n^"),
            ("[{\"\":1}]", "db.json:1:3: error: a column's name is missing\n[{\"\":1}]\n  ^"),
            ("{\"\":[]}", "db.json:1:2: error: a table's name is missing\n{\"\":[]}\n ^"),
            ("[{\"\\u0000\":1}]", "db.json:1:3: error: a column's name can't have a NUL byte\n[{\"\\u0000\":1}]\n  ^"),
            (
                "{\"Sqlite_x\":[]}",
                "db.json:1:2: error: names that begin with sqlite_ are SQLite's own\n{\"Sqlite_x\":[]}\n ^"
            ),
            ("[{\"id\":1},\n {\"id\":1}]", "db.json:2:2: error: UNIQUE constraint failed: db.id\n {\"id\":1}]\n ^"),
            ("[{\"a\":1e999}]", "db.json:1:3: error: this number is beyond a double's range\n[{\"a\":1e999}]\n  ^"),
            (
                "[{\"id\":[]}]",
                "db.json:1:3: error: an array can't be in 'id', which is not declared JSON\n[{\"id\":[]}]\n  ^"
            ),
            ("[{\"a\":1}", "db.json:1:9: error: a comma or ] is missing\n[{\"a\":1}\n        ^"),
            ("[] x", "db.json:1:4: error: something follows the value\n[] x\n   ^"),
        ])
    func refusals(text: String, message: String) throws { #expect(try seedError(("db.json", text)) == message) }

    @Test(
        "is refused where a table that is there can't take it",
        arguments: [
            (#"[{"prize":1}]"#, "t.json:1:3: error: t has no column 'prize'; did you mean 'price'?"),
            (#"[{"raw":"!"}]"#, "t.json:1:3: error: 'raw' is declared BLOB, and this is no text of base64"),
            (#"[{"raw":5}]"#, "t.json:1:3: error: 'raw' is declared BLOB, and this is no text of base64"),
            (#"[{"price":{}}]"#, "t.json:1:3: error: an object can't be in 'price', which is not declared JSON"),
        ])
    func mismatches(text: String, message: String) throws {
        let error = try seedError(("s.sql", "CREATE TABLE t (price, raw BLOB)"), ("t.json", text))
        #expect(error == "\(message)\n\(text)\n  ^")
    }

    @Test("of many levels is refused")
    func levels() throws {
        let deep = String(repeating: "[", count: 100_000)
        #expect(try seedError(("t.json", "[{\"a\":\(deep)"))?.contains("error: more than 64 levels") == true)
        #expect(try seedError(("t.json", deep))?.contains("error: a row is an object, not") != true)
    }

    @Test("whose rows all have other columns is filled")
    func shapes() throws {
        let rows = (0..<1000).map { "{\"c\($0 % 500)\":1,\"c\($0 % 300 + 500)\":2}" }
        let database = try seeded(("t.json", "[\(rows.joined(separator: ","))]"))
        #expect(try database.integer("SELECT count(*) FROM t WHERE c7 = 1 OR c507 = 2") == 5)
    }
}
