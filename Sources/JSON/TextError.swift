import Diagnostics

/// What is wrong with a text that should be read, and where.
public struct TextError: Error, Sendable, Hashable {
    /// One sentence without a capital and a full stop.
    public let message: String
    /// The place, in bytes from the text's first one.
    public let offset: Int

    /// - Parameter offset: the place, in bytes from the text's first one.
    public init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }

    /// The message with its place: `line 3, column 14: a value is missing`.
    ///
    /// - Parameter source: the text that was read.
    public func description(in source: [UInt8]) -> String {
        let mark = TextMark(offset: offset, in: source)
        return "line \(mark.line), column \(mark.column): \(visibleText(of: message.utf8))"
    }
}

/// What is wrong with a text that should be JSON.
public typealias JSONError = TextError

/// Where bytes stop being UTF-8; nil where all are.
public func firstInvalidUTF8(_ bytes: [UInt8]) -> Int? {
    var index = 0
    while index < bytes.count {
        if bytes[index] < 0x80 {
            index &+= 1
            continue
        }
        guard let (_, length) = decodeUTF8(bytes, at: index) else { return index }
        index &+= length
    }
    return nil
}
