import Glibc

/// The clients that have lately given wrong credentials, and how long each has to wait before it may try again.
///
/// The first five failures of an address cost nothing; after each further one it waits, a second at first and twice as
/// long every time, up to 30 seconds. After ten minutes without a failure all are forgotten. Right credentials take
/// back the failures with the same name, but no others: otherwise a user could guess another's password for ever, by
/// giving their own in between.
///
/// Wider networks of IPv6, of which one party may have all addresses, have an ``Allowance``, and so have all addresses of
/// a link together: who is in one that has used it up waits. So has each name: where many have failed with it, an
/// address that has failed itself waits from its first failure on. One that hasn't is checked as far as names go, so
/// that nobody elsewhere can lock the name's owner out.
///
/// The time is a parameter: nanoseconds of the monotonic clock.
public struct FailedAttempts {
    private struct Entry {
        var failures: Int
        var last: UInt64
        /// How many of them were for which name. Only so many names are kept; failures with others are not taken back.
        var names: [Name: Int]
    }

    /// Addresses that are counted together.
    public struct Network: Hashable, Sendable {
        enum Width: Hashable, Sendable {
            /// An address of IPv4 or of a link, or the IPv6 network whose addresses belong to one machine.
            case client
            case bits56
            /// A /48, or all link-local addresses.
            case bits48

            /// How many failures cost nothing.
            var free: Int {
                switch self {
                case .client: FailedAttempts.free
                case .bits56: 4 * FailedAttempts.free
                case .bits48: 16 * FailedAttempts.free
                }
            }
        }

        let width: Width
        fileprivate let bytes: [UInt8]
    }

    /// What a client is known by: its address; of a global or unique local IPv6 one the first 64 bits, since one
    /// machine has all the others; an IPv4 one is the same where a socket for IPv6 sees it. Link-local ones have the
    /// first 64 bits in common, on all machines of a link, which are counted as a /48 is.
    public struct Client: Hashable, Sendable {
        /// The client itself, then the networks that it is in, the narrowest one first.
        let networks: [Network]

        /// - Parameter address: as inet_ntop(3) writes it; any other text is a client of its own.
        public init(_ address: String) {
            var parts = in6_addr()
            // An address of a link may have the link's name behind it.
            let withoutZone = String(address.prefix { $0 != "%" })
            guard address.contains(":"), inet_pton(AF_INET6, withoutZone, &parts) == 1 else {
                networks = [Network(width: .client, bytes: Array(address.utf8))]
                return
            }
            networks = withUnsafeBytes(of: parts) { all in
                if all.prefix(10).allSatisfy({ $0 == 0 }), all[10] == 0xff, all[11] == 0xff {
                    let text = all[12...].map { String($0) }.joined(separator: ".")
                    return [Network(width: .client, bytes: Array(text.utf8))]
                }
                if all[0] == 0xfe, all[1] & 0xc0 == 0x80 {
                    return [
                        Network(width: .client, bytes: Array(all)),
                        Network(width: .bits48, bytes: Array(all.prefix(8))),
                    ]
                }
                guard all[0] & 0xe0 == 0x20 || all[0] & 0xfe == 0xfc else {
                    return [Network(width: .client, bytes: Array(all))]
                }
                return [
                    Network(width: .client, bytes: Array(all.prefix(8))),
                    Network(width: .bits56, bytes: Array(all.prefix(7))),
                    Network(width: .bits48, bytes: Array(all.prefix(6))),
                ]
            }
        }

        fileprivate var itself: Network { networks[0] }
    }

    /// A name that credentials are for, whether it is anybody's or not: a hash, since clients choose its length.
    public struct Name: Hashable, Sendable {
        private let hash: Int

        /// - Parameter bytes: the name as the credentials have it.
        public init(_ bytes: [UInt8]) {
            var hasher = Hasher()
            hasher.combine(bytes)
            hash = hasher.finalize()
        }
    }

    static let free = 5
    static let longestWait: UInt64 = 30_000_000_000
    static let memory: UInt64 = 600_000_000_000
    static let capacity = 4096
    /// How many failures with a name, of all clients together, have no effect.
    static let freeForName = 100
    /// Names of which an address's failures are told apart.
    static let namesOfClient = 16

    private var entries: [Network: Entry] = [:]
    private var wide = Allowance<Network>()
    private var names = Allowance<Name>()

    /// Nanoseconds that the client still has to wait before it may try with a name; 0 where it may.
    func wait(_ client: Client, _ name: Name, now: UInt64) -> UInt64 {
        var longest = waitOfItself(client, name, now)
        for network in client.networks.dropFirst() {
            longest = max(longest, wide.wait(network, free: network.width.free, now: now))
        }
        return longest
    }

    private func waitOfItself(_ client: Client, _ name: Name, _ now: UInt64) -> UInt64 {
        guard let entry = entries[client.itself] else { return 0 }
        let age = FailedAttempts.age(entry, now)
        let free = free(client.itself, name, now: now)
        let failures = failures(entry, name, free: free)
        guard failures > free, age <= FailedAttempts.memory else { return 0 }
        let doublings = min(failures &- free &- 1, 5)
        let wait = min(1_000_000_000 << UInt64(doublings), FailedAttempts.longestWait)
        return age < wait ? wait &- age : 0
    }

    /// How many failures with a name cost a network nothing.
    func free(_ network: Network, _ name: Name, now: UInt64) -> Int {
        guard network.width == .client else { return network.width.free }
        return names.wait(name, free: FailedAttempts.freeForName, now: now) > 0 ? 0 : FailedAttempts.free
    }

    /// The failures of a client that count for a name: where the name's are used up, those with that name alone, so
    /// that whoever shares the owner's address can't make the owner wait by failing with another.
    private func failures(_ entry: Entry, _ name: Name, free: Int) -> Int {
        free == 0 ? entry.names[name] ?? 0 : entry.failures
    }

    /// How often clients of the network have failed lately, as it counts for a name.
    func count(_ network: Network, _ name: Name, now: UInt64) -> Int {
        guard network.width == .client else { return wide.count(network, now: now) }
        guard let entry = entries[network], FailedAttempts.age(entry, now) <= FailedAttempts.memory else { return 0 }
        return failures(entry, name, free: free(network, name, now: now))
    }

    mutating func failed(_ client: Client, _ name: Name, now: UInt64) {
        var entry = entries[client.itself] ?? Entry(failures: 0, last: now, names: [:])
        if FailedAttempts.age(entry, now) > FailedAttempts.memory { entry = Entry(failures: 0, last: now, names: [:]) }
        entry.failures &+= 1
        entry.last = max(entry.last, now)
        if entry.names[name] != nil || entry.names.count < FailedAttempts.namesOfClient {
            entry.names[name, default: 0] &+= 1
        }
        if entries[client.itself] == nil, entries.count >= FailedAttempts.capacity { makeRoom(now) }
        entries[client.itself] = entry
        for network in client.networks.dropFirst() { wide.spend(network, free: network.width.free, now: now) }
        names.spend(name, free: FailedAttempts.freeForName, now: now)
    }

    /// Takes back the client's own failures with the name; what was counted against others, or its networks, stays.
    mutating func succeeded(_ client: Client, _ name: Name) {
        guard var entry = entries[client.itself], let own = entry.names.removeValue(forKey: name) else { return }
        entry.failures &-= own
        entries[client.itself] = entry.failures > 0 ? entry : nil
    }

    /// Event loops read the clock before they come here, so that one may be behind another.
    private static func age(_ entry: Entry, _ now: UInt64) -> UInt64 { now > entry.last ? now &- entry.last : 0 }

    /// Forgets what is old, else the client that failed the longest time ago.
    private mutating func makeRoom(_ now: UInt64) {
        entries = entries.filter { FailedAttempts.age($0.value, now) <= FailedAttempts.memory }
        guard entries.count >= FailedAttempts.capacity,
            let oldest = entries.min(by: { $0.value.last < $1.value.last })
        else { return }
        entries[oldest.key] = nil
    }
}

/// Failures that are counted for many parties together: a number of them is free, and one more every 30 seconds.
///
/// Bounded: a full table drops the key that owes least.
struct Allowance<Key: Hashable> {
    /// Nanoseconds until one failure is forgotten.
    static var interval: UInt64 { FailedAttempts.longestWait }

    /// When all failures of a key are forgotten.
    private var paidAt: [Key: UInt64] = [:]

    /// Counts a failure.
    ///
    /// Ten minutes after the last failure only the free ones still count, however many there were: nobody can block a
    /// name for longer.
    mutating func spend(_ key: Key, free: Int, now: UInt64) {
        if paidAt[key] == nil, paidAt.count >= FailedAttempts.capacity { makeRoom(now) }
        let ceiling = now &+ UInt64(max(0, free)) &* Self.interval &+ FailedAttempts.memory
        paidAt[key] = min(max(paidAt[key] ?? 0, now) &+ Self.interval, ceiling)
    }

    /// How many failures are not forgotten yet.
    func count(_ key: Key, now: UInt64) -> Int {
        Int(clamping: (debt(key, now) &+ Self.interval &- 1) / Self.interval)
    }

    /// Nanoseconds until no more than the free ones are left.
    func wait(_ key: Key, free: Int, now: UInt64) -> UInt64 {
        let allowed = UInt64(max(0, free)) &* Self.interval
        let debt = debt(key, now)
        return debt > allowed ? debt &- allowed : 0
    }

    private func debt(_ key: Key, _ now: UInt64) -> UInt64 {
        guard let paid = paidAt[key], paid > now else { return 0 }
        return paid &- now
    }

    private mutating func makeRoom(_ now: UInt64) {
        paidAt = paidAt.filter { $0.value > now }
        guard paidAt.count >= FailedAttempts.capacity, let least = paidAt.min(by: { $0.value < $1.value }) else {
            return
        }
        paidAt[least.key] = nil
    }
}
