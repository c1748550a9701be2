import SQLite
import Testing

@testable import Database

@Suite struct DatabaseExplanationTests {
    private let folder = Folder()
    private var path: String { folder.path + "/shop.db" }

    private func explain(
        _ target: String, _ method: DatabaseRequest.Method = .get, exists: Bool = true, seeds: [String] = [],
        captures: [(name: String, value: [UInt8])] = [], _ change: (inout DatabaseRule) -> Void = { _ in }
    ) throws -> DatabaseExplanation {
        if exists {
            let connection = try SQLiteConnection(path, mode: .create)
            try Seeding.run([SeedFile(name: "s.sql", bytes: Array(Stage.shop.utf8))], on: connection)
        }
        var rule = DatabaseRule.unhurried
        change(&rule)
        let end = target.firstIndex(of: "?") ?? target.endIndex
        var request = DatabaseRequest(
            method, rule: rule, path: Array(target[..<end].utf8), query: Array(target[end...].dropFirst().utf8))
        request.captures = captures
        return DatabaseExplanation(request, path: path, exists: exists, name: "shop.db", seeds: seeds)
    }

    @Test func `A list is explained by its statement, its values and its plan`() throws {
        let explained = try explain("words?n:gt=1&_page=2&_limit=5")
        #expect(
            explained.sql == """
                SELECT "words"."lang","words"."word","words"."n" FROM "words" WHERE ("words"."n">?) \
                ORDER BY "words"."lang","words"."word" LIMIT ? OFFSET ?
                """)
        #expect(explained.values == #"["1",5,5]"#)
        #expect(explained.plan == ["SCAN words"])
        #expect(explained.status == 200 && explained.problem == nil)
    }

    @Test(arguments: [
        ("words?n=1", nil), ("words?_page=2", 200), ("words?_limit=100", 200), ("words?_limit=101", nil),
        ("words?_start=1", nil), ("products?_limit=5&_embed=reviews", nil), ("", 200),
    ])
    func `The status of a list isn't known where there may be too many rows`(target: String, status: Int?) throws {
        #expect(try explain(target) { $0.limits.rows = 100 }.status == status)
    }

    @Test(arguments: [
        ("words?word:contains=Abc", #"["Abc",10001]"#),
        ("words?word:startsWith=a&word_like=%5Eq&n=1", #"["a","^q","1",10001]"#),
        ("words?n=1&q=abc&_start=5&_limit=2", #"["1","abc","abc","abc",2,5]"#),
        (#"words?_where={"or":[{"n":{"eq":1}},{"word":{"endsWith":"b"}}]}"#, #"["1","b",10001]"#),
    ])
    func `The values are what a text is searched for`(target: String, values: String) throws {
        let explained = try explain(target)
        #expect(explained.values == values && !explained.plan.isEmpty, "\(explained)")
    }

    @Test func `A row is explained by its key; whether it is there is not known`() throws {
        let explained = try explain("products/2")
        #expect(explained.sql?.hasSuffix(#"FROM "products" WHERE "products"."id"=? LIMIT 1"#) == true)
        #expect(explained.values == "[2]")
        #expect(explained.plan == ["SEARCH products USING INTEGER PRIMARY KEY (rowid=?)"])
        #expect(explained.status == nil && explained.problem == nil)
    }

    @Test func `Children are explained without the value that they refer to`() throws {
        let explained = try explain("products/1/reviews?stars=5")
        #expect(explained.sql?.contains(#"WHERE "reviews"."product"=? AND ("#) == true)
        #expect(explained.values == #"[null,"5",10001]"#)
        #expect(explained.remark == "the first value is the 'id' that the row of products has")
    }

    @Test func `Children by several columns are explained without the values that they refer to`() throws {
        let connection = try SQLiteConnection(path, mode: .create)
        try Seeding.run([SeedFile(name: "s.sql", bytes: Array(ReadingTests.uses.utf8))], on: connection)
        let request = DatabaseRequest(.get, rule: DatabaseRule.unhurried, path: Array("words/de/Haus/uses".utf8))
        let explained = DatabaseExplanation(request, path: path, exists: true, name: "shop.db", seeds: [])
        #expect(explained.sql?.contains(#"WHERE "uses"."l"=? AND "uses"."w"=? ORDER BY"#) == true)
        #expect(explained.values == "[null,null,10001]")
        #expect(explained.remark == "the first 2 values are the 'lang', 'word' that the row of words has")
    }

    @Test func `A statement of the rule's is explained as it stands`() throws {
        let explained = try explain("?n=3", captures: [("1", Array("acme".utf8))]) { rule in
            rule.statement = DatabaseRule.Statement(sql: "SELECT id FROM products WHERE brand = $1 LIMIT :n")
        }
        #expect(explained.sql == "SELECT id FROM products WHERE brand = $1 LIMIT :n")
        #expect(explained.values == #"["acme","3"]"#)
        #expect(explained.plan == ["SCAN products"])
        #expect(explained.status == nil && explained.problem == nil)
    }

    @Test(
        arguments: [
            ("prodcuts", .get, 404, "no such table"), ("products?prize=1", .get, 400, "unknown column"),
            ("products/042", .get, 404, "no such row"), ("products?_page=0", .get, 400, "bad value"),
            ("products/1?q=x", .get, 400, "unknown parameter"), ("products?_embed=words", .get, 400, "bad value"),
            ("products", .post, 405, "method not allowed"),
        ] as [(String, DatabaseRequest.Method, Int, String)])
    func `A request that would be refused says why`(
        target: String, method: DatabaseRequest.Method, status: Int, title: String
    ) throws {
        let explained = try explain(target, method)
        #expect(explained.problem?.status == status && explained.problem?.title == title)
        #expect(explained.sql == nil && explained.status == nil)
    }

    @Test func `Statements that can't run and writes are told without running`() throws {
        let wrong = try explain("") { $0.statement = DatabaseRule.Statement(sql: "SELECT prise FROM products") }
        #expect(wrong.problem?.detail == "'sql': no such column: prise (SQLITE_ERROR)")
        #expect(wrong.sql == "SELECT prise FROM products" && wrong.plan.isEmpty)
    }

    @Test func `A statement that asks for a PRAGMA is refused as it would be`() throws {
        let refused = try explain("") {
            $0.statement = DatabaseRule.Statement(sql: "SELECT name FROM pragma_table_info('products')")
        }
        #expect(
            refused.problem?.detail == "'sql': access to pragma_table_info.name is prohibited (SQLITE_AUTH)")
    }

    @Test func `A write is not run`() throws {
        let posted = try explain("products", .post) { $0.writes = .file }
        #expect(posted.sql == nil && posted.problem == nil && posted.remark == "the SQL of a write depends on its body")
        #expect(try SQLiteConnection(path, mode: .readOnly).integer("SELECT count(*) FROM products") == 4)
    }

    private func explainWrite(
        _ method: DatabaseRequest.Method, _ target: String, _ body: String = "", type: String = "application/json",
        script: String = Stage.shop
    ) throws -> DatabaseExplanation {
        let connection = try SQLiteConnection(path, mode: .create)
        try Seeding.run([SeedFile(name: "s.sql", bytes: Array(script.utf8))], on: connection)
        var rule = DatabaseRule.unhurried
        rule.writes = .file
        var request = DatabaseRequest(method, rule: rule, path: Array(target.utf8))
        request.body.bytes = Array(body.utf8)
        request.body.type = body.isEmpty ? "" : type
        let explained = DatabaseExplanation(request, path: path, exists: true, name: "shop.db", seeds: [])
        let rows = try SQLiteConnection(path, mode: .readOnly).integer("SELECT count(*) FROM reviews")
        #expect(rows == (script == Stage.shop ? 3 : 0))
        return explained
    }

    @Test func `A DELETE is explained without a body`() throws {
        let row = try explainWrite(.delete, "reviews/2")
        #expect(row.sql == #"DELETE FROM "reviews" WHERE "reviews".rowid=?"# && row.values == "[2]")
        #expect(row.plan == ["SEARCH reviews USING INTEGER PRIMARY KEY (rowid=?)"] && row.problem == nil)
    }

    @Test func `A write is explained by its body`() throws {
        let patch = try explainWrite(.patch, "products/2", #"{"price":3,"name":"x"}"#)
        #expect(patch.sql == #"UPDATE "products" SET "name"=?,"price"=? WHERE "products".rowid=?"#)
        #expect(patch.values == #"["x",3,2]"# && !patch.plan.isEmpty && patch.problem == nil)
    }

    @Test func `A new row is explained by its body, and each of several by the first one's`() throws {
        let one = try explainWrite(.post, "plain", "a=1&b=2", type: "application/x-www-form-urlencoded")
        #expect(one.sql == #"INSERT INTO "plain"("a","b") VALUES (?,?)"# && one.values == #"["1","2"]"#)
    }

    @Test func `Of several new rows the first one is explained`() throws {
        let several = try explainWrite(.post, "plain", #"[{"a":1},{"a":2,"b":3}]"#)
        #expect(several.sql == #"INSERT INTO "plain"("a") VALUES (?)"# && several.values == "[1]")
        #expect(several.remark == "this is the first of 2 rows")
    }

    @Test func `A child's reference is explained without its value`() throws {
        let child = try explainWrite(.post, "products/1/reviews", #"{"stars":1}"#)
        #expect(child.sql == #"INSERT INTO "reviews"("product","stars") VALUES (?,?)"# && child.values == "[null,1]")
        #expect(child.remark == "the value of 'product' is the 'id' that the row of products has")
    }

    @Test func `A row that is named by another key is explained without its rowid`() throws {
        let row = try explainWrite(
            .delete, "t/x", script: "CREATE TABLE t(k TEXT PRIMARY KEY); CREATE TABLE reviews(a);")
        #expect(row.sql == #"DELETE FROM "t" WHERE "t".rowid=?"# && row.values == "[null]")
        #expect(row.remark == "the last value names the row, which is read first")
    }

    @Test(
        arguments: [
            (
                #"{"extra":{"color":"blue"},"stock":3}"#, "[3,null,2]",
                "the value of 'extra' is merged with what the row has"
            ),
            // Nothing is left of what the row has.
            (#"{"extra":[1],"stock":3}"#, #"[3,"[1]",2]"#, nil), (#"{"extra":null,"stock":3}"#, "[3,null,2]", nil),
        ] as [(String, String, String?)])
    func `A merge patch is explained without the values that it is merged with`(
        body: String, values: String, remark: String?
    ) throws {
        let patch = try explainWrite(.patch, "products/2", body, type: "application/merge-patch+json")
        #expect(patch.sql == #"UPDATE "products" SET "stock"=?,"extra"=? WHERE "products".rowid=?"#)
        #expect(patch.values == values && patch.remark == remark && patch.problem == nil, "\(patch)")
    }

    @Test func `What is wrong with a merge patch is told`() throws {
        let body = #"{"extra":{"color":"blue"},"prize":3}"#
        let patch = try explainWrite(.patch, "products/2", body, type: "application/merge-patch+json")
        #expect(patch.sql == nil && patch.problem?.title == "unknown column")
    }

    @Test func `What is wrong with a write's body is told`() throws {
        let wrong = try explainWrite(.patch, "products/2", #"{"prize":3}"#)
        #expect(wrong.problem?.title == "unknown column" && wrong.sql == nil)
    }

    @Test func `A database that isn't there is not made`() throws {
        let explained = try explain("products", exists: false, seeds: ["a.sql", "b.csv"]) { $0.writes = .file }
        #expect(explained.sql == nil && explained.plan.isEmpty)
        #expect(explained.remark == "shop.db does not exist; a.sql, b.csv would make the file")
        #expect(throws: SQLiteError.self) { try SQLiteConnection(path, mode: .readOnly) }
    }
}
