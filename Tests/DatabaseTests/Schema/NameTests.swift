import SQLite
import Testing

@testable import Database

/// Names that are equal to Swift, but not to SQLite: `é`, and `e` with an accent behind it.
@Suite struct NameTests {
    private static let composed = "caf\u{E9}"
    private static let decomposed = "cafe\u{301}"

    private let stage: Stage

    init() throws {
        stage = try Stage(
            """
            CREATE TABLE "\(Self.composed)"(id INTEGER PRIMARY KEY, "\(Self.composed)", "\(Self.decomposed)");
            CREATE TABLE "\(Self.decomposed)"(id INTEGER PRIMARY KEY, b);
            INSERT INTO "\(Self.composed)" VALUES (1,'one','two');
            INSERT INTO "\(Self.decomposed)" VALUES (1,'three');
            """)
    }

    @Test func `Tables and columns are told apart by their bytes`() {
        for _ in 0..<2 {
            #expect(stage.get(Self.composed).body.contains("one"))
            #expect(stage.get(Self.decomposed).body == #"[{"id":1,"b":"three"}]"#)
        }
        #expect(stage.get("\(Self.composed)?\(Self.composed)=one").body != "[]")
        #expect(stage.get("\(Self.composed)?\(Self.decomposed)=one").body == "[]")
        #expect(stage.get("\(Self.composed)?\(Self.composed)=one&\(Self.decomposed)=two").body != "[]")
        #expect(stage.get("\(Self.composed)?\(Self.composed)=one&\(Self.decomposed)=one").body == "[]")
    }

    @Test func `A write sets the column that it names`() {
        let answer = stage.send(.patch, "\(Self.composed)/1", "{\"\(Self.decomposed)\":\"new\"}")
        #expect(answer.body == "{\"id\":1,\"\(Self.composed)\":\"one\",\"\(Self.decomposed)\":\"new\"}")
    }

    @Test func `Statements that differ in that alone are two, and so are their parameters and rules`() throws {
        func rule(_ text: String) -> DatabaseRule {
            var rule = DatabaseRule.unhurried
            rule.statement = DatabaseRule.Statement(sql: text)
            return rule
        }
        #expect(rule("SELECT '\(Self.composed)'") != rule("SELECT '\(Self.decomposed)'"))
        let one = try stage.session.statement("SELECT '\(Self.composed)' AS a")
        let other = try stage.session.statement("SELECT '\(Self.decomposed)' AS a")
        #expect(one !== other)
        #expect(
            StatementText("SELECT :\(Self.composed), :\(Self.decomposed)").parameters.map { Array($0.utf8) }
                == [":" + Self.composed, ":" + Self.decomposed].map { Array($0.utf8) })
    }

    @Test func `A rule may show one of two such tables`() throws {
        var stage = stage
        stage.rule.tables = [Self.composed]
        #expect(stage.get(Self.composed).status == 200)
        #expect(stage.get(Self.decomposed).status == 404)
        stage.rule.tables = [Self.decomposed]
        #expect(stage.get(Self.composed).status == 404)
        #expect(stage.get(Self.decomposed).status == 200)
    }
}
