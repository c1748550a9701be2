import Synchronization

/// Finds which of many expressions may match an input, in a time that hardly grows with their number.
///
/// An expression whose matches all have some rare text in them is found by that text: one look through the input finds
/// the texts of all such expressions. The others go through the input together, as one automaton whose states are made
/// when they are needed, at most 4 MiB of them in the scratch memory, whose arrays may have grown to twice that. Only
/// what is found so has to be matched.
public struct ExpressionSet: Sendable {
    /// With so few expressions each is matched, and no index is made.
    public static let directCount = 8
    private static let counter = Atomic<UInt64>(0)

    private let count: Int
    private let windows: WindowIndex
    private let program: UnionProgram?
    /// The program's, which tells scratch memory whose states it has.
    private let owner: UInt64
    /// The expressions that neither of the two can find; they are always candidates.
    private let always: CandidateSet

    /// Whether candidates are fewer than all expressions.
    public var isSelective: Bool { count > Self.directCount }

    /// Makes an index of expressions, which have the numbers 0, 1 and so on in their order.
    public init(_ expressions: some Collection<LinearExpression>) {
        self.init(expressions, maximumNodes: UnionProgramBuilder.maximumNodes)
    }

    init(_ expressions: some Collection<LinearExpression>, maximumNodes: Int) {
        count = expressions.count
        owner = Self.counter.add(1, ordering: .relaxed).newValue
        var always = CandidateSet()
        var windows = WindowIndex()
        var program: UnionProgram?
        if count > Self.directCount {
            always.reset(count: count)
            var chooser = WindowChooser()
            for expression in expressions { chooser.add(expression.tree.map(LiteralAnalysis.requiredSets) ?? []) }
            let (entries, others) = chooser.choose()
            windows = WindowIndex(entries)
            if others.count > Self.directCount {
                var builder = UnionProgramBuilder(maximumNodes: maximumNodes)
                var remaining = others[...]
                for (number, expression) in expressions.enumerated() {
                    guard let first = remaining.first, first == number else { continue }
                    remaining.removeFirst()
                    guard let tree = expression.tree, builder.add(tree, number: first) else {
                        always.insert(first)
                        continue
                    }
                }
                program = UnionProgram(builder, expressionCount: count)
            } else {
                for number in others { always.insert(number) }
            }
        }
        self.always = always
        self.windows = windows
        self.program = program
    }

    /// Finds the candidates, for ``MatchScratch/nextCandidate(from:)``: all expressions that match, and few that don't.
    public func findCandidates(in input: UnsafeRawBufferPointer, scratch: inout MatchScratch) {
        let input = Span<UInt8>(_unsafeBytes: input)
        scratch.candidates.assign(always)
        windows.collect(input, into: &scratch.candidates)
        if let program { scratch.automaton.collect(program, owner: owner, input, into: &scratch.candidates) }
    }

    /// The bytes that it occupies.
    public var byteCount: Int { windows.byteCount + always.byteCount + (program?.byteCount ?? 0) }
}

extension MatchScratch {
    /// The number of the first expression not before `start` that may match the latest input.
    public func nextCandidate(from start: Int) -> Int? { candidates.next(from: start) }
}
