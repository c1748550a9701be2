/// What one instruction of a program does.
enum Operation: UInt8, Sendable {
    /// Takes a byte equal to the instruction's.
    case byte
    /// Takes a byte of set `argument`.
    case set
    /// Goes on at `next` or, with less priority, at `argument`.
    case split
    /// A split whose `next` is a set that leads back to it, and that nothing else leads to: a greedy `x*`.
    case loop
    /// Notes the position in slot `argument`.
    case save
    case assertStart, assertEnd, assertWordBoundary, assertNotWordBoundary
    case match
}

/// One instruction. A program has at most 10,000, so that 16 bits number them.
struct Instruction: Sendable {
    /// Marks an instruction that only one other leads to.
    static let noVisit = UInt16.max

    var operation: Operation
    /// For `byte`: how many such instructions follow one another from here, this one included.
    var run: UInt16 = 1
    /// The instruction that follows; after a run of bytes, the one that follows the run.
    var next: UInt16
    var argument: UInt16 = 0
    /// For a split: the sets of bytes that can come first where it goes on. They may be larger than need be.
    var nextFirst: UInt16 = 0
    var argumentFirst: UInt16 = 0
    /// A number among the instructions where ways meet or part, which the backtracker enters once a position.
    var visit = Instruction.noVisit
}

/// A compiled expression. It begins at instruction 0.
struct ExpressionProgram: Sendable {
    /// The most instructions of one expression.
    static let maximumCount = 10_000

    var instructions: [Instruction] = []
    /// The byte of each instruction, side by side so that a run of them can be compared as a whole.
    var bytes: [UInt8] = []
    /// Four words for each set, lowest bytes first. Set 0 has all bytes.
    var sets: [UInt64] = []
    /// The instructions that have a visit number.
    var visitCount = 0
    /// Groups, the whole match included.
    var groupCount = 1
    var isAnchoredAtStart = false
    /// The bytes that a match can begin with; nil if it can be empty.
    var firstBytes: ByteSet?

    /// How many instructions are looked at for `firstBytes(from:)`, so that compiling stays in proportion too.
    private static let maximumLookAhead = 64

    /// The bytes that can come first from an instruction on; nil if none need come, or if it takes long to tell.
    func firstBytes(from start: Int) -> ByteSet? {
        var result = ByteSet()
        var seen: [Int] = []
        var pending = [start]
        while let index = pending.popLast() {
            guard !seen.contains(index) else { continue }
            guard seen.count < Self.maximumLookAhead else { return nil }
            seen.append(index)
            let instruction = instructions[index]
            switch instruction.operation {
            case .byte:
                result.insert(bytes[index])
            case .set:
                result.formUnion(
                    ByteSet(words: sets[4 * Int(instruction.argument)..<4 * Int(instruction.argument) + 4]))
            case .split, .loop:
                pending.append(Int(instruction.argument))
                pending.append(Int(instruction.next))
            case .save, .assertStart, .assertEnd, .assertWordBoundary, .assertNotWordBoundary:
                pending.append(Int(instruction.next))
            case .match:
                return nil
            }
        }
        return result
    }
}
