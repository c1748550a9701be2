public import HTTPSemantics
import Patterns

/// The rule that answers a request.
public struct RuleMatch: Sendable, Equatable {
    public let id: RuleID
    /// For a folder rule what follows its key in ``HTTPSemantics/TargetURI/bytes``, without the query; else empty.
    public let rest: Range<Int>
}

/// Memory that look-ups work in, and the captures of the latest one.
///
/// Keep one for each event loop and hand it to one look-up after another, so that they do not allocate.
public struct LookupScratch: Sendable {
    var places: ContiguousArray<UInt32> = []
    var captures = CaptureList()
    var match = MatchScratch()
    var memory: [UInt8] = []

    public init() {
        places.reserveCapacity(32)
        memory.reserveCapacity(256)
    }
}

/// A request's URL and method, as every look-up needs them: without a reference to count.
struct ConditionInput {
    let url: UnsafeRawBufferPointer
    let pathEnd: Int
    let method: Method
}

extension SubstitutionMap {
    /// Finds the rule that answers a request.
    ///
    /// First comes an exact URL, then the folder or pattern with the longest literal prefix, then regular expressions
    /// in their order; rules whose conditions do not hold are passed over. Costs one hash of the URL for exact rules,
    /// one more for its query, and one for all folders and patterns; only patterns at the same folder are tried one by
    /// one, and of regular expressions those that an `ExpressionSet` finds.
    public func lookup(
        _ uri: TargetURI, method: RequestMethod, fields: FieldSection, scratch: inout LookupScratch
    ) -> RuleMatch? {
        uri.withBytes { url in
            let input = ConditionInput(url: url, pathEnd: uri.pathEnd, method: method.known)
            return storage.arena.withUnsafeBytes { arena in
                storage.records.withUnsafeBufferPointer { records in
                    let finder = RuleFinder(map: self, arena: arena, records: records)
                    return finder.exact(input, method, fields, &scratch.memory)
                        ?? finder.folderOrPattern(input, method, fields, &scratch)
                        ?? finder.expression(input, method, fields, &scratch)
                }
            }
        }
    }

    /// Finds the rule that answers a request by its head.
    public func lookup(_ uri: TargetURI, head: RequestHead, scratch: inout LookupScratch) -> RuleMatch? {
        lookup(uri, method: RequestMethod(head), fields: head.fields, scratch: &scratch)
    }
}

/// The three steps of a look-up.
struct RuleFinder {
    let map: SubstitutionMap
    let arena: UnsafeRawBufferPointer
    let records: UnsafeBufferPointer<RuleRecord>

    @inline(__always)
    func exact(
        _ input: ConditionInput, _ method: RequestMethod, _ fields: FieldSection, _ memory: inout [UInt8]
    ) -> RuleMatch? {
        guard !map.storage.exact.table.isEmpty else { return nil }
        let url = input.url
        let hash = URLHash.of(UnsafeRawBufferPointer(rebasing: url[0..<input.pathEnd]))
        if map.storage.exact.hasParameters, input.pathEnd < url.count {
            let all = QueryParameters(of: url, pathEnd: input.pathEnd).combined(with: hash)
            if all != hash,
                let first = map.storage.exact.first(
                    parameters: all, url, pathEnd: input.pathEnd, arena: arena, records: records),
                let id = firstHolding(first, input, method, fields, &memory)
            {
                return RuleMatch(id: RuleID(id), rest: input.pathEnd..<input.pathEnd)
            }
        }
        guard
            let first = map.storage.exact.first(
                path: hash, url, pathEnd: input.pathEnd, arena: arena, records: records),
            let id = firstHolding(first, input, method, fields, &memory)
        else { return nil }
        return RuleMatch(id: RuleID(id), rest: input.pathEnd..<input.pathEnd)
    }

    @inline(__always)
    func folderOrPattern(
        _ input: ConditionInput, _ method: RequestMethod, _ fields: FieldSection, _ scratch: inout LookupScratch
    ) -> RuleMatch? {
        guard !map.storage.prefixes.isEmpty else { return nil }
        let path = UnsafeRawBufferPointer(rebasing: input.url[0..<input.pathEnd])
        scratch.places.removeAll(keepingCapacity: true)
        map.storage.prefixes.collect(path, arena: arena, into: &scratch.places)
        var remaining = scratch.places.count
        while remaining > 0 {
            remaining &-= 1
            let place = map.storage.prefixes.places[Int(scratch.places[remaining])]
            var position = Int(place.first)
            let end = position &+ Int(place.count)
            while position < end {
                let candidate = map.storage.prefixes.candidates[position]
                position &+= 1
                if candidate.pattern == PrefixIndex.Candidate.noPattern {
                    guard let id = firstHolding(candidate.record, input, method, fields, &scratch.memory) else {
                        continue
                    }
                    return RuleMatch(id: RuleID(id), rest: Int(place.keyLength)..<input.pathEnd)
                }
                guard matches(candidate, path, input, &scratch),
                    let id = firstHolding(candidate.record, input, method, fields, &scratch.memory)
                else { continue }
                return RuleMatch(id: RuleID(id), rest: input.pathEnd..<input.pathEnd)
            }
        }
        return nil
    }

    /// Whether a pattern matches, its own query included.
    func matches(
        _ candidate: PrefixIndex.Candidate, _ path: UnsafeRawBufferPointer, _ input: ConditionInput,
        _ scratch: inout LookupScratch
    ) -> Bool {
        let key = records[Int(candidate.record)]
        let start = Int(key.keyOffset)
        let prefix = UnsafeRawBufferPointer(rebasing: arena[start..<start &+ Int(candidate.prefixLength)])
        guard URLText.hasPrefix(path, prefix) else { return false }
        return map.storage.patterns[Int(candidate.pattern)].pattern.wholeMatch(
            in: path, scratch: &scratch.match, captures: &scratch.captures)
            && (map.storage.patterns[Int(candidate.pattern)].parameters.isEmpty
                || ownQueryHolds(map.storage.patterns[Int(candidate.pattern)].parameters, input, &scratch))
    }

    /// Whether the request has the parameters of a pattern's own query; adds what their stars matched to the captures.
    private func ownQueryHolds(
        _ conditions: [ParameterCondition?], _ input: ConditionInput, _ scratch: inout LookupScratch
    ) -> Bool {
        for condition in conditions {
            guard let condition else {
                let start = min(input.pathEnd &+ 1, input.url.count)
                scratch.captures.append(start..<input.url.count)
                continue
            }
            guard let parameter = first(condition, input, &scratch.memory) else { return false }
            guard condition.value.starCount > 0, let start = parameter.baseAddress, let url = input.url.baseAddress
            else { continue }
            condition.appendCaptures(
                of: parameter, at: start - url, memory: scratch.memory, to: &scratch.captures)
        }
        return true
    }

    func expression(
        _ input: ConditionInput, _ method: RequestMethod, _ fields: FieldSection, _ scratch: inout LookupScratch
    ) -> RuleMatch? {
        if map.storage.expressionSet.isSelective { return candidate(input, method, fields, &scratch) }
        for entry in map.storage.expressions {
            guard
                entry.expression.firstMatch(
                    in: input.url, scratch: &scratch.match, captures: &scratch.captures),
                let id = firstHolding(entry.record, input, method, fields, &scratch.memory)
            else { continue }
            return RuleMatch(id: RuleID(id), rest: input.pathEnd..<input.pathEnd)
        }
        return nil
    }

    /// The first of many regular expressions, of which few have to be tried.
    private func candidate(
        _ input: ConditionInput, _ method: RequestMethod, _ fields: FieldSection, _ scratch: inout LookupScratch
    ) -> RuleMatch? {
        map.storage.expressionSet.findCandidates(in: input.url, scratch: &scratch.match)
        var start = 0
        while let number = scratch.match.nextCandidate(from: start) {
            start = number &+ 1
            // Conditions take less time than a match with its captures.
            guard
                let id = firstHolding(map.storage.expressions[number].record, input, method, fields, &scratch.memory),
                map.storage.expressions[number].expression.firstMatch(
                    in: input.url, scratch: &scratch.match, captures: &scratch.captures)
            else { continue }
            return RuleMatch(id: RuleID(id), rest: input.pathEnd..<input.pathEnd)
        }
        return nil
    }

    // MARK: Conditions

    /// The first rule from `head` on whose conditions hold.
    @inline(__always)
    private func firstHolding(
        _ head: UInt32, _ input: ConditionInput, _ method: RequestMethod, _ fields: FieldSection,
        _ memory: inout [UInt8]
    ) -> UInt32? {
        var id = head
        while id != RuleRecord.none {
            let record = records[Int(id)]
            let summary = map.storage.summaries[Int(record.options)]
            let isMethod = summary.methods &>> UInt16(input.method.rawValue) & 1 != 0
            if input.method != .other, !summary.hasFieldConditions {
                if isMethod, holdsQuery(record, summary.query, input, &memory) { return id }
            } else if failure(record, input, method, fields, &memory) == nil {
                return id
            }
            id = record.next
        }
        return nil
    }

    @inline(__always)
    private func holdsQuery(
        _ record: RuleRecord, _ query: MapStorage.OptionSummary.Query, _ input: ConditionInput,
        _ memory: inout [UInt8]
    ) -> Bool {
        if query == .ignore { return true }
        // Most exact rules: neither the key nor the request has a query.
        if query == .exact, record.kind == .exact, input.pathEnd == input.url.count,
            Int(record.keyLength) == input.pathEnd
        {
            return true
        }
        return queryHolds(record, input, &memory)
    }

    /// The first condition of a rule that does not hold; nil if all do.
    func failure(
        _ record: RuleRecord, _ input: ConditionInput, _ method: RequestMethod, _ fields: FieldSection,
        _ memory: inout [UInt8]
    ) -> ConditionFailure? {
        let options = map.storage.options[Int(record.options)]
        if !options.methods.contains(method) { return .method }
        if !queryHolds(record, input, &memory) { return .query }
        for condition in options.fieldConditions where !condition.holds(in: fields) {
            return .field(condition)
        }
        if let navigation = options.navigation, Navigation.isOne(fields) != navigation {
            return .navigation(wanted: navigation)
        }
        return nil
    }

    /// Whether the request's query is as the rule wants it, the key's own query included.
    func queryHolds(_ record: RuleRecord, _ input: ConditionInput, _ memory: inout [UInt8]) -> Bool {
        let asked = QueryParameters(of: input.url, pathEnd: input.pathEnd)
        switch map.storage.options[Int(record.options)].query {
        case .ignore: return true
        case .exact:
            switch record.kind {
            case .expression: return true
            case .folder: return asked.count() == 0
            case .pattern: return asked.count() == ownQuery(record).count()
            case .exact: return asked.isPermutation(of: ownQuery(record))
            }
        case .parameters(let conditions):
            if record.kind == .exact, !ownQuery(record).isSubset(of: asked) { return false }
            return holds(conditions, input, &memory)
        }
    }

    /// The parameters in a rule's key.
    private func ownQuery(_ record: RuleRecord) -> QueryParameters {
        let key = UnsafeRawBufferPointer(rebasing: arena[record.keyRange])
        return QueryParameters(of: key, pathEnd: URLText.pathEnd(key))
    }

    /// Whether each condition holds for one of the request's parameters.
    private func holds(
        _ conditions: [ParameterCondition], _ input: ConditionInput, _ memory: inout [UInt8]
    ) -> Bool {
        for condition in conditions where first(condition, input, &memory) == nil { return false }
        return true
    }

    /// The first of the request's parameters for which a condition holds; its decoded value is in `memory` then.
    private func first(
        _ condition: ParameterCondition, _ input: ConditionInput, _ memory: inout [UInt8]
    ) -> UnsafeRawBufferPointer? {
        var parameters = QueryParameters(of: input.url, pathEnd: input.pathEnd)
        while let parameter = parameters.next() {
            if condition.matches(parameter, memory: &memory) { return parameter }
        }
        return nil
    }
}

/// Why a rule is passed over.
enum ConditionFailure {
    case method, query
    case field(FieldCondition)
    /// The request is a document's load, or none, and the rule wants the other.
    case navigation(wanted: Bool)
}
