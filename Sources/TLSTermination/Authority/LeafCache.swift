public import NIOCore
import NIOPosix
public import NIOSSL
import Synchronization

/// Keeps a TLS context, with its certificate, for each of the hosts that were decrypted last.
///
/// A missing one is made away from the event loops, once however many ask for it at the same time. One whose
/// certificate comes near its end is made anew when it is next asked for. Can be used from any thread.
public final class LeafCache: Sendable {
    /// Runs work somewhere else than on an event loop.
    public typealias Offload = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

    /// Runs work on NIO's pool of threads for blocking work.
    public static let threadPool: Offload = { work in
        // Also when the pool is shutting down: whoever waits must hear.
        NIOThreadPool.singleton.submit { _ in work() }
    }

    private struct Entry {
        let context: NIOSSLContext
        let usable: ClosedRange<Int64>
    }

    private struct State {
        var entries: LeastRecentlyUsed<CertificateHost, Entry>
        var waiting: [CertificateHost: [EventLoopPromise<NIOSSLContext>]] = [:]

        mutating func usable(_ host: CertificateHost, at now: Int64) -> NIOSSLContext? {
            guard let entry = entries.use(host), entry.usable.contains(now) else { return nil }
            return entry.context
        }
    }

    private let issuer: LeafIssuer
    private let contexts: ServerContexts
    private let clock: @Sendable () -> Int64
    private let offload: Offload
    private let state: Mutex<State>

    /// - Parameters:
    ///   - protocols: offered by ALPN, the preferred one first; default HTTP/2 and HTTP/1.1.
    ///   - capacity: how many hosts are kept; default 1,000, each some 20 KiB.
    ///   - clock: the time in seconds since 1970.
    /// - Throws: NIOSSLError where the authority's certificate or the key can't be used.
    public init(
        issuer: LeafIssuer, protocols: [String] = ["h2", "http/1.1"], capacity: Int = 1000,
        clock: @escaping @Sendable () -> Int64 = WallClock.system, offload: @escaping Offload = LeafCache.threadPool
    ) throws {
        self.issuer = issuer
        self.clock = clock
        self.offload = offload
        contexts = try ServerContexts(issuer: issuer, protocols: protocols)
        state = Mutex(State(entries: LeastRecentlyUsed(capacity: capacity)))
    }

    /// How many hosts have a context.
    public var count: Int { state.withLock { $0.entries.count } }

    /// The context of a host, if it is there and usable; nothing is made.
    public func cached(_ host: CertificateHost) -> NIOSSLContext? {
        let now = clock()
        return state.withLock { $0.usable(host, at: now) }
    }

    /// The context of a host, made where it is missing.
    ///
    /// - Throws: the future fails with ``AuthorityFailure`` or NIOSSLError; the next request tries again.
    public func context(for host: CertificateHost, on loop: any EventLoop) -> EventLoopFuture<NIOSSLContext> {
        let now = clock()
        let (future, isFirst) = state.withLock { state in
            if let context = state.usable(host, at: now) { return (loop.makeSucceededFuture(context), false) }
            let promise = loop.makePromise(of: NIOSSLContext.self)
            state.waiting[host, default: []].append(promise)
            return (promise.futureResult, state.waiting[host]?.count == 1)
        }
        if isFirst { offload { self.make(host, now: now) } }
        return future
    }

    private func make(_ host: CertificateHost, now: Int64) {
        let result = Result { () throws -> Entry in
            let leaf = try issuer.leaf(for: host, now: now)
            return Entry(context: try contexts.context(for: leaf), usable: leaf.validity.lowerBound...leaf.renewal)
        }
        // What is displaced is freed outside the lock.
        let (waiting, displaced) = state.withLock { state in
            (state.waiting.removeValue(forKey: host), (try? result.get()).map { state.entries.insert($0, for: host) })
        }
        for promise in waiting ?? [] { promise.completeWith(result.map(\.context)) }
        withExtendedLifetime(displaced) {}
    }
}
