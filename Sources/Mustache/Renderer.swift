/// Carries out a page's instructions: a loop with stacks of its own, so that no template makes it run out of stack.
struct Renderer: ~Copyable {
    private let page: MustachePage
    private let limits: MustacheLimits
    private let printer: ValuePrinter
    private var output: BoundedOutput
    private var contexts: ContextStack
    private var sections: [OpenSection] = []
    private var calls: [Call] = []
    private var arguments: [Arguments] = []
    /// The bytes before each line, those of all standalone partials and blocks that are being rendered.
    private var indentation: [UInt8] = []
    /// Where those begin that count: a partial within a line leaves out what is before lines around it.
    private var indentationStart = 0
    /// Whether the next line that begins has been begun already, by the text before a block.
    private var hasBegunLine = false
    private var tags = 0
    /// Looking a block up in so many parents' tags counts as much as a tag.
    private static let argumentsPerTag = 4

    /// The template that is carried out.
    private var number = 0
    private var template: MustacheTemplate
    /// The next instruction.
    private var next = 0
    /// Those of ``arguments`` that blocks are looked for in first; −1 without any.
    private var innermost = -1
    private var partialDepth = 0

    /// A section that is being rendered, with what is still to come.
    private struct OpenSection {
        enum Elements {
            case list([MustacheValue])
            case rows(MustacheRows)
            /// One rendering, with a value that isn't a list.
            case single
        }

        var elements: Elements
        var index = 0
        var count = 1
        var start: Int
    }

    /// Where to go on after a partial, a parent, or an argument.
    private struct Call {
        var number: Int
        var next: Int
        var innermost: Int
        var indentation: Range<Int>
        var isPartial: Bool
        /// Whether ``arguments`` has got one for it.
        var hasArguments: Bool
    }

    /// The arguments of a parent's tag. They form a chain: what is given further out goes first.
    private struct Arguments {
        var template: Int
        var parent: Int
        var outer: Int
    }

    init(
        page: MustachePage, contexts: [MustacheValue], escaping: MustacheEscaping, limits: MustacheLimits,
        answerBytes: Int
    ) {
        self.page = page
        self.limits = limits
        self.contexts = ContextStack(contexts)
        printer = ValuePrinter(escaping: escaping, valueDepth: limits.valueDepth)
        output = BoundedOutput(limit: answerBytes)
        template = page.templates[0]
    }

    mutating func render() throws(TemplateError) -> [UInt8] {
        do throws(RenderingLimit) {
            repeat {} while try step()
        } catch {
            throw template.error(error.message, at: template.program.places[next].range)
        }
        return output.bytes
    }

    /// Carries out an instruction; false at the page's end.
    private mutating func step() throws(RenderingLimit) -> Bool {
        switch template.program.instructions[next] {
        case .text(let range, let startsLine): try write(range.range, startsLine)
        case .lineStart: try beginLine()
        case .variable(let path, let isRaw):
            try count(1)
            let value = contexts.value(of: path, in: template, &tags)
            try printer.print(value, isRaw: isRaw, to: &output)
        case .section(let path, let end):
            try count(1)
            let value = contexts.value(of: path, in: template, &tags)
            guard let value, value.isTrue else {
                next = Int(end)
                return true
            }
            open(value)
        case .sectionEnd: try repeatSection()
        case .inverted(let path, let end):
            try count(1)
            if contexts.value(of: path, in: template, &tags)?.isTrue ?? false {
                next = Int(end)
                return true
            }
        case .partial(let partial):
            try count(1)
            try call(template.program.partials[Int(partial)], returningTo: next + 1, arguments: nil)
            return true
        case .parent(let parent):
            try count(1)
            let call = template.program.parents[Int(parent)]
            let arguments = Arguments(template: number, parent: Int(parent), outer: innermost)
            try self.call(call.call, returningTo: Int(call.end), arguments: arguments)
            return true
        case .block(let block):
            try count(1)
            if try writeArgument(for: template.program.blocks[Int(block)]) { return true }
        case .end: return goBack()
        case .nothing: break
        }
        next += 1
        return true
    }

    /// Counts a tag, and what it costs beside.
    private mutating func count(_ cost: Int) throws(RenderingLimit) {
        tags += cost
        guard tags <= limits.tags else { throw .tags(limits.tags) }
    }

    // MARK: - Text

    private mutating func beginLine() throws(RenderingLimit) {
        if hasBegunLine {
            hasBegunLine = false
        } else {
            try output.append(indentation, indentationStart..<indentation.count)
        }
    }

    private mutating func write(_ range: Range<Int>, _ startsLine: Bool) throws(RenderingLimit) {
        if indentation.count == indentationStart {
            hasBegunLine = false
            return try output.append(template.source, range)
        }
        var start = range.lowerBound
        var isLineStart = startsLine
        while start < range.upperBound {
            let lineBreak = template.source[start..<range.upperBound].firstIndex(of: UInt8(ascii: "\n"))
            let end = lineBreak.map { $0 + 1 } ?? range.upperBound
            if isLineStart { try beginLine(of: start..<end) }
            try output.append(template.source, start..<end)
            (start, isLineStart) = (end, true)
        }
    }

    /// Writes the indentation of a line, unless it is empty.
    private mutating func beginLine(of line: Range<Int>) throws(RenderingLimit) {
        let isEmpty = template.source[line].elementsEqual([0x0A]) || template.source[line].elementsEqual([0x0D, 0x0A])
        if isEmpty { hasBegunLine = false } else { try beginLine() }
    }

    // MARK: - Sections

    private mutating func open(_ value: MustacheValue) {
        switch value {
        case .list(let elements):
            guard let first = elements.first else { return }
            sections.append(OpenSection(elements: .list(elements), count: elements.count, start: next + 1))
            contexts.push(first)
        case .rows(let rows):
            sections.append(OpenSection(elements: .rows(rows), count: rows.count, start: next + 1))
            contexts.push(.row(rows[0]))
        default:
            sections.append(OpenSection(elements: .single, start: next + 1))
            contexts.push(value)
        }
    }

    private mutating func repeatSection() throws(RenderingLimit) {
        let last = sections.count - 1
        sections[last].index += 1
        let index = sections[last].index
        guard index < sections[last].count else {
            sections.removeLast()
            contexts.pop()
            return
        }
        try count(1)
        switch sections[last].elements {
        case .list(let elements): contexts.replaceLast(elements[index])
        case .rows(let rows): contexts.replaceLast(rows[index])
        case .single: break
        }
        // Every instruction is followed by the next one.
        next = sections[last].start - 1
    }

    // MARK: - Partials, parents and blocks

    private mutating func call(
        _ call: TagProgram.PartialCall, returningTo next: Int, arguments given: Arguments?
    ) throws(RenderingLimit) {
        guard partialDepth < limits.partialDepth else { throw .partialDepth(limits.partialDepth) }
        let blanks = template.source[call.indentation.range]
        guard indentation.count + blanks.count <= output.capacity else { throw output.full }
        enter(returningTo: next, isPartial: true, hasArguments: given != nil)
        partialDepth += 1
        if let given {
            innermost = arguments.count
            arguments.append(given)
        }
        if !call.isStandalone { indentationStart = indentation.count }
        indentation += blanks
        go(to: page.links[number][call.reference], 0)
    }

    /// Goes to what is given for a block; false if nothing is.
    private mutating func writeArgument(for block: TagProgram.Block) throws(RenderingLimit) -> Bool {
        var found: (place: Int, argument: TagProgram.Argument)?
        var place = innermost
        var examined = 0
        while place >= 0 {
            examined += 1
            let given = arguments[place]
            let parent = page.templates[given.template].program.parents[given.parent]
            if let argument = parent.arguments[block.name] { found = (place, argument) }
            place = given.outer
        }
        tags += examined / Self.argumentsPerTag
        guard let found else { return false }
        let given = arguments[found.place]
        enter(returningTo: Int(block.end), isPartial: false, hasArguments: false)
        // An argument is a part of the template that has it: what is given to that one is in force in it.
        innermost = given.outer
        let blanks = template.source[block.indentation.range]
        guard indentation.count + blanks.count <= output.capacity else { throw output.full }
        indentation += blanks
        go(to: given.template, Int(found.argument.start))
        if block.startsLine {
            if !found.argument.startsLine, !isAtEnd { try beginLine() }
        } else if found.argument.startsLine {
            hasBegunLine = true
        }
        return true
    }

    private var isAtEnd: Bool {
        if case .end = template.program.instructions[next] { return true }
        return false
    }

    private mutating func enter(returningTo next: Int, isPartial: Bool, hasArguments: Bool) {
        calls.append(
            Call(
                number: number, next: next, innermost: innermost, indentation: indentationStart..<indentation.count,
                isPartial: isPartial, hasArguments: hasArguments))
    }

    private mutating func go(to number: Int, _ next: Int) {
        self.number = number
        self.next = next
        template = page.templates[number]
    }

    private mutating func goBack() -> Bool {
        guard let call = calls.popLast() else { return false }
        if call.isPartial { partialDepth -= 1 } else { hasBegunLine = false }
        if call.hasArguments { arguments.removeLast() }
        innermost = call.innermost
        indentationStart = call.indentation.lowerBound
        indentation.removeLast(indentation.count - call.indentation.upperBound)
        go(to: call.number, call.next)
        return true
    }
}

/// A limit that a rendering has come to.
enum RenderingLimit: Error {
    case answerBytes(Int)
    case tags(Int)
    case partialDepth(Int)
    case valueDepth(Int)

    var message: String {
        switch self {
        case .answerBytes(let limit): "the answer would have more than \(limit) bytes here"
        case .tags(let limit): "more than \(limit) tags are carried out here"
        case .partialDepth(let limit): "partials call each other at most \(limit) deep"
        case .valueDepth(let limit): "this value has more than \(limit) levels"
        }
    }
}
