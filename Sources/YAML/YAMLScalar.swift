public import Diagnostics

/// A YAML scalar: its text as bytes, how it was written, and where.
///
/// The bytes are UTF-8 always, without escapes, quotes and folding. They are shared with the source where the scalar
/// stands there literally, so that reading a scalar allocates nothing; a scalar that is kept keeps the whole source.
public struct YAMLScalar: Sendable {
    /// How a scalar was written.
    public enum Style: Sendable, Hashable {
        case plain, singleQuoted, doubleQuoted, literal, folded
    }

    /// Where the scalar stands, with its quotes.
    public let span: TextSpan
    public let style: Style
    private let lower: UInt32
    private let upper: UInt32
    private let isVerbatim: Bool
    private let storage: [UInt8]

    /// A scalar whose text is a stretch of the source.
    init(source: [UInt8], range: Range<Int>, style: Style, span: TextSpan) {
        storage = source
        lower = UInt32(truncatingIfNeeded: range.lowerBound)
        upper = UInt32(truncatingIfNeeded: range.upperBound)
        isVerbatim = true
        self.style = style
        self.span = span
    }

    /// A scalar with a text of its own, such as one with escapes.
    public init(_ bytes: [UInt8], style: Style = .plain, span: TextSpan = TextSpan(at: .start)) {
        storage = bytes
        lower = 0
        upper = UInt32(clamping: bytes.count)
        isVerbatim = false
        self.style = style
        self.span = span
    }

    /// Whether it was written without quotes and not as a block, so that the core schema applies.
    public var isPlain: Bool { style == .plain }

    /// The number of bytes of its text.
    public var count: Int { Int(upper) - Int(lower) }

    /// Its text, without a copy.
    public var bytes: ArraySlice<UInt8> { storage[Int(lower)..<Int(upper)] }

    /// Its text as a String; made anew at each call.
    public var string: String { withBytes { String(decoding: $0, as: UTF8.self) } }

    /// Reads its text in place; the buffer is valid during the call only.
    ///
    /// - Throws: what `body` throws.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try bytes.withUnsafeBufferPointer(body)
    }

    /// Whether its text is exactly this one, compared by bytes.
    public static func == (scalar: YAMLScalar, text: StaticString) -> Bool {
        guard text.hasPointerRepresentation, scalar.count == text.utf8CodeUnitCount else { return false }
        let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return scalar.withBytes { $0.elementsEqual(expected) }
    }

    /// Where a part of its text stands; the whole scalar's span if that can't be said, as with escapes and folding.
    ///
    /// - Parameter range: Bytes of the text, counted from 0.
    public func span(ofBytes range: Range<Int>) -> TextSpan {
        guard isVerbatim, range.lowerBound >= 0, range.upperBound <= count else { return span }
        let from = Int(lower) + range.lowerBound
        let to = Int(lower) + range.upperBound
        // A verbatim scalar stands on one line: a line break in a scalar is folded or has its indentation removed.
        let start = span.start.advanced(
            columns: characters(in: span.start.offset..<from), bytes: from - span.start.offset)
        return TextSpan(start: start, end: start.advanced(columns: characters(in: from..<to), bytes: to - from))
    }

    private func characters(in range: Range<Int>) -> Int {
        storage[range].reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 + 1 }
    }
}

extension YAMLScalar: CustomStringConvertible {
    /// Its text in single quotes for a message: control characters made visible, at most 60 characters.
    public var description: String { "'\(visibleText(of: bytes, limit: 60))'" }
}
