import HTTPSemantics

/// Finds the field lines of a header or trailer section in one pass, wherever the bytes are cut (RFC 9112 §5).
///
///     field-line = field-name ":" OWS field-value OWS
///
/// Lines end in CRLF, nothing stands before the colon but a token, no line is folded. Offsets count from the first byte
/// of what ``scan(_:noting:)`` is given, which grows from call to call and is never read twice.
struct FieldLineScanner {
    private enum State: UInt8 {
        case lineStart, name, beforeValue, value, lineFeed, finalLineFeed, complete
    }

    private var state = State.lineStart
    /// The first byte that is not scanned yet.
    private(set) var position = 0
    private var nameStart = 0
    private var nameLength = 0
    private var valueStart = 0
    private var valueEnd = 0
    /// Where the section ends at the latest.
    private var limit = 0
    private var maximumCount = 0
    private var sizeError = HTTP1Error.headerSectionTooLarge
    private var countError = HTTP1Error.tooManyFields
    private var notedNames = FieldNameSet()
    private(set) var lines: ContiguousArray<FieldSection.Line> = []
    private(set) var present = FieldNameSet()
    /// A spent array, whose storage the next section uses.
    private var spareLines: ContiguousArray<FieldSection.Line> = []

    /// Whether the last line seen is complete, with another or the empty one to follow.
    var isAtLineStart: Bool { state == .lineStart }

    /// Whether the section has ended.
    var isComplete: Bool { state == .complete }

    /// Prepares for the header section whose first line begins at `offset`.
    mutating func beginHeaders(at offset: Int, _ limits: MessageLimits, noting names: FieldNameSet) {
        begin(at: offset, bytes: limits.headerSectionBytes, count: limits.fieldCount)
        sizeError = .headerSectionTooLarge
        countError = .tooManyFields
        notedNames = names
    }

    /// Prepares for a trailer section that begins at offset 0.
    mutating func beginTrailers(_ limits: MessageLimits, noting names: FieldNameSet) {
        begin(at: 0, bytes: limits.trailerSectionBytes, count: limits.trailerFieldCount)
        sizeError = .trailerSectionTooLarge
        countError = .tooManyTrailerFields
        notedNames = names
    }

    /// Takes the lines that the section begins with from one before it, which began with the same bytes.
    ///
    /// - Parameter end: where they end.
    mutating func take(
        _ count: Int, from memo: FieldMemo, upTo end: Int, _ bytes: UnsafeRawBufferPointer,
        noting framing: inout FramingFields
    ) throws(HTTP1Error) {
        guard count > 0, count <= maximumCount, end <= limit else { return }
        if lines.capacity == 0 { lines.reserveCapacity(24) }
        for index in 0..<count {
            let line = memo.line(index, at: position)
            lines.append(line)
            guard line.name != .other else { continue }
            present.insert(line.name)
            if notedNames.contains(line.name) { try framing.note(line.name, bytes.rebased(line.valueRange)) }
        }
        position = end
    }

    private mutating func begin(at offset: Int, bytes: Int, count: Int) {
        state = .lineStart
        position = offset
        let (sum, overflow) = offset.addingReportingOverflow(bytes)
        limit = overflow ? .max : sum
        maximumCount = count
        present = FieldNameSet()
        if lines.isEmpty { swap(&lines, &spareLines) } else { lines.removeAll(keepingCapacity: true) }
    }

    /// Gives the lines away.
    mutating func takeLines() -> ContiguousArray<FieldSection.Line> {
        var taken: ContiguousArray<FieldSection.Line> = []
        swap(&taken, &lines)
        return taken
    }

    /// Takes storage back that is no longer used.
    mutating func recycle(_ spent: inout ContiguousArray<FieldSection.Line>) {
        swap(&spareLines, &spent)
        spareLines.removeAll(keepingCapacity: true)
    }

    /// Scans on, and tells whether the section is complete.
    ///
    /// Names in the set given at the beginning are told to `framing` as their lines are completed.
    mutating func scan(
        _ bytes: UnsafeRawBufferPointer, noting framing: inout FramingFields
    ) throws(HTTP1Error) -> Bool {
        let end = min(bytes.count, limit)
        var index = position
        defer { position = index }
        scan: while index < end {
            switch state {
            case .lineStart:
                index = try scanWholeLines(bytes, from: index, to: end, &framing)
                guard index < end else { break scan }
                let byte = bytes[index]
                if byte == Byte.carriageReturn {
                    state = .finalLineFeed
                    index &+= 1
                    continue scan
                }
                guard lines.count < maximumCount else { throw countError }
                guard byte.isTokenByte else { throw FieldLineScanner.errorAtLineStart(byte) }
                nameStart = index
                state = .name
                fallthrough
            case .name:
                while index < end, bytes[index].isTokenByte { index &+= 1 }
                guard index < end else { break scan }
                guard bytes[index] == Byte.colon else { throw FieldLineScanner.errorAfterName(bytes[index]) }
                nameLength = index &- nameStart
                guard nameLength <= UInt16.max else { throw sizeError }
                index &+= 1
                state = .beforeValue
                fallthrough
            case .beforeValue:
                while index < end, bytes[index].isOptionalWhitespace { index &+= 1 }
                guard index < end else { break scan }
                valueStart = index
                state = .value
                fallthrough
            case .value:
                index = bytes.firstOutsideFieldValue(from: index, to: end)
                guard index < end else { break scan }
                guard bytes[index] == Byte.carriageReturn else {
                    throw bytes[index] == Byte.lineFeed ? .bareLineFeed : .invalidFieldValue
                }
                valueEnd = index
                while valueEnd > valueStart, bytes[valueEnd &- 1].isOptionalWhitespace { valueEnd &-= 1 }
                index &+= 1
                state = .lineFeed
                guard index < end else { break scan }
                fallthrough
            case .lineFeed:
                guard bytes[index] == Byte.lineFeed else { throw .bareCarriageReturn }
                index &+= 1
                state = .lineStart
                try completeLine(
                    bytes, nameStart..<nameStart &+ nameLength, valueStart..<valueEnd, &framing)
            case .finalLineFeed:
                guard bytes[index] == Byte.lineFeed else { throw .bareCarriageReturn }
                index &+= 1
                state = .complete
                return true
            case .complete:
                return true
            }
        }
        if end == limit { throw sizeError }
        return false
    }

    /// Takes the lines of which all bytes are here and right, and returns where the first other one begins.
    ///
    /// What it leaves is read again, byte by byte, by the states: they know what is wrong, and can stop anywhere.
    private mutating func scanWholeLines(
        _ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int, _ framing: inout FramingFields
    ) throws(HTTP1Error) -> Int {
        var start = start
        while start < end, bytes[start] != Byte.carriageReturn, lines.count < maximumCount {
            let colon = bytes.firstOutsideToken(from: start, to: end)
            guard colon > start, colon < end, bytes[colon] == Byte.colon, colon &- start <= UInt16.max else { break }
            var lower = colon &+ 1
            while lower < end, bytes[lower].isOptionalWhitespace { lower &+= 1 }
            let lineEnd = bytes.firstOutsideFieldValue(from: lower, to: end)
            guard end &- lineEnd > 1, bytes[lineEnd] == Byte.carriageReturn, bytes[lineEnd &+ 1] == Byte.lineFeed else {
                break
            }
            var upper = lineEnd
            while upper > lower, bytes[upper &- 1].isOptionalWhitespace { upper &-= 1 }
            try completeLine(bytes, start..<colon, lower..<upper, &framing)
            start = lineEnd &+ 2
        }
        return start
    }

    @inline(__always)
    private mutating func completeLine(
        _ bytes: UnsafeRawBufferPointer, _ nameRange: Range<Int>, _ valueRange: Range<Int>,
        _ framing: inout FramingFields
    ) throws(HTTP1Error) {
        let name = FieldName(bytes.rebased(nameRange))
        // Most heads have fewer fields than this, so that the array is allocated once.
        if lines.capacity == 0 { lines.reserveCapacity(24) }
        lines.append(
            FieldSection.Line(
                nameStart: nameRange.lowerBound, nameLength: nameRange.count, valueStart: valueRange.lowerBound,
                valueLength: valueRange.count, name: name))
        guard name != .other else { return }
        present.insert(name)
        if notedNames.contains(name) { try framing.note(name, bytes.rebased(valueRange)) }
    }

    private static func errorAtLineStart(_ byte: UInt8) -> HTTP1Error {
        switch byte {
        case Byte.space, Byte.tab: .obsoleteLineFolding
        case Byte.lineFeed: .bareLineFeed
        default: .invalidFieldName
        }
    }

    private static func errorAfterName(_ byte: UInt8) -> HTTP1Error {
        switch byte {
        case Byte.space, Byte.tab: .whitespaceBeforeColon
        case Byte.lineFeed: .bareLineFeed
        default: .invalidFieldName
        }
    }
}
