public import NIOSSL
import Synchronization

/// Keeps a TLS context, with its certificate, for each of the hosts that were decrypted last.
///
/// A missing one is made at once, on the caller's thread: that takes some 50 µs, less than a handshake, so an event
/// loop may do it. One whose certificate comes near its end is made anew when it is next asked for. After a number of
/// uses all are made anew: a context remembers the sessions of clients without tickets for two hours, up to 20,480 of
/// 300 bytes, and there may be many hosts. Can be used from any thread; a thread that asks for a host that is being
/// made waits for it, so that each is made once.
public final class LeafCache: Sendable {
    private struct Entry {
        let context: NIOSSLContext
        let usable: ClosedRange<Int64>
    }

    private struct State {
        var entries: LeastRecentlyUsed<CertificateHost, Entry>
        /// Since the entries were last given up.
        var uses = 0
    }

    private let issuer: LeafIssuer
    private let contexts: ServerContexts
    private let clock: @Sendable () -> Int64
    private let capacity: Int
    private let maxUses: Int
    private let state: Mutex<State>

    /// - Parameters:
    ///   - protocols: offered by ALPN, the preferred one first; default HTTP/2 and HTTP/1.1.
    ///   - capacity: how many hosts are kept; default 1,000, each some 10 KiB.
    ///   - maxUses: after how many uses of any all are given up; default 65,536, so that sessions take some 20 MB.
    ///   - clock: the time in seconds since 1970.
    /// - Throws: NIOSSLError where the CA's certificate or the key can't be used.
    public init(
        issuer: LeafIssuer, protocols: [String] = ["h2", "http/1.1"], capacity: Int = 1000,
        maxUses: Int = 1 << 16, clock: @escaping @Sendable () -> Int64 = WallClock.system
    ) throws {
        self.issuer = issuer
        self.clock = clock
        contexts = try ServerContexts(issuer: issuer, protocols: protocols)
        self.capacity = capacity
        self.maxUses = maxUses
        state = Mutex(State(entries: LeastRecentlyUsed(capacity: capacity)))
    }

    /// How many hosts have a context.
    public var count: Int { state.withLock { $0.entries.count } }

    /// The context of a host, made where it is missing.
    ///
    /// - Throws: ``AuthorityFailure`` or NIOSSLError; the next call tries again.
    public func context(for host: CertificateHost) throws -> NIOSSLContext {
        let now = clock()
        // What is displaced is returned too, so that it is freed outside the lock.
        let (context, _, _) = try state.withLock { state in
            let outworn = renewOutworn(&state)
            if let entry = state.entries.use(host), entry.usable.contains(now) {
                return (entry.context, outworn, Entry?.none)
            }
            let leaf = try issuer.leaf(for: host, now: now)
            let context = try contexts.context(for: leaf)
            let entry = Entry(context: context, usable: leaf.validity.lowerBound...leaf.renewal)
            return (context, outworn, state.entries.insert(entry, for: host))
        }
        return context
    }

    /// Counts a use, and drops all entries after the last use that they may have.
    private func renewOutworn(_ state: inout State) -> LeastRecentlyUsed<CertificateHost, Entry>? {
        state.uses &+= 1
        guard state.uses > maxUses else { return nil }
        defer { state = State(entries: LeastRecentlyUsed(capacity: capacity), uses: 1) }
        return state.entries
    }
}
