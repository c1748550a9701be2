import Diagnostics
import HTTPSemantics
import NIOCore
import Substitution

/// A file system in memory: map files by their absolute paths, and what else exists.
func memoryFiles(_ maps: [String: String], existing: [String: MappedKind] = [:]) -> MapFileSystem {
    // As realpath would: ".." taken out.
    @Sendable func resolved(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }
    return MapFileSystem(
        read: { path, limit in
            let path = resolved(path)
            guard let text = maps[path] else { return .failure(existing[path] == .folder ? .isFolder : .missing) }
            guard text.utf8.count <= limit else { return .failure(.tooLarge(limit: limit)) }
            return .success(MapFileContents(bytes: Array(text.utf8)))
        },
        kind: { root, path in
            let relative = String(decoding: path, as: UTF8.self)
            let trimmed = relative.hasSuffix("/") ? String(relative.dropLast()) : relative
            let full = trimmed.isEmpty ? root : root + "/" + trimmed
            if let kind = existing[full] { return kind }
            return trimmed.isEmpty && existing.isEmpty ? .folder : nil
        },
        absolutePath: { $0.hasPrefix("/") ? $0 : "/maps/" + $0 },
        identity: { resolved($0) })
}

/// Loads map files from memory; names are relative to `/maps`.
func loadFiles(
    _ maps: [String: String], _ names: [String] = ["substitutions.yaml"], existing: [String: MappedKind] = [:]
) -> MapLoadResult {
    var absolute: [String: String] = [:]
    for (name, text) in maps { absolute[name.hasPrefix("/") ? name : "/maps/" + name] = text }
    return SubstitutionMap.load(
        files: names, options: MapLoadOptions(fileSystem: memoryFiles(absolute, existing: existing)))
}

/// The map of a text that has no errors.
func map(_ text: String, file: String = #fileID, line: Int = #line) throws -> SubstitutionMap {
    let result = SubstitutionMap.load(text: text)
    guard let map = result.map else {
        throw UnexpectedErrors(text: result.diagnostics.map(\.rendering).joined(separator: "\n"))
    }
    return map
}

/// The map whose only content are these rules, a line each.
func rules(_ lines: String...) throws -> SubstitutionMap {
    try map("substitutions:\n" + lines.map { "  \($0)\n" }.joined())
}

struct UnexpectedErrors: Error, CustomStringConvertible {
    var text: String
    var description: String { text }
}

/// The renderings of all errors and warnings of a text.
func messages(_ text: String) -> [String] { SubstitutionMap.load(text: text).diagnostics.map(\.rendering) }

/// The headlines of all errors and warnings of a text, without the file's name.
func headlines(_ text: String) -> [String] {
    SubstitutionMap.load(text: text).diagnostics.map {
        String($0.diagnostic.headline.dropFirst("substitutions.yaml:".count))
    }
}

func section(_ fields: [(String, String)]) -> FieldSection {
    var section = FieldSection()
    for (name, value) in fields { section.append(name: name.utf8, value: value.utf8) }
    return section
}

func requestMethod(_ text: String) -> RequestMethod {
    Array(text.utf8).withUnsafeBytes { RequestMethod($0) }
}

extension SubstitutionMap {
    /// The match of a request.
    func match(
        _ url: String, _ method: String = "GET", _ fields: [(String, String)] = [], scratch: inout LookupScratch
    ) throws -> RuleMatch? {
        lookup(try TargetURI(url), method: requestMethod(method), fields: section(fields), scratch: &scratch)
    }

    /// What answers a request, in words; `-` for none.
    func answer(_ url: String, _ method: String = "GET", _ fields: [(String, String)] = []) throws -> String {
        var scratch = LookupScratch()
        guard let match = try match(url, method, fields, scratch: &scratch) else { return "-" }
        return Self.words(self.answer(match, uri: try TargetURI(url), scratch: scratch))
    }

    /// An answer in words.
    static func words(_ answer: SourceAnswer) -> String {
        switch answer {
        case .file(_, let path): return String(decoding: path, as: UTF8.self)
        case .content(let content):
            if let location = content.location { return "redirect \(String(decoding: location, as: UTF8.self))" }
            if content.isOwnWording { return "block" }
            return "\(content.type): \(String(decoding: content.bytes, as: UTF8.self))"
        case .database(let call):
            return "\(String(decoding: call.path, as: UTF8.self)): \(String(decoding: call.resource, as: UTF8.self))"
        case .template(let call): return "template \(String(decoding: call.path, as: UTF8.self))"
        case .answers(let answers):
            return (0..<answers.count).map { number in
                let turns = answers.turns(of: number)
                return "\(turns.lowerBound + 1)-\(turns.upperBound) \(words(answers.answer(number)))"
            }.joined(separator: " | ")
        case .origin(nil): return "forward"
        case .origin(let url?): return "forward \(String(buffer: url.bytes))"
        case .refused(let reason): return "refused: \(reason)"
        }
    }

    /// The line of the rule that answers; nil for none.
    func line(_ url: String, _ method: String = "GET", _ fields: [(String, String)] = []) throws -> Int? {
        var scratch = LookupScratch()
        return try match(url, method, fields, scratch: &scratch).map { rule($0.id).location.line }
    }

    func explanation(_ url: String, _ method: String = "GET", _ fields: [(String, String)] = []) throws -> Explanation {
        var scratch = LookupScratch()
        return explain(try TargetURI(url), method: requestMethod(method), fields: section(fields), scratch: &scratch)
    }
}
