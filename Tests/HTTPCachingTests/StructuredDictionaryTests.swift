import HTTPSemantics
import Testing

@testable import HTTPCaching

@Suite("Dictionaries of structured fields")
struct StructuredDictionaryTests {
    /// The members as `key=value`, or nil where the field is malformed.
    static func members(_ value: String) -> [String]? {
        withBytes(value) { bytes in
            var dictionary = StructuredDictionary(bytes)
            var members: [String] = []
            while true {
                switch dictionary.next() {
                case .member(let key, let value): members.append("\(text(Array(key)))=\(describe(value))")
                case .end: return members
                case .failure: return nil
                }
            }
        }
    }

    static func describe(_ value: StructuredDictionary.Value) -> String {
        switch value {
        case .boolean(let flag): flag ? "?1" : "?0"
        case .integer(let number): "\(number)"
        case .string(let bytes): "\"\(text(Array(bytes)))\""
        case .token(let bytes): text(Array(bytes))
        case .other: "…"
        }
    }

    static let cases: [(String, [String]?)] = [
        ("", []), ("   ", []), ("a", ["a=?1"]), ("  a  ", ["a=?1"]), ("a,b", ["a=?1", "b=?1"]),
        ("a \t,\t b", ["a=?1", "b=?1"]), ("*a_-.*0=1", ["*a_-.*0=1"]), ("a=?0", ["a=?0"]), ("a=?1;x", ["a=?1"]),
        ("a=-999999999999999", ["a=-999999999999999"]), ("a=1234567890123456", nil), ("a=-", nil), ("a=--1", nil),
        ("a=1.5", ["a=…"]), ("a=-1.123", ["a=…"]), ("a=1.", nil), ("a=.5", nil), ("a=1.1234", nil),
        ("a=123456789012.1", ["a=…"]), ("a=1234567890123.1", nil), ("a=\"b\\\"c\\\\\"", ["a=\"b\\\"c\\\\\""]),
        ("a=\"b\\c\"", nil), ("a=\"b", nil), ("a=\"b\\", nil), ("a=\"\u{7f}\"", nil), ("a=\"\tb\"", nil),
        ("a=tok:en/x", ["a=tok:en/x"]), ("a=*t", ["a=*t"]), ("a=t\"", nil), ("a=:aGk=:", ["a=…"]), ("a=:aGk=", nil),
        ("a=:a b:", nil), ("a=()", ["a=…"]), ("a=( 1  \"b\";c=2 d )", ["a=…"]), ("a=(1 2", nil), ("a=(1\t2)", nil),
        ("a=(1\"b\")", nil), ("a=(1);x=(2)", nil), ("a;b=1;c=\"d\", e", ["a=?1", "e=?1"]), ("a; b;  c", ["a=?1"]),
        ("a;B", nil), ("a;b=", nil), ("a ;b", nil), ("a=?2", nil), ("a=?", nil), ("a=", nil), ("=a", nil), ("A", nil),
        ("1a", nil), ("a b", nil), ("a,", nil), ("a,,b", nil), (",a", nil), ("\ta", nil), ("a=@1", nil),
        ("a=%\"x\"", nil),
    ]

    @Test("A Dictionary is read as RFC 8941 §4.2.2 says, or is malformed", arguments: cases)
    func members(_ value: String, _ expected: [String]?) {
        #expect(Self.members(value) == expected)
    }

    @Test("No prefix of a field leads outside its bytes")
    func prefixes() {
        let value = "a=(1 \"b\\\"\";c=?0);d=:aGk=:, e=1.25, f=\"g\\\\\";h=*i, j=?1"
        #expect(Self.members(value)?.count == 4)
        for length in 0...value.utf8.count { _ = Self.members(String(value.prefix(length))) }
    }
}
