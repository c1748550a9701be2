import Diagnostics
import HTTPSemantics
import Patterns
import YAML

/// A rule as it was read: what answers, and the number of its options.
struct RuleBody {
    /// What the map keeps of a source's value: one of three forms for all kinds, since a rule's record has 32 bytes.
    enum Text {
        /// A stretch of the arena.
        case range(Range<Int>)
        /// The number of a text with captures.
        case template(Int)
        /// Several answers, in turn.
        case answers([AnswerBody])
    }

    var source: SourceID
    var text: Text
    var options: Int
    var line: Int
}

/// One of several answers of a rule as it was read: a rule without conditions.
struct AnswerBody {
    var source: SourceID
    var text: RuleBody.Text
    var given: GivenOptions
    var line: Int
    /// How many turns it has.
    var times: Int
}

/// Reads the value of a key of `substitutions`: a file name, a rule, or a list of rules.
struct RuleReader {
    let builder: MapBuilder
    let diagnostics: FileDiagnostics
    let key: RuleKey?
    let keySpan: TextSpan

    /// - Parameter span: the place of what the value belongs to.
    private func reader(_ source: SourceID, _ span: TextSpan) -> SourceReader {
        SourceReader(
            builder: builder, diagnostics: diagnostics, key: key, keySpan: span, option: source.kind.option)
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
        guard let text = fileName(scalar) else { return nil }
        return RuleBody(
            source: .file, text: text, options: builder.fileOptions(isExact: key?.kind == .exact),
            line: line ?? keySpan.start.line)
    }

    /// The text of a source that is a file's name alone.
    func fileName(_ scalar: YAMLScalar) -> RuleBody.Text? {
        SourceID.file.kind.read(.scalar(scalar), reader(.file, keySpan))
    }

    private func rule(
        _ node: YAMLNode, _ entries: [YAMLNode.Entry], _ span: TextSpan, line: Int
    ) -> RuleBody? {
        guard let read = parts(node, entries, span) else { return nil }
        return RuleBody(source: read.source, text: read.text, options: builder.number(of: read.given), line: line)
    }

    /// What a rule consists of; nil where it is refused, which is reported.
    ///
    /// - Parameter entries: those of the node that are the rule's.
    func parts(
        _ node: YAMLNode, _ entries: [YAMLNode.Entry], _ span: TextSpan
    ) -> (source: SourceID, text: RuleBody.Text, given: GivenOptions)? {
        let options = OptionReader(diagnostics: diagnostics)
        options.reportDuplicates(node, "the option")
        var given = GivenOptions()
        var source: (id: SourceID, text: RuleBody.Text?)?
        var named: [(name: OptionName, entry: YAMLNode.Entry)] = []
        var companions: [(name: CompanionName, entry: YAMLNode.Entry)] = []
        var isRefused = false
        var isUnknown = false
        let owner = entries.lazy.compactMap { $0.key.scalar }.compactMap { SourceID(option: $0.string) }
            .first { !$0.kind.companions.isDisjoint(with: CompanionName.sources) }
        for entry in entries {
            if let scalar = entry.key.scalar, let id = SourceID(option: scalar.string),
                id == owner || !(owner?.kind.companions.contains { $0.rawValue == scalar.string } ?? false)
            {
                if let first = source {
                    if first.id != id {
                        diagnostics.error(
                            "two sources, '\(first.id.kind.option)' and '\(id.kind.option)'; a rule has one",
                            at: scalar.span)
                    }
                    isRefused = true
                } else {
                    // Without a value at all, the place of the option is what can be shown.
                    source = (id, id.kind.read(entry.value, reader(id, entry.key.span)))
                    id.kind.note(entry.value, into: &given)
                }
            } else if let scalar = entry.key.scalar, let name = OptionName(scalar) {
                named.append((name, entry))
                options.read(name, entry.value, into: &given)
            } else if let scalar = entry.key.scalar, let name = CompanionName(rawValue: scalar.string) {
                companions.append((name, entry))
            } else {
                isUnknown = true
                refuse(entry.key)
            }
        }
        guard let source else {
            // A misspelt source is reported as an unknown option already.
            if !isUnknown {
                let names = SourceID.options.dropLast().joined(separator: ", ")
                diagnostics.error(
                    "this rule does not say what answers: \(names) or \(SourceID.options.last ?? "")",
                    at: entries.isEmpty ? span : TextSpan(start: span.start, end: entries[0].key.span.end))
            }
            return nil
        }
        read(companions, of: source.id.kind, reader(source.id, keySpan), into: &given)
        check(named, source.id.kind, given)
        guard let text = source.text, !isRefused else { return nil }
        source.id.kind.check(given, reader(source.id, entries.first?.key.span ?? keySpan))
        given.source = source.id
        given.isExact = key?.kind == .exact
        return (source.id, text, given)
    }

    /// Reads the options that go with the source, and refuses those that go with another.
    private func read(
        _ companions: [(name: CompanionName, entry: YAMLNode.Entry)], of source: any SourceKind, _ reader: SourceReader,
        into given: inout GivenOptions
    ) {
        for (name, entry) in companions {
            guard source.companions.contains(name) else {
                diagnostics.error(
                    "'\(name.rawValue)' goes with \(name.owners), not with '\(source.option)'", at: entry.key.span)
                continue
            }
            CompanionReader(diagnostics: diagnostics, source: reader).read(name, entry.value, into: &given)
        }
    }

    private func refuse(_ key: YAMLNode) {
        guard let scalar = key.scalar else {
            diagnostics.error("an option's name is a word, not \(key.kind)", at: key.span)
            return
        }
        if let why = SourceID.kinds.lazy.compactMap({ $0.refusal(beside: scalar) }).first {
            diagnostics.error(why, at: scalar.span)
            return
        }
        let names = SourceID.options + OptionName.allCases.map(\.rawValue) + CompanionName.allCases.map(\.rawValue)
        diagnostics.error(OptionName.refusal(scalar, among: names), at: scalar.span)
    }

    /// Reports options that contradict the source or the key, and warns of those that have no effect.
    private func check(
        _ named: [(name: OptionName, entry: YAMLNode.Entry)], _ source: any SourceKind, _ given: GivenOptions
    ) {
        for (name, entry) in named {
            switch source.effect(of: name, in: given) {
            case .some: break
            case .none(let hint):
                diagnostics.warning(
                    "'\(name.rawValue)' has no effect with '\(source.option)'\(hint)", at: entry.key.span)
            case .idle(let words): diagnostics.warning(words, at: entry.key.span)
            case .contradiction(let words): diagnostics.error(words, at: entry.value.span)
            }
            if name == .query, key?.kind == .expression, given.query == .exact {
                diagnostics.error(
                    "a regular expression is matched against the query too; write the query in it",
                    at: entry.value.span)
            }
        }
    }
}
