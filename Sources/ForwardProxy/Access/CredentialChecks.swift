/// Which credentials are being checked, and which wait for the end of other checks. Pure; the time is a parameter:
/// nanoseconds of the monotonic clock.
///
/// What is being checked is no failure, but may become one. So of one client's no more are checked at once than could
/// fail before it had to wait (``FailedAttempts``), and one where that many have failed already; the next ones are
/// postponed until one of these has ended. Many guesses at once are no way around the wait then, and many right
/// credentials from behind one address need just some patience.
struct CredentialChecks<Key: Hashable, Waiter> {
    typealias Client = FailedAttempts.Client

    private struct Check {
        /// The client that it was begun for.
        var client: Client
        var waiters: [(client: Client, waiter: Waiter)]
    }

    /// What is to be done with credentials.
    enum Placement: Equatable {
        case begins, waits
        /// So many nanoseconds have to pass before the client may try again.
        case mustWait(UInt64)
        case tooMany
    }

    private var checks: [Key: Check] = [:]
    /// How many of the checks were begun for each client.
    private var counts: [Client: Int] = [:]
    private var postponed: [Client: [(key: Key, waiter: Waiter)]] = [:]
    private var postponedCount = 0
    private var failures = FailedAttempts()

    /// Checks under way and postponed; more are refused.
    static var limit: Int { 64 }

    /// Those that are postponed for one client at the most, so that it leaves room for others.
    static var postponedLimit: Int { 32 }

    /// Takes credentials in.
    ///
    /// - Parameter key: the same for the same credentials, which are checked once.
    mutating func add(_ waiter: Waiter, of client: Client, key: Key, now: UInt64) -> Placement {
        let wait = failures.wait(client, now: now)
        guard wait == 0 else { return .mustWait(wait) }
        if checks[key] != nil {
            checks[key]?.waiters.append((client, waiter))
            return .waits
        }
        guard checks.count &+ postponedCount < Self.limit else { return .tooMany }
        let underWay = counts[client] ?? 0
        guard underWay == 0 || failures.count(client, now: now) &+ underWay <= FailedAttempts.free else {
            guard postponed[client]?.count ?? 0 < Self.postponedLimit else { return .tooMany }
            postponed[client, default: []].append((key, waiter))
            postponedCount &+= 1
            return .waits
        }
        checks[key] = Check(client: client, waiters: [(client, waiter)])
        counts[client] = underWay &+ 1
        return .begins
    }

    /// Ends a check.
    ///
    /// - Parameter isRight: whether the credentials were right; nil where that was not found out.
    /// - Returns: who waited for it, and what was postponed until now and has to be added again, in its order.
    mutating func finish(
        _ key: Key, isRight: Bool?, now: UInt64
    ) -> (done: [Waiter], postponed: [(client: Client, waiter: Waiter)]) {
        guard let check = checks.removeValue(forKey: key) else { return ([], []) }
        let left = (counts[check.client] ?? 1) &- 1
        counts[check.client] = left > 0 ? left : nil
        if let isRight {
            for client in Set(check.waiters.map(\.client)) {
                if isRight { failures.succeeded(client) } else { failures.failed(client, now: now) }
            }
        }
        let freed = postponed.removeValue(forKey: check.client) ?? []
        postponedCount &-= freed.count
        return (check.waiters.map(\.waiter), freed.map { (check.client, $0.waiter) })
    }
}
