import Archives
import HTTPSemantics
import NIOCore
public import Substitution
import Synchronization

/// What was answered from archives, and what was missed: shared by all event loops, read at the end.
public final class ReplayReport: Sendable {
    /// A request that was missed, as often as it was.
    public struct Miss: Sendable {
        public let method: String
        /// The whole URL; `host:port` of a CONNECT.
        public let url: String
        public let reason: String
        /// Of what is not recorded: the entry that has the URL, and why it can't answer.
        public let unusable: String?
        /// What can be done about it.
        public let advice: String
        public let nearest: [ArchiveMiss.Nearest]
        public fileprivate(set) var count: Int

        /// About what it takes in memory.
        fileprivate var bytes: Int {
            nearest.reduce(200 + method.utf8.count + url.utf8.count + (unusable?.utf8.count ?? 0)) { bytes, nearest in
                nearest.differs.reduce(bytes + 100 + nearest.url.utf8.count) { $0 + 16 + $1.utf8.count }
            }
        }
    }

    private struct MissKey: Hashable {
        let method: String
        let url: String
    }

    /// The entries of an archive in one of its states that have answered, by their numbers from 0, with what names them
    /// in another state.
    private struct Answered {
        let path: String
        var entries: [Int: UInt64] = [:]
    }

    private struct State {
        /// By the archive's ``MapArchive/generation``.
        var answered: [UInt64: Answered] = [:]
        var answers: [String: Int] = [:]
        var misses: [MissKey: Int] = [:]
        var list: [Miss] = []
        /// What the list takes.
        var bytes = 0
        /// Hashes of the misses that are not kept, so that each counts once.
        var others: Set<Int> = []
        var missCount = 0
    }

    /// The most different misses that are kept.
    static let most = 10_000
    /// The most bytes that they may take: with URLs as long as they may be they are fewer.
    static let mostBytes = 32 << 20

    private let state = Mutex(State())
    /// Whether misses are left out.
    private let isIgnored: @Sendable (_ host: String, _ target: String?) -> Bool

    /// - Parameter isIgnored: whether misses of a host are left out, or of a path with its query; a CONNECT has none.
    ///   The default is none.
    public init(isIgnored: @escaping @Sendable (_ host: String, _ target: String?) -> Bool = { _, _ in false }) {
        self.isIgnored = isIgnored
    }

    func noteAnswer(_ archived: ArchivedAnswer, isKnown: Bool) {
        let (kind, archive, number) = (archived.step.kind, archived.archive, archived.number)
        state.withLock { state in
            state.answers[kind, default: 0] += 1
            guard !isKnown, state.answered[archive.generation]?.entries[number] == nil else { return }
            state.answered[archive.generation, default: Answered(path: archive.path)].entries[number] =
                archive.identity(of: number)
        }
    }

    func noteMiss(_ asked: AskedRequest, _ miss: ArchiveMiss) {
        note(asked, miss.reason.rawValue, miss.unusable, miss.advice, miss.nearest)
    }

    /// A request for a host that no archive has.
    func noteMissedHost(_ asked: AskedRequest, _ nearest: [ArchiveMiss.Nearest]) {
        note(asked, ArchiveMiss.Reason.host.rawValue, nil, ReplayReport.hostAdvice, nearest)
    }

    private static let hostAdvice = "Record it, map the URL, or give --missing forward; --ignore doesn't count a host."

    private func note(
        _ asked: AskedRequest, _ reason: String, _ unusable: String?, _ advice: String, _ nearest: [ArchiveMiss.Nearest]
    ) {
        guard !isIgnored(asked.uri.host, String(buffer: asked.uri.rawPathAndQuery)) else { return }
        note(
            Miss(
                method: String(decoding: asked.method.bytes, as: UTF8.self), url: asked.uri.description, reason: reason,
                unusable: unusable, advice: advice, nearest: nearest, count: 1))
    }

    /// A CONNECT that was refused.
    ///
    /// - Parameter isPortAllowed: whether it was since no archive has the host, and not for the port.
    func noteRefusedTunnel(host: String, port: UInt16, isPortAllowed: Bool = true) {
        guard !isIgnored(host, nil) else { return }
        note(
            Miss(
                method: "CONNECT", url: "\(host):\(port)", reason: "host", unusable: nil,
                advice: (isPortAllowed
                    ? "--decrypt tells what is asked for in tunnels" : "--connect-ports allows the port")
                    + "; --ignore doesn't count a host.", nearest: [], count: 1))
    }

    private func note(_ miss: Miss) {
        let key = MissKey(method: miss.method, url: miss.url)
        state.withLock { state in
            state.missCount += 1
            if let index = state.misses[key] {
                state.list[index].count += 1
            } else if state.list.count < ReplayReport.most, state.bytes + miss.bytes <= ReplayReport.mostBytes {
                state.misses[key] = state.list.count
                state.bytes += miss.bytes
                state.list.append(miss)
            } else {
                if state.others.count < 1_000_000 { state.others.insert(key.hashValue) }
            }
        }
    }

    /// The misses so far, and how many further different ones there were.
    public var misses: (list: [Miss], more: Int) { state.withLock { ($0.list, $0.others.count) } }

    /// How many requests were missed.
    public var missCount: Int { state.withLock { $0.missCount } }

    /// How many answers were found in each way: `exact`, `tolerant`, `nearest`.
    public func answers(_ kind: String) -> Int { state.withLock { $0.answers[kind] ?? 0 } }

    /// The entries of an archive that have answered, by their numbers from 0; also those that did in a state of its
    /// file which another one has replaced since, and that are still there: entries of the same method and URL are
    /// taken for the same, in their order.
    ///
    /// - Parameter others: further archives in force, which may be of the same file. The default is none.
    public func answered(_ archive: MapArchive, others: [MapArchive] = []) -> Set<Int> {
        let inForce = Set(others.map(\.generation))
        let (own, earlier) = state.withLock { state in
            let own = state.answered[archive.generation]?.entries.keys.map { $0 } ?? []
            let earlier = state.answered.filter { generation, answered in
                answered.path == archive.path && generation != archive.generation && !inForce.contains(generation)
            }
            return (own, earlier.values.map(\.entries))
        }
        var found = Set(own)
        guard !earlier.isEmpty else { return found }
        var places: [UInt64: [Int]] = [:]
        for number in 0..<archive.table.count where archive.isCounted(number) {
            places[archive.identity(of: number), default: []].append(number)
        }
        for entries in earlier {
            for (identity, members) in Dictionary(grouping: entries, by: \.value) {
                let (before, now) = (Set(members.map(\.key)), places[identity] ?? [])
                // Where they have moved, those that had their turn are the first.
                found.formUnion(before.isSubset(of: now) ? before : Set(now.prefix(before.count)))
            }
        }
        return found
    }
}
