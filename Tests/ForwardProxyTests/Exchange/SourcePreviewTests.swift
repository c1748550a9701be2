import Foundation
import HTTPSemantics
import ProxyTestKit
import Substitution
import Testing

@testable import ForwardProxy

/// What `explain` says of requests that databases and templates answer, beside what they get.
@Suite struct SourcePreviewTests {
    /// A request, and whether what it gets is known before.
    struct Case: CustomStringConvertible, Sendable {
        let method: String
        let path: String
        var fields: [String] = []
        var body: String?
        /// The status that it gets.
        let status: Int
        var isKnown = true

        init(
            _ method: String, _ path: String, _ status: Int, _ fields: [String] = [], _ body: String? = nil,
            isKnown: Bool = true
        ) {
            self.method = method
            self.path = path
            self.fields = fields
            self.body = body
            self.status = status
            self.isKnown = isKnown
        }

        var description: String { "\(method) \(path) \(fields) \(body ?? "")" }
    }

    private static let map = """
        substitutions:
          http://a.test/w/: { sqlite: a.db, writes: memory, limits: { body: 20B, rows: 3 } }
          http://a.test/f/: { sqlite: f.db, writes: file }
          http://a.test/r/: { sqlite: a.db }
          http://a.test/s:
            { sqlite: a.db, writes: memory, methods: [POST], sql: "INSERT INTO t(a) VALUES (@k)", limits: { body: 20B } }
          http://a.test/list: { sqlite: a.db, sql: "SELECT id FROM t", limits: { rows: 1 }, status: 202 }
          http://a.test/body: { template: { text: "{{request.body}}" }, limits: { body: 10B } }
          http://a.test/nobody: { template: { text: "hi" }, limits: { body: 10B } }
          http://a.test/broken: { template: broken.html }
          http://a.test/partial: { template: { text: "{{> none}}" } }
          http://a.test/latin: { template: latin.html }
          http://a.test/turns: { answers: [{ template: broken.html }] }
          http://a.test/gone: { template: gone.html }
          http://a.test/one: { template: p.html, sqlite: a.db, sql: { q: { sql: "SELECT @k AS k", result: one } } }
          http://a.test/none:
            { template: p.html, sqlite: a.db, sql: { q: { sql: "SELECT id FROM t WHERE id = 9", result: one } } }
          http://a.test/x: { template: p.html, sqlite: a.db, sql: { q: "SELECT :x AS x" } }
          http://a.test/c/*: { template: p.html, sqlite: a.db, sql: { q: "SELECT $1 AS x" } }
          http://a.test/junk: { template: p.html, sqlite: junk.db, sql: { q: "SELECT 1 AS x" } }
          http://a.test/nodb: { template: p.html, sqlite: no.db, sql: { q: "SELECT 1 AS x" } }
          http://a.test/link: { template: p.html, sqlite: link.db, sql: { q: "SELECT 1 AS x" } }

        """

    private static let json = "Content-Type: application/json"
    private static let text = "Content-Type: text/plain"
    private static let evil = "Origin: http://evil.test"

    private static let cases: [Case] = [
        Case("GET", "w/t", 400, isKnown: false), Case("GET", "w/t?_limit=3", 200),
        Case("GET", "w/t/1", 200, isKnown: false), Case("GET", "w/nope", 404), Case("GET", "w/t?b=1", 400),
        Case("POST", "w/t", 201, [json], #"{"a":"x"}"#, isKnown: false),
        Case("POST", "w/t", 413, [json], #"{"a":"xxxxxxxxxxxxxxxxxxxxxx"}"#),
        Case("POST", "w/t", 415, [json, "Content-Encoding: gzip"], "{}"), Case("POST", "w/t", 415, [text], "x"),
        Case("POST", "w/t", 415), Case("POST", "w/t", 400, [json], #"{"b":1}"#), Case("POST", "w/t", 400, [json], "{"),
        Case("POST", "w/v", 405, [text], "x"), Case("POST", "w/nope", 404, [text], "x"),
        Case("POST", "w/t?_x=1", 415, [text], "x"), Case("POST", "w/t?_x=1", 400, [json], "{}"),
        Case("PUT", "w/t", 405, [json], "{}"), Case("POST", "w/t/1", 405, [json], "{}"), Case("PURGE", "w/t", 405),
        Case("PURGE", "w/nope", 404), Case("OPTIONS", "w/t", 204),
        Case("POST", "f/t", 403, [json, evil], "{}"), Case("DELETE", "f/nope/1", 403, [evil]),
        Case("POST", "f/v", 403, [json, evil], "{}"), Case("GET", "f/t?_limit=3", 200, [evil]),
        Case("POST", "r/t", 405, [json, evil], "{}"),
        Case("POST", "s", 415, [text], "z"), Case("POST", "s", 400, [json], "{"),
        Case("POST", "s", 413, [json], #"{"k":"xxxxxxxxxxxxxxxxxxxxxx"}"#),
        Case("POST", "s", 204, [json], #"{"k":1}"#, isKnown: false), Case("GET", "list", 400, isKnown: false),
        Case("POST", "body", 413, [text], "12345678901"), Case("POST", "body", 200, [text], "1234567890"),
        Case("POST", "nobody", 200, [text], "12345678901"), Case("GET", "broken", 500), Case("GET", "partial", 500),
        Case("GET", "latin", 500), Case("GET", "turns", 500), Case("GET", "gone", 502),
        Case("POST", "one", 200, [json], #"{"k":5}"#, isKnown: false), Case("POST", "one", 400, [json], "{k"),
        Case("POST", "one", 200, [text], "{k", isKnown: false), Case("GET", "none", 404, isKnown: false),
        Case("GET", "x?x=1", 200, isKnown: false), Case("GET", "x?x=1&x=2", 400), Case("GET", "c/%ff", 400),
        Case("GET", "junk", 502), Case("GET", "nodb", 502), Case("GET", "link", 403),
    ]

    private static let script = """
        CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE VIEW v AS SELECT a FROM t;
        INSERT INTO t VALUES (1,'a'),(2,'b'),(3,'c'),(4,'d');
        """

    /// What `explain` says.
    private func preview(_ wanted: Case, _ url: String, _ map: SubstitutionMap) throws -> DecisionPreview {
        let uri = try TargetURI(url)
        let method = Array(wanted.method.utf8).withUnsafeBytes { RequestMethod($0) }
        var fields = FieldSection()
        for line in wanted.fields {
            let parts = line.split(separator: ": ", maxSplits: 1)
            fields.append(name: parts[0].utf8, value: parts[1].utf8)
        }
        let body = wanted.body.map { Array($0.utf8) }
        if let body { fields.append(name: "Content-Length".utf8, value: String(body.count).utf8) }
        let preview = DecisionPreview(uri, method: method, fields: fields, map: map)
        var scratch = LookupScratch()
        let explanation = map.explain(uri, method: method, fields: fields, scratch: &scratch)
        let answer = try #require(explanation.answer, "\(wanted)")
        if let template = TemplatePreview(answer, uri, method: method, fields: fields, map: map, body: body) {
            return preview.answering(from: template, rule: answer.first.rule)
        }
        let database = DatabasePreview(answer, uri, method: method, fields: fields, map: map, body: body)
        return preview.answering(from: try #require(database, "\(wanted)"))
    }

    @Test func `What is said of a request is what it gets`() throws {
        let proxy = try TestProxy(
            Self.map,
            files: [
                "broken.html": "{{#a}}", "p.html": "p", "junk.db": String(repeating: "junk", count: 500),
            ])
        try Data([0x3C, 0xE9, 0x3E]).write(to: URL(filePath: "\(proxy.folder)/latin.html"))
        for name in ["a.db", "f.db"] {
            let made = try ChildProcess.run(["/usr/bin/sqlite3", "\(proxy.folder)/\(name)", Self.script])
            try #require(made.status == 0, "\(made.error)")
        }
        try FileManager.default.createSymbolicLink(
            atPath: "\(proxy.folder)/link.db", withDestinationPath: "a.db")
        let map = try #require(SubstitutionMap.load(files: ["\(proxy.folder)/m.yaml"]).map)
        var outcomes: [String] = []
        for wanted in Self.cases {
            let url = "http://a.test/\(wanted.path)"
            let preview = try preview(wanted, url, map)
            let real = try proxy.exchange(wanted.method, url, fields: wanted.fields, body: wanted.body ?? "")
            #expect(real.status == wanted.status, "\(wanted): \(real.body)")
            #expect(preview.status == (wanted.isKnown ? wanted.status : nil), "\(wanted): \(preview.sentence)")
            if wanted.isKnown { #expect(preview.cacheStatus == real.field("Cache-Status"), "\(wanted)") }
            outcomes.append(preview.outcome)
        }
        let lines = try proxy.stopAndReadLog().split(separator: "\n")
        try #require(lines.count == outcomes.count)
        for (line, (wanted, outcome)) in zip(lines, zip(Self.cases, outcomes)) where wanted.isKnown {
            #expect(line.contains(" \(outcome) "), "\(wanted): \(outcome), and not \(line)")
        }
    }
}
