import Testing

@testable import subproxy

@Suite("A JSON object on one line")
struct JSONObjectTextTests {
    @Test("has its members in the order in which they came")
    func members() {
        var inner = JSONObjectText()
        inner.add("b", true)
        var object = JSONObjectText()
        #expect(object.text == "{}")
        object.add("z", "text")
        object.add("a", 7)
        object.add("n", nil as String?)
        object.add("m", nil as Int?)
        object.add("o", nil as JSONObjectText?)
        object.add("list", ["x", "y"])
        object.add("object", inner)
        object.add("objects", [inner, JSONObjectText()])
        #expect(
            object.text
                == #"{"z":"text","a":7,"n":null,"m":null,"o":null,"list":["x","y"],"object":{"b":true},"#
                + #""objects":[{"b":true},{}]}"#)
    }

    @Test(
        "escapes what ends a string, and what a terminal or a reader obeys",
        arguments: [
            ("\"\\", #"\"\\"#), ("\n\t\r", #"\n\t\r"#), ("\u{0}\u{1B}\u{1F}", #"\u0000\u001b\u001f"#),
            ("\u{7F}\u{9B}", #"\u007f\u009b"#), ("\u{2028}\u{202E}\u{2066}", #"\u2028\u202e\u2066"#),
            ("é漢\u{1F600}/", "é漢\u{1F600}/"),
        ])
    func escapes(text: String, written: String) {
        var object = JSONObjectText()
        object.add(text, text)
        #expect(object.text == "{\"\(written)\":\"\(written)\"}")
    }
}
