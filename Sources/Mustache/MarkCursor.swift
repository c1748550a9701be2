import Diagnostics

/// Finds the lines and columns of places that are asked for in ascending order, in time proportional to the text; as
/// ``TextMark/init(offset:in:)`` counts them.
struct MarkCursor {
    private let source: [UInt8]
    private var line = 1
    private var column = 1
    private var offset: Int

    init(_ source: [UInt8]) {
        self.source = source
        offset = byteOrderMarkLength(source)
    }

    /// The mark of a place that is not before the last one.
    mutating func mark(at place: Int) -> TextMark {
        while offset < min(place, source.count) {
            let byte = source[offset]
            offset += 1
            let isBreak = byte == 0x0A || (byte == 0x0D && !(offset < source.count && source[offset] == 0x0A))
            if isBreak {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        return TextMark(line: line, column: column, offset: offset)
    }
}
