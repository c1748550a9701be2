public import Diagnostics
import YAML

/// What a look at the disk says about the files that a map names.
public struct MapFileCheck: Sendable {
    /// How many files and folders were looked for.
    public var checked = 0
    /// How many do not exist.
    public var missing = 0
    /// How many are something that can't be served: a folder for one URL, a file for a folder, a device, a
    /// symbolic link.
    public var unusable = 0
    /// The first of them, in the order of the files: those that do not exist as warnings, the unusable as errors.
    public var diagnostics: [MapDiagnostic] = []
}

extension SubstitutionMap {
    /// Looks whether the files and folders exist that rules name; those with captures can't be looked for.
    ///
    /// Takes about a microsecond a rule, so a proxy does it beside its work.
    ///
    /// - Parameters:
    ///   - limit: How many messages are made at most; all are counted. The default is 50.
    ///   - unusable: What a file is reported as that can't be served. The default is an error; a proxy that serves the
    ///     map all the same warns.
    public func checkFiles(limit: Int = 50, unusable: Diagnostic.Severity = .error) -> MapFileCheck {
        var result = MapFileCheck()
        var found: [(record: Int, severity: Diagnostic.Severity, message: String)] = []
        // Rules that stand together often name the same file, which is looked for once.
        var last: (record: RuleRecord, problem: FileProblem?)?
        for (index, record) in storage.records.enumerated()
        where record.source.traits.contains(.namesFile) && !record.isTemplate && !record.isSecondScheme {
            result.checked += 1
            if let last, namesSameFile(last.record, record) {} else { last = (record, problem(record)) }
            guard let problem = last?.problem else { continue }
            if problem.isMissing { result.missing += 1 } else { result.unusable += 1 }
            guard found.count < limit else { continue }
            found.append((index, problem.isMissing ? .warning : unusable, message(problem, record)))
        }
        var excerpts = RuleExcerpts(self)
        result.diagnostics = found.map { entry in
            let place = excerpts.place(ofSource: entry.record)
            let file = storage.files[Int(storage.records[entry.record].file)].name
            return MapDiagnostic(
                Diagnostic(entry.severity, entry.message, file: file, span: place.span), source: place.text)
        }
        return result
    }

    private func namesSameFile(_ one: RuleRecord, _ other: RuleRecord) -> Bool {
        guard one.file == other.file, (one.kind == .folder) == (other.kind == .folder),
            one.sourceRange.count == other.sourceRange.count
        else { return false }
        return storage.arena[one.sourceRange].elementsEqual(storage.arena[other.sourceRange])
    }

    private func problem(_ record: RuleRecord) -> FileProblem? {
        let kind = fileSystem.kind(storage.files[Int(record.file)].root, path(record))
        let wanted: MappedKind = record.kind == .folder ? .folder : .file
        guard kind != wanted else { return nil }
        switch (wanted, kind) {
        case (_, nil): return .missing
        case (_, .symbolicLink): return .passesLink
        case (.folder, _): return .isNoFolder
        case (_, .folder): return .isFolder
        default: return .isNoRegularFile
        }
    }

    private func path(_ record: RuleRecord) -> [UInt8] {
        let path = Array(storage.arena[record.sourceRange])
        guard record.kind != .folder, path.isEmpty || path.last == UInt8(ascii: "/") else { return path }
        return path + Array("index.html".utf8)
    }

    private func message(_ problem: FileProblem, _ record: RuleRecord) -> String {
        let root = storage.files[Int(record.file)].root
        let name = PathText.joined(root, String(decoding: path(record), as: UTF8.self))
        switch problem {
        case .missing: return "the \(record.kind == .folder ? "folder" : "file") '\(name)' does not exist"
        case .isNoFolder: return "a folder is mapped to a file; '\(name)' is no folder"
        case .isFolder: return "'\(name)' is a folder; end key and value in '/' to map the folder"
        case .passesLink: return "'\(name)' is a symbolic link, or goes through one; links are not served"
        case .isNoRegularFile: return "'\(name)' is no regular file"
        }
    }
}

/// Why what a rule names can't be served.
private enum FileProblem {
    case missing, isNoFolder, isFolder, passesLink, isNoRegularFile

    var isMissing: Bool { self == .missing }
}

/// Finds the lines of map files again, for messages that come after loading.
struct RuleExcerpts {
    private let map: SubstitutionMap
    private var sources: [UInt16: [UInt8]] = [:]

    init(_ map: SubstitutionMap) {
        self.map = map
    }

    /// Where a rule's source stands, and the line's text, in which the span's offsets count.
    ///
    /// A file that has changed meanwhile may give another place; the line's number is the rule's then.
    mutating func place(ofSource index: Int) -> (span: TextSpan, text: [UInt8]?) {
        place(of: Array(map.storage.arena[map.storage.records[index].sourceRange]), in: index).place
    }

    /// Where a part of a rule's text stands, as above.
    ///
    /// - Parameters:
    ///   - offset: bytes of the part that stand before the place.
    ///   - line: the line that the text begins on, if that is not the rule's own line.
    /// - Returns: the place, and whether it is that of the part: else it is where the rule begins.
    mutating func place(
        of wanted: [UInt8], from offset: Int? = nil, in index: Int, since line: UInt32? = nil
    ) -> (place: (span: TextSpan, text: [UInt8]?), isFound: Bool) {
        let record = map.storage.records[index]
        let source = source(record.file)
        let line = Int(line ?? record.line)
        var mark = TextMark(line: line, column: 1, offset: 0)
        let start = RuleExcerpts.offset(ofLine: line, source)
        guard start < source.count else { return ((TextSpan(at: mark), nil), false) }
        // The rule's text ends where the next one's begins.
        var last = Int(record.line) + 1
        var isLast = true
        if index + 1 < map.storage.records.count, map.storage.records[index + 1].file == record.file {
            last = max(last, Int(map.storage.records[index + 1].line))
            isLast = false
        }
        let limit = min(source.count, start + (1 << 16))
        let window = source[start..<min(limit, RuleExcerpts.offset(ofLine: last, source))]
        let before = min(offset ?? 0, wanted.count)
        // The last rule ends where the file does, or what stands behind the rules.
        let found =
            RuleExcerpts.lastOccurrence(of: wanted, in: window)
            ?? (isLast ? RuleExcerpts.lastOccurrence(of: wanted, in: source[start..<limit]) : nil)
        let position = found.map { $0 + before }
        let target = position ?? window.firstIndex { $0 != 0x20 } ?? start
        let lineStart = source[..<target].lastIndex { $0 == 0x0A || $0 == 0x0D }.map { $0 + 1 } ?? 0
        let lineEnd = source[target...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? source.count
        let lines = source[start..<max(start, lineStart)].count { $0 == 0x0A }
        let column = 1 + source[lineStart..<target].count { $0 & 0xC0 != 0x80 }
        mark = TextMark(line: line + lines, column: column, offset: target - lineStart)
        let length = position == nil ? lineEnd - target : offset == nil ? wanted.count : 0
        let end = TextMark(line: mark.line, column: mark.column, offset: mark.offset + length)
        return ((TextSpan(start: mark, end: end), Array(source[lineStart..<lineEnd])), position != nil)
    }

    private mutating func source(_ file: UInt16) -> [UInt8] {
        if let known = sources[file] { return known }
        let path = map.storage.files[Int(file)].absolutePath
        var bytes: [UInt8] = []
        if case .success(let read) = map.fileSystem.read(path, map.limits.inputBytes) { bytes = read.bytes }
        sources[file] = bytes
        return bytes
    }

    private static func offset(ofLine line: Int, _ source: [UInt8]) -> Int {
        var remaining = line - 1
        var index = 0
        while remaining > 0, let end = source[index...].firstIndex(of: 0x0A) {
            index = end + 1
            remaining -= 1
        }
        return remaining > 0 ? source.count : index
    }

    private static func lastOccurrence(of text: [UInt8], in window: ArraySlice<UInt8>) -> Int? {
        guard !text.isEmpty, window.count >= text.count else { return nil }
        var index = window.endIndex - text.count
        while index >= window.startIndex {
            if window[index..<(index + text.count)].elementsEqual(text) { return index }
            index -= 1
        }
        return nil
    }
}
