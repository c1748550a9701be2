/// Several expressions as one program that tells which of them match: a graph that is walked on all ways at once.
///
/// Expressions that begin alike have their beginning in common, as in a tree. Captures and preference are left out, so
/// that it says that an expression matches, not how.
struct UnionProgram: Sendable {
    /// What leads from one node to another.
    enum Label: UInt8, Sendable {
        /// A byte of a set.
        case set
        case nothing
        case assertStart, assertEnd, assertWordBoundary, assertNotWordBoundary
        /// Nothing, and what it leads to is no node but the number of an expression, which has matched.
        case accept
    }

    struct Edge: Sendable {
        var label: Label
        var set: UInt16 = 0
        var target: UInt32
    }

    /// The edges of all nodes, node by node; those of node n are at `starts[n]..<starts[n + 1]`.
    let edges: [Edge]
    let starts: [UInt32]
    /// Whether a node has more than edges with `nothing`, and so has to be remembered.
    let isLasting: [Bool]
    /// The nodes at the beginning of an input, in ascending order.
    let startNodes: [UInt32]
    /// Four words for each set.
    let sets: [UInt64]
    /// Bytes that are in the same sets are of one class.
    let classes: [UInt8]
    /// A byte of each class.
    let representatives: [UInt8]
    let hasWordBoundaries: Bool
    /// One more than the highest number of an expression.
    let expressionCount: Int

    var nodeCount: Int { isLasting.count }

    var byteCount: Int { edges.count * MemoryLayout<Edge>.stride + starts.count * 4 + nodeCount + sets.count * 8 }

    init(_ builder: UnionProgramBuilder, expressionCount: Int) {
        self.expressionCount = expressionCount
        let drafts = builder.edges
        let nodeCount = builder.nodeCount
        var ends = [UInt32](repeating: 0, count: nodeCount + 1)
        var isLasting = [Bool](repeating: false, count: nodeCount)
        var hasWordBoundaries = false
        for draft in drafts {
            ends[Int(draft.source) + 1] += 1
            switch draft.edge.label {
            case .nothing: break
            case .assertWordBoundary, .assertNotWordBoundary:
                hasWordBoundaries = true
                isLasting[Int(draft.source)] = true
            case .set, .accept, .assertStart, .assertEnd: isLasting[Int(draft.source)] = true
            }
        }
        for node in 0..<nodeCount { ends[node + 1] += ends[node] }
        starts = ends
        var sorted = [Edge](repeating: Edge(label: .nothing, target: 0), count: drafts.count)
        for draft in drafts {
            sorted[Int(ends[Int(draft.source)])] = draft.edge
            ends[Int(draft.source)] += 1
        }
        edges = sorted
        self.isLasting = isLasting
        self.hasWordBoundaries = hasWordBoundaries
        startNodes = Self.closure(of: builder.roots, edges: edges, starts: starts)
            .filter { isLasting[Int($0)] }.sorted()
        sets = builder.sets
        (classes, representatives) = Self.classes(builder.sets, hasWordBoundaries: hasWordBoundaries)
    }

    /// Some nodes and those that they lead to with nothing.
    private static func closure(of nodes: [UInt32], edges: [Edge], starts: [UInt32]) -> [UInt32] {
        var found = nodes
        var isFound = [Bool](repeating: false, count: max(0, starts.count - 1))
        for node in nodes { isFound[Int(node)] = true }
        var index = 0
        while index < found.count {
            let node = Int(found[index])
            index += 1
            for edge in edges[Int(starts[node])..<Int(starts[node + 1])]
            where edge.label == .nothing && !isFound[Int(edge.target)] {
                isFound[Int(edge.target)] = true
                found.append(edge.target)
            }
        }
        return found
    }

    /// Parts the bytes by the sets that they are in.
    private static func classes(
        _ sets: [UInt64], hasWordBoundaries: Bool
    ) -> (classes: [UInt8], representatives: [UInt8]) {
        var classes = [UInt8](repeating: 0, count: 256)
        var representatives: [UInt8] = [0]
        func part(_ contains: (UInt8) -> Bool) {
            // What was one class is two if the set has some of its bytes and not others.
            var split = [UInt8?](repeating: nil, count: representatives.count)
            for byte in UInt8.min...UInt8.max {
                let old = Int(classes[Int(byte)])
                guard contains(byte) != contains(representatives[old]) else { continue }
                if split[old] == nil {
                    split[old] = UInt8(truncatingIfNeeded: representatives.count)
                    representatives.append(byte)
                }
                classes[Int(byte)] = split[old] ?? 0
            }
        }
        for set in stride(from: 0, to: sets.count, by: 4) {
            let set = ByteSet(words: sets[set..<set + 4])
            part(set.contains)
        }
        if hasWordBoundaries { part(ByteSet.word.contains) }
        return (classes, representatives)
    }
}
