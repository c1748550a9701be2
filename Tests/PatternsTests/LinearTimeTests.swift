import Testing

@testable import Patterns

/// That matching takes work in proportion to expression × input, counted in steps.
struct LinearTimeTests {
    static let pathological = [
        "(a*)*b", "(a|a)*b", "(a+)+$b", "(a*)*(a*)*(a*)*b", "(?:a?){50}a{50}b", "(.*)(.*)(.*)(.*)(.*)x",
        "(?:a{1,10}){1,10}b", "(?:(?:a|aa)+)+b", "^(.*?,){11}P", "(?:a|b|ab)*c", "a*a*a*a*a*a*b", ".*.*=.*",
        "[a/]*a[a/]*a[b]",
        "(?:a|a|a|a|a|a|a|a)*a{60}b", "(?:/[^/]*)*b", #"(?:\w+\s?)*b"#, "(|a)*b", "(a*?)*?b",
    ]

    private func steps(_ expression: LinearExpression, _ input: [UInt8], _ engine: Engine) -> Int {
        var scratch = MatchScratch()
        _ = expression.groups(in: input, engine: engine, scratch: &scratch)
        return scratch.steps
    }

    @Test("Expressions that explode elsewhere stay linear", arguments: pathological, Engine.allCases)
    func pathologicalExpression(pattern: String, engine: Engine) throws {
        let expression = try LinearExpression(pattern)
        let size = expression.program.instructions.count
        for text in ["a", "a/", ",", "ab"] {
            let short = [UInt8](String(repeating: text, count: 200 / text.utf8.count).utf8)
            let long = short + short
            let (few, many) = (steps(expression, short, engine), steps(expression, long, engine))
            // An instruction costs a step when it is entered and each byte that it compares another.
            #expect(many <= 2 * (size + 1) * (long.count + 1), "\(text)")
            #expect(2 * many <= 5 * few + 10 * size, "\(text): \(few) steps, then \(many)")
        }
    }

    @Test("An input too large for the backtracker is matched all the same")
    func largeInput() throws {
        let expression = try LinearExpression("^(?:(a+)|b|c|d)*x(y)$")
        let input = [UInt8](repeating: UInt8(ascii: "a"), count: 70_000) + Array("bxy".utf8)
        #expect(!MatchScratch.canBacktrack(expression.program, count: input.count))
        var scratch = MatchScratch()
        var captures = CaptureList()
        let isMatch = input.withUnsafeBytes { expression.firstMatch(in: $0, scratch: &scratch, captures: &captures) }
        #expect(isMatch)
        #expect((0..<captures.count).map { captures[$0] } == [0..<70_003, 0..<70_000, 70_002..<70_003])
        #expect(input.withUnsafeBytes { expression.matches($0, scratch: &scratch) })
    }

    @Test("The limit for the backtracker does not overflow")
    func backtrackerLimit() throws {
        let expression = try LinearExpression("(a|b)*")
        #expect(!MatchScratch.canBacktrack(expression.program, count: Int.max / 2))
        #expect(MatchScratch.canBacktrack(expression.program, count: 32 << 10))
    }

    @Test(
        "Patterns of URLs stay linear",
        arguments: [
            "http://h/**a**a**a**b", "http://h/*a*a*a*b", "http://h/**/**/**/*a*b", "http://h/**/*a/**/*a/x",
            "http://h/**aa**aa*aa*b/**", "http://*a*a*a*a.b/**", "http://h/**/a*/**/a*/**/b",
        ])
    func patternOfURL(pattern: String) throws {
        let expression = try URLPattern(pattern)
        for text in ["a", "a/", "aa/", "aaaaaaaaa/"] {
            let body = String(repeating: text, count: 2000 / text.utf8.count)
            for url in ["http://h/\(body)", "http://\(body)/b", "http://h/\(body)b", "http://h/\(body)/x"] {
                var scratch = MatchScratch()
                var captures = CaptureList()
                let input = Array(url.utf8)
                _ = input.withUnsafeBytes { expression.wholeMatch(in: $0, scratch: &scratch, captures: &captures) }
                #expect(scratch.steps <= expression.groupCount * (input.count + 1), "\(url.prefix(20))")
            }
        }
    }
}
