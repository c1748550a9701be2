import Diagnostics
import YAML

/// `answers`: several answers, of which each client gets one after the other.
///
/// Each is a rule without conditions: what decides whether the rule answers at all stands beside the list, and so may
/// what all of them have in common. They are records of the map, which no key leads to.
struct AnswersSource: SourceKind {
    let option = "answers"
    let traits: SourceTraits = [.dependsOnRequest]
    let companions: Set<CompanionName> = [.repetition]

    /// How often one of them is given, before the next one is.
    private static let timesOption: StaticString = "times"
    private static let mostTimes = 1_000_000_000

    func effect(of option: OptionName, in given: GivenOptions) -> OptionEffect {
        switch option {
        case .bypass where given.blocksInTurn, .when where given.blocksInTurn:
            BlockSource().effect(of: option, in: given)
        default: .some
        }
    }

    func note(_ value: YAMLNode, into given: inout GivenOptions) {
        let block = BlockSource().option
        given.blocksInTurn =
            value.elements?.contains { answer in
                answer.entries?.contains { $0.key.scalar?.string == block } ?? false
            } ?? false
    }

    /// What passed the list by would pass the block in it by.
    func settle(_ options: inout GivenOptions) {
        if options.blocksInTurn { BlockSource().settle(&options) }
    }

    func read(_ value: YAMLNode, _ reader: SourceReader) -> RuleBody.Text? {
        guard let elements = value.elements else {
            reader.diagnostics.error(
                "'answers' is a list of rules, as in [{ text: wait, status: 503 }, { file: page.html }]",
                at: reader.span(value))
            return nil
        }
        guard !elements.isEmpty else {
            reader.diagnostics.error("an empty list of answers", at: reader.span(value))
            return nil
        }
        let answers = elements.map { answer($0, reader) }
        let complete = answers.compactMap { $0 }
        return complete.count == answers.count ? .answers(complete) : nil
    }

    func refusal(beside option: YAMLScalar) -> String? {
        option == AnswersSource.timesOption ? "'times' goes with one of the rules in 'answers'" : nil
    }

    func answer(_ request: SourceRequest) -> SourceAnswer { .answers(request.answers) }

    // MARK: One of them

    private func answer(_ node: YAMLNode, _ reader: SourceReader) -> AnswerBody? {
        let rules = RuleReader(
            builder: reader.builder, diagnostics: reader.diagnostics, key: reader.key, keySpan: reader.span(node))
        let line = reader.span(node).start.line
        switch node {
        case .scalar(let scalar):
            return rules.fileName(scalar).map { path in
                AnswerBody(source: .file, text: path, given: GivenOptions(), line: line, times: 1)
            }
        case .sequence(_, let span):
            reader.diagnostics.error("a list of answers has no lists in it", at: span)
            return nil
        case .mapping(let entries, let span):
            var own: [YAMLNode.Entry] = []
            var times: Int? = 1
            var isRefused = false
            for entry in entries {
                guard let name = entry.key.scalar else {
                    own.append(entry)
                    continue
                }
                if name == AnswersSource.timesOption {
                    times = self.times(entry, reader)
                } else if let why = refusal(name.string) {
                    reader.diagnostics.error(why, at: name.span)
                    isRefused = true
                } else {
                    own.append(entry)
                }
            }
            // Without the others of its options, an answer of which one is refused may have no source left.
            guard
                !isRefused
                    || own.contains(where: { $0.key.scalar.map { SourceID(option: $0.string) != nil } ?? false }),
                let read = rules.parts(node, own, span), let times, !isRefused
            else { return nil }
            return AnswerBody(source: read.source, text: read.text, given: read.given, line: line, times: times)
        }
    }

    private func times(_ entry: YAMLNode.Entry, _ reader: SourceReader) -> Int? {
        guard let times = entry.value.scalar?.intValue, (1...AnswersSource.mostTimes).contains(times) else {
            reader.diagnostics.error(
                "'times' is a number from 1 to \(AnswersSource.mostTimes)",
                at: entry.value.span.start.offset == entry.value.span.end.offset ? entry.key.span : entry.value.span)
            return nil
        }
        return times
    }

    /// Why an option can't be one of a single answer; nil where it can.
    private func refusal(_ name: String) -> String? {
        if name == option { return "an answer in turn has no 'answers' of its own" }
        if name == CompanionName.repetition.rawValue { return "'repeat' is for all answers; write it beside 'answers'" }
        switch OptionName(rawValue: name) {
        case .methods, .query, .requestHeaders, .navigation:
            return "'\(name)' is a condition, and an answer in turn has none; write it beside 'answers'"
        case .bypass, .when, .cors: return "'\(name)' is for all answers; write it beside 'answers'"
        case .status, .type, .headers, .delay, .rate, .missing, .retain, nil: return nil
        }
    }
}
