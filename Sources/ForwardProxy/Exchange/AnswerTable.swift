import Files
import HTTPSemantics
import NIOCore
import Substitution

/// The answers that one event loop has ready, by rule, or by rule and URL where the rule answers many.
final class AnswerTable {
    /// What an answer is found by.
    private enum Key: Hashable {
        case rule(RuleID)
        /// The hash of the rule and the URL: two with the same one take each other's place.
        case url(UInt64)
    }

    private struct Entry {
        let key: Key
        let rule: RuleID
        /// Nil where the rule gives the same answer for every URL.
        let url: [UInt8]?
        let answer: ReadyAnswer
        /// What the answer was made from.
        let file: FileKey?
        /// Bytes.
        let cost: Int
        /// The answers from the same file that were put in before and after this one.
        var older: Int?
        var newer: Int?
    }

    /// Bytes of memory for the answers, without bodies of files, which are the store's; beyond it any go for one that
    /// comes.
    private let limit: Int
    private(set) var bytes = 0
    /// What fields and tables take for an answer.
    private static let entryCost = 2560

    private var entries: ContiguousArray<Entry?> = []
    /// Each place's answer, close together for targets that are found, and what tells it from others that stood there.
    private var slots: ContiguousArray<(number: UInt64, answer: ReadyAnswer?)> = []
    private var free: [Int] = []
    private var places: [Key: Int] = [:]
    /// Where the last answer stands that was made from a file.
    private var files: [FileKey: (newest: Int, count: Int)] = [:]
    /// Answers from one file at most: when it changes, all of them go at once.
    private static let largestFile = 1024
    /// Bytes of a URL that an answer is kept for.
    private static let longestURL = 2048
    /// In front of `places`, the answers that were asked for last, each where its rule's number puts it.
    private var latest = ContiguousArray<(rule: RuleID, answer: ReadyAnswer)?>(repeating: nil, count: 64)
    /// What the answers of a rule have in common whose bodies alone differ, by the rule.
    var shapes: [RuleID: RepresentationBuilder] = [:]
    /// In front of all, the targets that were asked for last.
    private var targets: KnownTargets
    private var made: UInt64 = 0
    private var generator = SystemRandomNumberGenerator()

    init(limit: Int) {
        self.limit = limit
        targets = KnownTargets(limit: limit / 4)
    }

    var count: Int { places.count }

    /// What the target of a request was found to name.
    @inline(__always)
    func find(target: UnsafeRawBufferPointer) -> (target: KnownTargets.Target, answer: ReadyAnswer)? {
        guard let known = targets.find(target), slots[known.place].number == known.number,
            let answer = slots[known.place].answer
        else { return nil }
        return (known, answer)
    }

    /// Notes what a plain GET of a target is answered with, whatever its fields and the request before it were.
    func note(_ rule: RuleID, url part: UnsafeRawBufferPointer?, for target: UnsafeRawBufferPointer, url: ByteBuffer) {
        let key = part.map { Key.url(AnswerTable.hash(rule, $0)) } ?? .rule(rule)
        guard let place = places[key] else { return }
        targets.note(target, url: url, place: place, number: slots[place].number)
    }

    /// The answer of a rule that gives the same one for every URL it matches.
    @inline(__always)
    func find(_ rule: RuleID) -> ReadyAnswer? {
        let place = rule.index & (latest.count &- 1)
        if let found = latest[place], found.rule == rule { return found.answer }
        guard let index = places[.rule(rule)], let answer = entries[index]?.answer else { return nil }
        latest[place] = (rule, answer)
        return answer
    }

    /// The answer of a rule for a URL; `url` is the part that the answer depends on.
    func find(_ rule: RuleID, url: UnsafeRawBufferPointer) -> ReadyAnswer? {
        guard let place = places[.url(AnswerTable.hash(rule, url))], let entry = entries[place], entry.rule == rule,
            let known = entry.url, known.withUnsafeBytes({ $0.equals(url) })
        else { return nil }
        return entry.answer
    }

    func insert(_ answer: ReadyAnswer, for rule: RuleID) { insert(answer, rule, nil, .rule(rule)) }

    func insert(_ answer: ReadyAnswer, for rule: RuleID, url: UnsafeRawBufferPointer) {
        guard url.count <= AnswerTable.longestURL else { return }
        insert(answer, rule, Array(url), .url(AnswerTable.hash(rule, url)))
    }

    func remove(_ rule: RuleID) { places[.rule(rule)].map(remove(at:)) }

    func remove(_ rule: RuleID, url: UnsafeRawBufferPointer) {
        places[.url(AnswerTable.hash(rule, url))].map(remove(at:))
    }

    /// Forgets answers made from a file, because the store has given its bytes up.
    func remove(file key: FileKey) {
        while let chain = files[key] { remove(at: chain.newest) }
    }

    private func insert(_ answer: ReadyAnswer, _ rule: RuleID, _ url: [UInt8]?, _ key: Key) {
        if let place = places[key] { remove(at: place) }
        let bodies = answer.file == nil ? answer.variants.reduce(0) { $0 &+ $1.size } : 0
        let cost = AnswerTable.entryCost &+ bodies &+ (url?.count ?? 0)
        while bytes > 0, bytes &+ cost > limit { removeAny() }
        bytes &+= cost
        made &+= 1
        let file = answer.file?.key
        if let file, let chain = files[file], chain.count >= AnswerTable.largestFile { remove(at: chain.newest) }
        let entry = Entry(
            key: key, rule: rule, url: url, answer: answer, file: file, cost: cost,
            older: file.flatMap { files[$0]?.newest }, newer: nil)
        let place = free.popLast() ?? entries.count
        if place == entries.count {
            entries.append(entry)
            slots.append((made, answer))
        } else {
            entries[place] = entry
            slots[place] = (made, answer)
        }
        places[key] = place
        guard let file else { return }
        if let older = entry.older { entries[older]?.newer = place }
        files[file] = (place, (files[file]?.count ?? 0) &+ 1)
    }

    /// Removes an answer that chance picks.
    private func removeAny() {
        var place = Int.random(in: entries.indices, using: &generator)
        while entries[place] == nil { place = place &+ 1 < entries.count ? place &+ 1 : 0 }
        remove(at: place)
    }

    private func remove(at place: Int) {
        guard let entry = entries[place] else { return }
        entries[place] = nil
        slots[place] = (0, nil)
        bytes &-= entry.cost
        free.append(place)
        places[entry.key] = nil
        if case .rule(let rule) = entry.key { latest[rule.index & (latest.count &- 1)] = nil }
        if let newer = entry.newer { entries[newer]?.older = entry.older }
        if let older = entry.older { entries[older]?.newer = entry.newer }
        guard let file = entry.file, let chain = files[file] else { return }
        let newest = entry.newer == nil ? entry.older : chain.newest
        files[file] = newest.map { ($0, chain.count &- 1) }
    }

    private static func hash(_ rule: RuleID, _ url: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(rule)
        hasher.combine(bytes: url)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
