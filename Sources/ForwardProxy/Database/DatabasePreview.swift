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

    /// Opens the database for reading; nil where the rule answers with something else. Blocks.
    ///
    /// - Parameter body: the request's, with the value of Content-Type; nil where it isn't known. The default is nil.
    public init?(
        _ answer: Explanation.Answer, _ uri: TargetURI, method: RequestMethod, map: SubstitutionMap,
        body: (type: String, bytes: [UInt8])? = nil
    ) {
        let answer = answer.first
        guard case .database(let call) = answer.source else { return nil }
        self.init(call, nil, uri, method: method, map, position: answer.rule.position, body: body)
    }

    /// Opens the database for reading. Blocks.
    ///
    /// - Parameters:
    ///   - statement: one whose rows a template gets; nil for the answer of the rule itself.
    ///   - position: the rule's place.
    init(
        _ call: DatabaseCall, _ statement: NamedStatement?, _ uri: TargetURI, method: RequestMethod,
        _ map: SubstitutionMap, position: String, body: (type: String, bytes: [UInt8])? = nil
    ) {
        let file = FolderDatabaseFile(folder: FolderRoot(path: call.root), relativePath: call.path)
        let name = String(decoding: method.bytes, as: UTF8.self)
        let known = name == "HEAD" ? .get : DatabaseRequest.Method(rawValue: name)
        // A page is made for any method, and a statement's rows answer any that the rule's conditions let through.
        let isUnknown = known == nil && statement == nil && call.settings.rule.statement == nil
        let asked = statement == nil ? known ?? (isUnknown ? .options : .get) : .get
        var request = DatabaseAsking.request(asked, call, uri)
        request.captures = call.captures
        if let statement { request.rule.statement = statement.statement }
        var unread: Problem?
        if let body, request.isWrite ? asked != .delete : request.rule.statement != nil {
            let type = DatabaseAsking.mediaType(body.type)
            if DatabaseAsking.reads(type, asked) {
                request.body.type = type
                request.body.bytes = body.bytes
            } else if request.isWrite, request.rule.statement == nil {
                unread = DatabaseAsking.unreadable(type, asked)
            }
        }
        var exists = true
        var refusal: Problem?
        do throws(DatabaseFileProblem) {
            _ = try file.look()
        } catch {
            exists = false
            if case .refused(let why) = error {
                refusal = Problem(status: 403, title: "database refused", detail: "\(file.name): \(why)")
            }
        }
        let seeds = map.databasePlan(at: map.databasePlace(root: call.root, path: call.path)).seeds
        let path = (try? file.path()) ?? ""
        explanation = DatabaseExplanation(
            request, path: path, exists: exists && !path.isEmpty, name: file.name, seeds: seeds,
            called: statement?.name ?? "sql")
        isMissing = !exists && refusal == nil && seeds.isEmpty
        problem =
            refusal
            ?? (isMissing
                ? .missing(call.root + "/" + String(decoding: call.path, as: UTF8.self), rule: position)
                : explanation.problem ?? (isUnknown ? DatabaseAsking.notAllowed(name) : unread))
    }
}
