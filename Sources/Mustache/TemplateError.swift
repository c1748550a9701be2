public import Diagnostics

/// Why a template can't be used, or can't be rendered with some values.
public struct TemplateError: Error, Sendable, Hashable {
    /// The message, its file and the place in it.
    public let diagnostic: Diagnostic
    /// The message as compilers print it: a headline, the line of the template, and a mark below it.
    public let rendering: String

    /// An error at a stretch of a template's bytes, or about the file as a whole.
    ///
    /// - Parameters:
    ///   - file: The template's name as a person is to read it.
    ///   - source: Its bytes; not used without a range.
    public init(_ message: String, file: String, source: [UInt8] = [], range: Range<Int>? = nil) {
        let span = range.map { range in
            let start = TextMark(offset: range.lowerBound, in: source)
            return TextSpan(start: start, end: TextMark(offset: range.upperBound, in: source))
        }
        diagnostic = Diagnostic(.error, message, file: file, span: span)
        rendering = diagnostic.rendered(source: source)
    }
}

extension TemplateError: CustomStringConvertible {
    public var description: String { rendering }
}
