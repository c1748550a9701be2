import Basics
import Substitution
import Synchronization

/// Which entries of archives each client has had, so that requests that are repeated get the recorded responses in
/// turn; shared by all event loops.
///
/// Of the clients the last ``capacity`` are kept, and of the entries that they had ``entryCapacity`` in all. Where
/// there are more, one goes of the network that has most clients, the one that was here longest ago. Who is gone begins
/// anew.
final class ClientSequences: Sendable {
    fileprivate struct Key: Hashable {
        let archive: UInt64
        let entry: Int
    }

    fileprivate struct History {
        var had: Set<Key> = []
        /// What the last GET got of those that are told apart only by their turn, by the first of them.
        var last: [Key: Int] = [:]
        /// Entries with methods that change something.
        var changes: [UInt64: Set<Int>] = [:]
        var lastUse: UInt64 = 0
        let network: Int
    }

    fileprivate struct State {
        var clients: [TurnClient: History] = [:]
        var entryCount = 0
        var uses: UInt64 = 0
        var networks = NetworkCounts()
    }

    static let capacity = 1000
    static let entryCapacity = 1_000_000

    private let state = Mutex(State())

    /// Takes the entry whose turn it is for a client.
    ///
    /// - Parameters:
    ///   - chosen: entries that are told apart only by whose turn it is, in the order of the archive; one at least.
    ///   - counts: whether the request takes a turn; else it gets what the last one that did has got.
    func take(_ chosen: [Int], of candidates: ArchiveCandidates, for client: TurnClient, counts: Bool) -> Int {
        let archive = candidates.archive
        let generation = archive.generation
        return state.withLock { state in
            state.uses &+= 1
            var history = state.clients.removeValue(forKey: client) ?? History(network: state.networks.add(client))
            history.lastUse = state.uses
            let lastChange = ClientSequences.lastChange(chosen, archive, history.changes[generation])
            let open = candidates.inState(chosen, lastChange: lastChange)
            let group = Key(archive: generation, entry: chosen.first ?? 0)
            let number: Int
            if !counts, let last = history.last[group] {
                number = last
            } else {
                number =
                    open.first { !history.had.contains(Key(archive: generation, entry: $0)) } ?? open.last
                    ?? chosen.first ?? 0
            }
            if counts {
                if history.had.insert(Key(archive: generation, entry: number)).inserted { state.entryCount += 1 }
                history.last[group] = number
                if archive.changesSomething(number) { history.changes[generation, default: []].insert(number) }
            }
            state.clients[client] = history
            state.makeRoom(keeping: client)
            return number
        }
    }

    private static func lastChange(_ chosen: [Int], _ archive: MapArchive, _ changes: Set<Int>?) -> Int? {
        guard chosen.count > 1, let changes, !changes.isEmpty, let first = chosen.first else { return nil }
        return archive.changes(around: first).last { changes.contains($0) }
    }

    /// Begins all clients anew.
    func reset() { state.withLock { $0 = State() } }

    /// Begins a client anew.
    func reset(_ client: TurnClient) {
        state.withLock { $0.remove(client) }
    }

    /// How many clients are kept, and entries of theirs.
    var counts: (clients: Int, entries: Int) { state.withLock { ($0.clients.count, $0.entryCount) } }
}

extension ClientSequences.State {
    fileprivate mutating func remove(_ client: TurnClient) {
        guard let history = clients.removeValue(forKey: client) else { return }
        entryCount -= history.had.count
        networks.remove(client, of: history.network)
    }

    /// Drops clients of the networks that have most, and of these the ones that were here longest ago.
    fileprivate mutating func makeRoom(keeping client: TurnClient) {
        while clients.count > ClientSequences.capacity
            || (entryCount > ClientSequences.entryCapacity && clients.count > 1)
        {
            let crowded = networks.crowded
            let others = clients.lazy.filter { $0.key != client }
            let oldest =
                others.filter { crowded.contains($0.value.network) }.min { $0.value.lastUse < $1.value.lastUse }
                ?? others.min { $0.value.lastUse < $1.value.lastUse }
            guard let oldest else { return }
            remove(oldest.key)
        }
    }
}
