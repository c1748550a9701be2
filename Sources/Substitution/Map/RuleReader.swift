import HTTPSemantics
import Patterns
import YAML

/// A rule as it was read: what answers, and the number of its options.
struct RuleBody {
    /// A source's text.
    enum Text {
        /// A stretch of the arena.
        case range(Range<Int>)
        /// The number of a template.
        case template(Int)
    }

    var source: SourceKind
    var text: Text
    var options: Int
    var line: Int
}

/// Reads the value of a key of `substitutions`: a file name, a rule, or a list of rules.
struct RuleReader {
    let builder: MapBuilder
    let diagnostics: FileDiagnostics
    let key: RuleKey?
    let keySpan: YAMLSpan

    private var sources: SourceReader {
        SourceReader(builder: builder, diagnostics: diagnostics, key: key, keySpan: keySpan)
    }

    /// The rules of a value; none where it is refused.
    func read(_ value: YAMLNode) -> [RuleBody] {
        switch value {
        case .scalar(let scalar):
            return readFileName(scalar).map { [$0] } ?? []
        case .mapping(let entries, let span):
            return rule(value, entries, span, line: keySpan.start.line).map { [$0] } ?? []
        case .sequence(let elements, let span):
            if elements.isEmpty {
                diagnostics.error("an empty list of rules", at: span)
            }
            return elements.compactMap { element in
                switch element {
                case .scalar(let scalar): return readFileName(scalar, line: scalar.span.start.line)
                case .mapping(let entries, let span): return rule(element, entries, span, line: span.start.line)
                case .sequence(_, let span):
                    diagnostics.error("a list of rules has no lists in it", at: span)
                    return nil
                }
            }
        }
    }

    /// The rule of a value that is a file name.
    func readFileName(_ scalar: YAMLScalar, line: Int? = nil) -> RuleBody? {
        guard let text = sources.file(scalar) else { return nil }
        return RuleBody(
            source: .file, text: text, options: builder.fileOptions(isExact: key?.kind == .exact),
            line: line ?? keySpan.start.line)
    }

    private func rule(
        _ node: YAMLNode, _ entries: [YAMLNode.Entry], _ span: YAMLSpan, line: Int
    ) -> RuleBody? {
        let options = OptionReader(diagnostics: diagnostics)
        options.reportDuplicates(node, "the option")
        var given = GivenOptions()
        var source: (name: OptionName, kind: SourceKind, text: RuleBody.Text?)?
        var named: [(name: OptionName, entry: YAMLNode.Entry)] = []
        var isRefused = false
        for entry in entries {
            guard let scalar = entry.key.scalar, let name = OptionName(scalar) else {
                refuse(entry.key)
                continue
            }
            named.append((name, entry))
            guard name.isSource else {
                options.read(name, entry.value, into: &given)
                continue
            }
            if let first = source {
                if first.name != name {
                    diagnostics.error(
                        "two sources, '\(first.name.rawValue)' and '\(name.rawValue)'; a rule has one", at: scalar.span)
                }
                isRefused = true
                continue
            }
            let (kind, text) = sources.read(name, entry)
            source = (name, kind, text)
        }
        guard let source else {
            // A misspelt source is reported as an unknown option already.
            if named.count == entries.count {
                diagnostics.error(
                    "this rule does not say what answers: file, text, json, base64, forward, redirect or block",
                    at: entries.isEmpty ? span : YAMLSpan(start: span.start, end: entries[0].key.span.end))
            }
            return nil
        }
        check(named, source.kind, given)
        guard let text = source.text, !isRefused else { return nil }
        given.source = source.kind
        given.isExact = key?.kind == .exact
        return RuleBody(source: source.kind, text: text, options: builder.number(of: given), line: line)
    }

    private func refuse(_ key: YAMLNode) {
        guard let scalar = key.scalar else {
            diagnostics.error("an option's name is a word, not \(key.kind)", at: key.span)
            return
        }
        diagnostics.error(OptionName.refusal(scalar, among: OptionName.allCases.map(\.rawValue)), at: scalar.span)
    }

    /// Reports options that contradict the source, and warns of those that have no effect with it.
    private func check(
        _ named: [(name: OptionName, entry: YAMLNode.Entry)], _ source: SourceKind, _ given: GivenOptions
    ) {
        for (name, entry) in named {
            switch name {
            case .status where source.forwards, .cors where source.forwards, .delay where source.forwards,
                .rate where source.forwards:
                diagnostics.warning("'\(name.rawValue)' has no effect with 'forward'", at: entry.key.span)
            case .status:
                if let status = given.status, !source.accepts(status: status) {
                    diagnostics.error(
                        "the status of a redirect is one from 300 to 399, and not 304", at: entry.value.span)
                }
            case .bypass where source == .block:
                if let bypass = given.bypass, bypass != .never {
                    diagnostics.error(
                        "a blocked URL never goes to its origin; 'bypass' is never, and may be left out",
                        at: entry.value.span)
                }
            case .when where source == .block:
                if given.when == .originFails {
                    diagnostics.warning(
                        "'when' has no effect with 'block': a blocked URL never goes to its origin",
                        at: entry.key.span)
                }
            case .query:
                if key?.kind == .expression, given.query == .exact {
                    diagnostics.error(
                        "a regular expression is matched against the query too; write the query in it",
                        at: entry.value.span)
                }
            case .missing, .retain:
                if source != .file {
                    diagnostics.warning(
                        "'\(name.rawValue)' has no effect with '\(source.name)'; it is for files", at: entry.key.span)
                }
            case .type:
                if source.forwards || source == .redirect {
                    diagnostics.warning("'type' has no effect with '\(source.name)'", at: entry.key.span)
                }
            default: break
            }
        }
    }
}
