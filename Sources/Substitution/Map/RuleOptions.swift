public import HTTPSemantics

/// How a rule is answered, apart from its source: immutable, and shared by all rules that have the same options.
public final class RuleOptions: Sendable {
    /// A response field that a rule sets or removes.
    public struct FieldChange: Sendable, Hashable {
        /// The name as written in the map.
        public let name: String
        /// The value in UTF-8; nil removes the field.
        public let value: [UInt8]?

        public init(name: String, value: [UInt8]?) {
            self.name = name
            self.value = value
        }
    }

    /// Whether CORS fields are added for a request with `Origin`.
    public enum CORS: String, Sendable, Hashable, CaseIterable {
        case auto, off
    }

    /// What a request gets that wants no stored answer (`Cache-Control: no-cache`).
    public enum Bypass: String, Sendable, Hashable, CaseIterable {
        case origin, revalidate, never
    }

    /// What a request gets if the file does not exist.
    public enum Missing: String, Sendable, Hashable, CaseIterable {
        case error, forward
        case notFound = "404"
    }

    /// Whether the origin is asked first.
    public enum When: String, Sendable, Hashable, CaseIterable {
        case always
        case originFails = "origin-fails"
    }

    /// How long the bytes of a file stay in memory.
    public enum Retain: String, Sendable, Hashable, CaseIterable {
        /// Until the file changes (`true`).
        case whileUnchanged = "true"
        /// For good, as first read (`pinned`).
        case pinned
        /// Not at all (`false`).
        case never = "false"
    }

    /// What comes behind the last of several answers.
    public enum Repetition: String, Sendable, Hashable, CaseIterable {
        /// The last one again.
        case last
        /// The first one.
        case cycle
    }

    let methods: MethodSet
    let query: QueryCondition
    let fieldConditions: [FieldCondition]
    /// Whether the request has to be a document's load, or must not be one; nil where that takes no part.
    let navigation: Bool?
    /// The status that the map sets; nil where it sets none: 200, or 302 for a redirect, or 403 for a block.
    public let status: Int?
    /// The media type that the map sets, parameters included; nil where it sets none.
    public let type: MediaType?
    /// The response's fields that the map sets or removes, in its order; each name comes once.
    public let headers: [FieldChange]
    public let cors: CORS
    /// How long to wait before the head. The default is no time.
    public let delay: Duration
    /// The bytes of the body that are sent in a second; nil for no limit.
    public let rate: Int?
    public let bypass: Bypass
    /// Whether the map says `bypass`, for the rule or for its file.
    public let isBypassGiven: Bool
    /// Whether the rule itself says `bypass`, which then holds whatever the command line says.
    public let isBypassOwn: Bool
    public let missing: Missing
    public let when: When
    public let retain: Retain
    /// What a rule with a database says of it; nil for other rules.
    public let database: DatabaseSettings?
    /// What comes behind the last of the rule's answers, where it has several in turn.
    public let repetition: Repetition
    /// Whether the rule is one of several answers, so that the same request may get another one next.
    public let isInTurn: Bool

    init(_ given: GivenOptions) {
        methods = given.methods ?? .retrieval
        query = given.query ?? .ignore
        fieldConditions = given.fieldConditions ?? []
        navigation = given.navigation
        status = given.status
        type = given.type.flatMap { MediaType($0) }
        headers = given.headers ?? []
        cors = given.cors ?? .auto
        delay = given.delay ?? .zero
        rate = given.rate
        bypass = given.bypass ?? .origin
        isBypassGiven = given.bypass != nil
        isBypassOwn = given.isBypassOwn
        missing = given.missing ?? .error
        when = given.when ?? .always
        retain = given.retain ?? .whileUnchanged
        let conditions = (given.query ?? .ignore).names
        database = given.database.map { DatabaseSettings($0, conditions: conditions) }
        repetition = given.repetition ?? .last
        isInTurn = given.isInTurn
    }

    /// The media type that the map has answers sent with: a Content-Type of `headers` takes the place of `type`. Nil
    /// where the map sets none.
    public var mediaType: String? {
        let field = headers.last { URLText.equalIgnoringCase($0.name.utf8, "content-type".utf8) }
        return field?.value.map { String(decoding: $0, as: UTF8.self) } ?? type?.withDefaultCharset.description
    }

    /// The names of the methods that are answered, as in an Allow field; empty where every method is.
    public var allowedMethods: [String] { methods.names }
}

/// The options that a map's text gives for a rule, or for all rules of a file; nil is what it does not speak of.
struct GivenOptions: Hashable, Sendable {
    /// What answers, since some defaults depend on it.
    var source = SourceID.file
    /// Whether the rule's URL is exact, on which the default of `query` depends.
    var isExact = true
    var methods: MethodSet?
    var query: QueryCondition?
    var fieldConditions: [FieldCondition]?
    var navigation: Bool?
    var status: Int?
    var type: String?
    var headers: [RuleOptions.FieldChange]?
    var cors: RuleOptions.CORS?
    var delay: Duration?
    var rate: Int?
    var bypass: RuleOptions.Bypass?
    /// Whether `bypass` is the rule's own, and not its file's default.
    var isBypassOwn = false
    var missing: RuleOptions.Missing?
    var when: RuleOptions.When?
    var retain: RuleOptions.Retain?
    var database: DatabaseOptions?
    var repetition: RuleOptions.Repetition?
    /// Whether the rule is one of several answers.
    var isInTurn = false
    /// Whether one of the rule's several answers blocks.
    var blocksInTurn = false
    /// Whether the rule forwards to no URL of its own, on which `when` depends.
    var forwardsAsAsked = false

    /// These options over those that `defaults` of the file gives.
    ///
    /// A field of `headers` that both name is the rule's; every other option of the rule takes the default's place as a
    /// whole. A default `status` that is none of a redirect's does not apply to redirects, nor a default `bypass` or
    /// `when` to blocks, nor a default `status` or `type` to tables.
    func over(_ defaults: GivenOptions) -> GivenOptions {
        var merged = self
        merged.methods = methods ?? defaults.methods ?? source.kind.methods(self)
        merged.query = query ?? defaults.query ?? source.kind.query(isExact: isExact)
        merged.fieldConditions = fieldConditions ?? defaults.fieldConditions
        merged.navigation = navigation ?? defaults.navigation
        merged.status = status ?? defaults.status.flatMap { source.kind.accepts(status: $0) ? $0 : nil }
        merged.type = type ?? defaults.type
        merged.headers = GivenOptions.merged(headers, over: defaults.headers)
        merged.cors = cors ?? defaults.cors
        merged.delay = delay ?? defaults.delay
        merged.rate = rate ?? defaults.rate
        merged.bypass = bypass ?? defaults.bypass
        merged.isBypassOwn = bypass != nil
        merged.missing = missing ?? defaults.missing
        merged.when = when ?? defaults.when
        merged.retain = retain ?? defaults.retain
        let companions = source.kind.companions
        let usesDatabase = !companions.isDisjoint(with: CompanionName.ofDatabases)
        merged.database =
            usesDatabase ? (database ?? DatabaseOptions()).over(defaults.database?.limited(to: companions)) : nil
        merged.repetition = companions.contains(.repetition) ? repetition ?? defaults.repetition : nil
        source.kind.settle(&merged)
        // They have done their part; equal options are to be shared whatever they were.
        merged.source = .file
        merged.isExact = true
        merged.forwardsAsAsked = false
        merged.blocksInTurn = false
        return merged
    }

    /// The options of one of a rule's answers over those that the rule gives for all of them. The rule's conditions
    /// are looked at before, and are not an answer's.
    func over(rule: GivenOptions) -> GivenOptions {
        var merged = self
        merged.isInTurn = true
        merged.isExact = rule.isExact
        merged.methods = rule.methods
        // The parameters of the rule's condition are none of a table's.
        merged.query = rule.query
        merged.status = status ?? rule.status.flatMap { source.kind.accepts(status: $0) ? $0 : nil }
        merged.type = type ?? rule.type
        merged.headers = GivenOptions.merged(headers, over: rule.headers)
        merged.cors = rule.cors
        merged.delay = delay ?? rule.delay
        merged.rate = rate ?? rule.rate
        merged.missing = missing ?? rule.missing
        merged.retain = retain ?? rule.retain
        return merged
    }

    private static func merged(
        _ own: [RuleOptions.FieldChange]?, over defaults: [RuleOptions.FieldChange]?
    ) -> [RuleOptions.FieldChange]? {
        guard let own, let defaults else { return own ?? defaults }
        return defaults.filter { inherited in
            !own.contains { URLText.equalIgnoringCase($0.name.utf8, inherited.name.utf8) }
        } + own
    }
}
