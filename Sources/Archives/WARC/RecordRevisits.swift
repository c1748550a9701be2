/// Finds what revisits stand for: a record that has the body (WARC 1.1 §6.7).
struct RecordRevisits {
    struct Revisit {
        var entry: Int
        /// 0 where the record has no fields of its own, or 304 stands for another's.
        var status = 0
        var refersTo: RecordKey?
        /// In normal form.
        var url: [UInt8] = []
        var date: Int64?
        var digest: RecordKey?
    }

    private struct URLDate: Hashable {
        var url: [UInt8]
        var date: Int64
    }

    /// By entry.
    private var ids: ContiguousArray<RecordKey> = []
    private var digests: ContiguousArray<RecordKey> = []
    private(set) var revisits: [Revisit] = []

    mutating func add(_ id: RecordKey?, digest: RecordKey?) {
        ids.append(id ?? .none)
        digests.append(digest ?? .none)
    }

    mutating func add(_ revisit: Revisit) { revisits.append(revisit) }

    /// - Returns: for each revisit the entry that has its body; none for those that no entry has.
    func resolved(_ table: EntryTable) -> [Int: Int] {
        guard !revisits.isEmpty else { return [:] }
        let areRevisits = Set(revisits.map(\.entry))
        let byID = first(of: ids, among: Set(revisits.compactMap(\.refersTo)), but: [])
        let byDigest = first(of: digests, among: Set(revisits.compactMap(\.digest)), but: areRevisits)
        let byURL = entries(table, but: areRevisits)
        var direct: [Int: Int] = [:]
        for revisit in revisits {
            var target = revisit.refersTo.flatMap { byID[$0] }
            if target == nil || target == revisit.entry, let date = revisit.date {
                target = byURL[URLDate(url: revisit.url, date: date)]
            }
            if target == nil || target == revisit.entry { target = revisit.digest.flatMap { byDigest[$0] } }
            if let target, target != revisit.entry { direct[revisit.entry] = target }
        }
        return direct.compactMapValues { RecordRevisits.follow($0, direct, areRevisits) }
    }

    /// What a revisit of a revisit leads to in the end.
    private static func follow(_ entry: Int, _ direct: [Int: Int], _ revisits: Set<Int>) -> Int? {
        var entry = entry
        for _ in 0..<16 {
            guard revisits.contains(entry) else { return entry }
            guard let next = direct[entry] else { return nil }
            entry = next
        }
        return nil
    }

    private func first(
        of keys: ContiguousArray<RecordKey>, among wanted: Set<RecordKey>, but others: Set<Int>
    ) -> [RecordKey: Int] {
        guard !wanted.isEmpty else { return [:] }
        var found: [RecordKey: Int] = [:]
        for (entry, key) in keys.enumerated()
        where wanted.contains(key) && found[key] == nil && !others.contains(entry) { found[key] = entry }
        return found
    }

    private func entries(_ table: EntryTable, but others: Set<Int>) -> [URLDate: Int] {
        let wanted = Set(revisits.compactMap { revisit in revisit.date.map { URLDate(url: revisit.url, date: $0) } })
        guard !wanted.isEmpty else { return [:] }
        let dates = Set(wanted.map(\.date))
        var found: [URLDate: Int] = [:]
        for index in 0..<table.count where !others.contains(index) {
            guard let time = table[index].time, dates.contains(time) else { continue }
            let key = URLDate(url: Array(table[index].url), date: time)
            if wanted.contains(key), found[key] == nil { found[key] = index }
        }
        return found
    }
}
