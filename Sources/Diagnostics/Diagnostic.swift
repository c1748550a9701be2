/// A message about a place in a file, printed the way compilers do.
public struct Diagnostic: Sendable, Hashable {
    /// How much a message matters.
    public enum Severity: String, Sendable, Hashable {
        /// The file, or the part of it, can't be used.
        case error
        /// It can be used, but is probably not what was meant.
        case warning
        /// A remark about another message.
        case note
    }

    /// How much it matters.
    public var severity: Severity
    /// One sentence without a capital and a full stop.
    public var message: String
    /// The file's name as its user wrote it.
    public var file: String
    /// The place; nil for a message about the file as a whole.
    public var span: TextSpan?

    /// A message about a place in a file, or about the whole file.
    public init(_ severity: Severity, _ message: String, file: String, span: TextSpan? = nil) {
        self.severity = severity
        self.message = message
        self.file = file
        self.span = span
    }

    /// The message's first line: `map.yaml:12:5: error: unknown option 'stauts'`.
    public var headline: String {
        let place = span.map { ":\($0.start.line):\($0.start.column)" } ?? ""
        return visibleText(of: file.utf8) + place + ": \(severity.rawValue): " + visibleText(of: message.utf8)
    }

    /// The whole message: the headline, the line of the source, and a mark under the span.
    ///
    /// ```
    /// substitutions.yaml:12:5: error: unknown option 'stauts'; did you mean 'status'?
    ///     stauts: 201
    ///     ^~~~~~
    /// ```
    /// A span over several lines is marked on its first. Of a long line the part around the span is shown.
    ///
    /// - Parameter source: The file's bytes, those that the span counts in; nil prints the headline alone.
    /// - Returns: Lines without a line break at the end, and without characters that a terminal would obey.
    public func rendered(source: [UInt8]?) -> String {
        guard let source, let span else { return headline }
        let excerpt = Excerpt(source, span)
        return "\(headline)\n\(excerpt.line)\n\(excerpt.underline)"
    }
}
