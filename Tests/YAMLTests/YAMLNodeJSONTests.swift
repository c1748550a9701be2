import Diagnostics
import Testing
import YAML

@Suite("A tree as JSON")
struct YAMLNodeJSONTests {
    private func json(_ source: String) throws -> String {
        let node = try #require(try YAMLNode.parse([UInt8](source)))
        return String(decoding: try node.jsonBytes(), as: UTF8.self)
    }

    @Test(
        "has the same values in the same order",
        arguments: [
            ("{ user: guest }", #"{"user":"guest"}"#),
            ("z: 1\na: [x, {y: }, []]\nm: {}\n", #"{"z":1,"a":["x",{"y":null},[]],"m":{}}"#),
            ("[null, ~, true, FALSE, 'true', \"1\", yes, NO]", #"[null,null,true,false,"true","1","yes","NO"]"#),
            ("1: a\ntrue: b\n~: c\n", #"{"1":"a","true":"b","~":"c"}"#),
            ("a: |\n  b\n  c\n", #"{"a":"b\nc\n"}"#),
            ("guest", #""guest""#),
            ("''", #""""#),
        ])
    func values(source: String, expected: String) throws {
        #expect(try json(source) == expected)
    }

    @Test(
        "keeps numbers that are JSON as they are written, and writes the others in JSON's form",
        arguments: [
            ("0", "0"), ("-0", "-0"), ("-12", "-12"), ("1.50", "1.50"), ("1e3", "1e3"), ("1E+3", "1E+3"),
            ("123456789012345678901234567890", "123456789012345678901234567890"), ("0.10e-05", "0.10e-05"),
            ("1e999", "1e999"),
            ("0x10", "16"), ("0o17", "15"), ("0xFFFFFFFFFFFFFFFF", "18446744073709551615"), ("+1", "1"),
            (".5", "0.5"), ("-.5", "-0.5"), ("+.5e1", "0.5e1"), ("1.", "1.0"), ("1.e3", "1.0e3"),
            ("018", #""018""#), ("2024-01-01", #""2024-01-01""#), ("1_000", #""1_000""#),
        ])
    func numbers(source: String, expected: String) throws {
        #expect(try json(source) == expected)
    }

    @Test("escapes what JSON must and nothing else")
    func escapes() throws {
        #expect(
            try json(#""\"\\/\b\f\n\r\t\0\e\x1f\x7f é\u2028\U0001F600""#)
                == #""\"\\/\b\f\n\r\t\u0000\u001b\u001f"# + "\u{7F} é\u{2028}\u{1F600}\"")
        #expect(try json(#""a\"\n": b"#) == #"{"a\"\n":"b"}"#)
    }

    @Test(
        "is refused where JSON can't say it, at the place",
        arguments: [
            ("a: .inf", "JSON has no number '.inf'; use null, or put it in quotes", 1, 4),
            ("a: -.INF", "JSON has no number '-.INF'; use null, or put it in quotes", 1, 4),
            ("a: [1, .nan]", "JSON has no number '.nan'; use null, or put it in quotes", 1, 8),
            ("a: 0x10000000000000000", "this number has more than 64 bits; write it as a decimal number", 1, 4),
            ("a: 1\nb: 2\na: 3", "the key 'a' comes twice; it is on line 1 already", 3, 1),
            ("1: a\n'1': b", "the key '1' comes twice; it is on line 1 already", 2, 1),
            ("a: {[b]: c}", "a key in JSON is text, not a list", 1, 5),
            ("{{a: b}: c}", "a key in JSON is text, not a mapping", 1, 2),
        ])
    func refused(source: String, message: String, line: Int, column: Int) throws {
        let node = try #require(try YAMLNode.parse([UInt8](source)))
        let error = #expect(throws: YAMLError.self) { try node.jsonBytes() }
        #expect(error?.message == message)
        #expect(error.map { [$0.span.start.line, $0.span.start.column] } == [line, column])
    }
}
