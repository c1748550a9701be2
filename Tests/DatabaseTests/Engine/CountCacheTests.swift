import Basics
import SQLite
import Testing

@testable import Database

@Suite struct CountCacheTests {
    private let stage: Stage
    private let cache = CountCache()

    init() throws {
        stage = try Stage(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT);
            WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 50000)
              INSERT INTO t SELECT x, 'a' || (x % 2) FROM n;
            CREATE VIEW dice AS SELECT id FROM t WHERE random() % 2 = 0;
            """)
    }

    /// How often SQLite asked whether to go on, each thousand steps, and the number of rows.
    private func steps(_ target: String, version: UInt64) throws -> (steps: Int, total: String?) {
        let end = target.firstIndex(of: "?") ?? target.endIndex
        var steps = 0
        stage.session.guardian = Guardian(limits: stage.rule.limits, now: monotonicNanoseconds()) {
            steps += 1
            return false
        }
        defer { stage.session.guardian = nil }
        let answer = try stage.session.transaction(.begin, failure: stage.session.problem) { () throws(Problem) in
            let view: SchemaView
            do throws(SQLiteError) { view = try stage.session.view(for: stage.rule, looks: true) } catch {
                throw stage.session.problem(error)
            }
            let resource = try Resource(try ResourcePath(Array(target[..<end].utf8)), in: view)
            return try Reader(
                stage.session, view, url: [], query: Array(target[end...].dropFirst().utf8),
                counts: (cache, version)
            ).answer(resource)
        }
        return (steps, answer.fields.first { $0.name == "X-Total-Count" }?.value)
    }

    @Test func `Rows are counted once for all pages, until the data change`() throws {
        let first = try steps("t?a=a1&_page=1", version: 7)
        #expect(first.total == "25000" && first.steps > 100)
        let second = try steps("t?a=a1&_page=2", version: 7)
        #expect(second.total == "25000" && second.steps < 10)
        #expect(try steps("t?a=a1&_page=3", version: 8).steps > 100)
        #expect(try steps("t?a=a1&_page=4", version: 8).steps < 10)
    }

    @Test func `Another value, another condition and another expression have counts of their own`() throws {
        for _ in 0..<2 {
            #expect(try steps("t?a=a1&_page=1", version: 1).total == "25000")
            #expect(try steps("t?a=a2&_page=1", version: 1).total == "0")
            #expect(try steps("t?id:gt=49990&_page=1", version: 1).total == "10")
            #expect(try steps("t?a:like=%5Ea1$&_page=1", version: 1).total == "25000")
            #expect(try steps("t?a:like=%5Ea&_page=1", version: 1).total == "50000")
            #expect(try steps("t?a:contains=A0&_page=1", version: 1).total == "25000")
            #expect(try steps("t?a:startsWith=A0&_page=1", version: 1).total == "25000")
        }
        #expect(try steps("t?a:like=%5Ea&_page=2", version: 1).steps < 10)
    }

    @Test func `Rows that differ from call to call are counted anew`() throws {
        _ = try steps("dice?_page=1", version: 1)
        #expect(try steps("dice?_page=1", version: 1).steps > 100)
    }

    @Test func `What is kept has a bound`() {
        for number in 0..<1000 {
            var sql = SQLBuilder("SELECT ")
            sql.bind(.integer(Int64(number)))
            cache.keep(Int64(number), of: sql, at: 1)
            #expect(cache.count(sql, at: 1) == Int64(number))
            #expect(cache.count(sql, at: 2) == nil)
        }
        var first = SQLBuilder("SELECT ")
        first.bind(.integer(0))
        #expect(cache.count(first, at: 1) == nil)
        var large = SQLBuilder("SELECT ")
        large.bind(.text([UInt8](repeating: 0x61, count: 10_000)))
        cache.keep(1, of: large, at: 1)
        #expect(cache.count(large, at: 1) == nil)
    }
}
