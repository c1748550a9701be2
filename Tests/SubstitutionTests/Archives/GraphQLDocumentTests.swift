import Testing

@testable import Substitution

@Suite("A GraphQL document")
struct GraphQLDocumentTests {
    @Test(
        "has its operations at the top level, behind comments, fragments and strings",
        arguments: [
            ("{ a }", [nil], true), ("query { a }", [nil], true),
            ("query Get($i: X = {b: 1}) @d(x: [1]) { a }", ["Get"], true),
            ("# mutation\n ,mutation M { x }", ["M"], false), ("mutation{x}", [nil], false),
            ("fragment F on X { a } mutation M { x }", ["M"], false),
            ("fragment mutation on X { a } query Q { x }", ["Q"], true),
            ("query A { mutation { x } } subscription B { y }", ["A", "B"], false),
            (##"query A { x(s: "}} mutation M {\"") } query B { y }"##, ["A", "B"], true),
            (##"query A { x(s: """ } " \""" mutation M { """) } mutation B { y }"##, ["A", "B"], false),
            ("", [], true), ("shoes", [], true), ("} mutation M { x }", ["M"], false), ("\"", [], true),
        ] as [(String, [String?], Bool)])
    func operations(_ text: String, _ names: [String?], _ isQuery: Bool) {
        let document = GraphQLDocument(Array(text.utf8))
        #expect(document.operations.map { $0.name.map { String(decoding: $0, as: UTF8.self) } } == names)
        #expect(document.isQuery(nil) == isQuery)
    }

    @Test("changes something by the operation that is asked for")
    func named() {
        let document = GraphQLDocument(Array("query Q { a } mutation M { b }".utf8))
        #expect(document.isQuery(Array("Q".utf8)) && !document.isQuery(Array("M".utf8)))
        #expect(!document.isQuery(nil) && !document.isQuery(Array("N".utf8)))
    }
}
