import Diagnostics
import Files
import ForwardProxy
import HTTPSemantics
import Substitution

/// What `explain` prints: the map's explanation, the proxy's decision, and the file's state on disk.
struct ExplanationReport {
    private let url: TargetURI
    private let method: String
    private let explanation: Explanation
    private let preview: DecisionPreview
    /// The rule that answers a preflight, which is told of in the place of the explanation.
    private let preflight: Rule?
    private let file: FileState?
    private let archive: ArchivePreview?
    private let elsewhere: [ArchiveMiss.Nearest]
    private let database: DatabasePreview?
    private let template: TemplatePreview?

    /// What a client's CONNECT for the URL's host gets; nil where the URL is no https one.
    private let connect: DecisionPreview?

    /// Looks at the file that the answer is in, if it is in one, or the database.
    ///
    /// - Parameters:
    ///   - preview: the decision on the request.
    ///   - connect: that on the CONNECT before it, if there is one.
    ///   - archive: what archives have for the request, where no rule answers it.
    ///   - elsewhere: what comes nearest where no archive has the host.
    ///   - database: what the rule's database would be asked, if it answers from one.
    ///   - template: what the rule's template is made from, if it answers with one.
    init(
        url: TargetURI, method: String, explanation: Explanation, preview: DecisionPreview, connect: DecisionPreview?,
        archive: ArchivePreview? = nil, elsewhere: [ArchiveMiss.Nearest] = [], database: DatabasePreview?,
        template: TemplatePreview?
    ) {
        self.url = url
        self.method = method
        self.explanation = explanation
        self.connect = connect
        self.archive = archive
        self.elsewhere = elsewhere
        self.database = database
        self.template = template
        preflight = preview.preflightRule
        file = preflight == nil ? explanation.answer.flatMap(FileState.init) : nil
        if let answer = explanation.answer, let file, case .failure(let refusal) = file.size {
            self.preview = preview.refusing(refusal, path: file.pathBelowRoot, rule: answer.first.rule)
        } else if let answer = explanation.answer, let template {
            self.preview = preview.answering(from: template, rule: answer.first.rule)
        } else {
            self.preview = database.map { preview.answering(from: $0) } ?? preview
        }
    }

    /// For people.
    var text: String {
        var lines = ["\(method) \(url.description)"] + (archive.map { ArchiveLines.lines($0) } ?? [])
        lines += ArchiveLines.lines(elsewhere: elsewhere)
        if let preflight {
            lines.append("\(preflight.position) answers the preflight")
            lines.append("  rule: \(preflight.key)")
            lines.append("  because \(ExplanationReport.preflightReason)")
        } else if let archive = preview.preflightArchive {
            lines.append("\(archive.shortName) answers the preflight")
            lines.append("  because \(ExplanationReport.preflightReason)")
        } else if method == "CONNECT" {
            lines.append("no rule answers a CONNECT: it asks for a tunnel, and rules are for the requests in it")
        } else if archive?.found == nil {
            lines += explanation.lines
        }
        switch file?.size {
        case .success(let size)?: lines.append("  file: \(counted(size, "byte")), \(file?.mediaType ?? "")")
        case .failure(let refusal)?: lines.append("  file: can't be served: \(refusal)")
        case nil: break
        }
        if let database { lines += DatabaseLines(database).lines }
        if let template { lines += TemplateLines(template).lines }
        if let connect {
            lines.append("CONNECT \(url.host):\(url.port): \(word(connect)): \(connect.sentence)")
        }
        lines.append("outcome: \(preview.outcome): \(preview.sentence)")
        if let status = preview.status { lines.append("  status: \(status)") }
        if let cacheStatus = preview.cacheStatus { lines.append("  Cache-Status: \(cacheStatus)") }
        return lines.map { visibleText(of: $0.utf8) }.joined(separator: "\n")
    }

    /// For programs; members are only ever added.
    var json: String {
        var object = JSONObjectText()
        object.add("url", url.description)
        object.add("method", method)
        let isPreflight = preflight != nil || preview.preflightArchive != nil
        object.add("answered", explanation.answer != nil || archive?.found != nil || isPreflight)
        object.add("outcome", preview.outcome)
        object.add("reason", preview.sentence)
        object.add("status", preview.status)
        object.add("cache_status", preview.cacheStatus)
        object.add("connect", connect.map(json))
        object.add("rule", preflight.map(json(preflight:)) ?? explanation.answer.map(json))
        if let template {
            object.add("sql", json(template) { $0.add($1.name, $1.preview.sql) })
            object.add("values", json(template) { $0.add($1.name, json: $1.preview.values) })
            object.add("plan", json(template) { $0.add($1.name, $1.preview.plan) })
        } else {
            object.add("sql", database?.sql)
            object.add("values", json: database?.values)
            object.add("plan", json: database.map { JSONObjectText.array($0.plan) })
        }
        object.add("template", template.map(json))
        object.add("passed_over", preflight == nil ? explanation.passedOver.map(json) : [])
        object.add("nearest_miss", preflight == nil ? explanation.nearestMiss.map(json) : nil)
        object.add("archive", archive?.found.map(ArchiveLines.json))
        object.add("nearest", (archive?.miss?.nearest ?? elsewhere).map(ArchiveLines.json))
        return object.text
    }

    /// An object of what there is of each statement of a template; nil where it has none.
    private func json(
        _ template: TemplatePreview, _ add: (inout JSONObjectText, TemplatePreview.Statement) -> Void
    ) -> JSONObjectText? {
        guard !template.statements.isEmpty else { return nil }
        var object = JSONObjectText()
        for statement in template.statements { add(&object, statement) }
        return object
    }

    private func json(_ template: TemplatePreview) -> JSONObjectText {
        var object = JSONObjectText()
        object.add("path", template.path)
        object.add("media_type", template.mediaType)
        object.add("partials", template.partials)
        object.add("request", template.uses)
        object.add("kept", template.kept.rawValue)
        object.add("error", template.error)
        return object
    }

    /// What a CONNECT comes to: `decrypted`, `tunnelled` or `refused`.
    private func word(_ connect: DecisionPreview) -> String {
        if connect.isDecrypted { return "decrypted" }
        // The log has `failed` where --offline is why; to a client all of them are refusals.
        return connect.status == 200 ? connect.outcome : "refused"
    }

    private func json(_ connect: DecisionPreview) -> JSONObjectText {
        var object = JSONObjectText()
        object.add("outcome", word(connect))
        object.add("reason", connect.sentence)
        object.add("status", connect.status)
        return object
    }

    private func json(_ answer: Explanation.Answer) -> JSONObjectText {
        var object = json(answer.rule)
        object.add("reasons", answer.reasons)
        object.add("captures", answer.captures.isEmpty ? nil : json(answer.captures))
        object.add("answers_with", answer.sourceDescription)
        object.add("file", file?.json)
        object.add("repeat", answer.turns.isEmpty ? nil : answer.rule.options.repetition.rawValue)
        object.add("answers", answer.turns.map(json))
        return object
    }

    /// The captures by number and by name.
    private func json(_ captures: [(name: String, value: String)]) -> JSONObjectText {
        var object = JSONObjectText()
        for capture in captures { object.add(capture.name, capture.value) }
        return object
    }

    private static let preflightReason = "it answers the request that a script of another origin asks for (cors: auto)"

    private func json(preflight rule: Rule) -> JSONObjectText {
        var object = json(rule)
        object.add("reasons", [ExplanationReport.preflightReason])
        object.add("captures", nil as JSONObjectText?)
        object.add("answers_with", "leave for that request")
        object.add("file", nil as JSONObjectText?)
        object.add("repeat", nil as String?)
        object.add("answers", [JSONObjectText]())
        return object
    }

    private func json(_ turn: Explanation.Turn) -> JSONObjectText {
        var object = JSONObjectText()
        object.add("position", turn.rule.position)
        object.add("line", turn.rule.location.line)
        object.add("source", turn.rule.sourceName)
        object.add("answers_with", turn.sourceDescription)
        object.add("status", turn.status)
        object.add("times", turn.requests.count)
        return object
    }

    private func json(_ miss: Explanation.Miss) -> JSONObjectText {
        var object = json(miss.rule)
        object.add("reason", miss.reason)
        return object
    }

    private func json(_ rule: Rule) -> JSONObjectText {
        var object = JSONObjectText()
        object.add("position", rule.position)
        object.add("map", rule.mapFile)
        object.add("line", rule.location.line)
        object.add("key", rule.key)
        object.add("source", rule.sourceName)
        return object
    }
}

/// What is asked of a rule's database, for people.
private struct DatabaseLines {
    let lines: [String]

    init(_ database: DatabasePreview) {
        var lines: [String] = []
        if let sql = database.sql { lines.append("  SQL: \(sql)") }
        if let values = database.values { lines.append("  values: \(values)") }
        for step in database.plan { lines.append("  plan: \(step)") }
        if let remark = database.remark { lines.append("  database: \(remark)") }
        self.lines = lines
    }
}

/// What a rule's page is made from, for people.
private struct TemplateLines {
    let lines: [String]

    init(_ template: TemplatePreview) {
        var lines = ["  template: \(template.path ?? "in the map"), \(template.mediaType)"]
        for partial in template.partials { lines.append("  partial: \(partial)") }
        if let error = template.error { lines.append("  error: \(error)") }
        if template.failure == nil {
            let uses = template.uses.isEmpty ? "nothing" : template.uses.joined(separator: ", ")
            let parameters = template.parameters.joined(separator: ", ")
            let statements =
                parameters.isEmpty ? "" : ", \(template.uses.isEmpty ? "but" : "and") statements use \(parameters)"
            lines.append("  request: \(uses)\(statements); kept: \(template.kept.rawValue)")
        }
        for statement in template.statements {
            lines.append("  statement: \(statement.name)")
            lines += DatabaseLines(statement.preview).lines
        }
        self.lines = lines
    }
}

/// The file that a rule answers with, as it is on disk now.
private struct FileState {
    let path: String
    let pathBelowRoot: [UInt8]
    let mediaType: String
    let size: Result<Int, FileRefusal>

    /// Looks at the file; nil where the rule answers a client's first request with something else.
    init?(_ answer: Explanation.Answer) {
        let answer = answer.first
        guard case .file(let root, let path) = answer.source else { return nil }
        pathBelowRoot = path
        self.path = "\(root)/\(String(decoding: path, as: UTF8.self))"
        mediaType = DecisionPreview.mediaType(ofFile: path, by: answer.rule)
        do throws(FileRefusal) {
            // As it is served: one that may not be read is refused.
            size = .success(try FolderRoot(path: root).open(path).identity.size)
        } catch {
            size = .failure(error)
        }
    }

    var json: JSONObjectText {
        var object = JSONObjectText()
        object.add("path", path)
        object.add("media_type", mediaType)
        switch size {
        case .success(let size):
            object.add("size", size)
            object.add("error", nil as String?)
        case .failure(let refusal):
            object.add("size", nil as Int?)
            object.add("error", "\(refusal)")
        }
        return object
    }
}
