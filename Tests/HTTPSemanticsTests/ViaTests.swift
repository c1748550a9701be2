import HTTPSemantics
import ProxyTestKit
import Testing

@Suite("Via")
struct ViaTests {
    static let name = "subproxy-1a2b3c4d"

    @Test("An entry is the version received and the pseudonym")
    func entry() {
        #expect(text(Via.entry(.http1_1, pseudonym: Self.name.utf8)) == "1.1 subproxy-1a2b3c4d")
        #expect(text(Via.entry(.http2, pseudonym: Self.name.utf8)) == "2.0 subproxy-1a2b3c4d")
        #expect(text(Via.entry(.http1_0, pseudonym: Self.name.utf8)) == "1.0 subproxy-1a2b3c4d")
    }

    @Test(
        "The own pseudonym is found among the received-by parts, and nowhere else",
        arguments: [
            (["1.1 subproxy-1a2b3c4d"], true), (["1.0 fred, 1.1 subproxy-1a2b3c4d"], true),
            (["1.1 subproxy-1a2b3c4d, 1.1 p.example.net"], true), (["HTTP/1.1 subproxy-1a2b3c4d"], true),
            (["1.1 SubProxy-1A2B3C4D"], true), (["1.1 subproxy-1a2b3c4d:8888"], true),
            (["1.1 subproxy-1a2b3c4d (comment)"], true), (["1.1 subproxy-1a2b3c4d(comment)"], true),
            (["1.1 \t subproxy-1a2b3c4d"], true), (["1.0 a", "2 b, 1.1 subproxy-1a2b3c4d"], true),
            (["1.0 a (x, y (z)), 1.1 subproxy-1a2b3c4d"], true), (["1.0 a (\\)), 1.1 subproxy-1a2b3c4d"], true),
            (["1.0 a ), 1.1 subproxy-1a2b3c4d"], true), ([",,1.1 subproxy-1a2b3c4d"], true),
            // A comment without an end hides nothing.
            (["1.0 a (x, 1.1 subproxy-1a2b3c4d"], true), (["1.0 (((, 1.1 subproxy-1a2b3c4d"], true),
            (["1.0 a (\\", "1.1 subproxy-1a2b3c4d"], true), (["1.0 a (x, 1.1 subproxy-1a2b3c4d, 1.1 b \\"], true),
            (["1.0 \"a, 1.1 subproxy-1a2b3c4d"], true),
            ([], false), ([""], false), (["1.1"], false), (["subproxy-1a2b3c4d"], false),
            (["1.1 subproxy-1a2b3c4e"], false), (["1.1 subproxy-1a2b3c4d5"], false),
            (["1.1 xsubproxy-1a2b3c4d"], false),
            (["1.1 a subproxy-1a2b3c4d"], false), (["1.1 a (subproxy-1a2b3c4d)"], false),
            (["1.1 a (x, 1.1 subproxy-1a2b3c4d)"], false), (["1.1 a (x, \\), 1.1 subproxy-1a2b3c4d)"], false),
            (["1.1 subproxy"], false),
        ] as [([String], Bool)])
    func contains(values: [String], expected: Bool) {
        let section = fields(values.map { "Via: \($0)" })
        #expect(withBytes(Self.name) { Via.contains(pseudonym: $0, in: section) } == expected)
    }

    @Test("The work grows linearly with the field", arguments: ["(", ")", "(,", "1.1 a,", "\\", "()", "(\\"])
    func linear(unit: String) {
        let ratio = growth(from: 1024) { size in
            let section = fields("Via: " + String(repeating: unit, count: size))
            withBytes(Self.name) { name in #expect(!Via.contains(pseudonym: name, in: section)) }
        }
        #expect(ratio < 90)
    }
}
