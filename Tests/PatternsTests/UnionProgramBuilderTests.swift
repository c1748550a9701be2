import Testing

@testable import Patterns

struct UnionProgramBuilderTests {
    private func nodeCount(_ patterns: [String]) throws -> Int {
        var builder = UnionProgramBuilder()
        for (number, pattern) in patterns.enumerated() {
            let isAdded = builder.add(try #require(LinearExpression(pattern).tree), number: UInt32(number))
            try #require(isAdded)
        }
        return builder.nodeCount
    }

    @Test("expressions that begin alike have their beginning in common")
    func common() throws {
        let alone = try nodeCount([#"^https?://[^/]+/(\d{3})x"#])
        #expect(try nodeCount([#"^https?://[^/]+/(\d{3})x"#, #"^https?://[^/]+/\d{3}y"#]) == alone + 1)
        #expect(try nodeCount((1...100).map { "[0-9]{\($0)}$" }) == 2 + 100 + 100)
    }

    @Test("when it is full it takes no more expressions")
    func full() throws {
        var builder = UnionProgramBuilder(maximumNodes: 100)
        let tree = try #require(LinearExpression("[ab]{200}").tree)
        let isFirstAdded = builder.add(tree, number: 0)
        let count = builder.nodeCount
        let isSecondAdded = builder.add(tree, number: 1)
        #expect(isFirstAdded && !isSecondAdded)
        #expect(builder.nodeCount == count)
    }

    @Test(
        "what makes no difference to whether it matches is left out",
        arguments: [
            ("(a)(b)", "ab"), ("(?:a*?)+", "(?:a*)+"), ("(?:){3}a", "a"), ("(?:(?:)|())", ""), ("a{1}b{0}", "a"),
            ("(a(b(c)))d*", "(?:abc)d*"), ("(a|b|[cd])x", "[abcd]x"),
        ] as [(String, String)])
    func simplified(pattern: String, other: String) throws {
        #expect(try nodeCount([pattern, other]) == nodeCount([other]))
    }

    @Test("repetitions of nothing take no time")
    func nothing() throws {
        let deep = String(repeating: "(?:", count: 90) + String(repeating: "){1000}", count: 90)
        #expect(try nodeCount([deep]) == 2)
    }
}
