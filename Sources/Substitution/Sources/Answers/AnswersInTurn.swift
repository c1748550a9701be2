import HTTPSemantics
import Patterns

/// The answers of a rule that has several, for one request: which of them it gets depends on the turns that its client
/// has had. Turns count from 0.
public struct AnswersInTurn: Sendable {
    private let map: SubstitutionMap
    private let match: RuleMatch
    private let uri: TargetURI
    private let groups: CaptureList
    private let list: MapStorage.AnswerList
    private let repetition: RuleOptions.Repetition

    init(
        _ map: SubstitutionMap, _ match: RuleMatch, _ uri: TargetURI, _ groups: CaptureList,
        _ list: MapStorage.AnswerList
    ) {
        self.map = map
        self.match = match
        self.uri = uri
        self.groups = groups
        self.list = list
        repetition = map.rule(match.id).options.repetition
    }

    /// Stands for the rule, by which its turns are kept: the same in the map of a reload that hasn't changed the rule,
    /// and for both schemes of a `//` key.
    public var identity: UInt64 { list.identity }

    /// How many answers there are.
    public var count: Int { list.ends.count }

    /// How many turns there are before the first answer, or the last one, comes again.
    public var turnCount: Int { list.ends.last ?? 1 }

    /// The turn that follows one.
    public func turn(after turn: Int) -> Int {
        guard turn + 1 >= turnCount else { return turn + 1 }
        return repetition == .last ? turnCount - 1 : 0
    }

    /// The number of the answer that a turn has, from 0.
    public func number(of turn: Int) -> Int {
        var range = list.ends.startIndex..<max(list.ends.startIndex, list.ends.endIndex - 1)
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = list.ends[middle] > turn ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return range.lowerBound
    }

    /// The turns that an answer has, of those before the first or the last answer comes again.
    public func turns(of number: Int) -> Range<Int> {
        (number > 0 ? list.ends[number - 1] : 0)..<list.ends[number]
    }

    /// One of the answers, as the rule that it is.
    ///
    /// - Parameter number: from 0, less than ``count``.
    public func match(_ number: Int) -> RuleMatch {
        RuleMatch(id: RuleID(UInt32(truncatingIfNeeded: list.first + number)), rest: match.rest)
    }

    /// What one of them answers with.
    public func answer(_ number: Int) -> SourceAnswer {
        let match = match(number)
        return map.storage.records[match.id.index].source.kind.answer(SourceRequest(map, match, uri, groups))
    }

    /// The rule that one of them is.
    public func rule(_ number: Int) -> Rule { map.rule(match(number).id) }
}

extension SubstitutionMap {
    /// What stands for each rule with answers in turn (``AnswersInTurn/identity``).
    public var answerIdentities: Set<UInt64> { Set(storage.answerLists.map(\.identity)) }
}
