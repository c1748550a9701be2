import HTTPSemantics

/// Which rule of a map; its numbers begin at 0 and leave no gap, so that a table can be kept by them.
public struct RuleID: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// The number as an index.
    public var index: Int { Int(rawValue) }

    public var description: String { String(rawValue) }
}

/// A rule of a map: a cheap view, made anew wherever it is needed.
public struct Rule: Sendable {
    public let id: RuleID
    private let map: SubstitutionMap
    private let record: RuleRecord

    init(_ map: SubstitutionMap, _ id: RuleID) {
        self.map = map
        self.id = id
        record = map.storage.records[id.index]
    }

    public var kind: RuleKind { record.kind }
    /// Conditions, reply and behaviour; one object for all rules that have the same.
    public var options: RuleOptions { map.storage.options[Int(record.options)] }

    /// The map file's last path component, and the line on which the rule begins.
    public var location: (file: String, line: Int) {
        (map.storage.files[Int(record.file)].shortName, Int(record.line))
    }

    /// The rule's place as Cache-Status and the log name it: `substitutions.yaml:12`.
    public var position: String { map.storage.position(record) }

    /// Stands for the rule in the maps of all reloads, wherever in its file it has moved: the file, the key, and which
    /// of the key's rules and answers it is. Both schemes of a `//` key have the same.
    public var identity: String {
        let records = map.storage.records
        var (first, end) = (id.index, id.index + 1)
        while first > 0, records[first].isContinuation { first -= 1 }
        while end < records.count, records[end].isContinuation { end += 1 }
        // The records of a key's second scheme follow those of its first one.
        let isOfBoth = record.isSecondScheme || (end < records.count && records[end].isSecondScheme)
        let file = map.storage.files[Int(record.file)].absolutePath
        return "\(file)\n\(id.index - first)\n\(isOfBoth ? String(key.drop { $0 != ":" }) : key)"
    }

    /// The map file's name as its user wrote it.
    public var mapFile: String { map.storage.files[Int(record.file)].name }

    /// The key as it is compared: a URL or pattern in normal form, or `~` and a regular expression.
    public var key: String { map.storage.key(record) }

    /// The fields of a request that decide whether this rule answers it or another one: for Vary.
    public var varyingFields: [String] { map.conditionFields.names(for: record, map.storage) }

    /// What of a request the rule's answer depends on.
    public enum Dependency: Sendable {
        /// Nothing: it is the same for every request that the rule answers.
        case nothing
        /// The URL, without its query unless the rule is a regular expression.
        case path
        /// The URL with its query.
        case url
        /// More than that, so that it is made anew for each request.
        case request
    }

    public var dependency: Dependency {
        let traits = record.source.traits
        if traits.contains(.dependsOnRequest) { return .request }
        if traits.contains(.dependsOnURL) { return .url }
        guard traits.contains(.dependsOnPath), record.kind == .folder || record.isTemplate else { return .nothing }
        return capturesQuery ? .url : .path
    }

    /// Whether captures may be of the query: the key is a pattern whose query has a star. Its path has no "?".
    private var capturesQuery: Bool {
        guard record.kind == .pattern else { return false }
        return map.storage.withText(record.keyRange) { key in
            key.firstIndex(of: UInt8(ascii: "?")).map { key[$0...].contains(UInt8(ascii: "*")) } ?? false
        }
    }

    /// Whether the rule sends the request on, as asked or to another URL.
    public var forwards: Bool { record.source.traits.contains(.asksOrigin) }

    /// The status of an answer by the rule where nothing else decides: the one that the map sets, or its source's.
    public var status: Int { options.status ?? record.source.kind.status }

    /// The option that says what answers: such as `file` or `text`.
    public var sourceName: String { record.source.kind.option }

    /// What answers, as the map has it: a path below the root, a URL, both with their captures; empty for a body.
    public var sourceText: String {
        guard record.source.traits.contains(.isShown) else { return "" }
        if record.isTemplate { return map.storage.templates[Int(record.sourceOffset)].text }
        return map.storage.text(record.sourceRange)
    }

    /// An answer of the rule in words that follow "answers with".
    func words(for answer: SourceAnswer) -> String { record.source.kind.words(for: answer, by: options) }

    /// The folder that the rule's file is below, absolute.
    public var root: String { map.storage.files[Int(record.file)].root }
}
