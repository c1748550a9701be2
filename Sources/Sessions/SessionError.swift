public import Diagnostics

/// Why a text is no session, and where.
public struct SessionError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One sentence without a capital and a full stop.
    public let message: String
    /// The place; nil where the text has no lines.
    public let span: TextSpan?

    init(_ message: String, at span: TextSpan? = nil) {
        self.message = message
        self.span = span
    }

    /// The error with its place by line and column, which parts of a tree don't know.
    func placed(in source: [UInt8]) -> SessionError {
        guard let span else { return self }
        return SessionError(
            message,
            at: TextSpan(
                start: TextMark(offset: span.start.offset, in: source),
                end: TextMark(offset: span.end.offset, in: source)))
    }

    /// As a message about a file.
    public func diagnostic(file: String) -> Diagnostic { Diagnostic(.error, message, file: file, span: span) }

    public var description: String {
        span.map { "line \($0.start.line), column \($0.start.column): \(message)" } ?? message
    }
}
