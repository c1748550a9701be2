public import Diagnostics
import YAML

/// An error or a warning about a map, with its text as a compiler prints it.
public struct MapDiagnostic: Sendable, Equatable {
    /// Severity, message, file and place.
    public let diagnostic: Diagnostic
    /// The whole message: the headline, the line of the map, and a mark under what is meant.
    public let rendering: String

    /// Whether the map is refused for it.
    public var isError: Bool { diagnostic.severity == .error }

    /// File, line and column.
    public var place: String {
        "\(diagnostic.file):\(diagnostic.span.map { "\($0.start.line):\($0.start.column)" } ?? "")"
    }

    init(_ diagnostic: Diagnostic, source: [UInt8]?) {
        self.diagnostic = diagnostic
        rendering = diagnostic.rendered(source: source)
    }

    /// A message that is rendered already.
    init(_ diagnostic: Diagnostic, rendering: String) {
        self.diagnostic = diagnostic
        self.rendering = rendering
    }

    /// The same as an error, where it is a warning.
    public var asError: MapDiagnostic {
        guard diagnostic.severity == .warning else { return self }
        var error = diagnostic
        error.severity = .error
        return MapDiagnostic(
            error, rendering: rendering.replacing(": warning: ", with: ": error: ", maxReplacements: 1))
    }
}

/// What is wrong with one file, collected while it is read.
final class FileDiagnostics {
    /// How many messages of one file are kept; more are counted.
    static let limit = 1000

    let file: String
    let source: [UInt8]
    private var found: [Diagnostic] = []
    private var errorCount = 0
    private var omitted = 0
    /// Where YAML stands that is refused, and of which nothing else is said.
    private var refused: Set<Int> = []

    init(file: String, source: [UInt8]) {
        self.file = file
        self.source = source
    }

    var hasErrors: Bool { errorCount > 0 }

    func error(_ message: String, at span: TextSpan?) {
        errorCount += 1
        add(.error, message, span)
    }

    func error(_ error: YAMLError) {
        self.error(error.message, at: error.span)
    }

    /// Notes YAML that is refused. What else is wrong with it comes of that.
    func refuse(_ error: YAMLError) {
        self.error(error)
        if found.count < FileDiagnostics.limit { refused.insert(error.span.start.offset) }
    }

    func warning(_ message: String, at span: TextSpan?) {
        add(.warning, message, span)
    }

    private func add(_ severity: Diagnostic.Severity, _ message: String, _ span: TextSpan?) {
        if let span, refused.contains(span.start.offset) { return }
        guard found.count < FileDiagnostics.limit else {
            omitted += 1
            return
        }
        found.append(Diagnostic(severity, message, file: file, span: span))
    }

    /// Whether the source has this text at a place, in quotes or without.
    func writes(_ text: String, at span: TextSpan) -> Bool {
        let range = (span.start.offset..<span.end.offset).clamped(to: 0..<source.count)
        let written = source[range]
        guard let quote = written.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            return written.elementsEqual(text.utf8)
        }
        return written.dropFirst().dropLast().elementsEqual(text.utf8)
    }

    /// The messages in the order of the file.
    func rendered() -> [MapDiagnostic] {
        let sorted = found.enumerated().sorted { left, right in
            let first = left.element.span?.start.offset ?? -1
            let second = right.element.span?.start.offset ?? -1
            return first != second ? first < second : left.offset < right.offset
        }
        var messages = sorted.map { MapDiagnostic($0.element, source: source) }
        if omitted > 0 {
            let severity: Diagnostic.Severity = hasErrors ? .error : .warning
            messages.append(
                MapDiagnostic(
                    Diagnostic(severity, "\(omitted) further messages are not shown", file: file), source: nil))
        }
        return messages
    }
}
