import Testing

@testable import HTTPSemantics

@Suite("Parameters and directives")
struct FieldParameterTests {
    @Test(
        "A parameter is a token, or a token with a token or a quoted string",
        arguments: [
            ("a", "a", nil), ("a=b", "a", "b"), ("A=B", "A", "B"), ("a=\"b\"", "a", "b"), ("a=\"\"", "a", ""),
            ("a=\"x y,z;=\"", "a", "x y,z;="), ("a=\"q\\\"q\"", "a", "q\"q"), ("a=\"\\\\\"", "a", "\\"),
        ] as [(String, String, String?)])
    func valid(value: String, name: String, expected: String?) throws {
        try withBytes(value) { bytes in
            let parameter = try #require(FieldParameter(bytes))
            #expect(text(parameter.name) == name)
            #expect(parameter.unescapedValue.map { text($0) } == expected)
        }
    }

    @Test(
        "Anything else is no parameter",
        arguments: [
            "", "=", "=b", "a=", "a =b", "a= b", "a=b c", "a=\"b", "a=\"b\"c", "a=\"b\\\"", "a=\"", "a=b=c", "a b",
            "\"a\"", "a=caf\u{e9}",
        ])
    func invalid(value: String) {
        #expect(withBytes(value) { FieldParameter($0) == nil })
    }

    @Test("Whitespace beside = is passed over only where asked for")
    func badWhitespace() {
        #expect(
            withBytes("max-age \t= \"7\"") {
                FieldParameter($0, allowingBadWhitespace: true).map { text($0.name) + text($0.value ?? $0.name) }
            } == "max-age7")
    }

    @Test("The item stands before the first semicolon outside quotes")
    func items() {
        withBytes("Text/HTML ; Level=1;; x=\"a;b\" ; Q=0.5") { bytes in
            let item = ParameterisedItem(bytes)
            #expect(text(item.item) == "Text/HTML")
            #expect(item.parameters.map { text($0) } == ["Level=1", "x=\"a;b\"", "Q=0.5"])
            #expect(item.parameter("x")?.unescapedValue == Array("a;b".utf8))
            #expect(item.parameter("y") == nil)
            #expect(item.weight == 500)
        }
        withBytes("") { #expect(ParameterisedItem($0).item.isEmpty) }
        withBytes(";") { #expect(ParameterisedItem($0).weight == 1000) }
    }

    @Test(
        "Weights are those of RFC 9110 §12.4.2",
        arguments: [
            ("gzip", 1000), ("gzip;q=1", 1000), ("gzip;q=0", 0), ("gzip;q=0.", 0), ("gzip;q=1.", 1000),
            ("gzip;q=0.5", 500), ("gzip;q=0.05", 50), ("gzip;q=0.001", 1), ("gzip;q=1.000", 1000), ("gzip;Q=0.25", 250),
            ("gzip;level=9;q=0.3", 300), ("gzip;q=0.1;q=0.9", 100), ("gzip;qq=0.1", 1000), ("gzip;q=", nil),
            ("gzip;q", nil), ("gzip;q=.5", nil), ("gzip;q=1.1", nil), ("gzip;q=1.001", nil), ("gzip;q=2", nil),
            ("gzip;q=-1", nil), ("gzip;q=0.0001", nil), ("gzip;q=+0", nil), ("gzip;q=0,5", nil), ("gzip;q=1e0", nil),
            ("gzip;q =0.5", nil), ("gzip;q= 0.5", nil), ("gzip;q=\"1\"", nil), ("gzip;q=00", nil),
        ] as [(String, Int?)])
    func weights(element: String, expected: Int?) {
        #expect(withBytes(element) { ParameterisedItem($0).weight } == expected)
    }
}
