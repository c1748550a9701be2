/// A template as it is carried out: one array of instructions, and tables of what they refer to.
struct TagProgram: Sendable {
    enum Instruction: Sendable {
        /// Bytes of the source. `startsLine`: the first of them is the first of a line.
        case text(PackedRange, startsLine: Bool)
        /// A line begins here, with a tag that writes something.
        case lineStart
        case variable(path: UInt32, isRaw: Bool)
        /// Where the value is false, goes on at `end`, which is behind the ``sectionEnd``.
        case section(path: UInt32, end: UInt32)
        case sectionEnd
        /// Where the value is true, goes on at `end`.
        case inverted(path: UInt32, end: UInt32)
        case partial(UInt32)
        case parent(UInt32)
        case block(UInt32)
        /// The end of the template, or of an argument.
        case end
        /// What a tag has left that turned out to write nothing.
        case nothing
    }

    /// A partial's tag.
    struct PartialCall: Sendable {
        var reference: Int
        /// Whether it is alone on its line, or lines.
        var isStandalone: Bool
        /// The blanks before a standalone tag, which go before each line of the partial.
        var indentation: PackedRange
    }

    /// A parent's tag, with the blocks that are written inside of it.
    struct ParentCall: Sendable {
        var call: PartialCall
        var arguments: [[UInt8]: Argument] = [:]
        var end: UInt32 = 0
    }

    /// What stands in for a block of a parent.
    struct Argument: Sendable {
        /// Its first instruction; it ends with ``Instruction/end``.
        var start: UInt32
        /// Whether its text begins on a line of its own.
        var startsLine: Bool
    }

    /// A block that can be given from outside; its own content follows its instruction.
    struct Block: Sendable {
        var name: [UInt8]
        /// The blanks that go before each line of what is given from outside.
        var indentation: PackedRange
        /// Whether its tag is alone on its line, so that what is given begins a line.
        var startsLine: Bool
        var end: UInt32 = 0
    }

    var instructions: [Instruction] = []
    /// The tag that each instruction comes from, for messages.
    var places: [PackedRange] = []
    var paths: [NamePath] = []
    var references: [PartialReference] = []
    var partials: [PartialCall] = []
    var parents: [ParentCall] = []
    var blocks: [Block] = []
}

/// A stretch of a template, which has less than 2³² bytes.
struct PackedRange: Sendable, Hashable {
    var lower: UInt32
    var upper: UInt32

    init(_ range: Range<Int>) {
        lower = UInt32(clamping: range.lowerBound)
        upper = UInt32(clamping: range.upperBound)
    }

    static let empty = PackedRange(0..<0)

    var range: Range<Int> { Int(lower)..<Int(upper) }
}

/// A dotted name: the value of the first part is looked for in all contexts, those of the others in the value before.
/// Without parts it is `.`, the innermost context.
struct NamePath: Sendable, Hashable {
    var parts: [[UInt8]]
}
