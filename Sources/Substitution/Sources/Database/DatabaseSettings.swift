import Basics
public import Database
public import HTTPSemantics
public import JSON
public import Mustache
import Patterns

/// What a rule says of a database, with its file's defaults.
public final class DatabaseSettings: Sendable {
    /// What the database itself is told.
    public let rule: DatabaseRule
    /// The files that make the database where it does not exist, as the map names them, below the root.
    public let seeds: [String]
    /// The origins of pages that may write to the file, beside those that are allowed anyway.
    public let origins: [WebOrigin]
    /// The database's path below the root, where the rule's own text is a template; nil for a rule without such.
    public let path: [UInt8]?
    /// The values of a template; nil for none.
    public let values: JSONValue?
    /// The same as templates take them.
    public let pageValues: MustacheValue?
    /// The statements whose rows a template gets.
    public let statements: [NamedStatement]
    /// Whether the rule's text is a template, and not a path.
    let isInline: Bool
    /// What names a resource; nil where the URL does.
    let resource: CaptureTemplate?

    /// - Parameter conditions: the parameters that the rule's condition `query` names.
    init(_ given: DatabaseOptions, conditions: [String] = []) {
        var rule = DatabaseRule()
        rule.conditionNames = conditions
        rule.tables = given.tables
        rule.keys = given.keys ?? []
        rule.forms = given.forms ?? []
        rule.writes = given.writes ?? .off
        rule.ignoresUnknownParameters = given.ignoresUnknownParameters ?? false
        rule.limits = given.limits.applied
        if let sql = given.sql {
            rule.statement = DatabaseRule.Statement(sql: sql.text, result: given.result ?? .list)
        }
        self.rule = rule
        seeds = given.seeds ?? []
        origins = given.origins ?? []
        resource = given.resource?.template
        path = given.path
        values = given.values
        pageValues = given.values.map { MustacheValue($0) }
        statements = given.statements ?? []
        isInline = given.isInline ?? false
    }

    /// Whether the statement has parameters that captures fill.
    var usesCaptures: Bool { rule.statement?.parameters.contains { $0.hasPrefix("$") } ?? false }
}

/// What a map's text says of a database, for a rule or for all rules of a file; nil is what it does not speak of.
struct DatabaseOptions: Hashable, Sendable {
    var resource: CapturedText?
    @ByBytes var tables: [String]? = nil
    var keys: [DatabaseRule.Key]?
    var forms: [DatabaseRule.Form]?
    var writes: DatabaseRule.Writes?
    @ByBytes var seeds: [String]? = nil
    var origins: [WebOrigin]?
    var ignoresUnknownParameters: Bool?
    var sql: CapturedText?
    var result: DatabaseRule.Statement.Result?
    var limits = DatabaseLimits()
    var path: [UInt8]?
    var values: JSONValue?
    var statements: [NamedStatement]?
    var isInline: Bool?

    /// Those that a kind of source has a use for: `writes` of `defaults` is for no template. `sql` is one statement for
    /// `sqlite`, and several for templates.
    func limited(to companions: Set<CompanionName>) -> DatabaseOptions {
        var kept = self
        if !companions.contains(.resource) { kept.resource = nil }
        if !companions.contains(.tables) { kept.tables = nil }
        if !companions.contains(.keys) { kept.keys = nil }
        if !companions.contains(.columns) { kept.forms = nil }
        if !companions.contains(.writes) { kept.writes = nil }
        if !companions.contains(.seed) { kept.seeds = nil }
        if !companions.contains(.origins) { kept.origins = nil }
        if !companions.contains(.unknownParameters) { kept.ignoresUnknownParameters = nil }
        if !companions.contains(.limits) { kept.limits = DatabaseLimits() }
        if !companions.contains(.result) { (kept.sql, kept.result) = (nil, nil) }
        if !companions.contains(.values) { (kept.values, kept.statements) = (nil, nil) }
        if !companions.contains(.sqlite) { kept.path = nil }
        return kept
    }

    /// These options over those that `defaults` of the file gives.
    func over(_ defaults: DatabaseOptions?) -> DatabaseOptions {
        guard let defaults else { return self }
        var merged = self
        merged.resource = resource ?? defaults.resource
        merged.tables = tables ?? defaults.tables
        merged.keys = keys ?? defaults.keys
        merged.forms = forms ?? defaults.forms
        merged.writes = writes ?? defaults.writes
        merged.seeds = seeds ?? defaults.seeds
        merged.origins = origins ?? defaults.origins
        merged.ignoresUnknownParameters = ignoresUnknownParameters ?? defaults.ignoresUnknownParameters
        merged.sql = sql ?? defaults.sql
        merged.result = result ?? defaults.result
        merged.limits = limits.over(defaults.limits)
        merged.path = path ?? defaults.path
        merged.statements = statements ?? defaults.statements
        merged.values = DatabaseOptions.merged(
            values, over: defaults.values, without: (merged.statements ?? []).map(\.name))
        merged.isInline = isInline
        return merged
    }

    /// Values name by name over those of the file; other values than mappings as a whole.
    ///
    /// - Parameter statements: the names of the rule's statements, whose rows take the place of the file's values.
    private static func merged(
        _ own: JSONValue?, over defaults: JSONValue?, without statements: [String]
    ) -> JSONValue? {
        guard case .object(let defaults)? = defaults else { return own ?? defaults }
        var merged: JSONObject
        switch own {
        case .object(let object)?: merged = object
        case .some: return own
        case nil: merged = JSONObject()
        }
        for member in defaults.members
        where merged[member.name] == nil && !statements.contains(where: { $0.utf8.elementsEqual(member.name) }) {
            _ = merged.append(member.name, member.value)
        }
        return .object(merged)
    }
}

/// A text of the map's, with the captures in it.
struct CapturedText: Hashable, Sendable {
    var text: String
    var template: CaptureTemplate?

    static func == (first: CapturedText, second: CapturedText) -> Bool {
        // A name stands for another group in another key: the template knows for which.
        first.text.hasBytes(of: second.text) && first.template == second.template
    }

    func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}

/// The limits that a map names.
struct DatabaseLimits: Hashable, Sendable {
    var rows: Int?
    var bytes: Int?
    var time: UInt64?
    var wait: UInt64?
    var body: Int?
    var memory: Int?

    static let names = ["rows", "bytes", "time", "wait", "body", "memory"]

    func over(_ defaults: DatabaseLimits) -> DatabaseLimits {
        DatabaseLimits(
            rows: rows ?? defaults.rows, bytes: bytes ?? defaults.bytes, time: time ?? defaults.time,
            wait: wait ?? defaults.wait, body: body ?? defaults.body, memory: memory ?? defaults.memory)
    }

    var applied: DatabaseRule.Limits {
        var limits = DatabaseRule.Limits()
        if let rows { limits.rows = rows }
        if let bytes { limits.bytes = bytes }
        if let time { limits.time = time }
        if let wait { limits.wait = wait }
        if let body { limits.body = body }
        if let memory { limits.memory = memory }
        return limits
    }
}
