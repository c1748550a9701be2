import Glibc

/// The clients that have lately given wrong credentials, and how long each has to wait before it may try again.
///
/// The first five failures cost nothing; after each further one the client waits, a second at first and twice as long
/// every time, up to 30 seconds. Ten minutes without a failure, or a success, and all is forgotten. The time is a
/// parameter: nanoseconds of the monotonic clock.
struct FailedAttempts {
    private struct Entry {
        var failures: Int
        var last: UInt64
    }

    /// What a client is known by: its address; of a global or unique local IPv6 one the first 64 bits, since one
    /// machine has all the others; an IPv4 one is the same where a socket for IPv6 sees it.
    struct Client: Hashable {
        private let bytes: [UInt8]

        init(_ address: String) {
            var parts = in6_addr()
            if address.contains(":"), inet_pton(AF_INET6, address, &parts) == 1 {
                bytes = withUnsafeBytes(of: parts) { all in
                    if all.prefix(10).allSatisfy({ $0 == 0 }), all[10] == 0xff, all[11] == 0xff {
                        return Array(all[12...].map { String($0) }.joined(separator: ".").utf8)
                    }
                    let hasNetwork = all[0] & 0xe0 == 0x20 || all[0] & 0xfe == 0xfc
                    return Array(all.prefix(hasNetwork ? 8 : 16))
                }
            } else {
                bytes = Array(address.utf8)
            }
        }
    }

    static let free = 5
    static let longestWait: UInt64 = 30_000_000_000
    static let memory: UInt64 = 600_000_000_000
    static let capacity = 4096

    private var entries: [Client: Entry] = [:]

    /// Nanoseconds that the client still has to wait; 0 where it may try.
    func wait(_ client: Client, now: UInt64) -> UInt64 {
        guard let entry = entries[client], entry.failures > FailedAttempts.free else { return 0 }
        let doublings = min(entry.failures &- FailedAttempts.free &- 1, 5)
        let wait = min(1_000_000_000 << UInt64(doublings), FailedAttempts.longestWait)
        let waited = FailedAttempts.age(entry, now)
        return waited < wait ? wait &- waited : 0
    }

    /// How often the client has failed lately.
    func count(_ client: Client, now: UInt64) -> Int {
        guard let entry = entries[client], FailedAttempts.age(entry, now) <= FailedAttempts.memory else { return 0 }
        return entry.failures
    }

    mutating func failed(_ client: Client, now: UInt64) {
        var entry = entries[client] ?? Entry(failures: 0, last: now)
        if FailedAttempts.age(entry, now) > FailedAttempts.memory { entry.failures = 0 }
        entry.failures = min(entry.failures &+ 1, 1000)
        entry.last = max(entry.last, now)
        if entries[client] == nil, entries.count >= FailedAttempts.capacity { makeRoom(now) }
        entries[client] = entry
    }

    mutating func succeeded(_ client: Client) { entries[client] = nil }

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
