import Diagnostics

/// A template that has been read: what is in one file, without its partials.
public final class MustacheTemplate: Sendable {
    /// The template's name: of its page's templates no other has it. Messages show it.
    public let file: String
    /// Its bytes.
    public let source: [UInt8]
    /// The partials and parents that it names, each once, in the order of their first tags.
    public var references: [PartialReference] { program.references }

    let program: TagProgram
    /// How many bytes were looked at while it was parsed, those that were looked at twice counted twice.
    let examinedBytes: Int

    private init(file: String, source: [UInt8], program: TagProgram, examinedBytes: Int) {
        self.file = file
        self.source = source
        self.program = program
        self.examinedBytes = examinedBytes
    }

    /// Reads a template, in time proportional to its size.
    ///
    /// A byte-order mark at its start is left out.
    ///
    /// - Parameters:
    ///   - source: Its bytes, in UTF-8.
    ///   - file: Its name, for messages and for finding out which templates are the same.
    /// - Throws: What is no Mustache, or more than the limits allow.
    public static func parse(
        _ source: [UInt8], file: String, limits: MustacheLimits = MustacheLimits()
    ) throws(TemplateError) -> MustacheTemplate {
        guard source.count <= limits.templateBytes else {
            throw TemplateError(
                "the template has \(source.count) bytes; at most \(limits.templateBytes) are accepted", file: file)
        }
        if let index = firstIndexOfOtherThanUTF8(source) {
            throw TemplateError(
                "a template is UTF-8, and this byte is not", file: file, source: source, range: index..<index + 1)
        }
        var parser = TemplateParser(source: source, file: file, limits: limits)
        try parser.parse()
        return MustacheTemplate(
            file: file, source: source, program: parser.program, examinedBytes: parser.examinedBytes)
    }

    /// An error about one of its partials, at the tag that names it.
    public func error(_ message: String, at reference: PartialReference) -> TemplateError {
        error(message, at: reference.range)
    }

    func error(_ message: String, at range: Range<Int>) -> TemplateError {
        TemplateError(message, file: file, source: source, range: range)
    }

    private static func firstIndexOfOtherThanUTF8(_ source: [UInt8]) -> Int? {
        var index = 0
        while index < source.count {
            if source[index] < 0x80 {
                index += 1
            } else if let (_, length) = decodeUTF8(source, at: index) {
                index += length
            } else {
                return index
            }
        }
        return nil
    }
}

/// A partial or parent that a template names, at the first place where it does.
public struct PartialReference: Sendable, Hashable {
    /// The name as it is written, `header` in `{{> header }}`.
    public let name: String
    /// The tag in the template's bytes.
    public let range: Range<Int>
}
