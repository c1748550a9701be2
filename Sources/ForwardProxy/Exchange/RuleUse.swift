import HTTPSemantics
import Substitution

/// A rule that answers one request, with all that its answer depends on: an exchange that outlives a reload goes on
/// with the map, and the table of answers, that it began with.
struct RuleUse {
    let rule: Rule
    let match: RuleMatch
    let map: SubstitutionMap
    let uri: TargetURI
    let table: AnswerTable

    init(_ match: RuleMatch, in map: SubstitutionMap, uri: TargetURI, table: AnswerTable) {
        rule = map.rule(match.id)
        self.match = match
        self.map = map
        self.uri = uri
        self.table = table
    }

    /// What answers, captures filled in.
    ///
    /// - Parameter scratch: the one that the look-up was given, unused since: the captures in it are the latest
    ///   look-up's.
    func source(_ scratch: LookupScratch) -> SourceAnswer { map.answer(match, uri: uri, scratch: scratch) }

    /// The answer that is ready, if any.
    var ready: ReadyAnswer? { table.find(rule, uri) }

    func keep(_ answer: ReadyAnswer) { table.insert(answer, for: rule, uri) }

    func forget() { table.remove(rule, uri) }

    // MARK: Pages that are the same for all URLs

    /// The page of a template that is ready for all URLs that it answers.
    func shared(_ call: TemplateCall) -> ReadyAnswer? {
        guard call.isPathCaptured else { return table.find(rule.id) }
        return call.path.withUnsafeBytes { table.find(rule.id, url: $0) }
    }

    /// Keeps a page for all URLs that its template answers.
    func share(_ answer: ReadyAnswer, _ call: TemplateCall) {
        if call.isPathCaptured {
            // A path is no URL: it has no empty segment.
            call.path.withUnsafeBytes { table.insert(answer, for: rule.id, url: $0) }
        } else {
            table.insert(answer, for: rule.id)
        }
    }

    /// Forgets the page of a template, for this URL and for all.
    func forget(_ call: TemplateCall) {
        table.remove(rule, uri)
        guard call.isPathCaptured else { return table.remove(rule.id) }
        call.path.withUnsafeBytes { table.remove(rule.id, url: $0) }
    }
}

extension Rule {
    /// The part of a URL that an answer by the rule is kept by: the path, or for a regular expression the query too.
    fileprivate func kept(_ url: UnsafeRawBufferPointer, _ uri: TargetURI) -> UnsafeRawBufferPointer {
        kind == .expression ? url : UnsafeRawBufferPointer(rebasing: url[0..<min(uri.pathEnd, url.count)])
    }
}

extension AnswerTable {
    /// The answer that a rule has ready for a URL.
    @inline(__always)
    func find(_ rule: Rule, _ uri: TargetURI) -> ReadyAnswer? {
        switch rule.dependency {
        case .nothing: find(rule.id)
        case .path: uri.withBytes { find(rule.id, url: rule.kept($0, uri)) }
        // A template that uses nothing of the request has one page for all URLs.
        case .url: uri.withBytes { find(rule.id, url: $0) } ?? find(rule.id)
        case .request: nil
        }
    }

    /// Notes that a plain GET of a target gets the answer that the rule has ready for its URL.
    func note(_ rule: Rule, _ uri: TargetURI, for target: UnsafeRawBufferPointer) {
        switch rule.dependency {
        case .nothing: note(rule.id, url: nil, for: target, url: uri.bytes)
        case .path: uri.withBytes { note(rule.id, url: rule.kept($0, uri), for: target, url: uri.bytes) }
        case .url: uri.withBytes { note(rule.id, url: $0, for: target, url: uri.bytes) }
        case .request: break
        }
    }

    func insert(_ answer: ReadyAnswer, for rule: Rule, _ uri: TargetURI) {
        switch rule.dependency {
        case .nothing: insert(answer, for: rule.id)
        case .path: uri.withBytes { insert(answer, for: rule.id, url: rule.kept($0, uri)) }
        case .url: uri.withBytes { insert(answer, for: rule.id, url: $0) }
        case .request: break
        }
    }

    func remove(_ rule: Rule, _ uri: TargetURI) {
        switch rule.dependency {
        case .nothing: remove(rule.id)
        case .path: uri.withBytes { remove(rule.id, url: rule.kept($0, uri)) }
        case .url: uri.withBytes { remove(rule.id, url: $0) }
        case .request: break
        }
    }
}
