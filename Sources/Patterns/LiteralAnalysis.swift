/// Literal texts that every match must have, found in the tree of an expression.
///
/// All sets here may be larger than need be, in that a text in them may belong to no match; they never miss one.
enum LiteralAnalysis {
    /// The most texts in a set.
    static let maximumCount = 16
    /// The largest class that is written out byte by byte.
    static let maximumClass = 4

    /// Texts of which each match begins with one; none if they would narrow nothing.
    static func prefixes(of tree: SyntaxNode) -> [[UInt8]] {
        let found = beginnings(of: tree, limit: maximumCount).texts
        guard found.allSatisfy({ !$0.isEmpty }) else { return [] }
        // Where one is the beginning of another, it alone says as much.
        return found.filter { text in !found.contains { $0.count < text.count && text.starts(with: $0) } }
    }

    /// Texts of which each match contains one; none if there are too many or they would be empty.
    static func required(in tree: SyntaxNode) -> [[UInt8]] {
        let found = Contents(of: tree, folds: false).allSets.reduce([], better)
        return found.filter { text in !found.contains { $0.count < text.count && contains(text, $0) } }
    }

    /// Sets of texts, folded by `foldingCase`: each match, folded, contains a text of every set.
    static func requiredSets(in tree: SyntaxNode) -> [[[UInt8]]] {
        Contents(of: tree, folds: true).allSets
    }

    // MARK: Beginnings

    /// Texts of which each match begins with one. `isExact` says that they are all that there is to a match.
    private static func beginnings(of node: SyntaxNode, limit: Int) -> (texts: [[UInt8]], isExact: Bool) {
        switch node {
        case .empty, .assertion:
            return ([[]], true)
        case .literal(let bytes):
            return ([bytes], true)
        case .set(let set):
            guard set.count <= min(maximumClass, limit) else { return ([[]], false) }
            return (set.members.map { [$0] }, true)
        case .capture(let node, _):
            return beginnings(of: node, limit: limit)
        case .concatenation(let nodes):
            return beginnings(of: nodes, limit: limit)
        case .alternation(let nodes):
            let branches = nodes.map { beginnings(of: $0, limit: limit) }
            return reduced(
                branches.flatMap(\.texts), isExact: branches.allSatisfy(\.isExact), limit: limit)
        case .repetition(let node, 0, 1, _, _):
            let body = beginnings(of: node, limit: limit)
            return reduced(body.texts + [[]], isExact: body.isExact, limit: limit)
        case .repetition(_, 0, let maximum, _, _):
            return ([[]], maximum == 0)
        case .repetition(let node, let minimum, let maximum, _, _):
            let body = beginnings(of: node, limit: limit)
            guard body.isExact else { return body }
            var texts = body.texts
            for _ in 1..<minimum {
                guard texts.count * body.texts.count <= limit, texts[0].count < 64 else { return (texts, false) }
                texts = product(texts, body.texts)
            }
            return (texts, maximum == minimum)
        }
    }

    private static func beginnings(of nodes: [SyntaxNode], limit: Int) -> (texts: [[UInt8]], isExact: Bool) {
        var result: [[UInt8]] = [[]]
        for node in nodes {
            let part = beginnings(of: node, limit: limit / result.count)
            result = product(result, part.texts)
            if !part.isExact { return (result, false) }
        }
        return (result, true)
    }

    /// The texts without doubles, cut shorter until there are no more than `limit`.
    private static func reduced(
        _ texts: [[UInt8]], isExact: Bool, limit: Int
    ) -> (texts: [[UInt8]], isExact: Bool) {
        var result = unique(texts)
        var length = result.map(\.count).max() ?? 0
        let isCut = result.count > limit
        while result.count > limit, length > 0 {
            length = min(length - 1, 64)
            result = unique(result.map { Array($0.prefix(length)) })
        }
        return (result, isExact && !isCut)
    }

    /// The set that narrows more: the one whose shortest text is longer, then the one with fewer texts.
    static func better(_ first: [[UInt8]], _ second: [[UInt8]]) -> [[UInt8]] {
        let lengths = (shortest(first), shortest(second))
        if lengths.0 != lengths.1 { return lengths.0 > lengths.1 ? first : second }
        return first.count <= second.count ? first : second
    }

    static func shortest(_ texts: [[UInt8]]) -> Int {
        texts.lazy.map(\.count).min() ?? 0
    }

    // MARK: Sets of texts

    static func product(_ left: [[UInt8]], _ right: [[UInt8]]) -> [[UInt8]] {
        unique(left.flatMap { beginning in right.map { beginning + $0 } })
    }

    static func unique(_ texts: [[UInt8]]) -> [[UInt8]] {
        var seen: Set<[UInt8]> = []
        return texts.filter { seen.insert($0).inserted }
    }

    private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
        text.indices.contains { text[$0...].starts(with: part) }
    }
}
