/// One step of a `UnionProgram` on all ways at once: from a set of nodes over a class of bytes to another.
struct AutomatonStep: Sendable {
    /// A hash of a state.
    struct Hash {
        private(set) var value: UInt64

        init(isAfterWord: Bool) {
            value = isAfterWord ? 1 : 2
        }

        mutating func add(_ words: UInt64...) {
            for word in words {
                value = (value ^ word) &* 0x9E37_79B9_7F4A_7C15
                value ^= value &>> 32
            }
        }
    }

    /// The nodes that the step led to, in ascending order.
    private(set) var nodes: ContiguousArray<UInt32> = []
    /// Whether the byte was a letter, a digit or `_`; false where the program does not ask.
    private(set) var isAfterWord = false
    /// The expressions that matched before the byte, 64 to a word, and which words are not 0, in ascending order.
    private(set) var matches: ContiguousArray<UInt64> = []
    private(set) var matchIndices: ContiguousArray<UInt32> = []

    private var current: ContiguousArray<UInt32> = []
    /// Which nodes are in `current` and in `nodes`, by the number of the step.
    private var isCurrent: ContiguousArray<UInt32> = []
    private var isFollowing: ContiguousArray<UInt32> = []
    private var number: UInt32 = 0

    /// Makes room for a program.
    mutating func prepare(_ program: UnionProgram) {
        isCurrent = ContiguousArray(repeating: 0, count: program.nodeCount)
        isFollowing = isCurrent
        matches = ContiguousArray(repeating: 0, count: (program.expressionCount + 63) / 64)
        number = 0
    }

    /// Sets what the next step begins with.
    mutating func begin(_ nodes: ArraySlice<UInt32>, isAfterWord: Bool) {
        current.removeAll(keepingCapacity: true)
        current.append(contentsOf: nodes)
        self.isAfterWord = isAfterWord
    }

    /// Lets the next step begin where the latest one led to.
    mutating func goOn() {
        swap(&current, &nodes)
    }

    /// Makes a step over a class of bytes or, one above the last class, the end of the input.
    mutating func advance(_ program: UnionProgram, on symbol: Int, isAtStart: Bool) {
        if number == .max { prepare(program) }
        number += 1
        let edges = program.edges.span
        let sets = program.sets.span
        let byte = symbol < program.representatives.count ? program.representatives[symbol] : nil
        let isBeforeWord = byte.map(ByteSet.word.contains) ?? false
        for index in matchIndices { matches[Int(index)] = 0 }
        matchIndices.removeAll(keepingCapacity: true)
        nodes.removeAll(keepingCapacity: true)
        for node in current { isCurrent[Int(node)] = number }

        var index = 0
        while index < current.count {
            let node = Int(current[index])
            index &+= 1
            for place in Int(program.starts[node])..<Int(program.starts[node &+ 1]) {
                let edge = edges[place]
                let leadsOn: Bool
                switch edge.label {
                case .set:
                    guard let byte, sets.contains(byte, inSet: edge.set) else { continue }
                    if isFollowing[Int(edge.target)] != number {
                        isFollowing[Int(edge.target)] = number
                        nodes.append(edge.target)
                    }
                    continue
                case .accept:
                    let word = edge.target >> 6
                    if matches[Int(word)] == 0 { matchIndices.append(word) }
                    matches[Int(word)] |= 1 &<< UInt64(edge.target & 63)
                    continue
                case .nothing: leadsOn = true
                case .assertStart: leadsOn = isAtStart
                case .assertEnd: leadsOn = byte == nil
                case .assertWordBoundary: leadsOn = isAfterWord != isBeforeWord
                case .assertNotWordBoundary: leadsOn = isAfterWord == isBeforeWord
                }
                if leadsOn, isCurrent[Int(edge.target)] != number {
                    isCurrent[Int(edge.target)] = number
                    current.append(edge.target)
                }
            }
        }
        isAfterWord = program.hasWordBoundaries && isBeforeWord
        close(program)
        nodes.sort()
        matchIndices.sort()
    }

    /// Adds the nodes that the present ones lead to without a byte, and removes those that lead to others only so.
    private mutating func close(_ program: UnionProgram) {
        let edges = program.edges.span
        var index = 0
        while index < nodes.count {
            let node = Int(nodes[index])
            index &+= 1
            for place in Int(program.starts[node])..<Int(program.starts[node &+ 1]) {
                let edge = edges[place]
                guard edge.label == .nothing, isFollowing[Int(edge.target)] != number else { continue }
                isFollowing[Int(edge.target)] = number
                nodes.append(edge.target)
            }
        }
        nodes.removeAll { !program.isLasting[Int($0)] }
    }

    /// The hash of the state that the step led to.
    var hash: UInt64 {
        var hash = Hash(isAfterWord: isAfterWord)
        for node in nodes { hash.add(UInt64(node)) }
        for index in matchIndices { hash.add(UInt64(index), matches[Int(index)]) }
        return hash.value
    }
}
