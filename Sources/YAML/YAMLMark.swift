/// A place in a YAML source, as a compiler's message names it.
///
/// Lines end at LF, CR or CRLF. A byte-order mark at the start of the source takes part in `offset` only.
public struct YAMLMark: Sendable, Hashable {
    // 32 bits each: a map of a million entries makes four million marks, and an input is at most 2 GiB.
    private var storedLine: UInt32
    private var storedColumn: UInt32
    private var storedOffset: UInt32

    /// The line, counted from 1.
    public var line: Int { Int(storedLine) }
    /// The column in Unicode scalars, counted from 1.
    public var column: Int { Int(storedColumn) }
    /// The place in bytes from the start of the source, counted from 0.
    public var offset: Int { Int(storedOffset) }

    /// Makes a mark; numbers outside 0 ..< 2³² are clamped.
    public init(line: Int, column: Int, offset: Int) {
        storedLine = UInt32(clamping: line)
        storedColumn = UInt32(clamping: column)
        storedOffset = UInt32(clamping: offset)
    }

    /// The first byte of a source.
    public static let start = YAMLMark(line: 1, column: 1, offset: 0)

    /// Finds the line and column of a byte by reading the source up to it.
    ///
    /// Takes time in proportion to the offset: meant for errors. An offset behind the end is taken for the end.
    public init(offset: Int, in source: [UInt8]) {
        let limit = min(max(offset, 0), source.count)
        var line = 1
        var column = 1
        var index = byteOrderMarkLength(source)
        while index < limit {
            let byte = source[index]
            index += 1
            if byte == UInt8(ascii: "\n") || (byte == UInt8(ascii: "\r") && !isLineFeed(source, index)) {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        self.init(line: line, column: column, offset: limit)
    }

    /// The mark some columns and bytes further on the same line.
    func advanced(columns: Int, bytes: Int) -> YAMLMark {
        YAMLMark(line: line, column: column + columns, offset: offset + bytes)
    }
}

/// A stretch of a YAML source: from `start` up to, not including, `end`.
public struct YAMLSpan: Sendable, Hashable {
    public var start: YAMLMark
    public var end: YAMLMark

    public init(start: YAMLMark, end: YAMLMark) {
        self.start = start
        self.end = end
    }

    /// The empty span at a mark.
    public init(at mark: YAMLMark) {
        self.init(start: mark, end: mark)
    }
}

private func isLineFeed(_ source: [UInt8], _ index: Int) -> Bool {
    index < source.count && source[index] == UInt8(ascii: "\n")
}
