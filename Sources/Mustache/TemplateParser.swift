import Diagnostics

/// Makes the instructions of a template.
///
/// A tag that writes nothing itself, alone on its line but for blanks, takes the line with it ("standalone"). A parent
/// may do so from its opening tag to its end. Within an argument the blanks that its first line begins with are taken
/// from all of its lines; where it is used, the blanks of that place come before them.
struct TemplateParser {
    private(set) var program = TagProgram()
    let source: [UInt8]
    private let file: String
    private let limits: MustacheLimits
    private var scanner: TagScanner
    private var open: [OpenTag] = []
    private var pathNumbers: [ArraySlice<UInt8>: UInt32] = [:]
    private var referenceNumbers: [ArraySlice<UInt8>: Int] = [:]
    private var lines: TemplateLines

    /// A tag that needs an end.
    private struct OpenTag {
        enum Kind {
            /// The number of its instruction.
            case section(Int), inverted(Int)
            /// Its number. `line`: the instruction that the blanks before it have become; nil where there is more.
            case parent(UInt32, line: Int?)
            /// Its number, and the blanks before it if it is alone on its line.
            case block(UInt32, blanks: Range<Int>?)
            /// `outerMargin`: what was taken from the lines around it.
            case argument(outerMargin: Range<Int>)
            /// A tag of text that is never written, in a parent and beside its blocks.
            case ignored
        }

        var kind: Kind
        var name: [UInt8]
        var range: Range<Int>
        /// The number of the first instruction of its content.
        var firstInstruction: Int
    }

    /// What is made of text and tags at a place.
    private enum Surroundings {
        case written
        /// Directly in a parent: blocks are arguments, all else is left out.
        case arguments
        case ignored
    }

    init(source: [UInt8], file: String, limits: MustacheLimits) {
        self.source = source
        self.file = file
        self.limits = limits
        let start = source.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        scanner = TagScanner(source: source, file: file, from: start)
        lines = TemplateLines(source: source, from: start)
    }

    /// How many bytes were looked at so far.
    var examinedBytes: Int { scanner.examinedBytes + lines.examinedBytes }

    mutating func parse() throws(TemplateError) {
        while let tag = try scanner.next() {
            switch surroundings {
            case .written: try addWritten(tag)
            case .arguments, .ignored: try addIgnored(tag)
            }
        }
        if let unclosed = open.last {
            throw error("this tag is not closed; add a '\(scanner.closingTag(unclosed.name))'", unclosed.range)
        }
        lines.finish(at: source.count, &program)
        append(.end, source.count..<source.count)
    }

    private var surroundings: Surroundings {
        switch open.last?.kind {
        case .parent: .arguments
        case .ignored: .ignored
        default: .written
        }
    }

    private func error(_ message: String, _ range: Range<Int>) -> TemplateError {
        TemplateError(message, file: file, source: source, range: range)
    }

    private mutating func addWritten(_ tag: TagScanner.Tag) throws(TemplateError) {
        switch tag.kind {
        case .variable, .raw:
            lines.writing(tag.range, &program)
            append(.variable(path: try path(tag), isRaw: tag.kind == .raw), tag.range)
        case .comment, .delimiters:
            lines.silent(tag.range, &program)
        case .section, .inverted:
            let isSection = tag.kind == .section
            let path = try path(tag)
            lines.silent(tag.range, &program)
            let number = program.instructions.count
            append(isSection ? .section(path: path, end: 0) : .inverted(path: path, end: 0), tag.range)
            try begin(tag, isSection ? .section(number) : .inverted(number))
        case .partial:
            let indentation = lines.silent(tag.range, &program)
            append(.partial(UInt32(clamping: program.partials.count)), tag.range)
            program.partials.append(call(tag, indentation))
        case .parent:
            let line = lines.beginParent(tag.range, &program)
            let number = UInt32(clamping: program.parents.count)
            append(.parent(number), tag.range)
            program.parents.append(TagProgram.ParentCall(call: call(tag, line?.blanks)))
            try begin(tag, .parent(number, line: line?.instruction))
        case .block:
            let place = lines.beginBlock(tag.range, &program)
            let number = UInt32(clamping: program.blocks.count)
            append(.block(number), tag.range)
            program.blocks.append(
                TagProgram.Block(
                    name: Array(source[tag.content]), indentation: PackedRange(place.indentation),
                    startsLine: place.ownBlanks != nil))
            try begin(tag, .block(number, blanks: place.ownBlanks))
        case .close: try close(tag)
        }
    }

    private mutating func addIgnored(_ tag: TagScanner.Tag) throws(TemplateError) {
        lines.pass(to: tag.range.upperBound)
        switch tag.kind {
        case .variable, .raw, .comment, .delimiters, .partial: break
        case .section, .inverted, .parent: try begin(tag, .ignored)
        case .block:
            guard case .parent(let parent, _) = open.last?.kind else { return try begin(tag, .ignored) }
            let argument = lines.beginArgument(tag.range)
            let given = TagProgram.Argument(start: nextInstruction, startsLine: argument.isStandalone)
            let name = Array(source[tag.content])
            guard program.parents[Int(parent)].arguments.updateValue(given, forKey: name) == nil else {
                throw error("the block '\(scanner.text(tag.content))' is given twice here", tag.range)
            }
            try begin(tag, .argument(outerMargin: argument.outerMargin))
        case .close: try close(tag)
        }
    }

    private mutating func begin(_ tag: TagScanner.Tag, _ kind: OpenTag.Kind) throws(TemplateError) {
        guard open.count < limits.sectionDepth else {
            throw error("sections nest at most \(limits.sectionDepth) deep", tag.range)
        }
        open.append(
            OpenTag(
                kind: kind, name: Array(source[tag.content]), range: tag.range,
                firstInstruction: program.instructions.count))
    }

    private mutating func close(_ tag: TagScanner.Tag) throws(TemplateError) {
        guard let begun = open.last else { throw error("this tag closes nothing", tag.range) }
        guard begun.name.elementsEqual(source[tag.content]) else {
            let line = TextMark(offset: begun.range.lowerBound, in: source).line
            throw error(
                "'\(scanner.closingTag(begun.name))' is expected here, for the tag of line \(line)", tag.range)
        }
        open.removeLast()
        switch begun.kind {
        case .section(let number):
            lines.silent(tag.range, &program)
            append(.sectionEnd, tag.range)
            setEnd(ofInstruction: number)
        case .inverted(let number):
            lines.silent(tag.range, &program)
            setEnd(ofInstruction: number)
        case .block(let number, let blanks):
            let first = begun.firstInstruction
            if let blanks, program.instructions.count == first, lines.hasNoText(before: tag.range) {
                program.blocks[Int(number)].indentation = PackedRange(blanks)
            }
            lines.silent(tag.range, &program)
            program.blocks[Int(number)].end = nextInstruction
        case .argument(let outerMargin):
            lines.endArgument(tag.range, outerMargin: outerMargin, &program)
            append(.end, tag.range)
        case .parent(let number, let line):
            let isStandalone = lines.endParent(tag.range, canBeStandalone: line != nil)
            if isStandalone, let line {
                program.instructions[line] = .nothing
            } else {
                program.parents[Int(number)].call.isStandalone = false
                program.parents[Int(number)].call.indentation = .empty
            }
            program.parents[Int(number)].end = nextInstruction
        case .ignored: break
        }
    }

    private var nextInstruction: UInt32 { UInt32(clamping: program.instructions.count) }

    private mutating func setEnd(ofInstruction number: Int) {
        switch program.instructions[number] {
        case .section(let path, _): program.instructions[number] = .section(path: path, end: nextInstruction)
        case .inverted(let path, _): program.instructions[number] = .inverted(path: path, end: nextInstruction)
        default: break
        }
    }

    private mutating func append(_ instruction: TagProgram.Instruction, _ range: Range<Int>) {
        program.append(instruction, at: range)
    }

    private mutating func call(_ tag: TagScanner.Tag, _ indentation: Range<Int>?) -> TagProgram.PartialCall {
        let name = source[tag.content]
        let number: Int
        if let known = referenceNumbers[name] {
            number = known
        } else {
            number = program.references.count
            referenceNumbers[name] = number
            program.references.append(
                PartialReference(name: String(decoding: name, as: UTF8.self), range: tag.range))
        }
        return TagProgram.PartialCall(
            reference: number, isStandalone: indentation != nil, indentation: PackedRange(indentation ?? 0..<0))
    }

    /// The number of a name in ``TagProgram/paths``.
    private mutating func path(_ tag: TagScanner.Tag) throws(TemplateError) -> UInt32 {
        let name = source[tag.content]
        if let known = pathNumbers[name] { return known }
        var parts: [[UInt8]] = []
        if !name.elementsEqual([UInt8(ascii: ".")]) {
            parts = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { Array($0) }
            guard parts.allSatisfy({ !$0.isEmpty }) else {
                throw error("a part of the name '\(scanner.text(tag.content))' is empty", tag.range)
            }
        }
        let number = UInt32(clamping: program.paths.count)
        pathNumbers[name] = number
        program.paths.append(NamePath(parts: parts))
        return number
    }
}

extension TagProgram {
    mutating func append(_ instruction: Instruction, at range: Range<Int>) {
        instructions.append(instruction)
        places.append(PackedRange(range))
    }
}
