/// A place in a text, as a compiler's message names it.
///
/// Lines end at LF, CR or CRLF. A byte-order mark at the start of the text takes part in `offset` only.
public struct TextMark: Sendable, Hashable {
    // 32 bits each: a map of a million entries makes four million marks, and an input is at most 2 GiB.
    @usableFromInline var storedLine: UInt32
    @usableFromInline var storedColumn: UInt32
    @usableFromInline var storedOffset: UInt32

    /// The line, counted from 1.
    @inlinable public var line: Int { Int(storedLine) }
    /// The column in Unicode scalars, counted from 1.
    @inlinable public var column: Int { Int(storedColumn) }
    /// The place in bytes from the start of the text, counted from 0.
    @inlinable public var offset: Int { Int(storedOffset) }

    /// Makes a mark; numbers outside 0 ..< 2³² are clamped.
    @inlinable
    public init(line: Int, column: Int, offset: Int) {
        storedLine = UInt32(clamping: line)
        storedColumn = UInt32(clamping: column)
        storedOffset = UInt32(clamping: offset)
    }

    /// The first byte of a text.
    public static let start = TextMark(line: 1, column: 1, offset: 0)

    /// Finds the line and column of a byte by reading the text up to it.
    ///
    /// Takes time in proportion to the offset: meant for errors. An offset behind the end is taken for the end.
    ///
    /// - Parameter source: the text's bytes, from their first one on.
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
    @inlinable
    public func advanced(columns: Int, bytes: Int) -> TextMark {
        TextMark(line: line, column: column + columns, offset: offset + bytes)
    }
}

/// A stretch of a text: from `start` up to, not including, `end`.
public struct TextSpan: Sendable, Hashable {
    /// Its first character.
    public var start: TextMark
    /// What stands behind its last character.
    public var end: TextMark

    /// The span from one mark to another.
    @inlinable
    public init(start: TextMark, end: TextMark) {
        self.start = start
        self.end = end
    }

    /// The empty span at a mark.
    @inlinable
    public init(at mark: TextMark) {
        self.init(start: mark, end: mark)
    }
}

private func isLineFeed(_ source: [UInt8], _ index: Int) -> Bool {
    index < source.count && source[index] == UInt8(ascii: "\n")
}
