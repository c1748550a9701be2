/// Which credentials are being checked, and which wait for the end of other checks. Pure; the time is a parameter:
/// nanoseconds of the monotonic clock.
///
/// Each check under way may become a failure. So a client, and each network that it is in, has no more checks at once
/// than could fail before it had to wait (``FailedAttempts``), and one at a time where that many have failed already;
/// further ones are postponed until a check ends. So a client can't avoid the wait by making many guesses at once, and
/// right credentials, however many come from one address, only wait a little.
public struct CredentialChecks<Key: Hashable, Waiter> {
    /// What clients are known by.
    public typealias Client = FailedAttempts.Client
    /// A name that credentials are for.
    public typealias Name = FailedAttempts.Name
    typealias Network = FailedAttempts.Network

    private struct Check {
        /// The client that it was begun for.
        var client: Client
        var name: Name
        var waiters: [(client: Client, waiter: Waiter)]
    }

    /// What happens to credentials.
    public enum Placement: Equatable {
        /// They are to be checked now.
        case begins
        /// Another check has to end first; ``finish(_:isRight:now:)`` tells.
        case waits
        /// So many nanoseconds have to pass before the client may try again.
        case mustWait(UInt64)
        /// Too many wait already.
        case tooMany
    }

    private var checks: [Key: Check] = [:]
    /// How many of the checks were begun for clients of each network.
    private var counts: [Network: Int] = [:]
    /// What waits for the end of a check that was begun for a client of the network.
    private var postponed: [Network: [(client: Client, waiter: Waiter)]] = [:]
    private var postponedCount = 0
    private var failures = FailedAttempts()

    /// Checks under way and postponed; more are refused.
    static var limit: Int { 64 }

    /// The most that are postponed for one network, so that there is room for others.
    static var postponedLimit: Int { 32 }

    /// No checks, no failures.
    public init() {}

    /// Takes credentials in.
    ///
    /// - Parameters:
    ///   - waiter: what is to be told.
    ///   - client: who gave them.
    ///   - name: the one that the credentials are for.
    ///   - key: the same for the same credentials, which are checked once.
    ///   - now: nanoseconds of the monotonic clock.
    public mutating func add(_ waiter: Waiter, of client: Client, name: Name, key: Key, now: UInt64) -> Placement {
        let wait = failures.wait(client, name, now: now)
        guard wait == 0 else { return .mustWait(wait) }
        if checks[key] != nil {
            checks[key]?.waiters.append((client, waiter))
            return .waits
        }
        guard checks.count &+ postponedCount < Self.limit else { return .tooMany }
        for network in client.networks {
            let underWay = counts[network] ?? 0
            let free = failures.free(network, name, now: now)
            guard underWay > 0, failures.count(network, name, now: now) &+ underWay > free else { continue }
            guard postponed[network]?.count ?? 0 < Self.postponedLimit else { return .tooMany }
            postponed[network, default: []].append((client, waiter))
            postponedCount &+= 1
            return .waits
        }
        checks[key] = Check(client: client, name: name, waiters: [(client, waiter)])
        for network in client.networks { counts[network, default: 0] &+= 1 }
        return .begins
    }

    /// Ends a check.
    ///
    /// - Parameters:
    ///   - key: the credentials that were checked.
    ///   - isRight: whether the credentials were right; nil if they were not checked after all.
    ///   - now: nanoseconds of the monotonic clock.
    /// - Returns: who waited for it, and what was postponed until now and has to be added again, in its order.
    public mutating func finish(
        _ key: Key, isRight: Bool?, now: UInt64
    ) -> (done: [Waiter], postponed: [(client: Client, waiter: Waiter)]) {
        guard let check = checks.removeValue(forKey: key) else { return ([], []) }
        if let isRight {
            for client in Set(check.waiters.map(\.client)) {
                if isRight {
                    failures.succeeded(client, check.name)
                } else {
                    failures.failed(client, check.name, now: now)
                }
            }
        }
        var freed: [(client: Client, waiter: Waiter)] = []
        for network in check.client.networks {
            let left = (counts[network] ?? 1) &- 1
            counts[network] = left > 0 ? left : nil
            freed += postponed.removeValue(forKey: network) ?? []
        }
        postponedCount &-= freed.count
        return (check.waiters.map(\.waiter), freed)
    }
}
