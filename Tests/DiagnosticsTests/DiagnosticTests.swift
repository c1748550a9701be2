import Diagnostics
import Testing

@Suite("A diagnostic")
struct DiagnosticTests {
    @Test("prints as compilers do")
    func form() {
        let source = Array("substitutions:\n  http://a.test/x:\n    stauts: 201\n".utf8)
        let key = TextMark(line: 3, column: 5, offset: 38)
        let diagnostic = Diagnostic(
            .error, "unknown option 'stauts'; did you mean 'status'?", file: "substitutions.yaml",
            span: TextSpan(start: key, end: key.advanced(columns: 6, bytes: 6)))
        #expect(
            diagnostic.rendered(source: source) == """
                substitutions.yaml:3:5: error: unknown option 'stauts'; did you mean 'status'?
                    stauts: 201
                    ^~~~~~
                """)
    }

    @Test("names its severity", arguments: [Diagnostic.Severity.error, .warning, .note])
    func severity(severity: Diagnostic.Severity) {
        let diagnostic = Diagnostic(severity, "m", file: "f.yaml", span: TextSpan(at: .start))
        #expect(diagnostic.headline == "f.yaml:1:1: \(severity.rawValue): m")
    }

    @Test("without a place or a source is its first line")
    func withoutPlace() {
        #expect(Diagnostic(.error, "can't be read", file: "f").rendered(source: [0x61]) == "f: error: can't be read")
        let diagnostic = Diagnostic(.note, "m", file: "f", span: TextSpan(at: .start))
        #expect(diagnostic.rendered(source: nil) == "f:1:1: note: m")
    }

    @Test("lets no byte of a file, a name or a message drive a terminal")
    func terminal() {
        let source: [UInt8] = Array("a: \u{1B}]0;x\u{7}\u{202E}".utf8) + [0xE9] + Array("b\n".utf8)
        let span = TextSpan(start: TextMark(offset: 3, in: source), end: TextMark(offset: 4, in: source))
        let text = Diagnostic(.error, "bad \u{1B}[2J\n", file: "\u{1B}c.yaml", span: span).rendered(source: source)
        #expect(
            text == """
                <U+001B>c.yaml:1:4: error: bad <U+001B>[2J<U+000A>
                a: <U+001B>]0;x<U+0007><U+202E><E9>b
                   ^~~~~~~~
                """)
    }
}
