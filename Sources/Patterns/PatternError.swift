/// Says what is wrong with an expression, a pattern or a template, and what may be written instead.
///
/// `range` counts bytes from the beginning of the text that was given, for a caret below it. It is never past the end
/// of the text, and may be empty at its end where something is missing.
public struct PatternError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One sentence without a final stop, fit to follow `error: `.
    public let message: String

    /// The bytes at fault.
    public let range: Range<Int>

    public init(_ message: String, at range: Range<Int>) {
        self.message = message
        self.range = range
    }

    public var description: String { "\(range.lowerBound): \(message)" }
}
