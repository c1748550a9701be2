import Diagnostics

/// What is wrong with an archive, or with one of its entries.
public struct ArchiveProblem: Error, Sendable, Equatable {
    public enum Severity: Sendable { case error, warning }

    /// Where in the file it is: lines and columns begin at 1, offsets at 0.
    public enum Place: Sendable, Equatable {
        case file
        case line(Int, column: Int)
        case offset(Int)
    }

    public var severity: Severity
    public var place: Place
    /// The number of the entry that it is about, from 1.
    public var entry: Int?
    public var message: String
    /// The line of the source that it is about, and a line with a mark under what is meant; nil for none.
    public var excerpt: String?
    /// The option that allows more, where it is about its limit; nil for none.
    public var option: String?

    public init(_ severity: Severity, _ message: String, at place: Place = .file, entry: Int? = nil) {
        self.severity = severity
        self.message = message
        self.place = place
        self.entry = entry
    }

    /// Such as `checkout.har:1284:17: error: entry 17: …`, or `page.mhtml@53212: error: …`.
    public func description(file: String) -> String {
        let name =
            switch place {
            case .file: file
            case .line(let line, let column): "\(file):\(line):\(column)"
            case .offset(let offset): "\(file)@\(offset)"
            }
        let headline =
            "\(name): \(severity == .error ? "error" : "warning"): \(entry.map { "entry \($0): " } ?? "")\(message)"
        // The archive's own words may have control characters.
        let shown = visibleText(of: headline.utf8)
        return excerpt.map { "\(shown)\n\($0)" } ?? shown
    }

    static func error(_ message: String, at offset: Int) -> ArchiveProblem {
        ArchiveProblem(.error, message, at: .offset(offset))
    }

    static func warning(_ message: String, at offset: Int, entry: Int? = nil) -> ArchiveProblem {
        ArchiveProblem(.warning, message, at: .offset(offset), entry: entry)
    }

    /// As a warning of an entry.
    func ofEntry(_ number: Int) -> ArchiveProblem {
        var problem = self
        problem.severity = .warning
        problem.entry = number
        return problem
    }

    /// Of a body that is longer than `--max-entry-body`, in bytes.
    static func tooLong(limit: Int, at place: Place = .file) -> ArchiveProblem {
        var problem = ArchiveProblem(.error, "the body is longer than --max-entry-body (\(limit) bytes)", at: place)
        problem.option = "--max-entry-body"
        return problem
    }

    static func unreadable(at offset: Int) -> ArchiveProblem { .error("the file can't be read", at: offset) }

    static func cutShort(at offset: Int) -> ArchiveProblem { .error("the file ends too soon", at: offset) }
}
