public import NIOSSL
import Synchronization

/// Keeps a TLS context, with its certificate, for each of the hosts that were decrypted last.
///
/// A missing one is made at once, on the caller's thread: that takes some 50 µs, less than a handshake, so an event loop
/// may do it. One whose certificate comes near its end is made anew when it is next asked for. Can be used from any
/// thread; whoever asks for a host that is being made waits for it, so that each is made once.
public final class LeafCache: Sendable {
    private struct Entry {
        let context: NIOSSLContext
        let usable: ClosedRange<Int64>
    }

    private let issuer: LeafIssuer
    private let contexts: ServerContexts
    private let clock: @Sendable () -> Int64
    private let entries: Mutex<LeastRecentlyUsed<CertificateHost, Entry>>

    /// - Parameters:
    ///   - protocols: offered by ALPN, the preferred one first; default HTTP/2 and HTTP/1.1.
    ///   - capacity: how many hosts are kept; default 1,000, each some 10 KiB.
    ///   - clock: the time in seconds since 1970.
    /// - Throws: NIOSSLError where the authority's certificate or the key can't be used.
    public init(
        issuer: LeafIssuer, protocols: [String] = ["h2", "http/1.1"], capacity: Int = 1000,
        clock: @escaping @Sendable () -> Int64 = WallClock.system
    ) throws {
        self.issuer = issuer
        self.clock = clock
        contexts = try ServerContexts(issuer: issuer, protocols: protocols)
        entries = Mutex(LeastRecentlyUsed(capacity: capacity))
    }

    /// How many hosts have a context.
    public var count: Int { entries.withLock { $0.count } }

    /// The context of a host, made where it is missing.
    ///
    /// - Throws: ``AuthorityFailure`` or NIOSSLError; the next call tries again.
    public func context(for host: CertificateHost) throws -> NIOSSLContext {
        let now = clock()
        // What is displaced is returned too, so that it is freed outside the lock.
        let (context, _) = try entries.withLock { entries -> (NIOSSLContext, Entry?) in
            if let entry = entries.use(host), entry.usable.contains(now) { return (entry.context, nil) }
            let leaf = try issuer.leaf(for: host, now: now)
            let context = try contexts.context(for: leaf)
            let entry = Entry(context: context, usable: leaf.validity.lowerBound...leaf.renewal)
            return (context, entries.insert(entry, for: host))
        }
        return context
    }
}
