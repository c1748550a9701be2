import CYAML
import Diagnostics
import Glibc

/// Reads a YAML source event by event, so that a document of any size can be read without a tree of it.
///
/// A source is one document of the part of YAML that configuration needs: anchors, aliases, tags, merge keys and a
/// second document are refused, as are sources over the ``YAMLLimits``. Duplicate keys are the reader's to find.
/// (libyaml: `yaml_parser_t`, `yaml_parser_parse`.)
public final class YAMLEventParser {
    /// The bytes that marks and spans count in.
    public let source: [UInt8]
    public let limits: YAMLLimits
    /// Takes what is refused and yet can be read on behind: anchors, aliases, tags, merge keys. An alias then stands
    /// for null. Where it is nil, the first of them ends the reading.
    private let refused: ((YAMLError) -> Void)?

    // libyaml keeps the address of its parser, so the struct can't be a property.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let event: UnsafeMutablePointer<yaml_event_t>
    private var state = State.fresh
    private var cursor = CharacterCursor(first: 0, isASCII: true)
    private var readOffset = 0
    private var sawDocument = false
    private var containers: [Container] = []

    private enum State {
        case fresh, reading
        case ended(TextSpan)
        case failed(YAMLError)
    }

    /// A collection that has begun and not ended.
    private struct Container {
        /// What the next node is to it.
        var role: Role
        let start: TextMark

        enum Role {
            case element, key, value
        }
    }

    /// Prepares to read; errors, also of the bytes as a whole, come from ``next()``.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8, with or without a byte-order mark.
    ///   - refused: Takes errors that need not end the reading: anchors, aliases, tags, merge keys. An alias is given
    ///     as null then. By default they are thrown.
    public init(_ bytes: [UInt8], limits: YAMLLimits = .init(), refused: ((YAMLError) -> Void)? = nil) {
        source = bytes
        self.limits = limits
        self.refused = refused
        parser = .allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
        event = .allocate(capacity: 1)
        event.initialize(to: yaml_event_t())
    }

    deinit {
        // Both C functions accept a struct of zeros.
        yaml_event_delete(event)
        yaml_parser_delete(parser)
        event.deallocate()
        parser.deallocate()
    }

    /// The next event; `streamEnd` at the end and ever after.
    ///
    /// - Throws: The first error of the source, and the same again at each further call.
    public func next() throws(YAMLError) -> YAMLEvent {
        do throws(YAMLError) {
            switch state {
            case .reading: break
            case .fresh: try begin()
            case .ended(let span): return .streamEnd(span)
            case .failed(let error): throw error
            }
            return try advance()
        } catch {
            state = .failed(error)
            throw error
        }
    }

    private func begin() throws(YAMLError) {
        guard source.count <= limits.inputBytes else {
            throw YAMLError(
                "the file has \(source.count) bytes; at most \(limits.inputBytes) are read",
                at: TextSpan(at: .start))
        }
        let validated = try ValidatedSource(source)
        guard yaml_parser_initialize(parser) == 1 else {
            throw YAMLError("out of memory", at: TextSpan(at: .start))
        }
        readOffset = validated.byteOrderMark
        cursor = CharacterCursor(first: validated.byteOrderMark, isASCII: validated.isASCII)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        // Unretained: this object deletes the parser before it goes.
        yaml_parser_set_input(
            parser,
            { reader, buffer, size, sizeRead in
                guard let reader, let buffer, let sizeRead else { return 0 }
                let this = Unmanaged<YAMLEventParser>.fromOpaque(reader).takeUnretainedValue()
                sizeRead.pointee = this.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
                return 1
            }, Unmanaged.passUnretained(self).toOpaque())
        state = .reading
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, source.count - readOffset)
        source.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[readOffset..<(readOffset + count)])) }
        readOffset += count
        return count
    }

    private func advance() throws(YAMLError) -> YAMLEvent {
        while true {
            guard yaml_parser_parse(parser, event) == 1 else {
                throw SyntaxError(parser.pointee, source, &cursor, innermost: containers.last?.start).translated()
            }
            defer { yaml_event_delete(event) }
            let start = cursor.mark(event.pointee.start_mark, in: source)
            let span = TextSpan(start: start, end: cursor.mark(event.pointee.end_mark, in: source))
            switch event.pointee.type {
            case YAML_SCALAR_EVENT:
                return .scalar(try scalar(span))
            case YAML_MAPPING_START_EVENT:
                let properties = event.pointee.data.mapping_start
                try refuseProperties(anchor: properties.anchor, tag: properties.tag, span)
                try enter(.key, span)
                return .mappingStart(span)
            case YAML_SEQUENCE_START_EVENT:
                let properties = event.pointee.data.sequence_start
                try refuseProperties(anchor: properties.anchor, tag: properties.tag, span)
                try enter(.element, span)
                return .sequenceStart(span)
            case YAML_MAPPING_END_EVENT:
                _ = containers.popLast()
                return .mappingEnd(span)
            case YAML_SEQUENCE_END_EVENT:
                _ = containers.popLast()
                return .sequenceEnd(span)
            case YAML_ALIAS_EVENT:
                try refuse(Refusal.alias(source, span))
                _ = enterNode()
                return .scalar(YAMLScalar([], style: .plain, span: span))
            case YAML_DOCUMENT_START_EVENT:
                try startDocument(span)
                return .documentStart(span)
            case YAML_DOCUMENT_END_EVENT:
                return .documentEnd(span)
            case YAML_STREAM_END_EVENT:
                state = .ended(span)
                return .streamEnd(span)
            default:
                continue
            }
        }
    }

    private func startDocument(_ span: TextSpan) throws(YAMLError) {
        if sawDocument { throw Refusal.secondDocument(span) }
        sawDocument = true
        let tags = event.pointee.data.document_start.tag_directives
        if tags.start != tags.end { try refuse(Refusal.tagDirective(source, span)) }
    }

    private func scalar(_ span: TextSpan) throws(YAMLError) -> YAMLScalar {
        let data = event.pointee.data.scalar
        try refuseProperties(anchor: data.anchor, tag: data.tag, span)
        guard data.length <= limits.scalarBytes else {
            throw Refusal.longScalar(data.length, limit: limits.scalarBytes, span)
        }
        let style = YAMLScalar.Style(data.style)
        let value = UnsafeBufferPointer(start: data.value, count: data.length)
        let isKey = enterNode()
        if isKey, style == .plain, value.elementsEqual("<<".utf8) { try refuse(Refusal.mergeKey(span)) }
        if let range = YAMLScalar.verbatimRange(of: value, style, span, in: source) {
            return YAMLScalar(source: source, range: range, style: style, span: span)
        }
        return YAMLScalar(Array(value), style: style, span: span)
    }

    private func refuseProperties(
        anchor: UnsafeMutablePointer<UInt8>?, tag: UnsafeMutablePointer<UInt8>?, _ span: TextSpan
    ) throws(YAMLError) {
        // libyaml drops the tag `!`, so the first byte is looked at too; nothing else can begin with one of these.
        let first = span.start.offset
        let isMarked = span.end.offset > first && first < source.count && Refusal.isProperty(source[first])
        if anchor != nil || tag != nil || isMarked { try refuse(Refusal.property(source, span)) }
    }

    private func refuse(_ error: YAMLError) throws(YAMLError) {
        guard let refused else { throw error }
        refused(error)
    }

    /// Counts a node that begins, and says whether it is a mapping's key.
    private func enterNode() -> Bool {
        guard let last = containers.indices.last else { return false }
        switch containers[last].role {
        case .element:
            return false
        case .key:
            containers[last].role = .value
            return true
        case .value:
            containers[last].role = .key
            return false
        }
    }

    private func enter(_ firstRole: Container.Role, _ span: TextSpan) throws(YAMLError) {
        _ = enterNode()
        guard containers.count < limits.nestingDepth else {
            throw Refusal.deepNesting(limit: limits.nestingDepth, span)
        }
        containers.append(Container(role: firstRole, start: span.start))
    }
}

extension YAMLScalar.Style {
    fileprivate init(_ style: yaml_scalar_style_t) {
        switch style {
        case YAML_SINGLE_QUOTED_SCALAR_STYLE: self = .singleQuoted
        case YAML_DOUBLE_QUOTED_SCALAR_STYLE: self = .doubleQuoted
        case YAML_LITERAL_SCALAR_STYLE: self = .literal
        case YAML_FOLDED_SCALAR_STYLE: self = .folded
        default: self = .plain
        }
    }
}

extension YAMLScalar {
    /// Where a scalar's text stands literally in the source; nil if it stands there escaped, folded or indented.
    fileprivate static func verbatimRange(
        of value: UnsafeBufferPointer<UInt8>, _ style: Style, _ span: TextSpan, in source: [UInt8]
    ) -> Range<Int>? {
        let quote: Int
        switch style {
        case .plain: quote = 0
        case .singleQuoted, .doubleQuoted: quote = 1
        case .literal, .folded: return nil
        }
        let lower = span.start.offset + quote
        let upper = span.end.offset - quote
        guard upper - lower == value.count, lower >= 0, upper <= source.count else { return nil }
        guard let address = value.baseAddress, !value.isEmpty else { return lower..<upper }
        let isSame = source.withUnsafeBufferPointer { bytes in
            bytes.baseAddress.map { memcmp($0 + lower, address, value.count) == 0 } ?? false
        }
        return isSame ? lower..<upper : nil
    }
}
