import Files
import HTTPSemantics
import NIOCore
import Substitution

/// The answers that one event loop has ready, by rule, or by rule and URL where the rule answers many.
final class AnswerTable {
    private struct Entry {
        let rule: RuleID
        let url: [UInt8]
        let answer: ReadyAnswer
    }

    /// Answers kept at the most; beyond it the table starts afresh. Bodies are the store's, so an entry is small.
    static let capacity = 8192

    private var constant: [RuleID: ReadyAnswer] = [:]
    /// In front of `constant`, the answers that were asked for last, each in the place that its rule's number gives.
    private var latest = ContiguousArray<(rule: RuleID, answer: ReadyAnswer)?>(repeating: nil, count: 64)
    private var byURL: [UInt64: Entry] = [:]
    /// In front of all, the plain answers to targets that were asked for last.
    private var targets = KnownTargets()

    /// What the target of a request was found to name.
    @inline(__always)
    func find(target: UnsafeRawBufferPointer) -> KnownTargets.Target? { targets.find(target) }

    /// Notes what a plain GET of a target is answered with, whatever its fields and the request before it were.
    func note(_ answer: ReadyAnswer, for target: UnsafeRawBufferPointer, url: ByteBuffer) {
        targets.note(target, url: url, answer: answer)
    }

    /// The answer of a rule that gives the same one for every URL it matches.
    @inline(__always)
    func find(_ rule: RuleID) -> ReadyAnswer? {
        let place = rule.index & (latest.count &- 1)
        if let found = latest[place], found.rule == rule { return found.answer }
        guard let answer = constant[rule] else { return nil }
        latest[place] = (rule, answer)
        return answer
    }

    /// The answer of a rule for a URL; `url` is the part that the answer depends on.
    func find(_ rule: RuleID, url: UnsafeRawBufferPointer) -> ReadyAnswer? {
        guard let entry = byURL[AnswerTable.hash(rule, url)], entry.rule == rule,
            entry.url.elementsEqual(url)
        else { return nil }
        return entry.answer
    }

    func insert(_ answer: ReadyAnswer, for rule: RuleID) {
        if constant.count >= AnswerTable.capacity {
            constant.removeAll(keepingCapacity: true)
            forgetLatest()
            targets.forget { _ in true }
        }
        latest[rule.index & (latest.count &- 1)] = nil
        forgetTargets(of: constant.updateValue(answer, forKey: rule))
    }

    func insert(_ answer: ReadyAnswer, for rule: RuleID, url: UnsafeRawBufferPointer) {
        if byURL.count >= AnswerTable.capacity {
            byURL.removeAll(keepingCapacity: true)
            targets.forget { _ in true }
        }
        let entry = Entry(rule: rule, url: Array(url), answer: answer)
        forgetTargets(of: byURL.updateValue(entry, forKey: AnswerTable.hash(rule, url))?.answer)
    }

    func remove(_ rule: RuleID) {
        latest[rule.index & (latest.count &- 1)] = nil
        forgetTargets(of: constant.removeValue(forKey: rule))
    }

    func remove(_ rule: RuleID, url: UnsafeRawBufferPointer) {
        forgetTargets(of: byURL.removeValue(forKey: AnswerTable.hash(rule, url))?.answer)
    }

    /// Forgets answers made from a file, because the store has given its bytes up.
    func remove(file key: FileKey) {
        constant = constant.filter { $0.value.file?.key != key }
        forgetLatest()
        byURL = byURL.filter { $0.value.answer.file?.key != key }
        targets.forget { $0.file?.key == key }
    }

    private func forgetTargets(of answer: ReadyAnswer?) {
        guard let answer else { return }
        targets.forget { $0 === answer }
    }

    private func forgetLatest() {
        for place in latest.indices { latest[place] = nil }
    }

    private static func hash(_ rule: RuleID, _ url: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(rule)
        hasher.combine(bytes: url)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
