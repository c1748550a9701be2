import Basics
import SQLite

@testable import Database

extension DatabaseRule {
    /// A rule for tests, which has no limit of time that a busy machine reaches.
    static var unhurried: DatabaseRule {
        var rule = DatabaseRule()
        rule.limits.time = 600_000_000_000
        rule.limits.wait = 600_000_000_000
        return rule
    }
}

/// A database in memory that is asked as requests ask.
struct Stage {
    let session: Session
    var rule = DatabaseRule.unhurried

    init(_ script: String, rule: DatabaseRule = DatabaseRule.unhurried) throws {
        let connection = try SQLiteConnection("", mode: .memory)
        var rest = script
        while !rest.isEmpty {
            var length = 0
            guard let statement = try connection.prepare(first: rest, isKept: false, length: &length) else { break }
            while try statement.step() {}
            rest = String(decoding: Array(rest.utf8).dropFirst(length), as: UTF8.self)
        }
        session = try Session(connection, name: "shop.db")
        self.rule = rule
    }

    func get(_ target: String) -> (status: Int, body: String, fields: [String: String]) {
        let end = target.firstIndex(of: "?") ?? target.endIndex
        let path = Array(target[..<end].utf8)
        let query = end < target.endIndex ? Array(target[target.index(after: end)...].utf8) : []
        session.guardian = Guardian(limits: rule.limits, now: monotonicNanoseconds()) { false }
        defer { session.guardian = nil }
        do throws(Problem) {
            let answer = try session.transaction(.begin, failure: session.problem) { () throws(Problem) in
                let view: SchemaView
                do throws(SQLiteError) { view = try session.view(for: rule, looks: true) } catch {
                    throw session.problem(error)
                }
                let resource = try Resource(try ResourcePath(path), in: view)
                return try Reader(session, view, url: Array("http://api.example/".utf8) + path, query: query)
                    .answer(resource)
            }
            return described(answer)
        } catch {
            return described(DatabaseAnswer(error))
        }
    }

    /// A write with a JSON body.
    func send(
        _ method: DatabaseRequest.Method, _ target: String, _ body: String = "", type: String = "application/json",
        captures: [(name: String, value: [UInt8])] = [], _ change: (inout DatabaseRequest.Body) -> Void = { _ in }
    ) -> (status: Int, body: String, fields: [String: String]) {
        let end = target.firstIndex(of: "?") ?? target.endIndex
        let path = Array(target[..<end].utf8)
        let query = end < target.endIndex ? Array(target[target.index(after: end)...].utf8) : []
        var rule = rule
        if rule.writes == .off { rule.writes = .memory }
        var request = DatabaseRequest(
            method, rule: rule, path: path, query: query, url: Array("http://api.example/".utf8) + path)
        request.captures = captures
        request.body.type = type
        request.body.bytes = Array(body.utf8)
        change(&request.body)
        do throws(Problem) {
            let answer = try session.transaction(.beginImmediate, failure: session.problem) { () throws(Problem) in
                let view: SchemaView
                do throws(SQLiteError) { view = try session.view(for: rule, looks: true) } catch {
                    throw session.problem(error)
                }
                return try Writer(session: session, request: request, schema: view, entityTag: Stage.tag).answer()
            }
            return described(answer)
        } catch {
            return described(DatabaseAnswer(error))
        }
    }

    /// A tag that tells bodies apart well enough for tests.
    static func tag(_ body: [UInt8]) -> [UInt8] { Array("\"\(body.reduce(0) { ($0 &* 31) &+ Int($1) })\"".utf8) }

    private func described(_ answer: DatabaseAnswer) -> (Int, String, [String: String]) {
        var fields: [String: String] = [:]
        for field in answer.fields { fields[field.name] = field.value }
        return (answer.status, String(decoding: answer.body, as: UTF8.self), fields)
    }

    static let shop = """
        CREATE TABLE products(id INTEGER PRIMARY KEY, name TEXT, brand TEXT, price REAL, stock INTEGER, sale BOOLEAN,
          extra JSON, image BLOB, anything);
        INSERT INTO products VALUES
          (1,'Apple','acme',1.5,10,1,'{"color":"red","tags":["a","b"],"size":{"w":3},"ok":true}',x'00ff','7'),
          (2,'Banana 100%','acme',20.0,0,0,NULL,NULL,7),
          (3,'cherry_pie','fruitco',3.25,5,1,'{"color":"dark red","tags":["b"]}',x'41','x'),
          (4,'Date "x" \\ y',NULL,NULL,NULL,NULL,'not json',NULL,NULL);
        CREATE TABLE reviews(id INTEGER PRIMARY KEY, product INTEGER REFERENCES products(id), text TEXT, stars INT);
        INSERT INTO reviews VALUES (1,1,'good',5),(2,1,'bad',1),(3,3,'fine',3);
        CREATE VIEW cheap AS SELECT name, price, price * 2 AS twice FROM products WHERE price < 10;
        CREATE TABLE words(lang TEXT, word TEXT, n INT, PRIMARY KEY(lang, word)) WITHOUT ROWID;
        INSERT INTO words VALUES ('de','Haus',1),('en','house',2),('en','a/b',3);
        CREATE VIRTUAL TABLE notes USING fts5(title, body);
        INSERT INTO notes VALUES ('one','the quick brown fox'),('two','quick, quick'),('three','nothing');
        CREATE TABLE plain(a, b);
        INSERT INTO plain VALUES (1,2),('x','y');
        """
}

extension Database {
    /// Answers a request by a rule that lets it write to the file.
    func ask(
        _ method: DatabaseRequest.Method, _ path: String, _ body: String = ""
    ) async -> (status: Int, body: String, version: UInt64?) {
        var rule = DatabaseRule.unhurried
        rule.writes = .file
        var request = DatabaseRequest(method, rule: rule, path: Array(path.utf8))
        request.body.type = "application/json"
        request.body.bytes = Array(body.utf8)
        let made = request
        return await withCheckedContinuation { continuation in
            submit(made) { result in
                guard case .answer(let answer, let version) = result else {
                    return continuation.resume(returning: (-1, "", nil))
                }
                continuation.resume(returning: (answer.status, String(decoding: answer.body, as: UTF8.self), version))
            }
        }
    }
}

extension EntityTags {
    static var any: EntityTags {
        var tags = EntityTags()
        tags.isAny = true
        return tags
    }

    /// Strong tags, with their quotes.
    static func strong(_ quoted: [UInt8]...) -> EntityTags {
        var tags = EntityTags()
        tags.tags = quoted.map { Tag(isWeak: false, quoted: $0) }
        return tags
    }
}
