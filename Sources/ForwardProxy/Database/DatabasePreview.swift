import Database
import Files
public import HTTPSemantics
public import Substitution

/// What a rule's database would be asked for a request: the decision of a real request, without one.
public struct DatabasePreview: Sendable {
    private let explanation: DatabaseExplanation
    /// Whether there is neither a file nor anything that would make it.
    let isMissing: Bool

    /// The statement; nil where none would run, or its text depends on the request's body.
    public var sql: String? { explanation.sql }
    /// The values for its places, as a JSON array.
    public var values: String? { explanation.values }
    /// SQLite's plan, a step a line.
    public var plan: [String] { explanation.plan }
    /// What else there is to say: one sentence without a capital and a full stop.
    public var remark: String? { explanation.remark }
    /// The status of the answer; nil where the data decide.
    var status: Int? { explanation.status }
    /// What the request is refused with.
    let problem: Problem?
    /// The file's name, for messages.
    private let name: String
    /// Why the file is not given out; nil where it is, or is missing.
    private let refusal: String?

    /// Opens the database for reading; nil where the rule answers with something else. Blocks.
    ///
    /// - Parameters:
    ///   - fields: those of the request.
    ///   - body: the request's; nil where it isn't known, or there is none. The default is nil.
    public init?(
        _ answer: Explanation.Answer, _ uri: TargetURI, method: RequestMethod, fields: FieldSection,
        map: SubstitutionMap, body: [UInt8]? = nil
    ) {
        let answer = answer.first
        guard case .database(let call) = answer.source else { return nil }
        self.init(call, nil, PreviewedRequest(uri, method, fields, body: body), map, position: answer.rule.position)
    }

    /// Opens the database for reading. Blocks.
    ///
    /// - Parameters:
    ///   - statement: one whose rows a template gets; nil for the answer of the rule itself.
    ///   - position: the rule's place.
    init(
        _ call: DatabaseCall, _ statement: NamedStatement?, _ previewed: PreviewedRequest, _ map: SubstitutionMap,
        position: String
    ) {
        let asking = DatabaseAsking(call, previewed.request, previewed.uri)
        // A page is made for whoever asks, with whatever body.
        let isOfPage = statement != nil
        let forbidden = isOfPage ? nil : asking.refusal(isLocal: true, hasAccessControl: false)
        let unfitness = isOfPage ? nil : asking.unfitness
        var request: DatabaseRequest
        if unfitness != nil, asking.isOfTable {
            request = asking.methodsRequest
        } else if let body = previewed.body, unfitness == nil {
            request = asking.request(body: body, isBodyWanted: isOfPage)
        } else {
            request = DatabaseAsking.request(asking.method ?? .get, call, previewed.uri)
        }
        request.captures = call.captures
        if let statement { request.rule.statement = statement.statement }
        let file = FolderDatabaseFile(folder: FolderRoot(path: call.root), relativePath: call.path)
        name = file.name
        var exists = true
        var refusal: String?
        do throws(DatabaseFileProblem) {
            _ = try file.look()
        } catch {
            exists = false
            if case .refused(let why) = error { refusal = why }
        }
        let seeds = map.databasePlan(at: map.databasePlace(root: call.root, path: call.path)).seeds
        let path = (try? file.path()) ?? ""
        explanation = DatabaseExplanation(
            request, path: path, exists: exists && !path.isEmpty, name: file.name, seeds: seeds,
            called: statement?.name ?? "sql")
        // What a statement needs of a request is asked first; of a table the resource comes before the body.
        let first = forbidden ?? (asking.isOfTable ? nil : unfitness)
        isMissing = !exists && refusal == nil && seeds.isEmpty && first == nil
        self.refusal = refusal
        let ofFile: Problem? =
            if let refusal {
                .refused(file.name, refusal)
            } else if isMissing {
                .missing(call.root + "/" + String(decoding: call.path, as: UTF8.self), rule: position)
            } else { nil }
        problem = first ?? ofFile ?? explanation.problem ?? unfitness
    }

    /// What a page fails with whose rows these are; nil where it doesn't, as far as is known.
    ///
    /// - Parameter rule: the rule's place.
    func pageError(rule: String) -> ProxyError? {
        if let refusal { return .rowsRefused(name, refusal, rule: rule) }
        if isMissing { return .rowsMissing(name, rule: rule) }
        return explanation.problem.map { .rows(DatabaseAnswer($0), rule: rule) }
    }
}
