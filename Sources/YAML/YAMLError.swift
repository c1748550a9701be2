public import Diagnostics

/// Why a YAML source is refused, where, and what may be done about it.
public struct YAMLError: Error, Sendable, Hashable {
    /// One sentence without a capital and a full stop, as a compiler prints it.
    public var message: String
    /// The part of the source that is at fault.
    public var span: TextSpan

    public init(_ message: String, at span: TextSpan) {
        self.message = message
        self.span = span
    }

    /// This error as a message about a file.
    public func diagnostic(file: String) -> Diagnostic {
        Diagnostic(.error, message, file: file, span: span)
    }
}

extension YAMLError: CustomStringConvertible {
    public var description: String { "\(span.start.line):\(span.start.column): \(message)" }
}
