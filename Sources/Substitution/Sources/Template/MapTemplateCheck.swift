import Basics
import Database
import Diagnostics
import Files
import HTTPSemantics
import JSON
public import Mustache

extension SubstitutionMap {
    /// Looks whether the templates that rules name can be read, with their partials, and whether what they use is
    /// there. Blocks.
    ///
    /// Which templates a path with captures names isn't known, and nothing is said of them.
    ///
    /// - Parameter limit: How many messages are made at most. The default is 1000.
    public func checkTemplates(limit: Int = 1000) -> [MapDiagnostic] {
        diagnostics(of: MapTemplateCheck(self, limit: limit, isOfServing: false))
    }

    /// Looks whether the templates that stand in the map can be rendered, for who serves it: partials that are missing,
    /// or wrong, are warned of, since they may be there when they are asked for. Blocks.
    ///
    /// - Parameter limit: How many messages are made at most. The default is 20.
    public func checkWrittenTemplates(limit: Int = 20) -> [MapDiagnostic] {
        diagnostics(of: MapTemplateCheck(self, limit: limit, isOfServing: true))
    }

    private func diagnostics(of check: MapTemplateCheck) -> [MapDiagnostic] {
        var check = check
        for (index, record) in storage.records.enumerated()
        where record.source.kind is TemplateSource && !record.isTemplate && !record.isSecondScheme {
            check.look(at: index, record)
        }
        return check.diagnostics
    }

    /// What is wrong with a rule's template that stands in the map, at its place in the map: as compilers print it,
    /// with the line and a mark below it. Reads the map's file.
    public func placed(_ error: TemplateError, ofTemplateIn rule: RuleID) -> String {
        guard error.diagnostic.file == TemplateSource.inlineName else { return error.rendering }
        var excerpts = RuleExcerpts(self)
        let record = storage.records[rule.index]
        let text = Array(storage.arena[record.sourceRange])
        let found = excerpts.place(of: error.diagnostic, about: text, in: rule.index)
        let file = storage.files[Int(record.file)].shortName
        return Diagnostic(.error, found.message, file: file, span: found.place.span).rendered(source: found.place.text)
    }
}

extension RuleExcerpts {
    /// Where a message about a template that stands in the map belongs there, and its words: with the place in the
    /// template, where that isn't found.
    ///
    /// - Parameter template: the template.
    fileprivate mutating func place(
        of found: Diagnostic, about template: [UInt8], in index: Int
    ) -> (message: String, place: (span: TextSpan, text: [UInt8]?)) {
        let start = found.span?.start
        let place = place(of: template, from: start?.offset, in: index)
        guard !place.isFound else { return (found.message, place.place) }
        let detail = start.map { " (line \($0.line), column \($0.column) of the template)" } ?? ""
        return (found.message + detail, self.place(ofSource: index))
    }
}

/// Looks at the templates of a map, at each once for each set of options.
private struct MapTemplateCheck {
    /// A template with a rule's options, which others with the same template may share.
    private struct Use: Hashable {
        @ByBytes var root: String
        let source: [UInt8]
        let options: UInt32
    }

    /// What it depends on whether a tag is warned of: a page may have millions of tags, and a few names.
    private struct Look: Hashable {
        let template: Int
        let kind: NameUse.Kind
        let isOutsideSections: Bool
        let sections: Set<String>
        @ByBytes var path: [String]

        init(_ use: NameUse) {
            template = use.template
            kind = use.kind
            isOutsideSections = use.isOutsideSections
            sections = use.sections
            path = use.path
        }
    }

    private let map: SubstitutionMap
    private let limit: Int
    /// Whether the map is served, which what is wrong with a template stops not.
    private let isOfServing: Bool
    private var excerpts: RuleExcerpts
    private var folders: [ByBytes<String>: FolderRoot] = [:]
    private var seen: Set<Use> = []
    private var said: Set<Diagnostic> = []
    private(set) var diagnostics: [MapDiagnostic] = []

    init(_ map: SubstitutionMap, limit: Int, isOfServing: Bool) {
        self.map = map
        self.limit = limit
        self.isOfServing = isOfServing
        excerpts = RuleExcerpts(map)
    }

    mutating func look(at index: Int, _ record: RuleRecord) {
        guard diagnostics.count < limit else { return }
        let options = map.storage.options[Int(record.options)]
        let settings = options.database ?? DatabaseSettings(DatabaseOptions())
        guard settings.isInline || !isOfServing else { return }
        let root = map.storage.files[Int(record.file)].root
        let source = Array(map.storage.arena[record.sourceRange])
        guard seen.insert(Use(root: root, source: source, options: UInt32(record.options))).inserted else { return }
        let folder = folders[ByBytes(root)] ?? FolderRoot(path: root)
        folders[ByBytes(root)] = folder
        let path = settings.isInline ? [] : FileSource.withIndex(source)
        let reader = TemplateReader(folder: folder, path: path, text: settings.isInline ? source : nil)
        var parts: [TemplateReader.Part] = []
        do throws(TemplateFailure) {
            let page = try reader.read(&parts)
            if isOfServing { return }
            for endless in page.endlessPartials() where diagnostics.count < limit {
                let way = (endless.cycle + endless.cycle.prefix(1)).map { page.templates[$0].file }
                let message = "this partial has no end, since no section is around it: \(way.joined(separator: " > "))"
                report(
                    page.diagnostic(.warning, message, at: endless),
                    isOfMap: settings.isInline && endless.template == 0, index)
            }
            let type =
                options.mediaType
                ?? (settings.isInline
                    ? nil : ExtensionTable.builtIn.type(forPath: TemplateCall.typePath(path)).description)
            let escaping = type.map { MustacheEscaping(mediaType: $0) } ?? .html
            let names = TemplateNames(settings, rule: map.storage.position(record), isHTML: escaping == .html)
            var looked: Set<Look> = []
            for use in page.uses() {
                guard diagnostics.count < limit else { return }
                guard looked.insert(Look(use)).inserted, let message = names.warning(use) else { continue }
                report(
                    page.diagnostic(.warning, message, at: use), isOfMap: settings.isInline && use.template == 0, index)
            }
        } catch {
            switch error {
            case .template(let error):
                let isOfMap = settings.isInline && error.diagnostic.file == TemplateSource.inlineName
                var found = error.diagnostic
                if isOfServing { found.severity = .warning }
                report((found, isOfServing ? found.headline : error.rendering), isOfMap: isOfMap, index)
            case .file(let refusal):
                let isExpected = refusal == .notFound && options.missing != .error
                let shown = PathText.joined(root, String(decoding: path, as: UTF8.self))
                report(
                    isExpected ? .warning : .error, "the template '\(shown)' can't be read: \(refusal)",
                    excerpts.place(ofSource: index), index)
            }
        }
    }

    /// Reports what is wrong in a template.
    ///
    /// - Parameter isOfMap: whether the template stands in the map, where the place is then looked for.
    private mutating func report(
        _ found: (diagnostic: Diagnostic, rendering: String), isOfMap: Bool, _ index: Int
    ) {
        guard isOfMap else {
            // Pages have partials in common, and a name that is missing in one place often is in others.
            var repeated = found.diagnostic
            repeated.span = nil
            guard said.insert(repeated).inserted else { return }
            return diagnostics.append(MapDiagnostic(found.diagnostic, rendering: found.rendering))
        }
        let text = Array(map.storage.arena[map.storage.records[index].sourceRange])
        let (message, place) = excerpts.place(of: found.diagnostic, about: text, in: index)
        report(found.diagnostic.severity, message, place, index)
    }

    private mutating func report(
        _ severity: Diagnostic.Severity, _ message: String, _ place: (span: TextSpan, text: [UInt8]?), _ index: Int
    ) {
        let file = map.storage.files[Int(map.storage.records[index].file)].name
        diagnostics.append(
            MapDiagnostic(Diagnostic(severity, message, file: file, span: place.span), source: place.text))
    }
}

/// The names that a rule gives its template values for.
private struct TemplateNames {
    private let values: JSONValue?
    private let statements: [String]
    /// The rule's place.
    private let rule: String
    /// Whether the page is HTML or XML.
    private let isHTML: Bool

    init(_ settings: DatabaseSettings, rule: String, isHTML: Bool) {
        values = settings.values
        statements = settings.statements.map(\.name)
        self.rule = rule
        self.isHTML = isHTML
    }

    /// What is probably not meant with a tag; nil where nothing is to be said.
    func warning(_ use: NameUse) -> String? {
        let name = use.path.joined(separator: ".")
        if isHTML, use.kind == .raw, isOfRequest(use) {
            return
                "{{{\(name)}}} writes what the request brings into the page as it is; {{\(name.isEmpty ? "." : name)}} escapes it"
        }
        guard use.isOutsideSections, let first = use.path.first, !has(use.path) else { return nil }
        if first.hasBytes(of: "request") {
            let member = use.path.dropFirst().first ?? ""
            let hint = didYouMean(member, among: TemplateCall.requestMembers).map { "; did you mean '\($0)'?" } ?? ""
            return "'request' has no '\(member)'\(hint)"
        }
        let hint = didYouMean(first, among: known).map { "; did you mean '\($0)'?" } ?? ""
        return "'\(name)' is in neither 'values' nor 'sql' of \(rule)\(has([first]) ? "" : hint)"
    }

    /// Whether the value can be one of the request's.
    private func isOfRequest(_ use: NameUse) -> Bool {
        guard let first = use.path.first else { return use.sections == ["request"] }
        return first.hasBytes(of: "request") || (use.sections.contains("request") && !has([first]))
    }

    private var known: [String] {
        var names = statements + ["request"]
        if case .object(let object)? = values {
            names += object.members.map { String(decoding: $0.name, as: UTF8.self) }
        }
        return names
    }

    /// Whether a name can be found where no section is open.
    private func has(_ path: [String]) -> Bool {
        guard let first = path.first else { return true }
        if first.hasBytes(of: "request") {
            return path.count == 1 || TemplateCall.requestMembers.contains { $0.hasBytes(of: path[1]) }
        }
        if statements.contains(where: { $0.hasBytes(of: first) }) { return true }
        var value = values
        for part in path {
            guard let found = value?.member(named: part) else { return false }
            value = found
        }
        return true
    }
}

extension JSONValue {
    /// What templates find by a name: a member, an element by its number, or the length of an array.
    fileprivate func member(named name: String) -> JSONValue? {
        switch self {
        case .object(let object): return object[name]
        case .array(let elements):
            if name == "length" { return .null }
            guard let index = Int(name), String(index) == name, elements.indices.contains(index) else { return nil }
            return elements[index]
        case .null, .bool, .number, .string: return nil
        }
    }
}
