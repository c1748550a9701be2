import Diagnostics

/// Finds what the tags of a page use, and which of them may be rendered outside of all sections.
///
/// A page's text falls into regions: each template, and within it the content of each block and argument. A template's
/// is outside of sections if it is the page's own, or is called in such a region and in no section of it; a block's if
/// nothing is given for it; an argument's if it is written outside, and a block of its name is outside.
struct NameAnalysis {
    private let page: MustachePage
    private var regions: [Region] = []
    private var uses: [(use: NameUse, region: Int)] = []
    /// The names that something is given for.
    private var givenNames: Set<[UInt8]> = []

    private struct Region {
        /// What is outside of sections within it: templates that are called, blocks, and regions.
        var calls: [Int] = []
        var blocks: [[UInt8]] = []
        var children: [Int] = []
        /// The name of the argument or block whose content it is.
        var argument: [UInt8]?
        var block: [UInt8]?
    }

    /// What is open at an instruction.
    private struct Opened {
        var end: Int
        var region: Int
        var depth: Int
        var sections: Set<String>
    }

    private init(_ page: MustachePage) {
        self.page = page
        // A template's own region has its number.
        regions = page.templates.map { _ in Region() }
    }

    static func uses(in page: MustachePage) -> [NameUse] {
        var analysis = NameAnalysis(page)
        for number in page.templates.indices { analysis.read(number) }
        let outside = analysis.outsideRegions()
        return analysis.uses.map { use, region in
            use.isOutsideSections && !outside.contains(region) ? use.inSections : use
        }
    }

    // MARK: - Reading the instructions

    private mutating func read(_ number: Int) {
        let program = page.templates[number].program
        let paths = program.paths.map { $0.parts.map { String(decoding: $0, as: UTF8.self) } }
        var marks = MarkCursor(page.templates[number].source)
        var stack = [Opened(end: .max, region: number, depth: 0, sections: [])]
        var arguments: [UInt32: [UInt8]] = [:]
        for (index, instruction) in program.instructions.enumerated() {
            while let last = stack.last, last.end <= index { stack.removeLast() }
            if let name = arguments.removeValue(forKey: UInt32(clamping: index)) {
                begin(&stack, Region(argument: name), end: .max)
            }
            guard let around = stack.last else { return }
            let isOutside = around.depth == 0
            switch instruction {
            case .variable(let path, let isRaw):
                add(paths[Int(path)], isRaw ? .raw : .escaped, number, program.places[index], around, &marks)
            case .section(let path, let end), .inverted(let path, let end):
                add(paths[Int(path)], .section, number, program.places[index], around, &marks)
                var inner = around
                inner.end = Int(end)
                inner.depth += 1
                if let first = paths[Int(path)].first { inner.sections.insert(first) }
                stack.append(inner)
            case .partial(let partial):
                if isOutside { call(program.partials[Int(partial)], number, around.region) }
            case .parent(let parent):
                let parent = program.parents[Int(parent)]
                if isOutside { call(parent.call, number, around.region) }
                for (name, argument) in parent.arguments {
                    givenNames.insert(name)
                    arguments[argument.start] = name
                }
                var inner = around
                inner.end = Int(parent.end)
                stack.append(inner)
            case .block(let block):
                let block = program.blocks[Int(block)]
                if isOutside { regions[around.region].blocks.append(block.name) }
                begin(&stack, Region(block: block.name), end: Int(block.end))
            case .end:
                // The end of an argument; that of the template comes last.
                stack.removeLast()
            case .text, .lineStart, .sectionEnd, .nothing: break
            }
        }
    }

    private mutating func begin(_ stack: inout [Opened], _ region: Region, end: Int) {
        guard var inner = stack.last else { return }
        if inner.depth == 0 { regions[inner.region].children.append(regions.count) }
        inner.end = end
        inner.region = regions.count
        regions.append(region)
        stack.append(inner)
    }

    private mutating func call(_ call: TagProgram.PartialCall, _ number: Int, _ region: Int) {
        regions[region].calls.append(page.links[number][call.reference])
    }

    private mutating func add(
        _ path: [String], _ kind: NameUse.Kind, _ number: Int, _ place: PackedRange, _ around: Opened,
        _ marks: inout MarkCursor
    ) {
        let start = marks.mark(at: place.range.lowerBound)
        let use = NameUse(
            kind: kind, path: path, template: number,
            span: TextSpan(start: start, end: marks.mark(at: place.range.upperBound)),
            isOutsideSections: around.depth == 0, sections: around.sections)
        uses.append((use, around.region))
    }

    // MARK: - Following what leads to a region

    private func outsideRegions() -> Set<Int> {
        var outside: Set<Int> = []
        var pending = [0]
        var outsideBlocks: Set<[UInt8]> = []
        /// Arguments that are written outside, by their names.
        var waiting: [[UInt8]: [Int]] = [:]
        while let region = pending.popLast() {
            guard outside.insert(region).inserted else { continue }
            pending += regions[region].calls
            for child in regions[region].children {
                if let name = regions[child].block {
                    if !givenNames.contains(name) { pending.append(child) }
                } else if let name = regions[child].argument {
                    if outsideBlocks.contains(name) {
                        pending.append(child)
                    } else {
                        waiting[name, default: []].append(child)
                    }
                }
            }
            for name in regions[region].blocks where outsideBlocks.insert(name).inserted {
                pending += waiting.removeValue(forKey: name) ?? []
            }
        }
        return outside
    }
}

extension NameUse {
    fileprivate var inSections: NameUse {
        NameUse(
            kind: kind, path: path, template: template, span: span, isOutsideSections: false, sections: sections)
    }
}

extension MustachePage {
    /// The tags of the page that use values, template by template in the order that they are written in.
    public func uses() -> [NameUse] { NameAnalysis.uses(in: self) }
}
