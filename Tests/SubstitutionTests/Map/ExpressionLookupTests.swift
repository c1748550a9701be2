import HTTPSemantics
import Patterns
import Testing

@testable import Substitution

/// Look-ups in maps with more regular expressions than are tried one after the other.
struct ExpressionLookupTests {
    private func key(_ pattern: String) -> String { "'~" + pattern + "'" }

    /// A map of so many rules, one a line from line 2 on.
    private func many(_ count: Int, _ rule: (Int) -> (pattern: String, value: String)) throws -> SubstitutionMap {
        let lines = (0..<count).map { number in
            let (pattern, value) = rule(number)
            return "  \(key(pattern)): \(value)\n"
        }
        return try map("substitutions:\n" + lines.joined())
    }

    @Test("of many expressions the first that matches answers, with its captures")
    func captures() throws {
        let map = try many(300) { number in
            (
                #"^https?://api\.example/v(\d+)/item\#(number % 150)(?:/(?<name>\w+))?$"# + (number < 150 ? "" : "()"),
                "\"\(number)-$1-${name}\""
            )
        }
        #expect(try map.answer("http://api.example/v3/item7/x") == "7-3-x")
        #expect(try map.answer("https://api.example/v12/item149") == "149-12-")
        #expect(try map.answer("https://api.example/v12/item150") == "-")
        let long = try many(300) {
            ("/([a-z]+)([0-9]{\($0 / 2 + 1)})" + ($0 % 2 == 0 ? "$" : "$|x/x"), "\"\($0)-$1-$2\"")
        }
        #expect(try long.answer("http://h/abc123") == "4-abc-123")
        #expect(try long.answer("http://h/abc") == "-")
    }

    @Test("conditions that do not hold let the next expression answer")
    func conditions() throws {
        let values = [
            "{ text: a, methods: [POST] }", "{ text: b, query: { q: \"1\" } }",
            "{ text: c, request-headers: { x-a: y } }",
            "{ text: d, methods: [GET] }", "{ text: e }",
        ]
        let map = try many(50) { number in
            // Five expressions for a URL; the first five URLs are found by a text, the others by the automaton.
            let path =
                number < 25
                ? "/item\(number / 5)" + String(repeating: "()", count: number % 5)
                : "/[j-l]+[0-9]{\(number / 5)}" + String(repeating: "()", count: number % 5)
            return (path, values[number % 5])
        }
        for item in 0..<5 {
            let url = "http://h/item\(item)"
            #expect(try map.line(url, "POST") == 2 + 5 * item)
            #expect(try map.line(url + "?q=1") == 3 + 5 * item)
            #expect(try map.line(url, "GET", [("X-A", "y")]) == 4 + 5 * item)
            #expect(try map.line(url) == 5 + 5 * item)
            #expect(try map.line(url, "PUT") == 6 + 5 * item)
            let other = "http://h/jkl" + String(repeating: "7", count: 5 + item)
            #expect(try map.line(other, "POST") == 27)
            #expect(try map.line(other, "PUT") == 31)
            #expect(try map.line("http://h/x" + other.dropFirst(8) + "?q=1") == 28)
        }
        #expect(try map.line("http://h/item7") == nil)
    }

    @Test("upper and lower case count unless the expression says that they do not")
    func letterCase() throws {
        let map = try many(40) { ($0 < 20 ? "/Item\($0)x" : "(?i)/Item\($0)x", "f\($0)") }
        #expect(try map.answer("http://h/Item7x") == "f7")
        #expect(try map.answer("http://h/ITEM7x") == "-")
        #expect(try map.answer("http://h/iTeM27X") == "f27")
    }

    @Test("scratch memory may be used with one map after another")
    func maps() throws {
        let digits = try many(20) { ("/[0-9]{\($0 + 1)}$", "d\($0)") }
        let letters = try many(20) { ("/[a-z]{\($0 + 1)}$", "l\($0)") }
        var scratch = LookupScratch()
        for _ in 0..<2 {
            let digit = try digits.match("http://h/123", scratch: &scratch)
            #expect(digit.map { digits.rule($0.id).location.line } == 4)
            let letter = try letters.match("http://h/ab", scratch: &scratch)
            #expect(letter.map { letters.rule($0.id).location.line } == 3)
            let none = try letters.match("http://h/123", scratch: &scratch)
            #expect(none == nil)
        }
    }

    @Test("what is passed over and what nearly matches is told")
    func explanation() throws {
        let map = try many(30) { ("^http://h/item\($0)$", $0 % 2 == 0 ? "{ text: x, methods: [POST] }" : "x") }
        let passed = try map.explanation("http://h/item4")
        #expect(passed.answer == nil)
        #expect(passed.passedOver.map(\.rule.location.line) == [6])
        #expect(try map.explanation("https://h/item5").nearestMiss?.rule.location.line == 7)
        #expect(try map.explanation("http://h/item5").answer?.rule.location.line == 7)
    }

    @Test("a map answers as if each expression were tried in order", arguments: [1, 2, 3, 4] as [UInt64])
    func model(seed: UInt64) throws {
        var generator = PrecedenceModelTests.Generator(state: seed)
        let pieces = [
            "https?://", "h[12]", #"\."#, "/", "/img", "(?i)IMG", "item", "1", #"\d"#, #"\d{2}"#, "[a-z]+", ".*",
            #"\b"#,
            "(png|jpg)", "(?:x|yz)*", "$", "[_/]",
        ]
        let texts = ["h1", "h2", "/", "img", "IMG", "item", "1", "23", "png", "jpg", "x", "yz", "_", "."]
        let methods = ["", "POST", "PUT"]
        for count in [9, 40, 150] {
            var patterns: [String] = []
            while patterns.count < count {
                let pattern = (0..<Int.random(in: 1...5, using: &generator)).map { _ in
                    pieces.randomElement(using: &generator) ?? ""
                }.joined()
                if !patterns.contains(pattern) { patterns.append(pattern) }
            }
            let wanted = patterns.map { _ in methods.randomElement(using: &generator) ?? "" }
            let map = try many(count) {
                (patterns[$0], wanted[$0].isEmpty ? "{ text: x }" : "{ text: x, methods: [\(wanted[$0])] }")
            }
            let expressions = try patterns.map { try LinearExpression($0) }
            var scratch = LookupScratch()
            var captures = CaptureList()
            var working = MatchScratch()
            for _ in 0..<80 {
                let path = (0..<Int.random(in: 0...7, using: &generator)).map { _ in
                    texts.randomElement(using: &generator) ?? ""
                }.joined()
                let url = "http://h1/" + path
                let method = Bool.random(using: &generator) ? "GET" : "POST"
                let normalised = Array(try TargetURI(url).description.utf8)
                let expected = expressions.indices.first { number in
                    (wanted[number].isEmpty || wanted[number] == method)
                        && normalised.withUnsafeBytes {
                            expressions[number].firstMatch(in: $0, scratch: &working, captures: &captures)
                        }
                }
                let found = try map.match(url, method, scratch: &scratch)
                #expect(found.map { map.rule($0.id).location.line } == expected.map { $0 + 2 }, "\(url)")
            }
        }
    }
}
