import Testing

@testable import Database

@Suite struct StatementTests {
    private func stage(_ sql: String, _ result: DatabaseRule.Statement.Result = .list) throws -> Stage {
        var rule = DatabaseRule.unhurried
        rule.statement = DatabaseRule.Statement(sql: sql, result: result)
        return try Stage(Stage.shop, rule: rule)
    }

    @Test func `A statement takes captures, parameters and members of the body`() throws {
        let list = try stage("SELECT id, sale FROM products WHERE brand = $1 AND price > :least LIMIT :n")
        let answer = list.send(.post, "?least=1&n=1&other=2", captures: [("1", Array("acme".utf8))])
        #expect(answer.body == #"[{"id":1,"sale":true}]"#)
        let write = try stage("INSERT INTO plain VALUES (@a, @b) RETURNING a, b", .one)
        #expect(write.send(.post, "", #"{"a":1.5,"b":[1]}"#).body == #"{"a":1.5,"b":"[1]"}"#)
        let silent = try stage("DELETE FROM plain")
        #expect(silent.send(.post, "", "{}").status == 204)
    }

    @Test func `One row, one value, or none`() throws {
        #expect(try stage("SELECT 1 AS a", .one).send(.post, "", "{}").body == #"{"a":1}"#)
        #expect(try stage("SELECT 1 WHERE 0", .one).send(.post, "", "{}").status == 404)
        #expect(try stage("SELECT image FROM products WHERE id = 3", .value).send(.post, "", "{}").body == "A")
        #expect(try stage("SELECT NULL", .value).send(.post, "", "{}").status == 404)
        #expect(try stage("SELECT 1 AS a, 2 AS a").send(.post, "", "{}").status == 502)
    }

    @Test(arguments: [
        ("ATTACH 'x' AS y", "not ATTACH"), ("SELECT 1; SELECT 2", "one statement"), ("SELECT ?", "no name"),
        ("", "no statement"),
        ("PRAGMA table_info(x)", "not PRAGMA"),
    ])
    func `What is no rule's statement is told without a database`(sql: String, problem: String) {
        #expect(StatementText(sql).problem?.contains(problem) == true)
    }

    @Test(arguments: [
        (
            "SELECT 'INSERT; $1' -- :x\n, \"a;b\" /* @y */ WHERE x = $1 AND y = :name AND z = @m;  -- end", false,
            "$1 :name @m"
        ),
        ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", true, ""), ("with a as (delete) select 1", false, ""),
        ("WITH replace(n) AS NOT MATERIALIZED (SELECT 1), \"b\" AS (SELECT 2) SELECT n FROM replace", false, ""),
        ("WITH RECURSIVE a(n) AS (SELECT 1) /* ) */ DELETE FROM t WHERE id IN (SELECT n FROM a)", true, ""),
        ("REPLACE INTO t VALUES ($id)", true, "$id"),
    ])
    func `A statement's kind and parameters are told without a database`(sql: String, isWrite: Bool, names: String) {
        let text = StatementText(sql)
        #expect(text.problem == nil && text.isWrite == isWrite && text.parameters.joined(separator: " ") == names)
    }

    @Test func `Statements that change more than data are refused`() throws {
        #expect(try stage("SELECT load_extension('x')").send(.post, "", "{}").status == 502)
        #expect(try stage("DELETE FROM sqlite_schema").send(.post, "", "{}").status == 502)
    }

    @Test func `Names of columns that differ in case alone are one`() throws {
        let stage = try Stage(Stage.shop)
        for sql in ["SELECT 1 AS a, 2 AS A", "SELECT 1 AS a, 2 AS a"] {
            let statement = DatabaseRule.Statement(sql: sql)
            let runner = StatementRunner(stage.session, statement, stage.rule)
            let problem = #expect(throws: Problem.self) {
                try runner.answer(DatabaseRequest(.get, rule: stage.rule, path: []))
            }
            #expect(problem?.detail.contains("'sql' has two columns") == true)
        }
    }

    @Test func `A number that LIMIT needs is told of where the request has none`() throws {
        let list = try stage("SELECT id FROM products LIMIT :n")
        for query in ["", "?n=abc"] {
            let answer = list.send(.post, query)
            #expect(answer.status == 400 && answer.body.contains(#""title":"bad value""#), "\(answer)")
            #expect(answer.body.contains("LIMIT or OFFSET"))
        }
    }

    @Test func `A page has integers as texts where the rule says so`() throws {
        var stage = try Stage("CREATE TABLE t(big INTEGER, n INTEGER); INSERT INTO t VALUES (9007199254740993, 1)")
        stage.rule.forms = [.init(table: "t", column: "big", form: .text)]
        let runner = StatementRunner(stage.session, DatabaseRule.Statement(sql: "SELECT big, n FROM t"), stage.rule)
        let rows = try runner.rows(DatabaseRequest(.get, rule: stage.rule, path: []), name: "items")
        guard case .text(let text) = rows.cells.first, case .integer(1) = rows.cells.last else {
            Issue.record("\(rows.cells)")
            return
        }
        #expect(text == Array("9007199254740993".utf8))
    }

    @Test func `A JSON value counts for the rows of a page by its text`() throws {
        let zeros = [String](repeating: "0", count: 500).joined(separator: ",")
        let stage = try Stage("CREATE TABLE t(j JSON); INSERT INTO t VALUES ('[\(zeros)]'), ('[\(zeros)]')")
        func rows(within bytes: Int) throws -> Int {
            var rule = stage.rule
            rule.limits.bytes = bytes
            let runner = StatementRunner(stage.session, DatabaseRule.Statement(sql: "SELECT j FROM t"), rule)
            return try runner.rows(DatabaseRequest(.get, rule: rule, path: []), name: "items").count
        }
        #expect(try rows(within: 2500) == 2)
        for bytes in [500, 1500] {
            let problem = #expect(throws: Problem.self) { try rows(within: bytes) }
            #expect(problem?.status == 400)
            #expect(problem?.detail.contains("'items' gives more than a page may have") == true)
        }
    }
}
