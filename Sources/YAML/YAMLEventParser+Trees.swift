import Diagnostics

extension YAMLNode {
    /// Reads a whole source.
    ///
    /// - Returns: Its value; nil for a source without one, that is an empty one, one of comments only, or a bare `---`.
    /// - Throws: The first error of the source.
    public static func parse(_ bytes: [UInt8], limits: YAMLLimits = .init()) throws(YAMLError) -> YAMLNode? {
        let parser = YAMLEventParser(bytes, limits: limits)
        var root: YAMLNode?
        while true {
            switch try parser.next() {
            case .streamEnd:
                if case .scalar(let scalar) = root, scalar.isPlain, scalar.count == 0 { return nil }
                return root
            case .documentStart, .documentEnd:
                continue
            case let event:
                root = try parser.node(startingWith: event)
            }
        }
    }
}

extension YAMLEventParser {
    /// Builds the tree of the node that an event begins, from that event and those to come.
    ///
    /// Afterwards ``next()`` goes on behind the node. So a reader of a huge mapping takes its keys and values one by
    /// one, and each as a tree.
    ///
    /// - Parameter event: A scalar, or the start of a sequence or a mapping; the event that ``next()`` returned last.
    /// - Throws: The first error of the source, or that the tree has more than `limits.treeNodes` nodes.
    public func node(startingWith event: YAMLEvent) throws(YAMLError) -> YAMLNode {
        var remaining = limits.treeNodes
        return try node(startingWith: event, &remaining)
    }

    /// Passes over the node that an event begins, whatever its size; as ``node(startingWith:)``, without a tree.
    ///
    /// - Throws: The first error of the source.
    public func skipNode(startingWith event: YAMLEvent) throws(YAMLError) {
        var depth = 0
        var event = event
        while true {
            switch event {
            case .mappingStart, .sequenceStart: depth += 1
            case .mappingEnd, .sequenceEnd: depth -= 1
            case .streamEnd: return
            case .scalar, .documentStart, .documentEnd: break
            }
            if depth <= 0 { return }
            event = try next()
        }
    }

    // Recursion is safe: the parser refuses what nests deeper than its limit.
    private func node(startingWith event: YAMLEvent, _ remaining: inout Int) throws(YAMLError) -> YAMLNode {
        guard remaining > 0 else {
            throw YAMLError("more than \(limits.treeNodes) values in one place; that is too many", at: event.span)
        }
        remaining -= 1
        switch event {
        case .scalar(let scalar):
            return .scalar(scalar)
        case .sequenceStart(let start):
            var elements: [YAMLNode] = []
            while true {
                let event = try next()
                if case .sequenceEnd(let end) = event {
                    return .sequence(elements, Self.span(from: start, to: end, last: elements.last))
                }
                elements.append(try node(startingWith: event, &remaining))
            }
        case .mappingStart(let start):
            var entries: [YAMLNode.Entry] = []
            while true {
                let event = try next()
                if case .mappingEnd(let end) = event {
                    return .mapping(entries, Self.span(from: start, to: end, last: entries.last?.value))
                }
                let key = try node(startingWith: event, &remaining)
                entries.append(.init(key: key, value: try node(startingWith: try next(), &remaining)))
            }
        case .documentStart, .documentEnd, .mappingEnd, .sequenceEnd, .streamEnd:
            // Reached by a caller's mistake alone: the parser's events are balanced.
            throw YAMLError("a value is expected here", at: event.span)
        }
    }

    /// A block collection's end is found by libyaml where the next thing begins, often lines later; its last part's
    /// end is what a reader calls its end. A flow collection ends with its bracket.
    private static func span(from start: TextSpan, to end: TextSpan, last: YAMLNode?) -> TextSpan {
        let isFlow = end.end.offset > end.start.offset
        return TextSpan(start: start.start, end: isFlow ? end.end : last?.span.end ?? start.end)
    }
}
