import HTTPSemantics
import Testing

@Suite("HTML or plain text")
struct AcceptPreferenceTests {
    @Test(
        "Browsers get HTML, tools plain text",
        arguments: [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true), ("text/html", true),
            ("TEXT/HTML", true), ("text/html, text/plain", true), ("text/plain, text/html", true),
            ("text/html;q=0.5, */*;q=0.1", true), ("text/html;level=1", true),
            ("text/html;q=0.2, text/plain;q=0.1, */*", true),
            ("*/*", false), ("", false), ("text/*", false), ("text/plain", false), ("application/json", false),
            ("text/html;q=0", false), ("text/html;q=0.5, text/plain", false), ("text/html;q=0.5, */*", false),
            ("text/html;q=0.5, text/*;q=0.9, */*;q=0.1", false), ("text/html;q=2", false),
            ("image/*, text/htmlx", false),
            ("\"text/html\"", false),
        ])
    func prefersHTML(value: String, expected: Bool) {
        #expect(AcceptPreference.prefersHTML(fields("Accept: \(value)")) == expected)
    }

    @Test("Without the field it is plain text; several lines are one list")
    func lines() {
        #expect(!AcceptPreference.prefersHTML(fields()))
        #expect(AcceptPreference.prefersHTML(fields("Accept: image/png", "Accept: text/html")))
    }
}
