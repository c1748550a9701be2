import Testing

@testable import Mustache

/// Counts what parsing looks at, instead of measuring how long it takes.
@Suite("Parsing costs")
struct LinearityTests {
    @Test(
        "in proportion to the template's size",
        arguments: [
            "a", "\n", " ", " \n", "{", "{ ", "{{x}}", "{{x}} ", " {{x}}\n", "{{#a}}\n{{/a}}\n", "{{! }}    \n",
            "{{! }}     x", "  {{>p}}\n", "{{={{ }}=}}", "{{=| |=}}|={{ }}=|\n",
            "{{<p}}\n  {{$b}}\n    x\n  {{/b}}\n{{/p}}\n",
            "{{$b}}\n\n\n{{/b}}\n", "{{$b}} \n \n", "{{x", "{{x}", "{{{x}}", "{{!", "{{=", "{{#a}}", "é", "}}", "\r\n",
        ])
    func linear(unit: String) {
        for (prefix, suffix) in [
            ("", ""), ("{{<p}}{{$b}}\n     ", "{{/b}}{{/p}}"), ("{{<p}}", "{{/p}}"), ("{{! ", "}}"),
        ] {
            let examined = [1 << 12, 1 << 16].map { size -> Int in
                let source = prefix + String(repeating: unit, count: size / unit.utf8.count) + suffix
                return Self.examined(Array(source.utf8))
            }
            #expect(examined[1] <= 8 * (1 << 16), "\(prefix)\(unit): \(examined)")
        }
    }

    @Test("no more for delimiters that almost match")
    func delimiters() {
        let delimiter = String(repeating: "a", count: 31) + "b"
        let source = "{{=\(delimiter) \(delimiter)c=}}" + String(repeating: "a", count: 1 << 16)
        #expect(Self.examined(Array(source.utf8)) <= 8 * (1 << 16))
    }

    /// The bytes that were looked at until the end, or the error.
    private static func examined(_ source: [UInt8]) -> Int {
        var parser = TemplateParser(source: source, file: "a", limits: MustacheLimits())
        do throws(TemplateError) { try parser.parse() } catch {}
        return parser.examinedBytes
    }
}
