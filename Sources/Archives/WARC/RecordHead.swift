import HTTPSemantics

/// The header block of a WARC record (WARC 1.1 §4, §5): what of it is used here.
struct RecordHead {
    enum Kind {
        case response, request, resource, revisit, other
    }

    /// The most bytes of a header block.
    static let mostBytes = 262_144

    /// The block, with the empty line at its end.
    private(set) var bytes: [UInt8]
    var kind = Kind.other
    /// Of the block that follows; negative where it is not said.
    var contentLength = -1
    /// Whether the record is a part of one, or has lost a part: its block is not the whole.
    var isSegment = false
    private(set) var targets: [Range<Int>] = []
    private(set) var id: Range<Int>?
    private(set) var url: Range<Int>?
    private(set) var date: Range<Int>?
    private(set) var mediaType: Range<Int>?
    private(set) var refersTo: Range<Int>?
    private(set) var refersToURL: Range<Int>?
    private(set) var refersToDate: Range<Int>?
    private(set) var payloadDigest: Range<Int>?
    private(set) var blockDigest: Range<Int>?

    /// Parses the head that bytes begin with.
    ///
    /// - Returns: nil where they end before it does.
    init?(_ input: UnsafeRawBufferPointer) {
        var lines = HeadLines(input)
        guard lines.next() != nil else { return nil }
        var isFolded = false
        bytes = []
        while let line = lines.next() {
            if input[line.lowerBound] == 0x20 || input[line.lowerBound] == 0x09 { isFolded = true }
            add(input, line)
        }
        guard lines.isComplete else { return nil }
        let block = input.rebased(0..<lines.position)
        if isFolded {
            self = RecordHead(folded: block)
        } else {
            bytes = Array(block)
        }
    }

    /// A line that begins with a blank goes on with the one before it (WARC 1.1 §4).
    private init(folded input: UnsafeRawBufferPointer) {
        bytes = Array(input)
        var fields: [Range<Int>] = []
        var lines = HeadLines(input)
        _ = lines.next()
        while let line = lines.next() {
            if input[line.lowerBound] == 0x20 || input[line.lowerBound] == 0x09, let last = fields.popLast() {
                for index in last.upperBound..<line.lowerBound { bytes[index] = 0x20 }
                fields.append(last.lowerBound..<line.upperBound)
            } else {
                fields.append(line)
            }
        }
        let unfolded = bytes
        unfolded.withUnsafeBytes { for field in fields { add($0, field) } }
    }

    /// The value of a field, such as `head[head.url]`.
    subscript(_ range: Range<Int>?) -> ArraySlice<UInt8>? { range.map { bytes[$0] } }

    /// The records that this one belongs to (WARC-Concurrent-To, which may be repeated).
    var concurrentTo: [RecordKey] { targets.compactMap { RecordKey(id: bytes[$0]) } }

    private mutating func add(_ input: UnsafeRawBufferPointer, _ line: Range<Int>) {
        var colon = line.lowerBound
        while colon < line.upperBound, input[colon] != UInt8(ascii: ":") { colon += 1 }
        guard colon < line.upperBound else { return }
        var start = colon + 1
        var end = line.upperBound
        while start < end, input[start] == 0x20 || input[start] == 0x09 { start += 1 }
        while end > start, input[end - 1] == 0x20 || input[end - 1] == 0x09 { end -= 1 }
        set(input.rebased(line.lowerBound..<colon).trimmingOptionalWhitespace, input.rebased(start..<end), start..<end)
    }

    private mutating func set(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ range: Range<Int>) {
        switch name.count {
        case 9:
            if name.equalsIgnoringCase("warc-type") { kind = RecordHead.kind(value) }
            if name.equalsIgnoringCase("warc-date") { date = range }
        case 12: if name.equalsIgnoringCase("content-type") { mediaType = range }
        case 14:
            if name.equalsIgnoringCase("content-length") { contentLength = value.decimalValue ?? -1 }
            if name.equalsIgnoringCase("warc-record-id") { id = range }
            if name.equalsIgnoringCase("warc-refers-to") { refersTo = range }
        case 15: if name.equalsIgnoringCase("warc-target-uri") { url = range }
        case 17: if name.equalsIgnoringCase("warc-block-digest") { blockDigest = range }
        case 18: if name.equalsIgnoringCase("warc-concurrent-to") { targets.append(range) }
        case 19:
            if name.equalsIgnoringCase("warc-payload-digest") { payloadDigest = range }
            if name.equalsIgnoringCase("warc-refers-to-date") { refersToDate = range }
            if name.equalsIgnoringCase("warc-segment-number") { isSegment = true }
        case 25: if name.equalsIgnoringCase("warc-refers-to-target-uri") { refersToURL = range }
        default: break
        }
    }

    private static func kind(_ value: UnsafeRawBufferPointer) -> Kind {
        if value.equalsIgnoringCase("response") { return .response }
        if value.equalsIgnoringCase("request") { return .request }
        if value.equalsIgnoringCase("resource") { return .resource }
        if value.equalsIgnoringCase("revisit") { return .revisit }
        return .other
    }
}
