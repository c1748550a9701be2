/// A parsed expression.
indirect enum SyntaxNode: Hashable, Sendable {
    case empty
    case literal([UInt8])
    case set(ByteSet)
    case assertion(Assertion)
    case capture(SyntaxNode, index: Int)
    case concatenation([SyntaxNode])
    case alternation([SyntaxNode])
    /// `maximum` is nil where there is none. `range` is where the repetition stands in the expression.
    case repetition(SyntaxNode, minimum: Int, maximum: Int?, greedy: Bool, range: Range<Int>)
}

/// A condition on a position, which takes no bytes.
enum Assertion: Hashable, Sendable {
    case start, end, wordBoundary, notWordBoundary
}

extension SyntaxNode {
    /// Whether this can match no bytes at all.
    var isNullable: Bool {
        switch self {
        case .empty, .assertion: true
        case .literal(let bytes): bytes.isEmpty
        case .set: false
        case .capture(let node, _): node.isNullable
        case .concatenation(let nodes): nodes.allSatisfy(\.isNullable)
        case .alternation(let nodes): nodes.contains(where: \.isNullable)
        case .repetition(let node, let minimum, _, _, _): minimum == 0 || node.isNullable
        }
    }

    /// Whether every match begins at the first byte.
    var isAnchoredAtStart: Bool {
        switch self {
        case .assertion(.start): true
        case .empty, .literal, .set, .assertion: false
        case .capture(let node, _): node.isAnchoredAtStart
        case .concatenation(let nodes):
            // What stands before the anchor can only match if it matches no bytes.
            nodes.contains(where: \.isAnchoredAtStart)
        case .alternation(let nodes): nodes.allSatisfy(\.isAnchoredAtStart)
        case .repetition(let node, let minimum, _, _, _): minimum > 0 && node.isAnchoredAtStart
        }
    }
}
