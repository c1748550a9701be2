/// Puts expressions into a `UnionProgram`, one after another.
struct UnionProgramBuilder {
    /// The most nodes after which another expression is added.
    static let maximumNodes = 1 << 18
    private static let maximumSets = 50_000

    private struct Branch: Hashable {
        var node: UInt32
        var part: SyntaxNode
    }

    private(set) var edges: [(source: UInt32, edge: UnionProgram.Edge)] = []
    private(set) var nodeCount = 2
    private(set) var sets: [UInt64] = []
    private var setIndices: [ByteSet: UInt16] = [:]
    /// The indices of the sets of one byte each.
    private var byteIndices = [UInt16?](repeating: nil, count: 256)
    /// Where a byte of a set leads to from a node that expressions have in common.
    private var children: [UInt64: UInt32] = [:]
    /// Where other parts lead to.
    private var branches: [Branch: UInt32] = [:]
    private var hasUnanchored = false
    private let maximumNodes: Int

    /// Where expressions begin that match anywhere, and those that only match from the first byte on.
    private static let anywhere: UInt32 = 0
    private static let atStart: UInt32 = 1

    init(maximumNodes: Int = UnionProgramBuilder.maximumNodes) {
        self.maximumNodes = maximumNodes
    }

    var roots: [UInt32] { hasUnanchored ? [Self.anywhere, Self.atStart] : [Self.atStart] }

    /// Adds an expression; false if there is no room for it.
    mutating func add(_ tree: SyntaxNode, number: UInt32) -> Bool {
        guard nodeCount <= maximumNodes, setIndices.count <= Self.maximumSets else { return false }
        var parts = [tree.simplified]
        if case .concatenation(let nodes) = parts[0] { parts = nodes }
        let isAnchored = parts.first == .assertion(.start)
        if isAnchored {
            parts.removeFirst()
        } else if !hasUnanchored {
            hasUnanchored = true
            let any = index(of: .any)
            link(Self.anywhere, .set, set: any, to: Self.anywhere)
        }
        var node = isAnchored ? Self.atStart : Self.anywhere
        for part in parts { node = share(part, from: node) }
        link(node, .accept, to: number)
        return true
    }

    // MARK: What expressions have in common

    /// The node that `part` leads to from a node of the tree.
    private mutating func share(_ part: SyntaxNode, from start: UInt32) -> UInt32 {
        switch part {
        case .empty: return start
        case .literal(let bytes):
            return bytes.reduce(start) { node, byte in share(index(of: byte), from: node) }
        case .set(let set): return share(index(of: set), from: start)
        case .concatenation(let parts): return parts.reduce(start) { share($1, from: $0) }
        case .repetition(let body, let minimum, let maximum, let greedy, let range) where minimum > 0:
            var node = start
            for _ in 0..<minimum { node = share(body, from: node) }
            let rest = maximum.map { $0 - minimum }
            if rest == 0 { return node }
            return share(
                .repetition(body, minimum: 0, maximum: rest, greedy: greedy, range: range), from: node)
        case .assertion, .alternation, .repetition, .capture:
            let branch = Branch(node: start, part: part)
            if let known = branches[branch] { return known }
            let end = emit(part, from: start)
            branches[branch] = end
            return end
        }
    }

    /// The node that a byte of a set leads to from a node of the tree.
    private mutating func share(_ set: UInt16, from start: UInt32) -> UInt32 {
        let key = UInt64(start) << 16 | UInt64(set)
        if let known = children[key] { return known }
        let node = makeNode()
        link(start, .set, set: set, to: node)
        children[key] = node
        return node
    }

    // MARK: What an expression has for itself

    /// The node that `part` leads to from `start`.
    private mutating func emit(_ part: SyntaxNode, from start: UInt32) -> UInt32 {
        switch part {
        case .empty: return start
        case .literal(let bytes):
            return bytes.reduce(start) { node, byte in follow(node, .set, set: index(of: byte)) }
        case .set(let set): return follow(start, .set, set: index(of: set))
        case .assertion(.start): return follow(start, .assertStart)
        case .assertion(.end): return follow(start, .assertEnd)
        case .assertion(.wordBoundary): return follow(start, .assertWordBoundary)
        case .assertion(.notWordBoundary): return follow(start, .assertNotWordBoundary)
        case .capture(let body, _): return emit(body, from: start)
        case .concatenation(let parts): return parts.reduce(start) { emit($1, from: $0) }
        case .alternation(let parts):
            let end = makeNode()
            for part in parts { link(emit(part, from: start), .nothing, to: end) }
            return end
        case .repetition(let body, let minimum, let maximum, _, _):
            var node = start
            for _ in 0..<minimum { node = emit(body, from: node) }
            guard let maximum else {
                let loop = follow(node, .nothing)
                link(emit(body, from: loop), .nothing, to: loop)
                return loop
            }
            guard maximum > minimum else { return node }
            let end = makeNode()
            for _ in minimum..<maximum {
                link(node, .nothing, to: end)
                node = emit(body, from: node)
            }
            link(node, .nothing, to: end)
            return end
        }
    }

    private mutating func makeNode() -> UInt32 {
        nodeCount += 1
        return UInt32(truncatingIfNeeded: nodeCount - 1)
    }

    private mutating func follow(_ start: UInt32, _ label: UnionProgram.Label, set: UInt16 = 0) -> UInt32 {
        let node = makeNode()
        link(start, label, set: set, to: node)
        return node
    }

    private mutating func link(_ source: UInt32, _ label: UnionProgram.Label, set: UInt16 = 0, to target: UInt32) {
        edges.append((source, UnionProgram.Edge(label: label, set: set, target: target)))
    }

    private mutating func index(of byte: UInt8) -> UInt16 {
        if let index = byteIndices[Int(byte)] { return index }
        let index = index(of: ByteSet(byte...byte))
        byteIndices[Int(byte)] = index
        return index
    }

    private mutating func index(of set: ByteSet) -> UInt16 {
        if let index = setIndices[set] { return index }
        let index = UInt16(truncatingIfNeeded: setIndices.count)
        sets += [set.words.0, set.words.1, set.words.2, set.words.3]
        setIndices[set] = index
        return index
    }
}

extension SyntaxNode {
    /// This expression without what makes no difference to whether it matches: captures, preference, and where in the
    /// text it stands. What can only be empty is `.empty`, so that no repetition of it takes time.
    var simplified: SyntaxNode {
        switch self {
        case .empty, .set, .assertion: return self
        case .literal(let bytes): return bytes.isEmpty ? .empty : self
        case .capture(let body, _): return body.simplified
        case .concatenation(let nodes):
            var parts: [SyntaxNode] = []
            for node in nodes {
                switch node.simplified {
                case .empty: continue
                case .concatenation(let inner): parts += inner
                case let part: parts.append(part)
                }
            }
            return parts.isEmpty ? .empty : parts.count == 1 ? parts[0] : .concatenation(parts)
        case .alternation(let nodes):
            let parts = nodes.map(\.simplified)
            let bytes = parts.compactMap(\.singleByte)
            if bytes.count == parts.count {
                return .set(bytes.reduce(into: ByteSet()) { $0.formUnion($1) })
            }
            return parts.allSatisfy { $0 == .empty } ? .empty : .alternation(parts)
        case .repetition(let node, let minimum, let maximum, _, _):
            let body = node.simplified
            if body == .empty || maximum == 0 { return .empty }
            if minimum == 1, maximum == 1 { return body }
            return .repetition(body, minimum: minimum, maximum: maximum, greedy: true, range: 0..<0)
        }
    }

    /// What takes one byte and nothing else, as the set of these bytes.
    private var singleByte: ByteSet? {
        switch self {
        case .set(let set): set
        case .literal(let bytes) where bytes.count == 1: ByteSet(bytes: bytes)
        default: nil
        }
    }
}
