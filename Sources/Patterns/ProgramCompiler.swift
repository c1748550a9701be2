/// Turns a syntax tree into a program, from its end to its beginning, so that each instruction knows what follows it.
struct ProgramCompiler {
    private struct Draft {
        var operation: Operation
        var byte: UInt8 = 0
        var next: Int
        var argument = 0
    }

    private var drafts: [Draft] = []
    private var sets: [UInt64] = []
    private var setIndices: [ByteSet: Int] = [:]
    /// The outermost repetition that is being compiled, to blame if the program grows too large.
    private var repetition: Range<Int>?
    private let expressionLength: Int

    private init(expressionLength: Int) {
        self.expressionLength = expressionLength
        _ = index(of: .any)
    }

    /// Compiles an expression.
    ///
    /// - Throws: ``PatternError`` if the program would have more than `ExpressionProgram.maximumCount` instructions.
    static func compile(
        _ tree: SyntaxNode, groupCount: Int, expressionLength: Int
    ) throws(PatternError) -> ExpressionProgram {
        var compiler = ProgramCompiler(expressionLength: expressionLength)
        let end = try compiler.emit(.match, next: 0)
        let start = try compiler.emit(tree, next: end)
        var program = compiler.layOut(from: start)
        compiler.lookAhead(in: &program)
        program.groupCount = groupCount + 1
        program.isAnchoredAtStart = tree.isAnchoredAtStart
        program.firstBytes = program.firstBytes(from: 0)
        return program
    }

    private mutating func emit(
        _ operation: Operation, byte: UInt8 = 0, next: Int, argument: Int = 0
    ) throws(PatternError) -> Int {
        guard drafts.count < ExpressionProgram.maximumCount else {
            let cause = repetition == nil ? "shorten it" : "use a smaller count, or '*' or '+'"
            throw PatternError(
                "the expression compiles to more than \(ExpressionProgram.maximumCount) instructions; \(cause)",
                at: repetition ?? 0..<expressionLength)
        }
        drafts.append(Draft(operation: operation, byte: byte, next: next, argument: argument))
        return drafts.count - 1
    }

    /// Emits instructions that match `node` and go on at `next`; returns the first.
    private mutating func emit(_ node: SyntaxNode, next: Int) throws(PatternError) -> Int {
        switch node {
        case .empty:
            return next
        case .literal(let bytes):
            var entry = next
            for byte in bytes.reversed() { entry = try emit(.byte, byte: byte, next: entry) }
            return entry
        case .set(let set):
            return try emit(.set, next: next, argument: index(of: set))
        case .assertion(let assertion):
            let operation: Operation =
                switch assertion {
                case .start: .assertStart
                case .end: .assertEnd
                case .wordBoundary: .assertWordBoundary
                case .notWordBoundary: .assertNotWordBoundary
                }
            return try emit(operation, next: next)
        case .capture(let node, let index):
            let end = try emit(.save, next: next, argument: 2 * index + 1)
            return try emit(.save, next: emit(node, next: end), argument: 2 * index)
        case .concatenation(let nodes):
            var entry = next
            for node in nodes.reversed() { entry = try emit(node, next: entry) }
            return entry
        case .alternation(let nodes):
            guard var entry = try nodes.last.map({ (node) throws(PatternError) in try emit(node, next: next) }) else {
                return next
            }
            for node in nodes.dropLast().reversed() {
                entry = try emit(.split, next: emit(node, next: next), argument: entry)
            }
            return entry
        case .repetition(let node, let minimum, let maximum, let greedy, let range):
            let outer = repetition
            repetition = outer ?? range
            defer { repetition = outer }
            return try emit(node, minimum: minimum, maximum: maximum, greedy: greedy, next: next)
        }
    }

    private mutating func emit(
        _ node: SyntaxNode, minimum: Int, maximum: Int?, greedy: Bool, next: Int
    ) throws(PatternError) -> Int {
        var entry = next
        var copies = minimum
        if let maximum {
            for _ in minimum..<max(minimum, maximum) {
                let size = drafts.count
                let body = try emit(node, next: entry)
                if drafts.count == size { break }
                entry = try emitSplit(body: body, exit: next, greedy: greedy)
            }
        } else {
            let loop = try emit(.split, next: next, argument: next)
            let body = try emit(node, next: loop)
            if greedy { drafts[loop].next = body } else { drafts[loop].argument = body }
            // A body that can be empty runs before the loop is asked, as (body+)?: else its own order of
            // alternatives would be lost, as it was in RE2 before 2020 and in Go before 1.16.
            switch (minimum, node.isNullable) {
            case (0, true): return try emitSplit(body: body, exit: next, greedy: greedy)
            case (0, false): return loop
            default:
                entry = body
                copies -= 1
            }
        }
        for _ in 0..<copies {
            let size = drafts.count
            entry = try emit(node, next: entry)
            // What takes no instruction once takes none a thousand times.
            if drafts.count == size { break }
        }
        return entry
    }

    private mutating func emitSplit(body: Int, exit: Int, greedy: Bool) throws(PatternError) -> Int {
        try emit(.split, next: greedy ? body : exit, argument: greedy ? exit : body)
    }

    private mutating func index(of set: ByteSet) -> Int {
        if let index = setIndices[set] { return index }
        let index = sets.count / 4
        sets += [set.words.0, set.words.1, set.words.2, set.words.3]
        setIndices[set] = index
        return index
    }

    // MARK: Layout

    /// Numbers the instructions that can be reached in the order in which they run, so that literals become runs.
    private func layOut(from start: Int) -> ExpressionProgram {
        var order: [Int] = []
        var numbers = [Int](repeating: -1, count: drafts.count)
        var predecessors = [Int](repeating: 0, count: drafts.count)
        var pending = [start]
        while let index = pending.popLast() {
            predecessors[index] += 1
            guard numbers[index] < 0 else { continue }
            numbers[index] = order.count
            order.append(index)
            let draft = drafts[index]
            if draft.operation == .split { pending.append(draft.argument) }
            if draft.operation != .match { pending.append(draft.next) }
        }

        var program = ExpressionProgram()
        program.sets = sets
        program.instructions.reserveCapacity(order.count)
        program.bytes.reserveCapacity(order.count)
        for index in order {
            let draft = drafts[index]
            let isSplit = draft.operation == .split
            var instruction = Instruction(
                operation: draft.operation,
                next: draft.operation == .match ? 0 : UInt16(numbers[draft.next]),
                argument: UInt16(isSplit ? numbers[draft.argument] : draft.argument))
            if isSplit || predecessors[index] > 1 {
                instruction.visit = UInt16(program.visitCount)
                program.visitCount += 1
            }
            program.instructions.append(instruction)
            program.bytes.append(draft.byte)
        }
        program.joinRuns()
        return program
    }

    /// Notes at each split which bytes can come first on either way, so that the backtracker need not try in vain.
    private mutating func lookAhead(in program: inout ExpressionProgram) {
        for index in program.instructions.indices where program.instructions[index].operation == .split {
            let instruction = program.instructions[index]
            let (next, argument) = (Int(instruction.next), Int(instruction.argument))
            program.instructions[index].nextFirst = UInt16(self.index(of: program.firstBytes(from: next) ?? .any))
            program.instructions[index].argumentFirst = UInt16(
                self.index(of: program.firstBytes(from: argument) ?? .any))
            let body = program.instructions[next]
            if body.operation == .set, Int(body.next) == index, body.visit == Instruction.noVisit {
                program.instructions[index].operation = .loop
            }
        }
        program.sets = sets
    }
}

extension ExpressionProgram {
    /// Lets each byte know the run that it begins. A run ends before an instruction that can be entered from elsewhere.
    fileprivate mutating func joinRuns() {
        for index in instructions.indices.reversed().dropFirst() where instructions[index].operation == .byte {
            let following = instructions[index + 1]
            let isChained = Int(instructions[index].next) == index + 1
            if isChained, following.operation == .byte, following.visit == Instruction.noVisit {
                instructions[index].run = following.run + 1
                instructions[index].next = following.next
            }
        }
    }
}
