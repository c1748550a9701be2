public import Archives
import Diagnostics

/// Words what is wrong with an archive.
enum ArchiveMessages {
    /// How many warnings of a kind are shown.
    private static let shown = 10

    /// The problems as messages: errors all, warnings ten of a kind, the others counted.
    static func grouped(_ problems: [ArchiveProblem], file: String) -> [MapDiagnostic] {
        var counts: [String: Int] = [:]
        var messages: [MapDiagnostic] = []
        for problem in problems {
            let kind = problem.severity == .error ? "" : kind(of: problem.message)
            counts[kind, default: 0] += 1
            guard kind.isEmpty || counts[kind, default: 0] <= shown else { continue }
            messages.append(message(problem, file: file))
        }
        for (kind, count) in counts.sorted(by: { $0.key < $1.key }) where !kind.isEmpty && count > shown {
            messages.append(
                message(ArchiveProblem(.warning, "\(count - shown) more of the kind: \(kind)"), file: file))
        }
        return messages
    }

    /// A message without what differs from one place to another: names in quotes, and numbers.
    private static func kind(of message: String) -> String {
        var kind = ""
        var isQuoted = false
        for character in message {
            if character == "'" { isQuoted.toggle() }
            if isQuoted || character.isNumber { continue }
            kind.append(character)
        }
        return kind
    }

    static func message(_ problem: ArchiveProblem, file: String) -> MapDiagnostic {
        let severity: Diagnostic.Severity = problem.severity == .error ? .error : .warning
        let entry = problem.entry.map { "entry \($0): " } ?? ""
        return MapDiagnostic(
            Diagnostic(severity, entry + problem.message, file: file), rendering: problem.description(file: file))
    }
}

extension Archive {
    /// What reading its index has warned of: ten of a kind, the others counted.
    public var messages: [MapDiagnostic] {
        var problems = warnings
        if furtherWarnings > 0 {
            problems.append(ArchiveProblem(.warning, "\(furtherWarnings) further warnings are not shown"))
        }
        return ArchiveMessages.grouped(problems, file: name)
    }
}
