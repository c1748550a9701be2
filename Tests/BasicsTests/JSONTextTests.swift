import Basics
import Testing

@Suite struct JSONTextTests {
    @Test func `A string has the escapes that JSON needs, and no others`() {
        var json: [UInt8] = []
        JSONText.append(string: "\"\\/\u{8}\u{C}\n\r\t\0\u{1B}\u{1F}\u{7F} é\u{2028}<".utf8, to: &json)
        #expect(
            String(decoding: json, as: UTF8.self)
                == #""\"\\/\b\f\n\r\t\u0000\u001b\u001f"# + "\u{7F} é\u{2028}<\"")
    }
}
