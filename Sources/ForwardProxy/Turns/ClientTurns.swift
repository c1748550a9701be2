import Authentication
import HTTPSemantics
import Synchronization

/// Who has a turn of its own: an IP address, and the user's name where one is given.
///
/// The name needs no password where the proxy asks for none: `http_proxy=http://worker-3@127.0.0.1:8888` gives each
/// worker of a test its own turns. It never stands for more than a part of its address.
struct TurnClient: Hashable, Sendable {
    let address: String
    let user: [UInt8]?

    init(address: String, user: [UInt8]? = nil) {
        self.address = address
        self.user = user
    }

    /// The client of a request for a mapped URL. In a decrypted tunnel fields are for the origin, so the name is the
    /// one that the tunnel was asked for with.
    init(_ request: Request, _ client: any ExchangeClient) {
        address = client.address
        user = client.secured.map(\.user) ?? TurnClient.user(request.head.fields, .proxyAuthorization)
    }

    /// The client of a request for a page of the proxy's own.
    ///
    /// Where there is access control, the field counts that it looks at for the request's form. Elsewhere both do.
    init(ownSite fields: FieldSection, address: String, isProxied: Bool, hasAccessControl: Bool) {
        self.address = address
        let proxied = TurnClient.user(fields, .proxyAuthorization)
        let direct = TurnClient.user(fields, .authorization)
        user = hasAccessControl ? (isProxied ? proxied : direct) : proxied ?? direct
    }

    /// The user's name in a field with Basic credentials (RFC 7617); nil where there is none to be read.
    static func user(_ fields: FieldSection, _ field: FieldName) -> [UInt8]? {
        guard fields.count(of: field) == 1 else { return nil }
        return fields.withFirst(field) { BasicCredentials($0)?.name } ?? nil
    }
}

/// The turns that clients have had with answers in turn; shared by all event loops, so that each turn is taken once.
///
/// Of the clients the last ``capacity`` are kept, and of their turns ``turnCapacity`` in all. Where there are more, one
/// client goes of the network that has most of them, the one that was here longest ago: so nobody drives out others by
/// asking under many names. Who is gone begins anew.
final class ClientTurns: Sendable {
    fileprivate struct Entry {
        /// The next turn of each rule.
        var turns: [UInt64: Int] = [:]
        var lastUse: UInt64
        let network: Int
    }

    fileprivate struct State {
        var clients: [TurnClient: Entry] = [:]
        /// How many turns all of them have together.
        var turnCount = 0
        var uses: UInt64 = 0
        var networks = NetworkCounts()
    }

    static let capacity = 1000
    static let turnCapacity = 100_000

    private let state = Mutex(State())

    /// Takes a client's next turn of a rule.
    ///
    /// - Parameters:
    ///   - rule: ``Substitution/AnswersInTurn/identity``.
    ///   - following: the turn after one.
    func take(_ rule: UInt64, of client: TurnClient, following: (Int) -> Int) -> Int {
        state.withLock { state in
            state.uses &+= 1
            if state.clients[client] == nil { state.add(client) }
            let turn = state.clients[client]?.turns[rule]
            state.clients[client]?.lastUse = state.uses
            state.clients[client]?.turns[rule] = following(turn ?? 0)
            if turn == nil { state.addTurn() }
            return turn ?? 0
        }
    }

    /// The turn that a client would take, without taking it.
    func next(_ rule: UInt64, of client: TurnClient) -> Int {
        state.withLock { $0.clients[client]?.turns[rule] ?? 0 }
    }

    /// Begins all turns anew.
    func reset() { state.withLock { $0 = State() } }

    /// Begins a client's turns anew.
    func reset(_ client: TurnClient) { state.withLock { $0.remove(client) } }

    /// Forgets the turns of rules that there are no more.
    func keep(only rules: Set<UInt64>) {
        state.withLock { state in
            guard !rules.isEmpty else {
                state = State()
                return
            }
            state.clients = state.clients.mapValues { entry in
                var entry = entry
                entry.turns = entry.turns.filter { rules.contains($0.key) }
                return entry
            }
            state.turnCount = state.clients.values.reduce(0) { $0 + $1.turns.count }
        }
    }

    /// How many clients are kept, and turns of theirs.
    var counts: (clients: Int, turns: Int) { state.withLock { ($0.clients.count, $0.turnCount) } }
}

extension ClientTurns.State {
    fileprivate mutating func add(_ client: TurnClient) {
        if clients.count >= ClientTurns.capacity { makeRoom() }
        clients[client] = ClientTurns.Entry(lastUse: uses, network: networks.add(client))
    }

    /// Counts a turn more, and makes room for it.
    fileprivate mutating func addTurn() {
        turnCount += 1
        while turnCount > ClientTurns.turnCapacity, clients.count > 1 { makeRoom() }
    }

    fileprivate mutating func remove(_ client: TurnClient) {
        guard let entry = clients.removeValue(forKey: client) else { return }
        turnCount -= entry.turns.count
        networks.remove(client, of: entry.network)
    }

    /// Drops the client that was here longest ago, of those networks that have most.
    private mutating func makeRoom() {
        let crowded = networks.crowded
        let oldest = clients.lazy.filter { crowded.contains($0.value.network) }
            .min { $0.value.lastUse < $1.value.lastUse }
        if let oldest { remove(oldest.key) }
    }
}
