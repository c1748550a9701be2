/// The text between a template's tags, line by line: which tags are alone on their lines, and what is written of the
/// text around them.
struct TemplateLines {
    private let source: [UInt8]
    /// The first byte that has not been written yet.
    private var textStart: Int
    /// Whether ``textStart`` is the first byte of a line.
    private var isAtLineStart = true
    /// The blanks of an argument's first line, which its other lines begin with too; they are taken away.
    private var margin = 0..<0
    /// How many bytes were looked at.
    private(set) var examinedBytes = 0

    init(source: [UInt8], from start: Int) {
        self.source = source
        textStart = start
    }

    /// Writes what is left of the text.
    mutating func finish(at end: Int, _ program: inout TagProgram) {
        write(to: end, &program)
    }

    /// A tag that writes something.
    mutating func writing(_ tag: Range<Int>, _ program: inout TagProgram) {
        if write(to: tag.lowerBound, &program) { program.append(.lineStart, at: tag) }
        goOn(at: tag.upperBound, isLineStart: false)
    }

    /// A tag that writes nothing itself.
    ///
    /// - Returns: The blanks before it, if it is alone on its line.
    @discardableResult
    mutating func silent(_ tag: Range<Int>, _ program: inout TagProgram) -> Range<Int>? {
        guard let blanks = blanks(before: tag.lowerBound), let next = nextLine(after: tag.upperBound) else {
            writing(tag, &program)
            return nil
        }
        write(to: blanks.lowerBound, &program)
        goOn(at: next, isLineStart: true)
        return withoutMargin(blanks)
    }

    /// A parent's opening tag. Whether it is standalone its end will tell; until then the blanks before it are an
    /// instruction of their own.
    mutating func beginParent(
        _ tag: Range<Int>, _ program: inout TagProgram
    ) -> (instruction: Int, blanks: Range<Int>)? {
        defer { goOn(at: tag.upperBound, isLineStart: false) }
        guard let blanks = blanks(before: tag.lowerBound) else {
            write(to: tag.lowerBound, &program)
            return nil
        }
        write(to: blanks.lowerBound, &program)
        let written = withoutMargin(blanks)
        let instruction = program.instructions.count
        program.append(written.isEmpty ? .lineStart : .text(PackedRange(written), startsLine: true), at: tag)
        return (instruction, written)
    }

    /// A parent's end.
    ///
    /// - Parameter canBeStandalone: Whether nothing but blanks is before its opening tag.
    mutating func endParent(_ tag: Range<Int>, canBeStandalone: Bool) -> Bool {
        if canBeStandalone, let next = nextLine(after: tag.upperBound) {
            goOn(at: next, isLineStart: true)
            return true
        }
        goOn(at: tag.upperBound, isLineStart: false)
        return false
    }

    /// A block's opening tag.
    ///
    /// - Returns: The blanks for each line of what takes the block's place: those of its own content, if that begins on
    ///   the next line, else those before the tag; and the blanks before the tag if it is alone on its line.
    mutating func beginBlock(
        _ tag: Range<Int>, _ program: inout TagProgram
    ) -> (indentation: Range<Int>, ownBlanks: Range<Int>?) {
        let blanks = blanks(before: tag.lowerBound).map { withoutMargin($0) }
        guard let ownBlanks = silent(tag, &program) else { return (blanks ?? 0..<0, nil) }
        return (firstBlanks(from: textStart).map { withoutMargin($0) } ?? ownBlanks, ownBlanks)
    }

    /// Whether nothing but blanks is between the tag before and this one, which is on a line of its own.
    mutating func hasNoText(before tag: Range<Int>) -> Bool {
        blanks(before: tag.lowerBound)?.lowerBound == textStart
    }

    /// The opening tag of an argument: of the text before it nothing counts.
    ///
    /// - Returns: Whether the argument begins on the next line, and the margin to go back to.
    mutating func beginArgument(_ tag: Range<Int>) -> (isStandalone: Bool, outerMargin: Range<Int>) {
        let outer = margin
        guard let next = nextLine(after: tag.upperBound) else {
            goOn(at: tag.upperBound, isLineStart: false)
            return (false, outer)
        }
        goOn(at: next, isLineStart: true)
        margin = firstBlanks(from: next) ?? outer
        return (true, outer)
    }

    /// The end tag of an argument: of the text behind it nothing counts.
    mutating func endArgument(_ tag: Range<Int>, outerMargin: Range<Int>, _ program: inout TagProgram) {
        write(to: blanks(before: tag.lowerBound)?.lowerBound ?? tag.lowerBound, &program)
        goOn(at: tag.upperBound, isLineStart: false)
        margin = outerMargin
    }

    /// Leaves out the text up to a place.
    mutating func pass(to place: Int) {
        goOn(at: place, isLineStart: false)
    }

    private mutating func goOn(at place: Int, isLineStart: Bool) {
        textStart = place
        isAtLineStart = isLineStart
    }

    /// Writes the text from where the last one ended, without the margin.
    ///
    /// - Returns: Whether a line begins at `end` of which nothing is written yet.
    @discardableResult
    private mutating func write(to end: Int, _ program: inout TagProgram) -> Bool {
        var start = textStart
        var startsLine = isAtLineStart
        guard start < end else { return startsLine }
        if !margin.isEmpty {
            examinedBytes += end - start
            var line = startsLine ? start : nextLineStart(from: start, to: end)
            while let begin = line {
                let kept = begin + marginLength(begin..<end)
                if kept > begin {
                    append(start..<begin, startsLine, &program)
                    (start, startsLine) = (kept, true)
                }
                line = nextLineStart(from: kept, to: end)
            }
        }
        append(start..<end, startsLine, &program)
        return start < end ? source[end - 1] == UInt8(ascii: "\n") : startsLine
    }

    private func append(_ range: Range<Int>, _ startsLine: Bool, _ program: inout TagProgram) {
        if !range.isEmpty { program.append(.text(PackedRange(range), startsLine: startsLine), at: range) }
    }

    /// The first byte behind the next line break, if it is before the end.
    private func nextLineStart(from start: Int, to end: Int) -> Int? {
        source[start..<end].firstIndex(of: UInt8(ascii: "\n")).flatMap { $0 + 1 < end ? $0 + 1 : nil }
    }

    /// How many bytes some text begins with that the margin begins with.
    private func marginLength(_ range: Range<Int>) -> Int {
        var length = 0
        while length < min(margin.count, range.count),
            source[range.lowerBound + length] == source[margin.lowerBound + length]
        {
            length += 1
        }
        return length
    }

    private func withoutMargin(_ blanks: Range<Int>) -> Range<Int> {
        blanks.dropFirst(marginLength(blanks))
    }

    /// The blanks between the beginning of a line and a place; nil where there is something else.
    private mutating func blanks(before place: Int) -> Range<Int>? {
        var start = place
        while start > textStart, isBlank(source[start - 1]) { start -= 1 }
        examinedBytes += place - start + 1
        let isLineStart = start > textStart ? source[start - 1] == UInt8(ascii: "\n") : isAtLineStart
        return isLineStart ? start..<place : nil
    }

    /// The beginning of the next line, or the end of the text; nil where more than blanks is before it.
    private mutating func nextLine(after place: Int) -> Int? {
        let index = behindBlanks(from: place)
        if index == source.count { return index }
        if source[index] == UInt8(ascii: "\n") { return index + 1 }
        let isLineBreak =
            source[index] == UInt8(ascii: "\r") && index + 1 < source.count && source[index + 1] == UInt8(ascii: "\n")
        return isLineBreak ? index + 2 : nil
    }

    /// The blanks that the first line begins with that has more than blanks; nil where there is no such line.
    private mutating func firstBlanks(from start: Int) -> Range<Int>? {
        var line = start
        while line < source.count {
            guard let next = nextLine(after: line) else { return line..<behindBlanks(from: line) }
            line = next
        }
        return nil
    }

    private mutating func behindBlanks(from start: Int) -> Int {
        var index = start
        while index < source.count, isBlank(source[index]) { index += 1 }
        examinedBytes += index - start + 1
        return index
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
