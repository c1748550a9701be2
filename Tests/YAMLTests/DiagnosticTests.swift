import Testing
import YAML

@Suite("A diagnostic")
struct DiagnosticTests {
    @Test("prints as compilers do")
    func form() throws {
        let source = [UInt8]("substitutions:\n  http://a.test/x:\n    stauts: 201\n")
        let rule = try #require(try YAMLNode.parse(source)?["substitutions"]?["http://a.test/x"])
        let key = try #require(rule.entries?.first?.key)
        let diagnostic = Diagnostic(
            .error, "unknown option 'stauts'; did you mean 'status'?", file: "substitutions.yaml", span: key.span)
        #expect(
            diagnostic.rendered(source: source) == """
                substitutions.yaml:3:5: error: unknown option 'stauts'; did you mean 'status'?
                    stauts: 201
                    ^~~~~~
                """)
    }

    @Test("names its severity", arguments: [Diagnostic.Severity.error, .warning, .note])
    func severity(severity: Diagnostic.Severity) {
        let diagnostic = Diagnostic(severity, "m", file: "f.yaml", span: YAMLSpan(at: .start))
        #expect(diagnostic.headline == "f.yaml:1:1: \(severity.rawValue): m")
    }

    @Test("without a place or a source is its first line")
    func withoutPlace() {
        #expect(Diagnostic(.error, "can't be read", file: "f").rendered(source: [0x61]) == "f: error: can't be read")
        let diagnostic = Diagnostic(.note, "m", file: "f", span: YAMLSpan(at: .start))
        #expect(diagnostic.rendered(source: nil) == "f:1:1: note: m")
    }

    @Test("made from an error has its message and place")
    func fromError() throws {
        let source = [UInt8]("a:\n\tb: 1\n")
        let error = try #require(failure(source))
        #expect(
            error.diagnostic(file: "m.yaml").rendered(source: source)
                == "m.yaml:2:1: error: a tab is not allowed as indentation; use spaces\n\tb: 1\n^")
    }

    @Test("lets no byte of a file, a name or a message drive a terminal")
    func terminal() {
        let source: [UInt8] = [UInt8]("a: \u{1B}]0;x\u{7}\u{202E}") + [0xE9] + [UInt8]("b\n")
        let error = failure(source)
        #expect(error?.span.start.column == 4)
        let text = Diagnostic(.error, "bad \u{1B}[2J\n", file: "\u{1B}c.yaml", span: error?.span).rendered(
            source: source)
        #expect(
            text == """
                <U+001B>c.yaml:1:4: error: bad <U+001B>[2J<U+000A>
                a: <U+001B>]0;x<U+0007><U+202E><E9>b
                   ^~~~~~~~
                """)
    }
}
