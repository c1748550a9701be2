import HTTPSemantics
import Testing

@Suite("Strings of structured fields")
struct StructuredStringTests {
    @Test(
        "Quotes and backslashes are escaped, what can't be in one is replaced",
        arguments: [
            ("", "\"\""), ("substitutions.yaml:12", "\"substitutions.yaml:12\""), ("a\"b", "\"a\\\"b\""),
            ("a\\b", "\"a\\\\b\""), ("\\\"", "\"\\\\\\\"\""), ("a\r\nX: y", "\"a??X: y\""), ("\0\t\u{7f}", "\"???\""),
            ("\u{e9}", "\"??\""), (" ~", "\" ~\""),
        ])
    func escaping(value: String, expected: String) {
        #expect(text(StructuredString.bytes(value.utf8)) == expected)
    }

    @Test("Whatever the bytes, the result is a string of RFC 9651")
    func everyByte() {
        for byte in UInt8.min...UInt8.max {
            let out = StructuredString.bytes([byte])
            #expect(out.first == 0x22 && out.last == 0x22)
            #expect(out.allSatisfy { (0x20...0x7e).contains($0) })
            #expect(out.count == (byte == 0x22 || byte == 0x5c ? 4 : 3))
        }
    }
}
