extension LiteralAnalysis {
    /// The longest text that is put together of several parts.
    private static let maximumLength = 64
    /// The most sets that are kept of one expression.
    static let maximumSets = 64

    /// What each match of a part of an expression has in it.
    struct Contents {
        /// All texts that match; nil if there are too many.
        private var exact: [[UInt8]]?
        /// Sets of which each match contains a text.
        private var sets: [[[UInt8]]] = []

        private init(exact: [[UInt8]]?, sets: [[[UInt8]]] = []) {
            self.exact = exact
            self.sets = sets.count > maximumSets ? Array(sets.prefix(maximumSets)) : sets
        }

        /// Looks through a tree. With `folds` all texts are without case, see `foldingCase`.
        init(of tree: SyntaxNode, folds: Bool) {
            self = Contents.of(tree, folds)
        }

        /// The sets that say something: those without an empty text.
        var allSets: [[[UInt8]]] {
            guard let exact, shortest(exact) > 0 else { return sets }
            return sets + [exact]
        }

        private static func of(_ node: SyntaxNode, _ folds: Bool) -> Contents {
            switch node {
            case .empty, .assertion:
                return Contents(exact: [[]])
            case .literal(let bytes):
                return Contents(exact: [folds ? bytes.map(\.foldingCase) : bytes])
            case .set(let set):
                guard set.count <= (folds ? 2 : 1) * maximumClass else { return Contents(exact: nil) }
                let texts = unique(set.members.map { [folds ? $0.foldingCase : $0] })
                return Contents(exact: texts.count <= maximumClass ? texts : nil)
            case .capture(let node, _):
                return of(node, folds)
            case .concatenation(let nodes):
                return inSequence(nodes.map { of($0, folds) })
            case .alternation(let nodes):
                return eitherOf(nodes.map { of($0, folds) })
            case .repetition(let node, 0, 1, _, _):
                let texts = of(node, folds).exact.map { unique($0 + [[]]) } ?? []
                return Contents(exact: 1...maximumCount ~= texts.count ? texts : nil)
            case .repetition(_, 0, let maximum, _, _):
                return Contents(exact: maximum == 0 ? [[]] : nil)
            case .repetition(let node, let minimum, let maximum, _, _):
                let body = of(node, folds)
                if minimum == 1, maximum == 1 { return body }
                guard let exact = body.exact else { return Contents(exact: nil, sets: body.sets) }
                var texts = exact
                var copies = 1
                while copies < minimum, texts.count * exact.count <= maximumCount,
                    texts.allSatisfy({ $0.count <= maximumLength })
                {
                    texts = product(texts, exact)
                    copies += 1
                }
                if copies == minimum, maximum == minimum { return Contents(exact: texts) }
                // Where there are more copies than these, it is the beginning that they make.
                return Contents(exact: nil, sets: shortest(texts) > 0 ? [texts] : [])
            }
        }

        private static func inSequence(_ parts: [Contents]) -> Contents {
            var sets: [[[UInt8]]] = []
            var run: [[UInt8]] = [[]]
            var isExact = true
            for part in parts {
                if let exact = part.exact, run.count * exact.count <= maximumCount,
                    run.allSatisfy({ $0.count <= maximumLength })
                {
                    run = product(run, exact)
                    continue
                }
                isExact = false
                if shortest(run) > 0 { sets.append(run) }
                sets += part.sets
                run = part.exact ?? [[]]
            }
            if isExact { return Contents(exact: run) }
            return Contents(exact: nil, sets: shortest(run) > 0 ? sets + [run] : sets)
        }

        private static func eitherOf(_ branches: [Contents]) -> Contents {
            let exact = branches.compactMap(\.exact)
            if exact.count == branches.count {
                let union = unique(exact.flatMap { $0 })
                if union.count <= maximumCount { return Contents(exact: union) }
            }
            let best = branches.map { $0.allSets.reduce([], better) }
            guard best.allSatisfy({ shortest($0) > 0 }) else { return Contents(exact: nil) }
            let union = unique(best.flatMap { $0 })
            return Contents(exact: nil, sets: union.count <= maximumCount ? [union] : [])
        }
    }
}

extension UInt8 {
    /// This byte as an index without case has it: a letter in lower case, and no byte zero.
    ///
    /// Some other bytes are made the same too, such as `_` and DEL, which lets an index find too much but never too
    /// little.
    var foldingCase: UInt8 { self | 0x20 }
}
