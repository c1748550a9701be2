extension MatchScratch {
    /// The most bits of `visited`; larger matches are the parallel matcher's.
    static let maximumVisits = 1 << 18

    /// Whether `backtrack` may run: its memory and its time grow with program × input.
    static func canBacktrack(_ program: ExpressionProgram, count: Int) -> Bool {
        let (visits, overflow) = program.visitCount.multipliedReportingOverflow(by: count + 1)
        return !overflow && visits <= maximumVisits
    }

    /// Finds the first match by trying one way after another, and never the same instruction twice at one position.
    ///
    /// A way that failed once fails again, whatever the captures were on it, so each can be dropped when it comes back
    /// to where another was. Hence the time is in proportion to program × input (the bit-state matcher of RE2).
    /// `slots` has two elements for each group, or none.
    mutating func backtrack(_ program: borrowing ExpressionProgram, _ input: Span<UInt8>, slots: inout [Int]) -> Bool {
        let count = input.count
        let visitCount = program.visitCount
        clearVisited(bits: visitCount * (count + 1))
        jobs.removeAll(keepingCapacity: true)

        let instructions = program.instructions.span
        let bytes = program.bytes.span
        let sets = program.sets.span
        let slotCount = slots.count
        var work = 0
        defer { steps = work }

        var start = 0
        while let from = program.nextStart(in: input, from: start) {
            var index = 0
            var position = from
            trying: while true {
                work &+= 1
                let instruction = instructions[index]
                var isAlive = true
                if instruction.visit != Instruction.noVisit {
                    let bit = position &* visitCount &+ Int(instruction.visit)
                    let mask = UInt64(1) &<< UInt64(bit & 63)
                    isAlive = visited[bit >> 6] & mask == 0
                    visited[bit >> 6] |= mask
                }
                if isAlive {
                    switch instruction.operation {
                    case .byte:
                        let run = Int(instruction.run)
                        isAlive = run <= count &- position
                        var offset = 0
                        while isAlive, offset < run {
                            isAlive = bytes[index &+ offset] == input[position &+ offset]
                            offset &+= 1
                        }
                        work &+= offset
                        position &+= run
                    case .set:
                        if position < count {
                            isAlive = sets.contains(input[position], inSet: instruction.argument)
                        } else {
                            isAlive = false
                        }
                        position &+= 1
                    case .split:
                        var canTakeNext = true
                        var canTakeOther = true
                        if position < count {
                            canTakeNext = sets.contains(input[position], inSet: instruction.nextFirst)
                            canTakeOther = sets.contains(input[position], inSet: instruction.argumentFirst)
                        }
                        if !canTakeNext {
                            if canTakeOther {
                                index = Int(instruction.argument)
                                continue trying
                            }
                            isAlive = false
                        } else if canTakeOther {
                            jobs.append(Job(target: instruction.argument, restores: false, value: position))
                        }
                    case .loop:
                        // As the split and the set in turn; this position was entered above.
                        while position < count, sets.contains(input[position], inSet: instruction.nextFirst) {
                            if sets.contains(input[position], inSet: instruction.argumentFirst) {
                                jobs.append(Job(target: instruction.argument, restores: false, value: position))
                            }
                            position &+= 1
                            work &+= 1
                            let bit = position &* visitCount &+ Int(instruction.visit)
                            let mask = UInt64(1) &<< UInt64(bit & 63)
                            isAlive = visited[bit >> 6] & mask == 0
                            visited[bit >> 6] |= mask
                            if !isAlive { break }
                        }
                        if isAlive, position < count {
                            isAlive = sets.contains(input[position], inSet: instruction.argumentFirst)
                        }
                        if isAlive {
                            index = Int(instruction.argument)
                            continue trying
                        }
                    case .save:
                        let slot = Int(instruction.argument)
                        if slot < slotCount {
                            // With nothing to go back to, nobody will look at the former value.
                            if !jobs.isEmpty {
                                jobs.append(Job(target: instruction.argument, restores: true, value: slots[slot]))
                            }
                            slots[slot] = position
                        }
                    case .match:
                        if slotCount > 1 {
                            slots[0] = from
                            slots[1] = position
                        }
                        return true
                    case .assertStart, .assertEnd, .assertWordBoundary, .assertNotWordBoundary:
                        isAlive = instruction.operation.holds(at: position, in: input)
                    }
                    if isAlive {
                        index = Int(instruction.next)
                        continue trying
                    }
                }
                while true {
                    guard let job = jobs.popLast() else { break trying }
                    if job.restores {
                        slots[Int(job.target)] = job.value
                    } else {
                        index = Int(job.target)
                        position = job.value
                        break
                    }
                }
            }
            for slot in slots.indices { slots[slot] = -1 }
            start = from + 1
        }
        return false
    }

    private mutating func clearVisited(bits: Int) {
        let words = (bits + 63) >> 6
        for index in 0..<min(words, visited.count) { visited[index] = 0 }
        if visited.count < words {
            visited.append(contentsOf: repeatElement(0, count: words - visited.count))
        }
    }
}

extension ExpressionProgram {
    /// The first position at or after `start` where a match may begin; nil if there is none.
    func nextStart(in input: Span<UInt8>, from start: Int) -> Int? {
        if isAnchoredAtStart, start > 0 { return nil }
        guard let firstBytes else { return start <= input.count ? start : nil }
        var position = start
        while position < input.count {
            if firstBytes.contains(input[position]) { return position }
            if isAnchoredAtStart { return nil }
            position &+= 1
        }
        return nil
    }
}

extension Span<UInt64> {
    /// Whether a set of a program has a byte.
    @inline(__always)
    func contains(_ byte: UInt8, inSet index: UInt16) -> Bool {
        self[Int(index) &* 4 &+ Int(byte >> 6)] &>> UInt64(byte & 63) & 1 != 0
    }
}

extension Operation {
    /// Whether a condition on a position holds there.
    func holds(at position: Int, in input: Span<UInt8>) -> Bool {
        switch self {
        case .assertStart: return position == 0
        case .assertEnd: return position == input.count
        default:
            let before = position > 0 && ByteSet.word.contains(input[position - 1])
            let after = position < input.count && ByteSet.word.contains(input[position])
            return (before != after) == (self == .assertWordBoundary)
        }
    }
}
