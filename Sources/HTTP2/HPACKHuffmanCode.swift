/// The code that strings in compressed fields may be in (RFC 7541 §5.2, Appendix B).
///
/// The code is canonical, so that the lengths of its symbols' codes give the codes; they are made into a machine that
/// takes four bits at a time. A state is an inner node of the code's tree.
enum HPACKHuffmanCode {
    /// One step of the machine: the next state, the symbol that was completed, and what else it means.
    private struct Step {
        var next: UInt8 = 0
        var symbol: UInt8 = 0
        var flags: UInt8 = 0

        static let hasSymbol: UInt8 = 1
        /// A string may end here: what is left of its last byte is the start of EOS, less than eight bits.
        static let mayEnd: UInt8 = 2
        /// EOS itself has come.
        static let isWrong: UInt8 = 4
    }

    /// Appends the decoded string to `out`.
    ///
    /// - Returns: whether the string was well formed.
    static func decode(_ coded: UnsafeRawBufferPointer, to out: inout [UInt8]) -> Bool {
        var state = 0
        var mayEnd = true
        return steps.withUnsafeBufferPointer { steps in
            for byte in coded {
                let high = steps[state &<< 4 | Int(byte &>> 4)]
                if high.flags & Step.hasSymbol != 0 { out.append(high.symbol) }
                let low = steps[Int(high.next) &<< 4 | Int(byte & 0xf)]
                if low.flags & Step.hasSymbol != 0 { out.append(low.symbol) }
                if (high.flags | low.flags) & Step.isWrong != 0 { return false }
                state = Int(low.next)
                mayEnd = low.flags & Step.mayEnd != 0
            }
            return mayEnd
        }
    }

    private static let steps: [Step] = {
        let tree = makeTree()
        var steps = [Step](repeating: Step(), count: tree.count &* 16)
        for state in tree.indices {
            for bits in 0..<16 {
                var step = Step()
                var node = state
                for shift in [3, 2, 1, 0] {
                    let child = tree[node].children[bits &>> shift & 1]
                    switch child {
                    case .inner(let next): node = next
                    case .symbol(256): step.flags |= Step.isWrong
                    case .symbol(let symbol):
                        step.symbol = UInt8(truncatingIfNeeded: symbol)
                        step.flags |= Step.hasSymbol
                        node = 0
                    }
                }
                if tree[node].isPadding { step.flags |= Step.mayEnd }
                step.next = UInt8(truncatingIfNeeded: node)
                steps[state &<< 4 | bits] = step
            }
        }
        return steps
    }()

    private enum Child {
        case inner(Int)
        case symbol(Int)
    }

    private struct Node {
        var children: [Child] = [.symbol(256), .symbol(256)]
        /// Whether all bits that lead here are ones, and there are fewer than eight.
        var isPadding = false
    }

    private static func makeTree() -> [Node] {
        var tree = [Node(isPadding: true)]
        var code = 0
        var length = 0
        for symbol in (0...256).sorted(by: { (lengths[$0], $0) < (lengths[$1], $1) }) {
            code <<= lengths[symbol] - length
            length = lengths[symbol]
            var node = 0
            for position in 1...length {
                let bit = code >> (length - position) & 1
                if position == length {
                    tree[node].children[bit] = .symbol(symbol)
                } else if case .inner(let next) = tree[node].children[bit] {
                    node = next
                } else {
                    tree[node].children[bit] = .inner(tree.count)
                    tree.append(Node(isPadding: tree[node].isPadding && bit == 1 && position < 8))
                    node = tree.count - 1
                }
            }
            code += 1
        }
        return tree
    }

    /// The lengths of the codes of the symbols 0 to 255, and of EOS.
    private static let lengths: [Int] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
        28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
        5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
        7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
        24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
        23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
        21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
    ]
}
