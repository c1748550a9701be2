extension MatchScratch {
    /// Finds the first match by following all ways at once, a byte at a time (Pike's matcher), as `backtrack` would.
    ///
    /// Its time is in proportion to program × input, its memory to the program alone.
    mutating func followAll(_ program: ExpressionProgram, _ input: Span<UInt8>, slots: inout [Int]) -> Bool {
        current.prepare(instructions: program.instructions.count, slots: slots.count)
        following.prepare(instructions: program.instructions.count, slots: slots.count)
        steps = 0

        var isFound = false
        var position = 0
        while position <= input.count {
            if current.count == 0 {
                guard !isFound, let start = program.nextStart(in: input, from: position) else { break }
                position = start
            }
            if !isFound, position == 0 || !program.isAnchoredAtStart {
                working.removeAll(keepingCapacity: true)
                working.append(contentsOf: repeatElement(-1, count: slots.count))
                if !working.isEmpty { working[0] = position }
                current.enter(0, of: program, at: position, in: input, slots: &working, jobs: &jobs)
            }
            isFound = advance(program, at: position, in: input, slots: &slots) || isFound
            swap(&current, &following)
            following.removeAll()
            position += 1
        }
        return isFound
    }

    /// Takes the byte at `position` in every way of `current`; true if one of them has come to a match.
    private mutating func advance(
        _ program: ExpressionProgram, at position: Int, in input: Span<UInt8>, slots: inout [Int]
    ) -> Bool {
        let byte = position < input.count ? input[position] : nil
        steps &+= current.count
        for place in 0..<current.count {
            let index = current[place]
            let instruction = program.instructions[index]
            let target: Int
            switch instruction.operation {
            case .byte:
                guard byte == program.bytes[index] else { continue }
                target = instruction.run > 1 ? index + 1 : Int(instruction.next)
            case .set:
                guard let byte else { continue }
                let word = program.sets[Int(instruction.argument) * 4 + Int(byte >> 6)]
                guard word >> UInt64(byte & 63) & 1 != 0 else { continue }
                target = Int(instruction.next)
            case .match:
                // The ways after this one have less priority; those before it may yet come to a match.
                for slot in slots.indices { slots[slot] = current.slots[place * slots.count + slot] }
                if slots.count > 1 { slots[1] = position }
                return true
            default:
                continue
            }
            for slot in working.indices { working[slot] = current.slots[place * working.count + slot] }
            following.enter(target, of: program, at: position + 1, in: input, slots: &working, jobs: &jobs)
        }
        return false
    }
}

/// The ways that are followed at one position, best first: a sparse set of instructions and the slots of each.
struct ThreadList: Sendable {
    /// For an instruction its place in `members`, which counts only if that place names the instruction.
    private var places: [UInt16] = []
    private var members: [UInt16] = []
    private(set) var count = 0
    /// The slots of each way, by place.
    private(set) var slots: [Int] = []

    mutating func prepare(instructions: Int, slots slotCount: Int) {
        if places.count < instructions {
            places = [UInt16](repeating: 0, count: instructions)
            members = places
        }
        if slots.count < instructions * slotCount {
            slots = [Int](repeating: -1, count: instructions * slotCount)
        }
        count = 0
    }

    subscript(place: Int) -> Int { Int(members[place]) }

    mutating func removeAll() { count = 0 }

    /// The place of an instruction that was not in the list yet.
    private mutating func insert(_ instruction: Int) -> Int? {
        let place = Int(places[instruction])
        if place < count, Int(members[place]) == instruction { return nil }
        places[instruction] = UInt16(count)
        members[count] = UInt16(instruction)
        count += 1
        return count - 1
    }

    /// Adds an instruction and all that it leads to without taking a byte, best first.
    ///
    /// `working` holds the slots on the way there, and is as before afterwards; `jobs` is empty before and afterwards.
    mutating func enter(
        _ start: Int, of program: ExpressionProgram, at position: Int, in input: Span<UInt8>,
        slots working: inout [Int], jobs: inout [MatchScratch.Job]
    ) {
        jobs.removeAll(keepingCapacity: true)
        jobs.append(MatchScratch.Job(target: UInt16(start), restores: false, value: position))
        while let job = jobs.popLast() {
            if job.restores {
                working[Int(job.target)] = job.value
                continue
            }
            var index = Int(job.target)
            entering: while let place = insert(index) {
                let instruction = program.instructions[index]
                switch instruction.operation {
                case .byte, .set, .match:
                    for slot in working.indices { slots[place * working.count + slot] = working[slot] }
                    break entering
                case .split, .loop:
                    jobs.append(
                        MatchScratch.Job(target: instruction.argument, restores: false, value: position))
                case .save:
                    let slot = Int(instruction.argument)
                    if slot < working.count {
                        jobs.append(
                            MatchScratch.Job(target: instruction.argument, restores: true, value: working[slot]))
                        working[slot] = position
                    }
                case .assertStart, .assertEnd, .assertWordBoundary, .assertNotWordBoundary:
                    guard instruction.operation.holds(at: position, in: input) else { break entering }
                }
                index = Int(instruction.next)
            }
        }
    }
}
