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

    /// A message without what differs from one place to another: names in quotes, and numbers. Those that are parts of
    /// words stay, as in base64 and UTF-8.
    static func kind(of message: String) -> String {
        func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
        func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }
        let blank = UInt8(ascii: " ")
        let bytes = [blank] + Array(message.utf8) + [blank]
        var kind: [UInt8] = []
        var isQuoted = false
        var isNumber = false
        for index in 1..<(bytes.count - 1) {
            let (previous, byte, next) = (bytes[index - 1], bytes[index], bytes[index + 1])
            if byte == UInt8(ascii: "'"), isQuoted || !isLetter(previous) {
                isQuoted.toggle()
                continue
            }
            let divides = ".,".utf8.contains(byte) && isDigit(previous) && isDigit(next)
            let goesOn = divides || (isDigit(byte) && (isDigit(previous) || ".,".utf8.contains(previous)))
            if !goesOn { isNumber = isDigit(byte) && !isLetter(previous) && !"-/".utf8.contains(previous) }
            guard !isQuoted, !isNumber, byte != 0x20 || kind.last != 0x20 else { continue }
            kind.append(byte)
        }
        while kind.last == 0x20 { kind.removeLast() }
        return String(decoding: kind, as: UTF8.self)
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
