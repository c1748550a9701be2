import Database
import Testing

@testable import Substitution

@Suite struct SQLiteSourceTests {
    @Test(arguments: [
        ("http://h/*/a", "{ sqlite: $1.db, resource: t }", "2:27: error: 'sqlite' names one file, without captures"),
        (
            "http://h/a", "{ sqlite: a.db, resource: t, sql: SELECT 1 AS x }",
            "'resource' and 'sql' can't stand together"
        ),
        ("http://h/*/a", "{ sqlite: a.db, resource: products/$2 }", "error: the key has no capture $2"),
        ("http://h/a", "{ sqlite: a.db, resource: \"p/${x}\" }", "error: the key has no capture ${x}"),
        ("http://h/*/a", "{ sqlite: a.db, sql: SELECT $2 AS x }", "error: the key has no capture $2"),
        ("http://h/*/a", "{ sqlite: a.db, sql: SELECT $01 AS x }", "error: the key has no capture $01"),
        ("http://h/a", "{ sqlite: a.db }", "error: one URL needs 'resource' or 'sql'"),
        (
            "http://h/a/", "{ sqlite: a.db, columns: 5 }",
            "'columns' is a mapping of TABLE.COLUMN to json, boolean or text"
        ),
    ])
    func `What a rule says amiss of a database is an error`(key: String, rule: String, expected: String) {
        let found = headlines("substitutions:\n  \(key): \(rule)\n")
        #expect(found.count == 1 && found.first?.contains(expected) == true, "\(found)")
    }

    @Test(arguments: [
        "{ sqlite: a.db, writes: file, methods: [HEAD], sql: DELETE FROM t }",
        "{ sqlite: a.db, writes: file, methods: [HEAD, POST], sql: DELETE FROM t }",
        "{ sqlite: a.db, writes: file, methods: [GET], sql: DELETE FROM t }",
        "{ answers: [{ sqlite: a.db, writes: file, sql: DELETE FROM t }], methods: [HEAD, POST] }",
    ])
    func `A statement that writes answers neither GET nor HEAD`(rule: String) {
        let found = headlines("substitutions:\n  http://h/a: \(rule)\n")
        let expected = "this statement writes: 'methods' names those that it answers, without GET and HEAD"
        #expect(found.count == 1 && found.first?.contains(expected) == true, "\(found)")
        let posting = rule.replacing("HEAD, POST", with: "POST").replacing("HEAD", with: "POST")
            .replacing("GET", with: "POST")
        #expect(headlines("substitutions:\n  http://h/a: \(posting)\n").isEmpty)
    }

    @Test func `What defaults say of writes is for no template`() throws {
        let map = try map(
            """
            defaults: { writes: memory, tables: [t] }
            substitutions:
              http://h/a: { template: t.html, sqlite: a.db }
              http://h/b/: { sqlite: b.db }
              http://h/c: { sqlite: b.db, sql: SELECT 2 AS a }
            """)
        let settings = map.rules.map(\.options.database)
        #expect(settings.map { $0?.rule.writes } == [.off, .memory, .memory])
        #expect(settings.map { $0?.rule.tables == nil } == [true, false, false])
        #expect(settings[0]?.rule.statement == nil && settings[2]?.rule.statement != nil)
    }

    @Test(arguments: ["seed: s.sql", "columns: { t.a: json }"])
    func `What is for a template's database is an error without one`(option: String) {
        let name = option.prefix { $0 != ":" }
        let found = headlines("substitutions:\n  http://h/a: { template: t.html, \(option) }\n")
        #expect(
            found.count == 1
                && found.first?.contains("error: '\(name)' needs the database that 'sqlite' names") == true,
            "\(found)")
        #expect(
            headlines("substitutions:\n  http://h/a: { template: t.html, sqlite: a.db, \(option) }\n").isEmpty)
        #expect(
            headlines("defaults: { \(option) }\nsubstitutions:\n  http://h/a: { template: t.html }\n").isEmpty)
    }

    @Test(arguments: [
        "{ sql: SELECT 1 AS a, result: one }", "{ a: SELECT 1 AS a }", "{ a: { sql: SELECT 1 AS a, result: one } }",
        "{}",
    ])
    func `Several statements are for templates, which is all that is said`(statements: String) {
        let found = headlines("substitutions:\n  http://h/a: { sqlite: a.db, sql: \(statements) }\n")
        #expect(found.count == 1 && found.first?.contains("'sql' is one statement here") == true, "\(found)")
    }

    @Test(arguments: [
        ("{ request: R }", "template: t.html", "1:21: error: no value may be called 'request', which the proxy adds"),
        (
            "[1]", "template: t.html, sqlite: a.db, sql: { q: SELECT 1 AS a }",
            "1:21: error: beside 'sql', 'values' is a mapping"
        ),
        ("[1]", "answers: [{ template: t.html, sqlite: a.db, sql: { q: SELECT 1 AS a } }]", "beside 'sql', 'values'"),
        ("[1]", "template: t.html, values: { a: 1 }, sqlite: a.db, sql: { q: SELECT 1 AS a }", nil),
        ("[1]", "template: t.html", nil),
        ("{ q: 1 }", "template: t.html, sqlite: a.db, sql: { q: SELECT 1 AS a }", nil),
    ])
    func `Default values are judged as a rule's are`(values: String, rule: String, expected: String?) {
        let found = headlines("defaults: { values: \(values) }\nsubstitutions:\n  http://h/a: { \(rule) }\n")
        #expect(found.count == (expected == nil ? 0 : 1) && found.first?.contains(expected ?? "") != false, "\(found)")
    }

    @Test(arguments: ["{ sqlite: a$b.db }", "{ sqlite: a.db, columns: {} }"])
    func `What may look amiss is none`(rule: String) {
        #expect(headlines("substitutions:\n  http://h/a/: \(rule)\n").isEmpty)
    }
}
