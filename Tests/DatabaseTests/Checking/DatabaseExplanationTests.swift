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
        var rule = DatabaseRule()
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
        let request = DatabaseRequest(.get, rule: DatabaseRule(), path: Array("words/de/Haus/uses".utf8))
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
        #expect(explained.status == 200)
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

    @Test func `A database that isn't there is not made`() throws {
        let explained = try explain("products", exists: false, seeds: ["a.sql", "b.csv"]) { $0.writes = .file }
        #expect(explained.sql == nil && explained.plan.isEmpty)
        #expect(explained.remark == "shop.db does not exist; a.sql, b.csv would make the file")
        #expect(throws: SQLiteError.self) { try SQLiteConnection(path, mode: .readOnly) }
    }
}
