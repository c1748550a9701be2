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

    /// The map file's name as its user wrote it.
    public var mapFile: String { map.storage.files[Int(record.file)].name }

    /// The key as it is compared: a URL or pattern in normal form, or `~` and a regular expression.
    public var key: String { map.storage.key(record) }

    /// Whether the rule answers with the same file, the same body or the same URL whatever the request's URL is.
    public var isConstant: Bool {
        switch record.source {
        case .file: record.kind != .folder && !record.isTemplate
        case .text, .json, .base64, .block: true
        case .forward, .forwardAsAsked, .redirect: false
        }
    }

    /// Whether the rule answers with a file.
    public var answersWithFile: Bool { record.source == .file }

    /// Whether the rule sends the request on, as asked or to another URL.
    public var forwards: Bool { record.source.forwards }

    /// The status of an answer by the rule where nothing else decides: the one that the map sets, or 302 for a
    /// redirect, 403 for a block, 200 for all else.
    public var status: Int {
        if let status = options.status { return status }
        switch record.source {
        case .redirect: return 302
        case .block: return 403
        default: return 200
        }
    }

    /// The option that says what answers: `file`, `text`, `json`, `base64`, `forward`, `redirect` or `block`.
    public var sourceName: String { record.source.name }

    /// What answers, as the map has it: a path below the root, a URL, both with their captures; empty for a body.
    public var sourceText: String {
        if record.isTemplate { return map.storage.templates[Int(record.sourceOffset)].text }
        switch record.source {
        case .file, .forward, .redirect: return map.storage.text(record.sourceRange)
        case .text, .json, .base64, .forwardAsAsked, .block: return ""
        }
    }

    /// The folder that the rule's file is below, absolute.
    public var root: String { map.storage.files[Int(record.file)].root }
}
