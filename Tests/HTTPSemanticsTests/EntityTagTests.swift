import HTTPSemantics
import ProxyTestKit
import Testing

@Suite("Entity tags")
struct EntityTagTests {
    @Test(
        "Comparison is as in the table of RFC 9110 §8.8.3.2",
        arguments: [
            ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true), ("\"1\"", "\"1\"", true, true), ("\"1\"", "\"01\"", false, false),
            ("\"\"", "\"\"", true, true), ("\"a\"", "\"A\"", false, false),
        ])
    func comparison(left: String, right: String, strongly: Bool, weakly: Bool) throws {
        try withBytes(left) { left in
            try withBytes(right) { right in
                let left = try #require(EntityTag(left))
                let right = try #require(EntityTag(right))
                #expect(left.matchesStrongly(right) == strongly)
                #expect(right.matchesStrongly(left) == strongly)
                #expect(left.matchesWeakly(right) == weakly)
                #expect(right.matchesWeakly(left) == weakly)
            }
        }
    }

    @Test(
        "Only tags of the grammar's shape are tags",
        arguments: [
            "", "*", "a", "\"", "\"a", "a\"", "w/\"a\"", "W/", "W/a", "W\"a\"", "W/x, \"b\"", " \"a\"", "\"a\" ",
            "\"a\",\"b\"", ",\"a\"", "\"a\"b", "\"a\"\"b\"", "'a'", "W /\"a\"", "W/ \"a\"",
        ])
    func malformed(value: String) {
        #expect(withBytes(value) { EntityTag($0) == nil })
    }

    @Test(
        "A list gives its well-formed tags",
        arguments: [
            ("\"xyzzy\"", ["xyzzy"]), ("\"xyzzy\", W/\"r2d2xxxx\", \"c3piozzzz\"", ["xyzzy", "r2d2xxxx", "c3piozzzz"]),
            ("\"a,b\",\"c\"", ["a,b", "c"]), ("\"a\\\", \"b\"", ["a\\", "b"]), (",, \"a\" ,\t,\"b\",", ["a", "b"]),
            ("\"a\" x, \"b\"", ["b"]), ("abc, \"b\"", ["b"]), ("w/\"a\", \"b\"", ["b"]), ("\"a\", \"open", ["a"]),
            ("*", []), ("", []), ("W", []), ("W/", []), ("\"caf\u{e9}\"", ["caf\u{e9}"]), ("\"a b\"", ["a b"]),
        ] as [(String, [String])])
    func list(value: String, expected: [String]) {
        #expect(withBytes(value) { bytes in EntityTagList(bytes).map { text($0.opaqueTag) } } == expected)
    }

    @Test("A star is any tag only when it stands alone")
    func star() {
        #expect(withBytes(" * ") { EntityTagList($0).isAny })
        #expect(!withBytes("*, \"a\"") { EntityTagList($0).isAny })
        #expect(!withBytes("\"*\"") { EntityTagList($0).isAny })
    }

    @Test("A thousand tags are read in one pass")
    func thousand() {
        let value = (0..<1000).map { "\"tag-\($0)\"" }.joined(separator: ", ")
        #expect(withBytes(value) { bytes in EntityTagList(bytes).reduce(0) { count, _ in count + 1 } } == 1000)
    }

    @Test("The work grows linearly with the field", arguments: ["\"a\",", "\"", "W/", "W", ",", "\"a\"x", "x\","])
    func linear(unit: String) {
        let ratio = growth(from: 2048) { size in
            let bytes = Array(String(repeating: unit, count: size).utf8)
            bytes.withUnsafeBytes { for _ in EntityTagList($0) {} }
        }
        #expect(ratio < 90)
    }
}
