import ProxyTestKit
import Testing

@testable import Patterns

/// That both engines find what a backtracking matcher over the shape of the expression finds, which is too simple to
/// be wrong and too slow to be used.
struct LinearExpressionAgreementTests {
    /// An expression as a test makes it up, with the text that stands for it.
    indirect enum Shape {
        case text(String)
        case anyOf(String, negated: Bool)
        case dot, start, end, boundary
        case sequence([Shape])
        case choice([Shape])
        case group(Shape, Int)
        case many(Shape, minimum: Int, maximum: Int?, greedy: Bool)

        var pattern: String {
            switch self {
            case .text(let text): return text
            case .anyOf(let members, let negated): return negated ? "[^\(members)]" : "[\(members)]"
            case .dot: return "."
            case .start: return "^"
            case .end: return "$"
            case .boundary: return #"\b"#
            case .sequence(let shapes): return shapes.map(\.pattern).joined()
            case .choice(let shapes): return "(?:" + shapes.map(\.pattern).joined(separator: "|") + ")"
            case .group(let shape, _): return "(" + shape.pattern + ")"
            case .many(let shape, let minimum, let maximum, let greedy):
                let count =
                    switch (minimum, maximum) {
                    case (0, nil): "*"
                    case (1, nil): "+"
                    case (0, 1): "?"
                    case (_, nil): "{\(minimum),}"
                    case (_, let maximum?): minimum == maximum ? "{\(minimum)}" : "{\(minimum),\(maximum)}"
                    }
                return "(?:\(shape.pattern))\(count)" + (greedy ? "" : "?")
            }
        }

        var isNullable: Bool {
            switch self {
            case .text(let text): text.isEmpty
            case .anyOf, .dot: false
            case .start, .end, .boundary: true
            case .sequence(let shapes): shapes.allSatisfy(\.isNullable)
            case .choice(let shapes): shapes.contains(where: \.isNullable)
            case .group(let shape, _): shape.isNullable
            case .many(let shape, let minimum, _, _): minimum == 0 || shape.isNullable
            }
        }

        /// Whether something that can be empty is repeated, where engines differ in the groups that they report.
        var repeatsNothing: Bool {
            switch self {
            case .text, .anyOf, .dot, .start, .end, .boundary: false
            case .sequence(let shapes), .choice(let shapes): shapes.contains(where: \.repeatsNothing)
            case .group(let shape, _): shape.repeatsNothing
            case .many(let shape, _, let maximum, _): shape.repeatsNothing || (maximum == nil && shape.isNullable)
            }
        }
    }

    struct Maker {
        var generator: SeededGenerator
        var groups = 0

        mutating func shape(depth: Int) -> Shape {
            let kind = Int.random(in: 0..<(depth > 0 ? 16 : 8), using: &generator)
            switch kind {
            case 0...3: return .text(["a", "b", "ab", ""][kind])
            case 4: return .anyOf("ab", negated: Bool.random(using: &generator))
            case 5: return .dot
            case 6: return [.text("/"), .anyOf("/", negated: true)][Int.random(in: 0..<2, using: &generator)]
            case 7: return [.start, .end, .boundary][Int.random(in: 0..<3, using: &generator)]
            case 8...10: return .sequence(shapes(depth: depth))
            case 11, 12: return .choice(shapes(depth: depth))
            case 13:
                groups += 1
                let number = groups
                return .group(shape(depth: depth - 1), number)
            default:
                let minimum = Int.random(in: 0...2, using: &generator)
                let isBounded = Int.random(in: 0..<3, using: &generator) == 0
                let body = shape(depth: depth - 1)
                return .many(
                    body, minimum: minimum, maximum: isBounded ? max(1, minimum) + Int(generator.next() % 2) : nil,
                    greedy: Int.random(in: 0..<3, using: &generator) > 0)
            }
        }

        private mutating func shapes(depth: Int) -> [Shape] {
            (0..<Int.random(in: 2...3, using: &generator)).map { _ in shape(depth: depth - 1) }
        }

        mutating func input() -> [UInt8] {
            (0..<Int.random(in: 0...7, using: &generator)).map { _ in
                Array("aaabb/".utf8)[Int.random(in: 0..<6, using: &generator)]
            }
        }
    }

    struct Oracle {
        typealias Groups = [Range<Int>?]
        let input: [UInt8]

        func firstMatch(_ shape: Shape, groups: Int) -> Groups? {
            for start in 0...input.count {
                let empty = Groups(repeating: nil, count: groups + 1)
                if var found = match(
                    shape, start, empty,
                    { end, groups in
                        var groups = groups
                        groups[0] = start..<end
                        return groups
                    })
                {
                    found[0] = start..<(found[0]?.upperBound ?? start)
                    return found
                }
            }
            return nil
        }

        private func match(
            _ shape: Shape, _ at: Int, _ groups: Groups, _ then: (Int, Groups) -> Groups?
        ) -> Groups? {
            switch shape {
            case .text(let text):
                return input[at...].starts(with: text.utf8) ? then(at + text.utf8.count, groups) : nil
            case .anyOf(let members, let negated):
                guard at < input.count, members.utf8.contains(input[at]) != negated else { return nil }
                return then(at + 1, groups)
            case .dot: return at < input.count ? then(at + 1, groups) : nil
            case .start: return at == 0 ? then(at, groups) : nil
            case .end: return at == input.count ? then(at, groups) : nil
            case .boundary:
                let before = at > 0 && input[at - 1] != UInt8(ascii: "/")
                let after = at < input.count && input[at] != UInt8(ascii: "/")
                return before != after ? then(at, groups) : nil
            case .sequence(let shapes):
                guard let first = shapes.first else { return then(at, groups) }
                return match(first, at, groups) { match(.sequence(Array(shapes.dropFirst())), $0, $1, then) }
            case .choice(let shapes):
                for shape in shapes {
                    if let found = match(shape, at, groups, then) { return found }
                }
                return nil
            case .group(let shape, let number):
                return match(shape, at, groups) { end, groups in
                    var groups = groups
                    groups[number] = at..<end
                    return then(end, groups)
                }
            case .many(let shape, let minimum, let maximum, let greedy):
                if minimum > (maximum == nil ? 1 : 0) {
                    return match(shape, at, groups) {
                        match(
                            .many(shape, minimum: minimum - 1, maximum: maximum.map { $0 - 1 }, greedy: greedy),
                            $0, $1, then)
                    }
                }
                if maximum == 0 { return then(at, groups) }
                func more() -> Groups? {
                    match(shape, at, groups) { end, groups in
                        if maximum == nil, end == at { return then(end, groups) }
                        return match(
                            .many(shape, minimum: 0, maximum: maximum.map { $0 - 1 }, greedy: greedy),
                            end, groups, then)
                    }
                }
                if minimum == 1 { return more() }
                return greedy ? more() ?? then(at, groups) : then(at, groups) ?? more()
            }
        }
    }

    @Test(
        "Both engines agree with a backtracking matcher on matches and groups",
        arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func agreement(seed: UInt64) throws {
        var maker = Maker(generator: SeededGenerator(seed: seed))
        var scratch = MatchScratch()
        for _ in 0..<400 {
            maker.groups = 0
            let shape = maker.shape(depth: 4)
            let expression = try LinearExpression(shape.pattern)
            try #require(expression.groupCount == maker.groups)
            for _ in 0..<6 {
                let input = maker.input()
                let expected = Oracle(input: input).firstMatch(shape, groups: maker.groups)
                let found = Engine.allCases.map { expression.groups(in: input, engine: $0, scratch: &scratch) }
                let context = "/\(shape.pattern)/ in \(String(decoding: input, as: UTF8.self))"
                #expect(found[0] == found[1], "engines: \(context)")
                if shape.repeatsNothing {
                    // Which of the ways through the repetition counts is the engines' own matter.
                    #expect(found[0]?[0]?.lowerBound == expected?[0]?.lowerBound, "\(context)")
                } else {
                    #expect(found[0] == expected, "\(context)")
                }
                try checkLiterals(of: expression, match: expected?[0], in: input, context)
            }
        }
    }

    /// That the literals for an index miss no match.
    private func checkLiterals(
        of expression: LinearExpression, match: Range<Int>?, in input: [UInt8], _ context: String
    ) throws {
        guard let match else { return }
        if !expression.literalPrefixes.isEmpty {
            #expect(expression.literalPrefixes.contains { input.starts(with: $0) }, "\(context)")
        }
        if !expression.requiredLiterals.isEmpty {
            let text = input[match]
            #expect(
                expression.requiredLiterals.contains { literal in
                    text.indices.contains { text[$0...].starts(with: literal) }
                }, "\(context)")
        }
    }
}
