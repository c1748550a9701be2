/// Finds the tags of a template.
struct TagScanner {
    /// A tag as it is written.
    struct Tag {
        enum Kind {
            case variable, raw, section, inverted, close, partial, parent, block, comment, delimiters
        }

        var kind: Kind
        /// From the first byte of its opening delimiter to behind its closing one.
        var range: Range<Int>
        /// What stands in it, without the blanks around.
        var content: Range<Int>
    }

    private let source: [UInt8]
    private let file: String
    private var opening: [UInt8] = Array("{{".utf8)
    private var closing: [UInt8] = Array("}}".utf8)
    private var position: Int
    /// How many bytes were looked at.
    private(set) var examinedBytes = 0

    /// Searching compares a delimiter at each byte, so that it must not be long.
    private static let longestDelimiter = 32

    /// Looking a name up costs in proportion to its length, as often as its tag is rendered.
    private static let longestName = 1024

    init(source: [UInt8], file: String, from position: Int) {
        self.source = source
        self.file = file
        self.position = position
    }

    /// The next tag, or nil where there is none; a tag that changes the delimiters has done so then.
    mutating func next() throws(TemplateError) -> Tag? {
        guard let start = find(opening, from: position) else { return nil }
        var cursor = skipBlanks(from: start + opening.count)
        let kind = sigil(at: cursor)
        if kind != .variable { cursor += 1 }
        let isTriple = kind == .raw && source[cursor - 1] == UInt8(ascii: "{")
        let terminator =
            isTriple ? [UInt8(ascii: "}")] + closing : kind == .delimiters ? [UInt8(ascii: "=")] + closing : closing
        guard let end = find(terminator, from: cursor) else {
            let missing = visible(terminator)
            throw error("this tag is not closed; add the '\(missing)'", start..<start + opening.count)
        }
        let content = trimmed(cursor..<end)
        let tag = Tag(kind: kind, range: start..<end + terminator.count, content: content)
        switch kind {
        case .comment: break
        case .delimiters: try setDelimiters(tag)
        default: try checkName(tag)
        }
        position = tag.range.upperBound
        return tag
    }

    /// The bytes of a name, or of anything else in the source, as a message shows them.
    func text(_ range: Range<Int>) -> String { visible(Array(source[range].prefix(100))) }

    /// The end tag of a name, as a message shows it.
    func closingTag(_ name: [UInt8]) -> String {
        visible(opening) + "/" + visible(Array(name.prefix(100))) + visible(closing)
    }

    private func visible(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private func error(_ message: String, _ range: Range<Int>) -> TemplateError {
        TemplateError(message, file: file, source: source, range: range)
    }

    private func sigil(at index: Int) -> Tag.Kind {
        guard index < source.count else { return .variable }
        return switch source[index] {
        case UInt8(ascii: "#"): .section
        case UInt8(ascii: "^"): .inverted
        case UInt8(ascii: "/"): .close
        case UInt8(ascii: ">"): .partial
        case UInt8(ascii: "<"): .parent
        case UInt8(ascii: "$"): .block
        case UInt8(ascii: "!"): .comment
        case UInt8(ascii: "="): .delimiters
        case UInt8(ascii: "&"), UInt8(ascii: "{"): .raw
        default: .variable
        }
    }

    private mutating func checkName(_ tag: Tag) throws(TemplateError) {
        let content = tag.content
        guard !content.isEmpty else { throw error("a name is missing in this tag", tag.range) }
        let isInline = !source[content].contains { $0 == 0x0A || $0 == 0x0D }
        let isOneTag = opening == closing || find(opening, from: content.lowerBound, to: content.upperBound) == nil
        guard isInline, isOneTag else {
            let start = tag.range.lowerBound
            throw error(
                "this tag is not closed where the next one or the next line begins; add the '\(visible(closing))'",
                start..<start + opening.count)
        }
        guard content.count <= Self.longestName else {
            throw error("a name has at most \(Self.longestName) bytes", tag.range)
        }
        guard tag.kind == .partial || tag.kind == .parent else { return }
        guard source[content.lowerBound] != UInt8(ascii: "*") else {
            throw error("dynamic names are not accepted; write the partial's own name", tag.range)
        }
    }

    private mutating func setDelimiters(_ tag: Tag) throws(TemplateError) {
        let parts = source[tag.content].split(whereSeparator: isBlank)
        guard parts.count == 2, !parts[0].contains(UInt8(ascii: "=")), !parts[1].contains(UInt8(ascii: "=")) else {
            throw error(
                "new delimiters are two texts with a blank between and without '=', as in '{{=<% %>=}}'", tag.range)
        }
        guard parts[0].count <= Self.longestDelimiter, parts[1].count <= Self.longestDelimiter else {
            throw error("a delimiter has at most \(Self.longestDelimiter) bytes", tag.range)
        }
        opening = Array(parts[0])
        closing = Array(parts[1])
    }

    /// Where some bytes stand first between two places, or nil.
    private mutating func find(_ pattern: [UInt8], from start: Int, to end: Int? = nil) -> Int? {
        let end = min(end ?? source.count, source.count)
        var steps = 0
        let found = source.withUnsafeBufferPointer { source -> Int? in
            var index = start
            while end - index >= pattern.count {
                steps += 1
                var length = 0
                while length < pattern.count, source[index + length] == pattern[length] { length += 1 }
                if length == pattern.count { return index }
                index += 1
            }
            return nil
        }
        examinedBytes += steps
        return found
    }

    private mutating func skipBlanks(from start: Int) -> Int {
        var index = start
        while index < source.count, isBlank(source[index]) { index += 1 }
        examinedBytes += index - start
        return index
    }

    private mutating func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (lower, upper) = (range.lowerBound, range.upperBound)
        while lower < upper, isBlank(source[lower]) { lower += 1 }
        while lower < upper, isBlank(source[upper - 1]) { upper -= 1 }
        examinedBytes += range.count
        return lower..<upper
    }
}

/// Whether a byte is white space within a tag.
private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }
