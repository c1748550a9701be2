public import HTTPSemantics
import Patterns

/// Why a request is answered by a rule, or by none.
public struct Explanation: Sendable {
    /// The rule that answers.
    public struct Answer: Sendable {
        public let rule: Rule
        /// Why it is this rule and which of its conditions held, a sentence each.
        public let reasons: [String]
        /// What the key has captured, as it stands in the URL: by number from 1 on, then by name.
        public let captures: [(name: String, value: String)]
        public let source: SourceAnswer
        /// What answers, in words: `the file /srv/bundle/a.png`.
        public let sourceDescription: String
        /// The answers of a rule that has several in turn, in their order; empty for other rules.
        public let turns: [Turn]

        /// What a client's first request gets: the rule and what answers, or the first of its answers.
        public var first: (rule: Rule, source: SourceAnswer) {
            turns.first.map { ($0.rule, $0.source) } ?? (rule, source)
        }
    }

    /// One of several answers in turn.
    public struct Turn: Sendable {
        /// The answer as the rule that it is.
        public let rule: Rule
        public let source: SourceAnswer
        public let sourceDescription: String
        /// Which of a client's requests get it at first, from 0.
        public let requests: Range<Int>

        /// Its status, as far as the map says it: not what an origin or a database says.
        public var status: Int? {
            if case .database = source { return rule.options.status }
            return rule.forwards ? nil : rule.status
        }
    }

    /// A rule whose URL matches, with what keeps it from answering; or one whose URL nearly matches.
    public struct Miss: Sendable {
        public let rule: Rule
        /// One sentence without a capital and a full stop.
        public let reason: String
    }

    public let answer: Answer?
    /// The rules that would have come first if their conditions held, in their order; at most 20.
    public let passedOver: [Miss]
    /// Where no rule answers, the one that comes nearest, and what would make it answer.
    public let nearestMiss: Miss?

    /// That of a request that no rule is looked for, as a CONNECT.
    public static let none = Explanation(answer: nil, passedOver: [], nearestMiss: nil)

    /// The explanation as lines of text.
    public var lines: [String] {
        var lines: [String] = []
        if let answer {
            lines.append("\(answer.rule.position) answers with \(answer.sourceDescription)")
            lines.append("  rule: \(answer.rule.key)")
            lines += answer.reasons.map { "  because \($0)" }
            if !answer.captures.isEmpty {
                let captures = answer.captures.map { name, value in
                    (Int(name) == nil ? "${\(name)}" : "$\(name)") + " = " + value
                }
                lines.append("  captures: \(captures.joined(separator: ", "))")
            }
            lines += answer.turnLines
        } else {
            lines.append("no rule answers")
        }
        for miss in passedOver { lines.append("passed over: \(miss.rule.position): \(miss.reason)") }
        if let nearestMiss {
            lines.append("nearest miss: \(nearestMiss.rule.position): \(nearestMiss.reason)")
            lines.append("  rule: \(nearestMiss.rule.key)")
        }
        return lines
    }
}

extension SubstitutionMap {
    /// Explains which rule answers a request and why; if none, which comes nearest.
    ///
    /// Made for people: it may look at every rule.
    public func explain(
        _ uri: TargetURI, method: RequestMethod, fields: FieldSection, scratch: inout LookupScratch
    ) -> Explanation {
        let match = lookup(uri, method: method, fields: fields, scratch: &scratch)
        let answer = match.map { match in
            let source = self.answer(match, uri: uri, scratch: scratch)
            let captures = SourceRequest(self, match, uri, scratch.captures).writtenCaptures
            let rule = rule(match.id)
            return Explanation.Answer(
                rule: rule, reasons: reasons(rule),
                captures: captures.map { ($0.name, String(decoding: $0.value, as: UTF8.self)) }, source: source,
                sourceDescription: rule.words(for: source), turns: turns(source))
        }
        let passedOver = passedOver(uri, method, fields, before: match?.id, &scratch)
        let nearest =
            match != nil
            ? nil
            : passedOver.first.map { Explanation.Miss(rule: $0.rule, reason: "matches but " + $0.reason) }
                ?? NearestMiss(map: self, uri: uri, method: method, fields: fields).find(&scratch)
        return Explanation(answer: answer, passedOver: passedOver, nearestMiss: nearest)
    }

    // MARK: The rule that answers

    private func turns(_ source: SourceAnswer) -> [Explanation.Turn] {
        guard case .answers(let answers) = source else { return [] }
        return (0..<answers.count).map { number in
            let rule = answers.rule(number)
            let source = answers.answer(number)
            return Explanation.Turn(
                rule: rule, source: source, sourceDescription: rule.words(for: source),
                requests: answers.turns(of: number))
        }
    }

    private func reasons(_ rule: Rule) -> [String] {
        var reasons: [String]
        switch rule.kind {
        case .exact: reasons = ["the URL is the rule's"]
        case .folder: reasons = ["the URL is in the rule's folder, and no longer folder or pattern matches"]
        case .pattern: reasons = ["the URL matches the rule's pattern, and none with a longer beginning"]
        case .expression: reasons = ["it is the first regular expression that matches"]
        }
        let options = rule.options
        if !options.methods.isUniversal { reasons.append("the method is one of " + methodList(options)) }
        switch options.query {
        case .ignore: if rule.kind != .expression { reasons.append("the query takes no part") }
        case .exact: if rule.kind != .expression { reasons.append("the query is the rule's") }
        case .parameters(let conditions):
            reasons.append("the query has " + conditions.map(\.description).joined(separator: ", "))
        }
        for condition in options.fieldConditions {
            reasons.append("the request field \(condition.nameText) is \(condition.value.description)")
        }
        switch options.navigation {
        case true?: reasons.append("the request loads a document (navigation)")
        case false?: reasons.append("the request loads no document (navigation: false)")
        case nil: break
        }
        return reasons
    }

    private func methodList(_ options: RuleOptions) -> String { options.allowedMethods.joined(separator: ", ") }

    // MARK: Rules that are passed over

    /// The rules of which the URL matches, up to the one that answers, with the conditions that do not hold.
    private func passedOver(
        _ uri: TargetURI, _ method: RequestMethod, _ fields: FieldSection, before answer: RuleID?,
        _ scratch: inout LookupScratch
    ) -> [Explanation.Miss] {
        var misses: [Explanation.Miss] = []
        uri.withBytes { url in
            let input = ConditionInput(url: url, pathEnd: uri.pathEnd, method: method.known)
            storage.arena.withUnsafeBytes { arena in
                storage.records.withUnsafeBufferPointer { records in
                    let finder = RuleFinder(map: self, arena: arena, records: records)
                    for head in finder.matchingKeys(input, &scratch) {
                        var next = head
                        while next != RuleRecord.none, misses.count < 20 {
                            if next == answer?.rawValue { return }
                            let record = records[Int(next)]
                            let failures = finder.failures(record, input, method, fields, &scratch.memory)
                            if !failures.isEmpty {
                                let reasons = failures.map { reason($0, record, method, fields) }
                                let all = reasons.joined(separator: ", and ")
                                misses.append(Explanation.Miss(rule: rule(RuleID(next)), reason: all))
                            }
                            next = record.next
                        }
                    }
                }
            }
        }
        return misses
    }

    private func reason(
        _ failure: ConditionFailure, _ record: RuleRecord, _ method: RequestMethod, _ fields: FieldSection
    ) -> String {
        let options = storage.options[Int(record.options)]
        switch failure {
        case .method: return "for the method: the rule answers \(methodList(options)); 'methods' may name more"
        case .query:
            if case .parameters(let conditions) = options.query {
                return "for its query: the rule wants " + conditions.map(\.description).joined(separator: ", ")
            }
            return "for its query; add 'query: ignore'"
        case .field(let condition):
            let name = condition.nameText
            return condition.isNamed(in: fields)
                ? "for the request field \(name), which is not \(condition.value.description)"
                : "for the request field \(name), which is missing"
        case .navigation(wanted: true):
            return "for it loads no document: the rule wants 'Sec-Fetch-Mode: navigate', or, from a client without "
                + "Sec-Fetch fields, 'Upgrade-Insecure-Requests: 1'"
        case .navigation(wanted: false):
            return "for it loads a document, and the rule has 'navigation: false'"
        }
    }
}

extension Explanation.Answer {
    /// How many answers in turn are shown.
    private static let shownTurns = 20

    /// The answers in turn, a line each.
    fileprivate var turnLines: [String] {
        guard let last = turns.last else { return [] }
        let isCycle = rule.options.repetition == .cycle
        var lines = turns.prefix(Self.shownTurns).map { turn in
            let which: String
            if !isCycle, turn.requests == last.requests {
                which = "request \(turn.requests.lowerBound + 1) and all others"
            } else if turn.requests.count == 1 {
                which = "request \(turn.requests.upperBound)"
            } else {
                which = "requests \(turn.requests.lowerBound + 1) to \(turn.requests.upperBound)"
            }
            let status = turn.status.map { " with status \($0)" } ?? ""
            return "  \(which) of a client: \(turn.sourceDescription)\(status), \(turn.rule.position)"
        }
        if turns.count > Self.shownTurns { lines.append("  and \(turns.count - Self.shownTurns) more answers") }
        if isCycle { lines.append("  request \(last.requests.upperBound + 1) of a client: as request 1") }
        return lines
    }
}

extension FieldCondition {
    /// The name, in lower case.
    var nameText: String { String(decoding: name, as: UTF8.self) }
}

extension RuleFinder {
    /// All conditions of a rule that do not hold, in the order in which ``failure(_:_:_:_:_:)`` looks at them.
    func failures(
        _ record: RuleRecord, _ input: ConditionInput, _ method: RequestMethod, _ fields: FieldSection,
        _ memory: inout [UInt8]
    ) -> [ConditionFailure] {
        let options = map.storage.options[Int(record.options)]
        var failures: [ConditionFailure] = []
        if !options.methods.contains(method) { failures.append(.method) }
        if !queryHolds(record, input, &memory) { failures.append(.query) }
        failures += options.fieldConditions.filter { !$0.holds(in: fields) }.map { ConditionFailure.field($0) }
        if let navigation = options.navigation, Navigation.isOne(fields) != navigation {
            failures.append(.navigation(wanted: navigation))
        }
        return failures
    }

    /// The first rules of all keys that match the URL, whatever their conditions, in the order in which they are tried.
    func matchingKeys(_ input: ConditionInput, _ scratch: inout LookupScratch) -> [UInt32] {
        var heads: [UInt32] = []
        let url = input.url
        let path = UnsafeRawBufferPointer(rebasing: url[0..<input.pathEnd])
        let hash = URLHash.of(path)
        let all = QueryParameters(of: url, pathEnd: input.pathEnd).combined(with: hash)
        if all != hash,
            let first = map.storage.exact.first(
                parameters: all, url, pathEnd: input.pathEnd, arena: arena, records: records)
        {
            heads.append(first)
        }
        if let first = map.storage.exact.first(
            path: hash, url, pathEnd: input.pathEnd, arena: arena, records: records)
        {
            heads.append(first)
        }
        scratch.places.removeAll(keepingCapacity: true)
        map.storage.prefixes.collect(path, arena: arena, into: &scratch.places)
        for number in scratch.places.reversed() {
            let place = map.storage.prefixes.places[Int(number)]
            for position in Int(place.first)..<Int(place.first + place.count) {
                let candidate = map.storage.prefixes.candidates[position]
                if candidate.pattern == PrefixIndex.Candidate.noPattern
                    || matches(candidate, path, input, &scratch)
                {
                    heads.append(candidate.record)
                }
            }
        }
        for entry in map.storage.expressions
        where entry.expression.matches(url, scratch: &scratch.match) {
            heads.append(entry.record)
        }
        return heads
    }
}
