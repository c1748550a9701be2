/// The deterministic states of a `UnionProgram` that inputs have led to, made when they are first needed.
///
/// A state is a set of the program's nodes, and which expressions have matched on the way into it. Once the states of
/// an input are there, a byte of it costs one look into a table, however many expressions there are. When the memory is
/// full, the states are forgotten if they have been of use since; if not, further ones are not kept, and the time is in
/// proportion to program × input.
struct LazyAutomaton: Sendable {
    /// The most bytes that states may occupy.
    static let defaultBudget = 4 << 20
    /// States are forgotten only when so many bytes of inputs came for each, so that making them is worth it.
    static let bytesPerState = 8
    private static let unknown = UInt32.max
    /// The state in which nothing can match any more, and that at the beginning of an input.
    private static let dead: UInt32 = 0
    private static let start: UInt32 = 1

    private struct State {
        var nodes: Range<Int>
        var matches: Range<Int>
        var isAfterWord: Bool
    }

    private enum Event {
        /// The latest state is one into which expressions have matched.
        case matches
        /// Where the next byte leads to is not known.
        case unknown
        case ended
    }

    let budget: Int
    /// Which program the states are of; 0 for none.
    private var owner: UInt64 = 0
    private var states: ContiguousArray<State> = []
    /// Where each class of bytes, and the end, leads to from each state: 2 × state, + 1 if it has matches.
    private var transitions: ContiguousArray<UInt32> = []
    private var rowLength = 0
    private var nodes: ContiguousArray<UInt32> = []
    /// 64 expressions each: their numbers by 64, and a bit for each that has matched.
    private var matchIndices: ContiguousArray<UInt32> = []
    private var matchBits: ContiguousArray<UInt64> = []
    /// States by their hash, one added; 0 where there is none.
    private var table: ContiguousArray<UInt32> = []
    private var bytesSinceForgetting = 0
    private var step = AutomatonStep()

    /// How often the states were forgotten because the memory was full.
    private(set) var forgettingCount = 0
    /// How many states were not kept.
    private(set) var unkeptCount = 0

    init(budget: Int = LazyAutomaton.defaultBudget) {
        self.budget = budget
    }

    var stateCount: Int { states.count }

    /// The bytes that the states occupy, which never are more than `budget` unless the first two are.
    var byteCount: Int { byteCount(addingNodes: 0, matches: 0, states: 0) }

    /// Adds the expressions that match an input. `owner` is the program's number, which no other program has.
    mutating func collect(
        _ program: UnionProgram, owner: UInt64, _ input: Span<UInt8>, into candidates: inout CandidateSet
    ) {
        if self.owner != owner { adopt(program, owner) }
        bytesSinceForgetting &+= input.count
        var state: UInt32? = Self.start
        var position = 0
        while position <= input.count {
            if var known = state {
                let event = glide(program, input, &known, &position)
                state = known
                switch event {
                case .ended: return
                case .matches:
                    for match in states[Int(known)].matches {
                        candidates.insert(matchBits[match], at: Int(matchIndices[match]))
                    }
                    continue
                case .unknown: step.begin(nodes[states[Int(known)].nodes], isAfterWord: states[Int(known)].isAfterWord)
                }
            } else {
                step.goOn()
            }
            let symbol = position < input.count ? Int(program.classes[Int(input[position])]) : rowLength &- 1
            step.advance(program, on: symbol, isAtStart: position == 0)
            for index in step.matchIndices { candidates.insert(step.matches[Int(index)], at: Int(index)) }
            position &+= 1
            state = following(state, on: symbol, program)
        }
    }

    /// Goes on from state to state as far as they are known, or until expressions match.
    private func glide(
        _ program: UnionProgram, _ input: Span<UInt8>, _ state: inout UInt32, _ position: inout Int
    ) -> Event {
        let transitions = transitions.span
        let classes = program.classes.span
        while position <= input.count {
            let symbol = position < input.count ? Int(classes[Int(input[position])]) : rowLength &- 1
            let entry = transitions[Int(state) &* rowLength &+ symbol]
            if entry == Self.unknown { return .unknown }
            position &+= 1
            state = entry &>> 1
            if entry & 1 != 0 { return .matches }
            if state == Self.dead { return .ended }
        }
        return .ended
    }

    // MARK: States

    /// The state that the latest step led to; nil if there is no memory for it.
    private mutating func following(_ former: UInt32?, on symbol: Int, _ program: UnionProgram) -> UInt32? {
        if step.nodes.isEmpty, step.matchIndices.isEmpty {
            if let former { transitions[Int(former) &* rowLength &+ symbol] = Self.dead }
            return Self.dead
        }
        let hash = step.hash
        if let known = find(hash) {
            if let former { note(known, after: former, on: symbol) }
            return known
        }
        if byteCount(addingNodes: step.nodes.count, matches: step.matchIndices.count, states: 1) <= budget {
            let added = add(hash)
            if let former { note(added, after: former, on: symbol) }
            return added
        }
        guard bytesSinceForgetting >= Self.bytesPerState * states.count else {
            unkeptCount &+= 1
            return nil
        }
        forget(program)
        forgettingCount &+= 1
        let isFitting = byteCount(addingNodes: step.nodes.count, matches: step.matchIndices.count, states: 1) <= budget
        return isFitting ? add(hash) : nil
    }

    private mutating func note(_ state: UInt32, after former: UInt32, on symbol: Int) {
        let hasMatches: UInt32 = states[Int(state)].matches.isEmpty ? 0 : 1
        transitions[Int(former) &* rowLength &+ symbol] = state &<< 1 | hasMatches
    }

    private func find(_ hash: UInt64) -> UInt32? {
        let wrap = table.count &- 1
        var slot = Int(truncatingIfNeeded: hash) & wrap
        while table[slot] != 0 {
            let number = table[slot] &- 1
            if isLatest(states[Int(number)]) { return number }
            slot = (slot &+ 1) & wrap
        }
        return nil
    }

    /// Whether a state is the one that the latest step led to.
    private func isLatest(_ state: State) -> Bool {
        guard state.isAfterWord == step.isAfterWord, state.nodes.count == step.nodes.count,
            state.matches.count == step.matchIndices.count
        else { return false }
        for (index, node) in zip(state.nodes, step.nodes) where nodes[index] != node { return false }
        for (index, match) in zip(state.matches, step.matchIndices)
        where matchIndices[index] != match || matchBits[index] != step.matches[Int(match)] {
            return false
        }
        return true
    }

    private mutating func add(_ hash: UInt64) -> UInt32 {
        let number = append(step.nodes, isAfterWord: step.isAfterWord)
        for index in step.matchIndices {
            matchIndices.append(index)
            matchBits.append(step.matches[Int(index)])
        }
        states[Int(number)].matches = matchBits.count - step.matchIndices.count..<matchBits.count
        if table.count < 2 * states.count { growTable() }
        insert(number, hash)
        return number
    }

    private mutating func append(_ added: ContiguousArray<UInt32>, isAfterWord: Bool) -> UInt32 {
        nodes.append(contentsOf: added)
        states.append(
            State(nodes: nodes.count - added.count..<nodes.count, matches: 0..<0, isAfterWord: isAfterWord))
        transitions.append(contentsOf: repeatElement(Self.unknown, count: rowLength))
        return UInt32(truncatingIfNeeded: states.count - 1)
    }

    private mutating func insert(_ number: UInt32, _ hash: UInt64) {
        let wrap = table.count - 1
        var slot = Int(truncatingIfNeeded: hash) & wrap
        while table[slot] != 0 { slot = (slot + 1) & wrap }
        table[slot] = number + 1
    }

    private mutating func growTable() {
        let size = 2 * table.count
        table.removeAll(keepingCapacity: true)
        table.append(contentsOf: repeatElement(0, count: size))
        for (number, state) in states.enumerated().dropFirst(2) {
            var hash = AutomatonStep.Hash(isAfterWord: state.isAfterWord)
            for index in state.nodes { hash.add(UInt64(nodes[index])) }
            for index in state.matches { hash.add(UInt64(matchIndices[index]), matchBits[index]) }
            insert(UInt32(truncatingIfNeeded: number), hash.value)
        }
    }

    // MARK: Memory

    private func byteCount(addingNodes addedNodes: Int, matches addedMatches: Int, states addedStates: Int) -> Int {
        let count = states.count + addedStates
        let slots = table.count < 2 * count ? 2 * table.count : table.count
        return count * (MemoryLayout<State>.stride + rowLength * 4) + (nodes.count + addedNodes) * 4
            + (matchBits.count + addedMatches) * 12 + slots * 4
    }

    private mutating func adopt(_ program: UnionProgram, _ owner: UInt64) {
        self = LazyAutomaton(budget: budget)
        self.owner = owner
        rowLength = program.representatives.count + 1
        step.prepare(program)
        forget(program)
    }

    /// Forgets all states but the first two.
    private mutating func forget(_ program: UnionProgram) {
        bytesSinceForgetting = 0
        states.removeAll(keepingCapacity: true)
        transitions.removeAll(keepingCapacity: true)
        nodes.removeAll(keepingCapacity: true)
        matchIndices.removeAll(keepingCapacity: true)
        matchBits.removeAll(keepingCapacity: true)
        table.removeAll(keepingCapacity: true)
        table.append(contentsOf: repeatElement(0, count: 64))
        _ = append([], isAfterWord: false)
        for symbol in 0..<rowLength { transitions[symbol] = Self.dead }
        _ = append(ContiguousArray(program.startNodes), isAfterWord: false)
    }
}
