// What is tested here is internal to its module, which is built for that when it is built for debugging or fuzzing.
#if DEBUG || FUZZING
import HTTP1Invariants
import SQLite

@testable import Database

/// Properties of requests for rows, whatever bytes their paths and queries are: nothing of them gets into SQL, and each
/// gets an answer, or is told what is wrong with it.
enum QueryInvariants {
    /// - Parameter bytes: the first chooses a schema; behind it a path, and a query behind `?`.
    static func check(_ bytes: [UInt8]) throws {
        let rest = Array(bytes.dropFirst())
        let end = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let path = Array(rest[..<end])
        let query = Array(rest[end...].dropFirst())
        let schema = schemas[Int(bytes.first ?? 0) % schemas.count]
        let connection = try SQLiteConnection("", mode: .memory)
        for statement in schema { try connection.execute(statement) }
        let session = try Session(connection, name: "shop.db")
        let view = try session.view(for: DatabaseRule(), looks: true)
        let vocabulary = SQLVocabulary(view)
        for sql in statements(path, query, view) {
            try vocabulary.check(sql.text)
            var length = 0
            let statement = try connection.prepare(first: sql.text, isKept: false, length: &length)
            try require(statement?.parameterCount == sql.values.count, "\(sql.text): \(sql.values.count) values")
            try require(length == sql.text.utf8.count, "something is behind \(sql.text)")
        }
        try answer(path, query, session)
    }

    /// The statements that a request makes; none where something is wrong with it.
    private static func statements(_ path: [UInt8], _ query: [UInt8], _ schema: SchemaView) -> [SQLBuilder] {
        guard let parameters = try? Parameter.parse(query), let path = try? ResourcePath(path),
            let resource = try? Resource(path, in: schema)
        else { return [] }
        let list: (TableView, [ColumnValue])
        var statements: [SQLBuilder] = []
        switch resource {
        case .tables: return []
        case .row(let view, let key): return view.row(view.selection, key: key).map { [$0] } ?? []
        case .list(let view): list = (view, [])
        case .children(let child, let references, let parent, let key):
            statements += parent.row(parent.selection, key: key).map { [$0] } ?? []
            list = (child, references.map { ColumnValue($0.column, .integer(1)) })
        }
        for ignores in [false, true] {
            guard
                let query = try? ListQuery(parameters, of: list.0, referring: list.1, ignores: { _ in ignores })
            else { continue }
            let (start, limit) = query.window(upTo: 1000)
            statements += [query.rows(limit: limit, offset: start), query.count]
            for name in query.controls.joined {
                guard let join = try? Join(name, to: list.0, in: schema) else { continue }
                var sql = SQLBuilder()
                sql.append(join.sql, [.null])
                statements.append(sql)
            }
        }
        return statements
    }

    private static func answer(_ path: [UInt8], _ query: [UInt8], _ session: Session) throws {
        let request = DatabaseRequest(.get, rule: DatabaseRule(), path: path, query: query)
        let status: Int
        do throws(Problem) {
            status = try session.transaction(.begin, failure: session.problem) { () throws(Problem) in
                let view: SchemaView
                do throws(SQLiteError) { view = try session.view(for: request.rule, looks: true) } catch {
                    throw session.problem(error)
                }
                return try Reader(session, view, url: [], query: query).answer(request).status
            }
        } catch {
            // What a client sends is never a fault of the database.
            try require([400, 404].contains(error.status), "\(error)")
            return
        }
        try require(status == 200, "status \(status)")
    }

    private static let schemas: [[String]] = [
        [
            "CREATE TABLE products(id INTEGER PRIMARY KEY, name TEXT, brand TEXT COLLATE NOCASE, price REAL, sale BOOL)",
            "INSERT INTO products VALUES (1,'Apple','acme',1.5,1),(2,'Banana 100%','acme',20.0,0)",
            "INSERT INTO products VALUES (3,NULL,'x_y',NULL,NULL)",
            "CREATE TABLE reviews(id INTEGER PRIMARY KEY, product INTEGER REFERENCES products(id), text TEXT)",
            "INSERT INTO reviews VALUES (1,1,'good'),(2,1,'bad'),(3,3,'fine')",
            "CREATE VIEW cheap AS SELECT name, price * 2 AS twice FROM products",
        ],
        [
            "CREATE TABLE docs(id TEXT PRIMARY KEY, extra JSON, image BLOB, anything, n NUMERIC)",
            """
            INSERT INTO docs VALUES ('a','{"color":"red","tags":["a","b"],"1":{"w":3}}',x'00ff','7',1),
              ('b','no',x'',7,'x')
            """,
            "CREATE VIRTUAL TABLE notes USING fts5(title, body)",
            "INSERT INTO notes VALUES ('one','the quick brown fox'),('two','quick, quick')",
        ],
        [
            "CREATE TABLE words(lang TEXT, word TEXT, n INT, PRIMARY KEY(lang, word)) WITHOUT ROWID",
            "INSERT INTO words VALUES ('de','Haus',1),('en','a/b',3)",
            #"CREATE TABLE "a""b; DROP TABLE x"(id INTEGER PRIMARY KEY, "it's" TEXT, "]" INT, "a\#nb" REAL, "?1" TEXT)"#,
            #"INSERT INTO "a""b; DROP TABLE x" VALUES (1,'x',2,3.0,'y')"#,
        ],
    ]
}

/// What may stand in SQL: names of the schema in double quotes, and words of this program's.
private struct SQLVocabulary {
    private let names: Set<[UInt8]>

    private static let words: Set<String> = [
        "SELECT", "FROM", "WHERE", "ORDER", "BY", "LIMIT", "OFFSET", "AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE",
        "ESCAPE", "DESC", "CASE", "WHEN", "THEN", "END", "MATCH", "count", "coalesce", "typeof", "json_valid",
        "json_extract", "json_type", "subproxy_matches", "rank", "rowid", "_rowid_", "oid", "0", "1",
    ]
    private static let texts: Set<String> = ["text", "blob", "integer", "real", "true", "false", "\\"]

    init(_ schema: SchemaView) {
        var names: Set<[UInt8]> = []
        for view in schema.tables {
            names.insert(Array(view.table.name.utf8))
            for column in view.table.columns { names.insert(Array(column.name.utf8)) }
        }
        self.names = names
    }

    func check(_ sql: String) throws {
        let text = Array(sql.utf8)
        var index = 0
        while index < text.count {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "\""):
                let name = quoted(text, &index)
                try require(names.contains(name), "the name \(name) in \(sql)")
            case UInt8(ascii: "'"):
                let string = String(decoding: quoted(text, &index), as: UTF8.self)
                try require(SQLVocabulary.texts.contains(string), "the text \(string) in \(sql)")
            case _ where isOfWord(byte):
                let start = index
                while index < text.count, isOfWord(text[index]) { index += 1 }
                let word = String(decoding: text[start..<index], as: UTF8.self)
                try require(SQLVocabulary.words.contains(word), "the word \(word) in \(sql)")
            default:
                try require(" .,()=<>?*".utf8.contains(byte), "the byte \(byte) in \(sql)")
                index += 1
            }
        }
    }

    private func isOfWord(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
    }

    /// What stands in quotes, of which two in a row are one.
    private func quoted(_ text: [UInt8], _ index: inout Int) -> [UInt8] {
        let quote = text[index]
        var content: [UInt8] = []
        index += 1
        while index < text.count {
            if text[index] == quote {
                index += 1
                guard index < text.count, text[index] == quote else { break }
            }
            content.append(text[index])
            index += 1
        }
        return content
    }
}
#endif
