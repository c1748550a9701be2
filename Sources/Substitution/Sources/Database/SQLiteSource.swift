import Database
import Diagnostics
import HTTPSemantics
import Patterns
import YAML

/// `sqlite`: rows of a database's tables, or of a statement.
///
/// The rule's text is the database's path below the root; its options say which part of it answers.
struct SQLiteSource: SourceKind {
    let option = "sqlite"
    let traits: SourceTraits = [.isShown, .dependsOnURL]
    var companions: Set<CompanionName> { CompanionName.ofDatabases.subtracting([.values, .sqlite]) }

    /// A statement answers GET; tables answer what they can, and refuse the rest with the methods that they have.
    func note(_ value: YAMLNode, into given: inout GivenOptions) {
        given.database = given.database ?? DatabaseOptions()
    }

    func methods(_ given: GivenOptions) -> MethodSet { given.database?.sql == nil ? .all : .retrieval }

    func query(isExact: Bool) -> QueryCondition { .ignore }

    func read(_ value: YAMLNode, _ reader: SourceReader) -> RuleBody.Text? {
        guard let scalar = value.scalar, scalar.value == .text, !scalar.isNull else {
            reader.diagnostics.error(
                "'sqlite' is the path of a database's file, not \(value.kind)", at: reader.span(value))
            return nil
        }
        do throws(KeyError) {
            return reader.builder.append(try SQLiteSource.path(Array(scalar.bytes)))
        } catch {
            reader.diagnostics.error(error.message, at: error.range.map(scalar.span(ofBytes:)) ?? scalar.span)
            return nil
        }
    }

    /// The path of a database's file.
    ///
    /// - Throws: Why it is none. A capture in it would be read as a name.
    static func path(_ text: [UInt8]) throws(KeyError) -> [UInt8] {
        let path = try FileValue(text)
        guard !path.isFolder else { throw KeyError("'sqlite' is a file, not a folder") }
        if let template = try? CaptureTemplate(text), let first = template.references.first {
            throw KeyError("'sqlite' names one file, without captures", at: first.range)
        }
        return path.path
    }

    func effect(of option: OptionName, in given: GivenOptions) -> OptionEffect {
        let answersTable = given.database?.sql == nil
        switch option {
        case .status where answersTable:
            return .contradiction("the status of a table's answers is the proxy's; 'status' goes with 'sql'")
        case .type where answersTable:
            return .contradiction("a table's answers are JSON; 'type' goes with 'sql'")
        case .retain where given.retain == .pinned:
            return .contradiction("a database's answers hold while its data do; 'retain' is true or false")
        default: return .some
        }
    }

    func settle(_ options: inout GivenOptions) {
        // A reload asks for the data as they are, which no origin knows.
        options.bypass = options.bypass ?? .revalidate
        // What is said for several rules at once is not about a table's answers.
        guard options.database?.sql == nil else { return }
        options.status = nil
        options.type = nil
    }

    /// Reports what is missing, and what doesn't go together.
    func check(_ given: GivenOptions, _ reader: SourceReader) {
        let database = given.database
        if database?.sql != nil, database?.resource != nil {
            reader.diagnostics.error(
                "'resource' and 'sql' can't stand together: a table's rows answer, or a statement's", at: reader.keySpan
            )
        }
        if let result = database?.result, database?.sql == nil {
            reader.diagnostics.error("'result: \(result.rawValue)' goes with 'sql'", at: reader.keySpan)
        }
        guard database?.sql == nil, database?.resource == nil, let key = reader.key else { return }
        if key.kind == .expression || (key.kind != .folder && reader.isOfHTTP(key)) {
            reader.diagnostics.error(
                key.kind == .exact ? "one URL needs 'resource' or 'sql'" : "a pattern needs 'resource' or 'sql'",
                at: reader.keySpan)
        }
    }

    func answer(_ request: SourceRequest) -> SourceAnswer {
        let settings = request.options.database ?? DatabaseSettings(DatabaseOptions())
        return .database(
            DatabaseCall(
                root: request.root, path: request.written, settings: settings, resource: resource(settings, request),
                captures: settings.usesCaptures ? request.captures : [],
                isRest: settings.resource == nil && request.kind == .folder && request.uri.scheme != .other))
    }

    /// TABLE, TABLE/KEY or TABLE/KEY/CHILDREN, as it stands in the URL.
    private func resource(_ settings: DatabaseSettings, _ request: SourceRequest) -> [UInt8] {
        if let resource = settings.resource { return request.expanded(resource) }
        if request.kind == .folder, request.uri.scheme != .other { return request.rest }
        return request.hostAndPath
    }

    func words(for answer: SourceAnswer, by options: RuleOptions) -> String {
        guard case .database(let call) = answer else { return answer.words(options) }
        let path = String(decoding: call.path, as: UTF8.self)
        if let sql = call.settings.rule.statement?.sql { return "the rows of \(path) that '\(sql)' finds" }
        return "the rows of \(path) that '\(String(decoding: call.resource, as: UTF8.self))' names"
    }
}

/// What a rule with a database answers a request with: which part of which database.
public struct DatabaseCall: Sendable {
    /// The folder that the file is below, absolute.
    public let root: String
    /// The file's path below it.
    public let path: [UInt8]
    public let settings: DatabaseSettings
    /// TABLE, TABLE/KEY or TABLE/KEY/CHILDREN, as it stands in the URL.
    public let resource: [UInt8]
    /// The captures of the rule's key, by number and by name, decoded.
    public let captures: [(name: String, value: [UInt8])]
    /// Whether what follows the rule's key, a folder's URL, names the resource.
    public var isRest = false
}
