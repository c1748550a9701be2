/// A regular expression whose matching takes time in proportion to the bytes searched, whatever they are.
///
/// The syntax is RE2's over bytes: literals, `.`, classes, `\d \w \s \b` and their opposites, `\t \n \xHH \x{…}`, the
/// anchors `^ $ \A \z`, groups `( )`, `(?: )`, `(?<name> )` and `(?P<name> )`, the flags `(?i)` and `(?s)`,
/// alternation, and greedy and lazy repetition with counts up to 1000. Letters, digits and case are ASCII's. A
/// character beyond ASCII stands for its UTF-8 bytes, and `.` and a class match one byte. `$` is the end of the input
/// alone. Look-around, back-references and the like are refused, with a message that says what will do instead.
///
/// Of several matches the leftmost is found, and there the one that Perl would find. A group within a repetition
/// reports what it matched last; a repetition of what can be empty ends at the first repetition that comes back to
/// where another began, as in RE2.
public struct LinearExpression: Sendable {
    let program: ExpressionProgram
    /// The expression as it was written.
    let pattern: [UInt8]

    /// The number of groups that capture, the whole match not included; 99 at most.
    public let groupCount: Int

    /// The numbers of the groups that have a name.
    public let groupNames: [String: Int]

    /// Whether a match can only begin at the first byte.
    public var isAnchoredAtStart: Bool { program.isAnchoredAtStart }

    /// Texts of which every URL that matches begins with one, for an index; 16 at most.
    ///
    /// Empty if the expression is not anchored at the start, or if it begins with what is no literal.
    /// `^https?://a\.example/v\d` has `http://a.example/v` and `https://a.example/v`.
    /// Found anew each time.
    public var literalPrefixes: [[UInt8]] {
        guard isAnchoredAtStart, let tree else { return [] }
        return LiteralAnalysis.prefixes(of: tree)
    }

    /// Texts of which every URL that matches contains one, for an index; 16 at most, and empty if there are none.
    /// Found anew each time.
    public var requiredLiterals: [[UInt8]] { tree.map(LiteralAnalysis.required) ?? [] }

    /// Compiles an expression.
    ///
    /// - Throws: ``PatternError`` as for bytes, with offsets into the UTF-8 form of `pattern`.
    public init(_ pattern: String) throws(PatternError) {
        try self.init(Array(pattern.utf8))
    }

    /// Compiles an expression in UTF-8.
    ///
    /// - Throws: ``PatternError`` where the syntax is wrong or not supported, or the program would have more than
    ///   10,000 instructions.
    public init(_ pattern: [UInt8]) throws(PatternError) {
        var parser = ExpressionParser(pattern)
        let tree = try parser.parse()
        program = try ProgramCompiler.compile(tree, groupCount: parser.groupCount, expressionLength: pattern.count)
        groupCount = parser.groupCount
        groupNames = parser.groupNames
        self.pattern = pattern
    }

    /// The syntax tree, parsed again at each use: most expressions need it once, when they are put into an
    /// `ExpressionSet`.
    var tree: SyntaxNode? {
        var parser = ExpressionParser(pattern)
        return try? parser.parse()
    }

    /// Finds the first match and where its groups lie. `captures` is empty if there is none.
    public func firstMatch(
        in input: UnsafeRawBufferPointer, scratch: inout MatchScratch, captures: inout CaptureList
    ) -> Bool {
        captures.reset(groups: groupCount + 1)
        let isMatch = search(Span(_unsafeBytes: input), &scratch, slots: &captures.bounds)
        if !isMatch { captures.clear() }
        return isMatch
    }

    /// Whether there is a match anywhere.
    public func matches(_ input: UnsafeRawBufferPointer, scratch: inout MatchScratch) -> Bool {
        var slots: [Int] = []
        return search(Span(_unsafeBytes: input), &scratch, slots: &slots)
    }

    private func search(_ input: Span<UInt8>, _ scratch: inout MatchScratch, slots: inout [Int]) -> Bool {
        if MatchScratch.canBacktrack(program, count: input.count) {
            return scratch.backtrack(program, input, slots: &slots)
        }
        return scratch.followAll(program, input, slots: &slots)
    }
}
