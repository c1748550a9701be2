import Testing

@testable import Patterns

struct ProgramCompilerTests {
    @Test(
        "An expression that grows too large is an error at its outermost repetition",
        arguments: [
            ("a(?:b{1000}){11}c", 1..<16), ("(?:(?:a{1000}){1000}){1000}", 0..<27),
            ("(?:a{0,1000}){6}", 0..<16),
        ])
    func tooLarge(pattern: String, range: Range<Int>) {
        #expect(patternError { _ = try LinearExpression(pattern) }?.range == range)
    }

    @Test("A literal may have as many bytes as a program instructions")
    func longLiteral() {
        #expect(patternError { _ = try LinearExpression(String(repeating: "a", count: 9_999)) } == nil)
        #expect(patternError { _ = try LinearExpression(String(repeating: "a", count: 10_000)) }?.range == 0..<10_000)
    }

    @Test(
        "What takes no bytes is repeated in no time",
        arguments: [
            "(?:(?:(?:(?:(?:(?:){1000}){1000}){1000}){1000}){1000}){1000}", "(?:(?:(?:a{0}){1000}){1000}){1000,}",
            "(?:(?:(?:(?:){0,1000}){0,1000}){0,1000})*",
        ])
    func emptyRepetition(pattern: String) throws {
        let expression = try LinearExpression(pattern)
        #expect(expression.program.instructions.count < 10)
        #expect(expression.texts(in: "a") == [""])
    }

    @Test("Literals become runs, which end where another way joins")
    func runs() throws {
        #expect(try LinearExpression("abc").program.instructions.map(\.run).first == 3)
        let joined = try LinearExpression("(?:a|b)cd").program
        #expect(joined.instructions.filter { $0.operation == .byte }.map(\.run).sorted() == [1, 1, 1, 2])
    }

    @Test(
        "Every instruction leads to one that exists",
        arguments: [
            "", "a", "(a|b)*?c{2,5}", "(?:(a*)|b+?)*", "^(?:x{0}|y)$", #"[^/]+\b(?:)*"#,
        ])
    func targets(pattern: String) throws {
        let program = try LinearExpression(pattern).program
        for instruction in program.instructions {
            #expect(Int(instruction.next) < program.instructions.count)
            switch instruction.operation {
            case .split, .loop: #expect(Int(instruction.argument) < program.instructions.count)
            case .set: #expect(4 * Int(instruction.argument) + 4 <= program.sets.count)
            case .save: #expect(Int(instruction.argument) < 2 * program.groupCount)
            default: break
            }
        }
    }
}
