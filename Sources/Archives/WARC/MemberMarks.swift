import Synchronization

/// A state of a gzip member while it is decoded, from which reading can go on.
struct MemberMark: @unchecked Sendable {
    // The inflater is only copied, which reads it and no more.

    /// Where the member begins in the file.
    let member: Int
    /// Where ``window`` begins in the decoded member.
    let position: Int
    /// What was decoded from there on.
    let window: [UInt8]
    /// Where the compressed bytes go on.
    let filePosition: Int
    let inflater: Inflater

    /// Roughly the bytes that it takes: zlib's state has a window of 32 KiB.
    var cost: Int { window.count + 48 << 10 }
}

/// States of the gzip members that have several records, so that none has to be decoded from its beginning for each of
/// them. Those of reading the index are apart by 128 KiB of decoded bytes, or by more where that would take more
/// than 16 MiB of memory; beside them are those of the records that were read last.
final class MemberMarks: Sendable {
    fileprivate struct State {
        /// In the order of the file.
        var kept: [MemberMark] = []
        var cost = 0
        var spacing = MemberMarks.leastSpacing
        var recent: [MemberMark] = []
    }

    static let leastSpacing = 131_072
    private static let mostBytes = 16 << 20
    private static let mostRecent = 4
    private let state = Mutex(State())

    /// Whether a state is worth keeping while the index is read.
    func wants(_ member: Int, _ position: Int) -> Bool {
        state.withLock { state in
            let last = state.kept.last.map { $0.member == member ? $0.position : 0 } ?? 0
            return position - last >= state.spacing
        }
    }

    /// Keeps a state; those before it came before.
    func keep(_ mark: MemberMark) {
        state.withLock { state in
            state.kept.append(mark)
            state.cost += mark.cost
            while state.cost > MemberMarks.mostBytes, state.kept.count > 1 { state.thin() }
        }
    }

    /// Keeps the state in which a record was found, for those that are read next.
    func note(_ mark: MemberMark) {
        state.withLock { state in
            if state.recent.count == MemberMarks.mostRecent { state.recent.removeFirst() }
            state.recent.append(mark)
        }
    }

    /// The state that is nearest before a record; nil for none.
    func nearest(_ place: RecordPlace) -> MemberMark? {
        state.withLock { state in
            var low = 0
            var high = state.kept.count
            while low < high {
                let middle = (low + high) / 2
                let mark = state.kept[middle]
                let isBefore = (mark.member, mark.position) <= (place.offset, place.inner)
                if isBefore { low = middle + 1 } else { high = middle }
            }
            let known = (low > 0 ? [state.kept[low - 1]] : []) + state.recent
            return known.filter { $0.member == place.offset && $0.position <= place.inner }
                .max { $0.position < $1.position }
        }
    }

    /// How many are kept, and what they take.
    var size: (count: Int, bytes: Int) { state.withLock { ($0.kept.count, $0.cost) } }
}

extension MemberMarks.State {
    /// Doubles what they are apart by, and drops those between.
    fileprivate mutating func thin() {
        spacing *= 2
        var left: [MemberMark] = []
        for mark in kept {
            let last = left.last.map { $0.member == mark.member ? $0.position : 0 } ?? 0
            if mark.position - last >= spacing { left.append(mark) }
        }
        kept = left
        cost = left.reduce(0) { $0 + $1.cost }
    }
}
