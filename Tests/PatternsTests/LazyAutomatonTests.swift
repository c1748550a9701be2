import ProxyTestKit
import Testing

@testable import Patterns

struct LazyAutomatonTests {
    private func program(_ expressions: [LinearExpression]) throws -> UnionProgram {
        var builder = UnionProgramBuilder()
        for (number, expression) in expressions.enumerated() {
            let isAdded = builder.add(try #require(expression.tree), number: UInt32(number))
            try #require(isAdded)
        }
        return UnionProgram(builder, expressionCount: expressions.count)
    }

    private func matching(
        _ automaton: inout LazyAutomaton, _ program: UnionProgram, _ input: [UInt8]
    ) -> [Int] {
        var candidates = CandidateSet()
        candidates.reset(count: program.expressionCount)
        automaton.collect(program, owner: 1, input.span, into: &candidates)
        var found: [Int] = []
        while let next = candidates.next(from: (found.last ?? -1) + 1) { found.append(next) }
        return found
    }

    @Test(
        "it finds exactly the expressions that match, whatever its memory",
        arguments: [1, 2, 3, 4, 5, 6] as [UInt64], [0, 3000, 20_000, LazyAutomaton.defaultBudget])
    func agreement(seed: UInt64, budget: Int) throws {
        var maker = ExpressionSetTests.Maker(generator: SeededGenerator(seed: seed))
        var shapes = LinearExpressionAgreementTests.Maker(generator: SeededGenerator(seed: seed))
        var scratch = MatchScratch()
        for count in [1, 2, 5, 20, 90] {
            let expressions = try (0..<count).map { number in
                let pattern = number % 2 == 0 ? shapes.shape(depth: 4).pattern : maker.pattern()
                return try LinearExpression(pattern)
            }
            let program = try program(expressions)
            var automaton = LazyAutomaton(budget: budget)
            for number in 0..<40 {
                let input = number % 2 == 0 ? shapes.input() : maker.url()
                let expected = expressions.indices.filter { expressions[$0].isMatch(input, &scratch) }
                let found = matching(&automaton, program, input)
                #expect(found == expected, "\(String(decoding: input, as: UTF8.self))")
            }
        }
    }

    @Test("its states never take more than the budget, though an expression has a million of them")
    func limit() throws {
        let expressions = try (10..<20).map { try LinearExpression("(a|b)*a(a|b){\($0)}$") }
        let program = try program(expressions)
        let budget = 100_000
        var automaton = LazyAutomaton(budget: budget)
        var scratch = MatchScratch()
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<60 {
            let input = (0..<200).map { _ in UInt8(ascii: Bool.random(using: &generator) ? "a" : "b") }
            let found = matching(&automaton, program, input)
            #expect(found == expressions.indices.filter { expressions[$0].isMatch(input, &scratch) })
            #expect(automaton.byteCount <= budget)
        }
        #expect(automaton.stateCount > 100)
        #expect(automaton.unkeptCount > 0)
        #expect(automaton.forgettingCount > 0)
    }

    @Test("an input whose states are there makes no others")
    func states() throws {
        let program = try program(try (1...50).map { try LinearExpression("^https?://[^/]+/[0-9]{\($0)}$") })
        var automaton = LazyAutomaton()
        let input = Array("http://host.example/12345".utf8)
        let first = matching(&automaton, program, input)
        #expect(first == [4])
        let count = automaton.stateCount
        for _ in 0..<10 {
            let again = matching(&automaton, program, input)
            #expect(again == [4])
        }
        #expect(automaton.stateCount == count)
        #expect(count < 30)
    }

    @Test("a state without a way on ends the input")
    func dead() throws {
        let program = try program([try LinearExpression("^ab?$"), try LinearExpression("^ac")])
        var automaton = LazyAutomaton()
        let none = matching(&automaton, program, Array(("b" + String(repeating: "x", count: 500)).utf8))
        #expect(none == [])
        #expect(automaton.stateCount == 2)
        let found = ["a", "ab", "abb", "ac", "acx", ""].map { matching(&automaton, program, Array($0.utf8)) }
        #expect(found == [[0], [0], [], [1], [1], []])
    }
}
