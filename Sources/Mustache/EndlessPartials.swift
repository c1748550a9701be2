public import Diagnostics

/// A partial's or parent's tag by which a template comes back to itself, whatever the values are.
public struct EndlessPartial: Sendable, Hashable {
    /// Which of ``MustachePage/templates`` the tag is in.
    public let template: Int
    /// The tag in that template.
    public let span: TextSpan
    /// The templates on the way, as numbers, from the one that is come back to until the one that has the tag.
    public let cycle: [Int]
}

extension MustachePage {
    /// The tags that make a template call itself without end.
    ///
    /// Tags in sections, in blocks and in what is given for blocks don't count: values, or other templates, may end
    /// what they begin, as the leaves of a tree do.
    public func endlessPartials() -> [EndlessPartial] {
        let calls = templates.indices.map { templates[$0].program.unconditionalCalls }
        var found: [EndlessPartial] = []
        // Templates that were left behind with all that they call.
        var isDone = templates.map { _ in false }
        for start in templates.indices where !isDone[start] {
            var way = [(template: start, next: 0)]
            var places = [start: 0]
            while let last = way.last {
                guard last.next < calls[last.template].count else {
                    isDone[last.template] = true
                    places[last.template] = nil
                    way.removeLast()
                    continue
                }
                way[way.count - 1].next += 1
                let call = calls[last.template][last.next]
                let target = links[last.template][call.reference]
                if let place = places[target] {
                    found.append(endless(call.place, last.template, way[place...].map(\.template)))
                } else if !isDone[target] {
                    places[target] = way.count
                    way.append((target, 0))
                }
            }
        }
        return found
    }

    private func endless(_ place: PackedRange, _ template: Int, _ cycle: [Int]) -> EndlessPartial {
        let source = templates[template].source
        let start = TextMark(offset: place.range.lowerBound, in: source)
        let end = TextMark(offset: place.range.upperBound, in: source)
        return EndlessPartial(template: template, span: TextSpan(start: start, end: end), cycle: cycle)
    }

    /// A message about a tag that calls a template without end, and how it is printed with its line and a mark.
    public func diagnostic(
        _ severity: Diagnostic.Severity, _ message: String, at endless: EndlessPartial
    ) -> (diagnostic: Diagnostic, rendering: String) {
        let template = templates[endless.template]
        let diagnostic = Diagnostic(severity, message, file: template.file, span: endless.span)
        return (diagnostic, diagnostic.rendered(source: template.source))
    }
}

extension TagProgram {
    /// The calls that are made whatever the values are, and whatever is given for blocks: of each reference the first.
    fileprivate var unconditionalCalls: [(reference: Int, place: PackedRange)] {
        var calls: [(reference: Int, place: PackedRange)] = []
        var seen: Set<Int> = []
        var index = 0
        func add(_ call: PartialCall) {
            if seen.insert(call.reference).inserted { calls.append((call.reference, places[index])) }
        }
        while index < instructions.count {
            switch instructions[index] {
            case .section(_, let end), .inverted(_, let end): index = Int(end)
            case .block(let block): index = Int(blocks[Int(block)].end)
            case .parent(let parent):
                add(parents[Int(parent)].call)
                index = Int(parents[Int(parent)].end)
            case .partial(let partial):
                add(partials[Int(partial)])
                index += 1
            case .text, .lineStart, .variable, .sectionEnd, .end, .nothing: index += 1
            }
        }
        return calls
    }
}
