import Basics
import Foundation
import SQLite
import Testing

@testable import Database

/// Databases that somebody made to do harm: they get errors, never a crash or a stuck loop.
@Suite struct HostileDatabaseTests {
    private let folder = Folder()
    private var path: String { folder.path + "/shop.db" }

    private func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        PercentCoding.appendSegment(text.utf8, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func bytes() throws -> [UInt8] {
        Array(try #require(FileManager.default.contents(atPath: path)))
    }

    private func put(_ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(filePath: path))
    }

    private func answer(_ target: String, _ session: Session) -> Int {
        let end = target.firstIndex(of: "?") ?? target.endIndex
        let path = Array(target[..<end].utf8)
        let query = Array(target[end...].dropFirst().utf8)
        do throws(Problem) {
            return try session.transaction(.begin, failure: session.problem) { () throws(Problem) in
                let view: SchemaView
                do throws(SQLiteError) { view = try session.view(for: DatabaseRule.unhurried, looks: true) } catch {
                    throw session.problem(error)
                }
                let resource = try Resource(try ResourcePath(path), in: view)
                return try Reader(session, view, url: [], query: query).answer(resource).status
            }
        } catch {
            return error.status
        }
    }

    @Test func `Reading a schema ends with its request, even where SQLite asks nobody`() throws {
        let views = (1...20).map { "CREATE VIEW v\($0) AS SELECT 1 AS a FROM t;" }
        let stage = try Stage("CREATE TABLE t(a);" + views.joined())
        stage.session.guardian = Guardian(limits: DatabaseRule.unhurried.limits, now: monotonicNanoseconds()) { true }
        #expect(throws: SQLiteError.self) { try stage.session.view(for: DatabaseRule.unhurried, looks: true) }
        stage.session.guardian = nil
        #expect(try stage.session.view(for: DatabaseRule.unhurried, looks: true).tables.count == 21)
    }

    @Test func `Of a row with many long values no more is written than its limit and one value`() throws {
        let connection = try SQLiteConnection("", mode: .memory)
        let statement = try connection.prepare(
            "SELECT " + (0..<50).map { "zeroblob(3000) AS a\($0)" }.joined(separator: ","))
        #expect(try statement.step())
        for (limit, most) in [(1000, 4100), (5000, 8200), (Int.max, 200_200)] {
            var output = JSONOutput(limit: limit)
            for column in 0..<50 { output.append(value: statement, column, .plain) }
            #expect(output.count <= most && output.count > min(limit, 200_000))
        }
        let stage = try Stage(
            "CREATE VIEW v AS SELECT " + (0..<50).map { "zeroblob(300000) AS a\($0)" }.joined(separator: ", "))
        let answer = stage.get("v")
        #expect(answer.status == 400 && answer.body.contains("answer too large"), "\(answer.body.prefix(300))")
    }

    @Test func `Tables behind the name of a virtual one are hidden where they are its own`() throws {
        let stage = try Stage(
            """
            CREATE VIRTUAL TABLE my_notes USING fts5(title); CREATE TABLE my_notes_extra(a); CREATE TABLE my(b);
            CREATE TABLE MY_NOTES2(c); CREATE TABLE _x(d);
            """)
        let names = try stage.session.view(for: DatabaseRule.unhurried, looks: true).tables.map(\.table.name)
        #expect(Set(names) == ["my_notes", "my_notes_extra", "my", "MY_NOTES2", "_x"])
    }

    @Test func `A database with a flipped byte gives rows or an error, for each page`() throws {
        let script = """
            PRAGMA page_size=512; CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b BLOB); CREATE INDEX i ON t(a);
            CREATE TABLE u(k TEXT PRIMARY KEY, t INTEGER REFERENCES t(id)) WITHOUT ROWID;
            WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 40)
              INSERT INTO t SELECT x, 'row ' || x, zeroblob(x * 40) FROM n;
            INSERT INTO u SELECT a, id FROM t; CREATE VIEW v AS SELECT a, k FROM t JOIN u ON u.t = t.id;
            """
        do {
            let connection = try SQLiteConnection(path, mode: .create)
            try Seeding.run([SeedFile(name: "s.sql", bytes: Array(script.utf8))], on: connection)
        }
        let whole = try bytes()
        #expect(whole.count > 512 * 20)
        var refused = 0
        var generator = SystemRandomNumberGenerator()
        for page in 0..<(whole.count / 512) {
            for offset in [0, 1, 3, 5, 8, 9, 16, 100, 101, 108, 505, 511, Int.random(in: 0..<512, using: &generator)] {
                var broken = whole
                let mask: UInt8 = offset % 2 == 0 ? 0xFF : 0x10
                broken[page * 512 + offset] ^= mask
                try put(broken)
                var statuses: [Int] = []
                do throws(SQLiteError) {
                    let session = try Session(try SQLiteConnection(path, mode: .readOnly), name: "shop.db")
                    for target in ["t", "t/7", "t/7/u", "u?_expand=t", "t?_embed=u&_sort=-a", "v?q=row", "t?b=AAAA"] {
                        statuses.append(answer(target, session))
                    }
                } catch {
                    statuses.append(502)
                }
                #expect(
                    statuses.allSatisfy { [200, 400, 404, 502].contains($0) },
                    "page \(page + 1), byte \(offset): \(statuses)")
                refused += statuses.contains(502) ? 1 : 0
                let check = DatabaseCheck(path: path, exists: true, name: "shop.db", seeds: [])
                var rule = DatabaseRule.unhurried
                rule.statement = DatabaseRule.Statement(sql: "SELECT a FROM t WHERE b = $1")
                _ = check.findings(rule.limits) + check.findings(rule)
            }
        }
        #expect(refused > 0)
    }

    @Test(arguments: [
        "CREATE VIEW v AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS c FROM n",
        "CREATE VIEW v AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n WHERE x < 0",
        "CREATE VIEW v AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n ORDER BY -x",
    ])
    func `A view that doesn't end is ended at the limit of time`(script: String) throws {
        var stage = try Stage(script)
        stage.rule.limits.time = 1_000_000
        for target in ["v", "v?q=x", "v?_page=1"] {
            let answer = stage.get(target)
            #expect(answer.status == 503 && answer.body.contains("query took too long"), "\(answer)")
        }
    }

    /// Views that stand for 2⁴⁰ others.
    static let multiplyingViews = [
        "CREATE VIEW v AS WITH c0(a) AS (VALUES(1))"
            + (1...40).map { ", c\($0)(a) AS (SELECT 1 FROM c\($0 - 1) x, c\($0 - 1) y)" }.joined()
            + " SELECT a FROM c40",
        "CREATE TABLE t(a); CREATE VIEW v0 AS SELECT a FROM t;"
            + (1...40).map { "CREATE VIEW v\($0) AS SELECT a+a AS a FROM v\($0 - 1);" }.joined()
            + "CREATE VIEW v AS SELECT a FROM v40",
    ]

    @Test(arguments: multiplyingViews)
    func `A view that takes too long to prepare is ended at the limit of time`(script: String) throws {
        var rule = DatabaseRule.unhurried
        rule.limits.time = 1_000_000
        let answer = try Stage(script, rule: rule).get("v")
        #expect(answer.status == 503 && answer.body.contains("query took too long"), "\(answer)")
    }

    @Test(arguments: multiplyingViews)
    func `A statement of the map that takes too long to prepare is ended too`(script: String) throws {
        let stage = try Stage(script)
        var rule = DatabaseRule.unhurried
        let statement = DatabaseRule.Statement(sql: "SELECT a FROM v")
        rule.statement = statement
        rule.limits.time = 1_000_000
        stage.session.guardian = Guardian(limits: rule.limits, now: monotonicNanoseconds()) { false }
        defer { stage.session.guardian = nil }
        let runner = StatementRunner(stage.session, statement, rule)
        let request = DatabaseRequest(.get, rule: rule, path: [], query: [], url: [])
        for _ in 0..<2 {
            let problem = #expect(throws: Problem.self) { try runner.answer(request) }
            #expect(problem?.status == 503 && problem?.title == "query took too long")
            let named = #expect(throws: Problem.self) { try runner.rows(request, name: "rows") }
            #expect(named?.status == 503)
        }
    }

    @Test(arguments: multiplyingViews)
    func `A view that takes too much memory to prepare is ended, and others are read`(script: String) throws {
        var rule = DatabaseRule.unhurried
        rule.limits.time = 3_600_000_000_000
        let stage = try Stage(script + "; CREATE TABLE u(x); INSERT INTO u VALUES (1)", rule: rule)
        var answers: [Int] = []
        stage.session.guardian = Guardian(limits: rule.limits, now: monotonicNanoseconds()) { false }
        for sql in ["SELECT * FROM v", "SELECT * FROM u", "SELECT max(a) FROM v", "SELECT x FROM u"] {
            do throws(SQLiteError) {
                answers.append(try stage.session.statement(sql).step() ? 1 : 0)
            } catch {
                answers.append(Int(error.code))
                #expect(error.message == "preparing the statement takes more than 128 MiB")
            }
        }
        #expect(answers == [7, 1, 7, 1])
    }

    @Test func `A search for an expression ends at the limit of time, though SQLite makes few steps`() throws {
        let stage = try Stage(
            """
            CREATE TABLE t(a TEXT);
            WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 40)
              INSERT INTO t SELECT hex(zeroblob(500)) FROM n;
            """)
        var sql = SQLBuilder("SELECT count(*) FROM t WHERE subproxy_matches(")
        sql.bindMatcher(try TextMatcher(expression: Array("b".utf8)))
        sql.append(",a)")
        let statement = try stage.session.statement(sql)
        var limits = DatabaseRule.unhurried.limits
        limits.time = 0
        stage.session.guardian = Guardian(limits: limits, now: monotonicNanoseconds()) { false }
        defer { stage.session.guardian = nil }
        let error = #expect(throws: SQLiteError.self) { try statement.step() }
        #expect(error?.isInterrupt == true)
        let problem = error.map { stage.session.problem($0) }
        #expect(problem?.status == 503 && problem?.title == "query took too long")
    }

    @Test func `A text that is too long for an expression ends the search`() throws {
        let stage = try Stage("CREATE TABLE t(a TEXT); INSERT INTO t VALUES (hex(zeroblob(40000))), ('b'), ('b')")
        let answer = stage.get("t?a:like=b&_page=1&_limit=1")
        #expect(answer.status == 400 && answer.body.contains("'like' reads texts of at most 65536 bytes"), "\(answer)")
    }

    /// A table of 2000 columns, and a view.
    private func wide(_ view: String) throws -> Stage {
        let columns = (0..<2000).map { "c\($0)" }.joined(separator: ",")
        return try Stage(
            "CREATE TABLE w(\(columns)); CREATE TABLE t(a); INSERT INTO t VALUES (1); CREATE VIEW v AS \(view)")
    }

    /// Tables in a FROM.
    private static let crowd = (0..<60).map { "w w\($0)" }.joined(separator: ",")

    @Test(
        arguments: [
            "SELECT a IN (a\(String(repeating: ",a", count: 60_000))) AS x FROM \(crowd),t",
            "SELECT (SELECT (SELECT a IN (a\(String(repeating: ",a", count: 6000))) FROM \(crowd)) FROM \(crowd)) AS x "
                + "FROM t",
            "WITH c AS (SELECT * FROM w) SELECT a IN (a\(String(repeating: ",a", count: 20_000))) AS x FROM "
                + (0..<60).map { "c c\($0)" }.joined(separator: ",") + ",t",
        ])
    func `A view whose names are compared with too many columns is refused before SQLite reads it`(view: String) throws
    {
        let stage = try wide(view)
        for target in ["v", "t"] {
            let answer = stage.get(target)
            #expect(answer.status == 502 && answer.body.contains("the view v has too many names"), "\(answer)")
        }
    }

    @Test(
        arguments: [
            "SELECT \((0..<2000).map { "c\($0)" }.joined(separator: ",")) FROM w",
            "SELECT w.* FROM w, t",
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9) SELECT x, count(*) FROM n, t "
                + "GROUP BY x UNION ALL "
                + (0..<40).map { "SELECT a*\($0)*2, a FROM t" }.joined(separator: " UNION ALL "),
        ])
    func `A large view is read`(view: String) throws {
        #expect(try wide(view).get("v").status == 200)
    }

    @Test func `A view whose text is too long isn't read, and no table beside it`() throws {
        let terms = (0..<20_000).map { "max(a+\($0))" }.joined(separator: ",")
        do {
            let connection = try SQLiteConnection(path, mode: .create)
            try connection.execute("CREATE TABLE t(a)")
            try connection.execute("CREATE VIEW v AS SELECT (\(terms)) = 1 AS a FROM t")
        }
        let session = try Session(try SQLiteConnection(path, mode: .readOnly), name: "shop.db")
        #expect(answer("v", session) == 502)
    }

    @Test func `Triggers that call each other end`() throws {
        let stage = try Stage(
            """
            CREATE TABLE a(x); CREATE TABLE b(x);
            CREATE TRIGGER ab AFTER INSERT ON a BEGIN INSERT INTO b VALUES (new.x + 1); END;
            CREATE TRIGGER ba AFTER INSERT ON b BEGIN INSERT INTO a VALUES (new.x + 1); END;
            """)
        _ = try stage.session.own("PRAGMA recursive_triggers=ON")
        let answer = stage.send(.post, "a", #"{"x":1}"#)
        #expect(answer.status == 502, "\(answer)")
        #expect(answer.body.contains("too many levels of trigger recursion"))
        #expect(stage.get("a").body == "[]" && stage.get("b").body == "[]")
        _ = try stage.session.own("PRAGMA recursive_triggers=OFF")
        #expect(stage.send(.post, "a", #"{"x":1}"#).status == 201)
        #expect(stage.get("b").body == #"[{"x":2}]"#)
    }

    @Test(arguments: [
        "a\"b; DROP TABLE x", "it's", "]", "[x]", "new\nline", "a\"\u{301}b", "\"", "--", "/*", "?1", ":a", "$a", "a.b",
        "a%2Fb",
        "SELECT", "rowid", "é", "a b", "_sort", "q", "name_lt", "`",
    ])
    func `Names with SQL in them are listed, read and written`(name: String) throws {
        let quoted = quotedIdentifier(Array(name.utf8))
        let stage = try Stage(
            "CREATE TABLE \(quoted)(id INTEGER PRIMARY KEY, \(quoted) TEXT); INSERT INTO \(quoted) VALUES (1,'x'),(2,'y')"
        )
        var output = JSONOutput()
        output.append(string: name)
        let json = String(decoding: output.bytes, as: UTF8.self)
        let segment = encoded(name)
        #expect(
            stage.get("").body
                == #"[{"name":\#(json),"kind":"table","key":["id"],"columns":[{"name":"id","type":"INTEGER"},{"name":\#(json),"type":"TEXT"}]}]"#
        )
        #expect(stage.get(segment).body == #"[{"id":1,\#(json):"x"},{"id":2,\#(json):"y"}]"#)
        #expect(stage.get("\(segment)/2").body == #"{"id":2,\#(json):"y"}"#)
        #expect(stage.get("\(segment)?\(segment)=y").body == #"[{"id":2,\#(json):"y"}]"#)
        #expect(stage.get("\(segment)?\(segment):ne=y").body == #"[{"id":1,\#(json):"x"}]"#)
        #expect(stage.send(.post, segment, #"{\#(json):"z"}"#).body == #"{"id":3,\#(json):"z"}"#)
        #expect(stage.send(.patch, "\(segment)/3", #"{\#(json):"w"}"#).body == #"{"id":3,\#(json):"w"}"#)
        #expect(stage.send(.put, "\(segment)/3", "{}").body == #"{"id":3,\#(json):null}"#)
        #expect(stage.send(.delete, "\(segment)/3").status == 200)
    }
}
