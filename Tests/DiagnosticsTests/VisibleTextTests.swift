import Diagnostics
import Testing

@Suite("Text made visible")
struct VisibleTextTests {
    @Test(
        "shows what a terminal would obey or hide",
        arguments: [
            ("plain é \u{1F600} 漢", "plain é \u{1F600} 漢"), ("\u{1B}[31m", "<U+001B>[31m"),
            ("a\tb\nc\r", "a<U+0009>b<U+000A>c<U+000D>"),
            ("\u{9B}2J", "<U+009B>2J"), ("\u{7F}", "<U+007F>"), ("\0", "<U+0000>"), ("\u{202E}x", "<U+202E>x"),
            ("\u{2066}\u{200B}\u{FEFF}\u{AD}", "<U+2066><U+200B><U+FEFF><U+00AD>"), ("\u{2028}", "<U+2028>"),
            ("\u{E0041}", "<U+E0041>"), ("e\u{301}", "e\u{301}"),
        ])
    func visible(text: String, expected: String) {
        #expect(visibleText(of: text.utf8) == expected)
    }

    @Test("shows bytes that are not UTF-8")
    func invalidBytes() {
        #expect(visibleText(of: [0x61, 0xE9, 0x0A, 0xC3, 0xA9, 0xE2, 0x82]) == "a<E9><U+000A>é<E2><82>")
    }

    @Test("cuts at the limit, in characters")
    func limit() {
        #expect(visibleText(of: "äöü".utf8, limit: 3) == "äöü")
        #expect(visibleText(of: "äöüß".utf8, limit: 3) == "äöü…")
        #expect(visibleText(of: "a".utf8, limit: 0) == "…")
        #expect(visibleText(of: "".utf8, limit: 0) == "")
        #expect(visibleText(of: "\u{1F600}\u{1F600}\u{1F600}".utf8, limit: 2) == "\u{1F600}\u{1F600}…")
        #expect(visibleText(of: "ab".utf8, limit: -1) == "…")
        #expect(visibleText(of: "ab".utf8, limit: .max) == "ab")
    }
}
