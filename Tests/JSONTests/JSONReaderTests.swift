import Testing

@testable import JSON

@Suite("JSON")
struct JSONReaderTests {
    private func read(_ text: String) throws(JSONError) -> JSONValue { try JSONReader.value(Array(text.utf8)) }

    @Test(
        "is written as it was read, without blanks",
        arguments: [
            ("null", "null"), (" true\n", "true"), ("\tfalse\r", "false"), ("[]", "[]"), ("{ }", "{}"),
            ("[ 1 , [ 2 ] ]", "[1,[2]]"), (#"{"b": 1, "a": {"c": []}}"#, #"{"b":1,"a":{"c":[]}}"#),
            ("-0", "-0"), ("1.50e+3", "1.50e+3"), ("1E400", "1E400"), ("0.10", "0.10"), ("-12", "-12"),
            (#""é😀""#, #""é😀""#), (#""\u00e9\ud83d\uDE00\/""#, #""é😀/""#),
            (#""\"\\\b\f\n\r\t\u0000\u001f\u007f""#, "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}\""),
            (#""\u2028""#, "\"\u{2028}\""), (#"{"":{"":0}}"#, #"{"":{"":0}}"#),
            (#"{"é":1,"e\u0301":2}"#, "{\"é\":1,\"e\u{301}\":2}"),
        ])
    func roundTrip(text: String, written: String) throws {
        #expect(String(decoding: try read(text).text, as: UTF8.self) == written)
    }

    @Test(
        "that is none is refused with its place",
        arguments: [
            ("", "line 1, column 1: a value is missing"),
            ("{\"name\": \"x\",\n \"price\": 5,\n \"stock\" :   }", "line 3, column 14: a value is missing"),
            ("[1,]", "line 1, column 4: a value is missing"), ("[,1]", "line 1, column 2: a value is missing"),
            ("{\"a\":1,}", "line 1, column 8: a name in double quotes is missing"),
            ("{a:1}", "line 1, column 2: a name in double quotes is missing"),
            ("{\"a\" 1}", "line 1, column 6: a colon is missing"),
            ("[1 2]", "line 1, column 4: a comma or ] is missing"),
            ("{\"a\":1 \"b\":2}", "line 1, column 8: a comma or } is missing"),
            ("[1", "line 1, column 3: a comma or ] is missing"), ("{\"a\"", "line 1, column 5: a colon is missing"),
            ("{", "line 1, column 2: a name in double quotes is missing"),
            ("{\"a\":1,\"b\":2,\"a\":3}", "line 1, column 14: the member 'a' comes twice"),
            ("{\"a\":1,\"\\u0061\":3}", "line 1, column 8: the member 'a' comes twice"),
            ("1 2", "line 1, column 3: something follows the value"),
            ("nul", "line 1, column 1: this is no value; texts stand in double quotes"),
            ("nulls", "line 1, column 1: this is no value; texts stand in double quotes"),
            ("True", "line 1, column 1: this is no value; texts stand in double quotes"),
            ("'a'", "line 1, column 1: this is no value; texts stand in double quotes"),
            ("NaN", "line 1, column 1: this is no value; texts stand in double quotes"),
            ("+1", "line 1, column 1: this is no value; texts stand in double quotes"),
            ("01", "line 1, column 1: a number doesn't begin with 0"), ("-", "line 1, column 2: a digit is missing"),
            ("1.", "line 1, column 3: a digit is missing"), ("1e", "line 1, column 3: a digit is missing"),
            (".5", "line 1, column 1: this is no value; texts stand in double quotes"),
            ("1.5.2", "line 1, column 1: this is no value; texts stand in double quotes"),
            ("\"a", "line 1, column 1: a text has no end"), ("\"a\\\"", "line 1, column 1: a text has no end"),
            ("\"a\nb\"", "line 1, column 3: U+000A stands in a text; it needs an escape"),
            ("\"\\x\"", "line 1, column 2: JSON has no such escape"),
            ("\"\\", "line 1, column 2: JSON has no such escape"),
            ("\"\\u12g4\"", "line 1, column 6: \\u needs four hexadecimal digits"),
            ("\"\\u12", "line 1, column 6: \\u needs four hexadecimal digits"),
            ("\"\\ud800\"", "line 1, column 2: a lone surrogate"),
            ("\"\\udc00\"", "line 1, column 2: a lone surrogate"),
            ("\"\\ud800\\u0041\"", "line 1, column 2: a lone surrogate"),
            ("\"\\ud800\\ud800\"", "line 1, column 2: a lone surrogate"),
            ("\u{FEFF}1", "line 1, column 1: JSON doesn't begin with a byte-order mark"),
            ("/**/1", "line 1, column 1: this is no value; texts stand in double quotes"),
            ("1\u{C}", "line 1, column 2: something follows the value"),
        ])
    func refusals(text: String, message: String) {
        let error = #expect(throws: JSONError.self) { try read(text) }
        #expect(error?.description(in: Array(text.utf8)) == message)
    }

    @Test(
        "that is not UTF-8 is refused",
        arguments: [[0x22, 0xFF, 0x22], [0x22, 0xC3], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC0, 0x80, 0x22]])
    func invalidUTF8(bytes: [UInt8]) {
        let error = #expect(throws: JSONError.self) { try JSONReader.value(bytes) }
        #expect(error == JSONError("this is not UTF-8", at: 1))
    }

    @Test("may begin with a byte-order mark where that is skipped")
    func byteOrderMark() throws {
        #expect(try JSONReader.value(Array("\u{FEFF}[]".utf8), byteOrderMark: .skipped) == .array([]))
    }

    @Test("has at most 64 levels", arguments: ["[", "{\"a\":"])
    func levels(opening: String) throws {
        func nested(_ levels: Int) -> String {
            String(repeating: opening, count: levels) + "1"
                + String(repeating: opening == "[" ? "]" : "}", count: levels)
        }
        #expect(try read(nested(64)).text == Array(nested(64).utf8))
        let error = #expect(throws: JSONError.self) { try read(nested(65)) }
        #expect(error == JSONError("more than 64 levels", at: 64 * opening.utf8.count))
        #expect(throws: JSONError.self) { try read(String(repeating: opening, count: 100_000)) }
    }

    @Test("counts only the levels that are open")
    func siblings() throws {
        let text = "[" + Array(repeating: "[{}]", count: 1000).joined(separator: ",") + "]"
        #expect(try read(text).text == Array(text.utf8))
    }

    @Test("finds a member that comes twice among twenty thousand")
    func manyMembers() throws {
        let members = (0..<20_000).map { "\"m\($0)\":\($0)" }
        let value = try read("{" + members.joined(separator: ",") + "}")
        guard case .object(let object) = value else {
            Issue.record("not an object")
            return
        }
        #expect(object["m19999"] == .number(JSONNumber("19999")))
        #expect(object["m20000"] == nil)
        let error = #expect(throws: JSONError.self) {
            try read("{" + members.joined(separator: ",") + ",\"m5\":0}")
        }
        #expect(error?.message == "the member 'm5' comes twice")
    }

    @Test(
        "may have lone surrogates, where they are replaced",
        arguments: [
            (#""\ud800""#, "\u{FFFD}"), (#""\udc00x""#, "\u{FFFD}x"), (#""\ud800\u0041""#, "\u{FFFD}A"),
            (#""\ud800\ud83d\ude00""#, "\u{FFFD}😀"), (#""\ud83d\ude00""#, "😀"), (#""\ud800\n""#, "\u{FFFD}\n"),
        ])
    func replacedSurrogates(json: String, text: String) throws {
        #expect(try JSONReader.value(Array(json.utf8), loneSurrogates: .replaced) == .string(Array(text.utf8)))
    }
}

extension JSONNumber {
    /// A number that is written correctly.
    fileprivate init(_ text: String) {
        self = JSONNumber(Array(text.utf8)) ?? JSONNumber([], isWhole: true)
    }
}
