import SQLite
import Testing

@testable import Database

/// What clients send is data: it is bound, or compared with names, and never SQL.
@Suite struct InjectionTests {
    private static let hostile = [
        "'", "\"", "`", "]", "--", "/*", ";", "\\", "%", "?", "?1", ":a", "$1", "\0", "\n", "\u{301}", "\"\u{301}",
        "'\u{301} OR 1=1 --", "' OR '1'='1", "x'; DROP TABLE products; --", "\" OR \"\"=\"",
        "1); DELETE FROM products; --",
        "name\" = 'a' OR \"name",
        "(SELECT sql FROM sqlite_schema)", "products\" UNION SELECT * FROM \"words",
        "\" OR name:x",
        "a\" AND \"b", "NEAR(a b)", "*", "^a", "{title}: x", "null", "1e999", "0x10", "{\"a\":1}", "[1]", "\u{FFFD}😀",
    ]

    private static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        PercentCoding.appendSegment(text.utf8, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// All that the database has.
    private func contents(_ stage: Stage) throws -> [String] {
        var found: [String] = []
        for sql in [
            "SELECT sql FROM sqlite_schema", "SELECT quote(name) FROM products", "SELECT quote(word) FROM words",
        ] {
            let statement = try stage.session.connection.prepare(sql)
            while try statement.step() { found.append(statement.string(0)) }
        }
        return found
    }

    @Test(arguments: hostile)
    func `Names, values, sort keys, searches and paths that are read`(text: String) throws {
        let stage = try Stage(Stage.shop)
        let before = try contents(stage)
        let value = Self.encoded(text)
        let json = Self.encoded(String(decoding: quoted(text), as: UTF8.self))
        for target in [
            value, "products/\(value)", "words/\(value)/\(value)", "products/1/\(value)", "products?\(value)=1",
            "products?name\(value)=1", "products?name:\(value)=1", "products?_sort=\(value)",
            "products?_sort=-name,\(value)",
            "products?_order=\(value)&_sort=name", "products?_embed=\(value)", "products?_page=\(value)",
            "products?name=\(value)", "products?name:ne=\(value)", "products?name:in=\(value),\(value)",
            "products?name:contains=\(value)", "products?name:startsWith=\(value)", "products?name:endsWith=\(value)",
            "products?name:like=\(value)", "products?q=\(value)", "notes?q=\(value)", "products?price:lt=\(value)",
            "products?anything:gt=\(value)", "products?extra.\(value)=1", "products?extra.a.\(value):ne=\(value)",
            "products?_where=\(value)", "products?_where={\(json):1}", "products?_where={\"name\":\(json)}",
            "products?_where={\"name\":{\(json):1}}", "products?_where={\"extra\":{\(json):{\"eq\":\(json)}}}",
        ] {
            let answer = stage.get(target)
            #expect([200, 400, 404].contains(answer.status), "\(target): \(answer)")
        }
        #expect(try contents(stage) == before)
    }

    @Test(arguments: hostile)
    func `Values that are written come back byte for byte`(text: String) throws {
        let stage = try Stage("CREATE TABLE t(k TEXT PRIMARY KEY, a TEXT, b)")
        let json = String(decoding: quoted(text), as: UTF8.self)
        let key = Self.encoded(text)
        #expect(stage.send(.post, "t", "{\"k\":\(json),\"a\":\(json),\"b\":\(json)}").status == 201)
        let wanted = "{\"k\":\(json),\"a\":\(json),\"b\":\(json)}"
        #expect(stage.get("t/\(key)").body == wanted)
        #expect(stage.get("t?a=\(key)").body == (text == "null" ? "[]" : "[\(wanted)]"))
        #expect(stage.send(.patch, "t/\(key)", "{\"a\":\(json)}").body == wanted)
        // A member's name is a column's or none.
        #expect(stage.send(.post, "t", "{\"k\":\"x\",\(json):1}").status == 400)
        #expect(stage.send(.delete, "t/\(key)").body == wanted)
        #expect(stage.get("t").body == "[]")
    }

    @Test(arguments: hostile)
    func `Captures, parameters and members of a rule's statement are bound`(text: String) throws {
        var rule = DatabaseRule.unhurried
        rule.statement = DatabaseRule.Statement(sql: "SELECT $1 AS a, :b AS b, @c AS c", result: .one)
        let stage = try Stage(Stage.shop, rule: rule)
        let json = String(decoding: quoted(text), as: UTF8.self)
        let answer = stage.send(
            .post, "?b=\(Self.encoded(text))", "{\"c\":\(json)}", captures: [("1", Array(text.utf8))])
        #expect(answer.body == "{\"a\":\(json),\"b\":\(json),\"c\":\(json)}")
    }

    private func quoted(_ text: String) -> [UInt8] {
        var output = JSONOutput()
        output.append(string: text)
        return output.bytes
    }

    @Test func `A quote before a combining character is one in a search by words`() throws {
        let stage = try Stage(Stage.shop)
        // The words would be those of one operator: "x"́ OR "quick".
        #expect(stage.get("notes?q=x%22%CC%81%20OR%20%22quick").body == "[]")
    }

    @Test func `A member whose name no path can have is no error of the database`() throws {
        let stage = try Stage(Stage.shop)
        for name in ["%22", "a%22b", "%22%CC%81", "a%00b", "a%5C"] {
            #expect(stage.get("products?extra.\(name)=1").body == "[]", "\(name)")
            #expect(stage.get("products?extra.\(name)=true").body == "[]", "\(name)")
        }
    }

    @Test func `As many values as there may be are compared, and as many columns searched`() throws {
        let stage = try Stage(Stage.shop)
        let values = (1...1000).map(String.init).joined(separator: ",")
        #expect(stage.get("products?_where={\"id\":{\"in\":[\(values)]}}").fields["X-Total-Count"] == "4")
        #expect(stage.get("products?id:in=\(values)").fields["X-Total-Count"] == "4")
        let columns = (1...1500).map { "c\($0) TEXT" }.joined(separator: ",")
        let wide = try Stage("CREATE TABLE w(\(columns)); INSERT INTO w(c1500) VALUES ('needle')")
        #expect(wide.get("w?q=needle").fields["X-Total-Count"] == "1")
        #expect(wide.get("w?q=nothing").fields["X-Total-Count"] == "0")
    }
}
