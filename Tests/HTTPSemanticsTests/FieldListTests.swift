import HTTPSemantics
import ProxyTestKit
import Testing

@Suite("Comma-separated lists")
struct FieldListTests {
    @Test(
        "Elements are those of RFC 9110 §5.6.1",
        arguments: [
            ("", []), (",", []), (" , ,\t,", []), ("a", ["a"]), ("foo,bar", ["foo", "bar"]),
            ("foo ,bar,", ["foo", "bar"]), ("foo , ,bar,charlie", ["foo", "bar", "charlie"]),
            ("a b\t,  c ", ["a b", "c"]), ("x=\"a,b\", y", ["x=\"a,b\"", "y"]),
            ("x=\"a\\\",b\",y", ["x=\"a\\\",b\"", "y"]), ("x=\"a\\\\\",y", ["x=\"a\\\\\"", "y"]),
            ("x=\"open, y", ["x=\"open, y"]), ("x=\"a\\", ["x=\"a\\"]), ("\"", ["\""]), ("\\,a", ["\\", "a"]),
            ("caf\u{e9},\u{1F600}", ["caf\u{e9}", "\u{1F600}"]),
        ] as [(String, [String])])
    func elements(value: String, expected: [String]) {
        #expect(withBytes(value) { bytes in FieldListElements(bytes).map { text($0) } } == expected)
    }

    @Test("Elements come from all lines of a name, in order")
    func severalLines() {
        let section = fields("Connection: close, X-One", "Other: no", "connection: , Upgrade", "Connection:")
        var seen: [String] = []
        section.forEachElement(of: .connection) { seen.append(text($0)) }
        #expect(seen == ["close", "X-One", "Upgrade"])
        section.forEachElement(of: .te) { _ in Issue.record("there is no TE") }
    }

    @Test("A token is found in any case, and only as a whole element")
    func tokens() {
        let section = fields("Connection: keep-alive, CLOSE", "TE: trailersX, \"trailers\"")
        #expect(section.contains(token: "close", in: .connection))
        #expect(section.contains(token: "keep-alive", in: .connection))
        #expect(!section.contains(token: "keep", in: .connection))
        #expect(!section.contains(token: "trailers", in: .te))
        #expect(!section.contains(token: "close", in: .upgrade))
        #expect(withBytes("Keep-Alive") { section.contains(token: $0, in: .connection) })
        #expect(!withBytes("") { section.contains(token: $0, in: .connection) })
    }

    @Test("The Kelvin sign is not a k")
    func kelvin() {
        #expect(!fields("Connection: \u{212A}eep-alive").contains(token: "keep-alive", in: .connection))
    }

    @Test("An error of the body comes through")
    func errors() {
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try fields("Via: a, b").forEachElement(of: .via) { _ throws(Stop) in throw Stop() }
        }
    }

    @Test("The work grows linearly with the field", arguments: [",", "a,", "\"", "\"\\", "\\\"", " ", "\"a\","])
    func linear(unit: String) {
        let ratio = growth(from: 2048) { size in
            let bytes = Array(String(repeating: unit, count: size).utf8)
            bytes.withUnsafeBytes { for _ in FieldListElements($0) {} }
        }
        #expect(ratio < 90)
    }

    @Test(
        "Tokens are the ones of the grammar",
        arguments: [
            ("a", true), ("GET", true), ("!#$%&'*+-.^_`|~09azAZ", true), ("", false), ("a b", false), ("a,b", false),
            ("a\"", false), ("caf\u{e9}", false), ("a/b", false), ("a=b", false), ("\u{7f}", false), ("\0", false),
        ])
    func isToken(value: String, expected: Bool) {
        #expect(withBytes(value) { $0.isToken } == expected)
    }
}
