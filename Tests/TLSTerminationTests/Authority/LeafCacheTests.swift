import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

@testable import TLSTermination

@Suite("The contexts of decrypted hosts")
struct LeafCacheTests {
    /// Work that runs when a test says so.
    private final class Bench: Sendable {
        private let work = Mutex<[@Sendable () -> Void]>([])
        let time = Mutex(AuthoritySandbox.noon)

        var waiting: Int { work.withLock { $0.count } }

        func add(_ item: @escaping @Sendable () -> Void) { work.withLock { $0.append(item) } }

        func run() {
            for item in work.withLock({ work in
                defer { work = [] }
                return work
            }) { item() }
        }
    }

    private let bench = Bench()
    private let loop = MultiThreadedEventLoopGroup.singleton.any()

    private func cache(capacity: Int = 1000, permitting hosts: [CertificateHost]? = nil) throws -> LeafCache {
        let issuer = try LeafIssuer(authority: try AuthoritySandbox().authority(permitting: hosts))
        return try LeafCache(
            issuer: issuer, capacity: capacity, clock: { [bench] in bench.time.withLock { $0 } },
            offload: { [bench] in bench.add($0) })
    }

    @Test("A context is made once, elsewhere, however many ask for it")
    func once() async throws {
        let cache = try cache()
        let host = try CertificateHost("a.test")
        #expect(cache.cached(host) == nil)
        let futures = (0..<10).map { _ in cache.context(for: host, on: loop) }
        #expect(bench.waiting == 1)
        #expect(cache.count == 0)
        bench.run()
        let contexts = try await futures.asyncMap { try await $0.get() }
        #expect(Set(contexts.map(ObjectIdentifier.init)).count == 1)
        #expect(cache.cached(host) === contexts.first)
        #expect(try await cache.context(for: host, on: loop).get() === contexts.first)
        #expect(bench.waiting == 0)
    }

    @Test("Each host has its own context, and spellings of one host share theirs")
    func hosts() async throws {
        let cache = try cache()
        let names = ["a.test", "A.TEST.", "b.test", "::1", "[0::1]", "127.0.0.1"]
        let futures = try names.map { cache.context(for: try CertificateHost($0), on: loop) }
        bench.run()
        let contexts = try await futures.asyncMap { ObjectIdentifier(try await $0.get()) }
        #expect(contexts[0] == contexts[1])
        #expect(contexts[3] == contexts[4])
        #expect(Set(contexts).count == 4)
        #expect(cache.count == 4)
    }

    @Test("Of 5,000 hosts the last 1,000 are kept")
    func bound() async throws {
        let cache = try cache()
        let hosts = try (0..<5000).map { try CertificateHost("host-\($0).test") }
        for host in hosts {
            let future = cache.context(for: host, on: loop)
            bench.run()
            _ = try await future.get()
        }
        #expect(cache.count == 1000)
        let kept = hosts.filter { cache.cached($0) != nil }
        #expect(kept == Array(hosts.suffix(1000)))
    }

    @Test(
        "A context is made anew when its certificate nears its end, and when the clock was set back before its beginning",
        arguments: [(0, true), (-86_400, true), (-86_401, false), (167 * 86_400 - 1, true), (167 * 86_400, false)]
            as [(Int64, Bool)])
    func renewal(later: Int64, isKept: Bool) async throws {
        let cache = try cache()
        let host = try CertificateHost("a.test")
        let first = cache.context(for: host, on: loop)
        bench.run()
        bench.time.withLock { $0 += later }
        #expect((cache.cached(host) != nil) == isKept)
        let second = cache.context(for: host, on: loop)
        bench.run()
        #expect(try await (first.get() === second.get()) == isKept)
        #expect(cache.cached(host) != nil)
        #expect(cache.count == 1)
    }

    @Test("A host that can't be had fails for all who asked, and is tried again")
    func failure() async throws {
        let cache = try cache(permitting: [try CertificateHost("a.test")])
        let host = try CertificateHost("b.test")
        for _ in 0..<2 {
            let futures = [cache.context(for: host, on: loop), cache.context(for: host, on: loop)]
            #expect(bench.waiting == 1)
            bench.run()
            for future in futures {
                let failure = await #expect(throws: AuthorityFailure.self) { try await future.get() }
                #expect(failure?.code == .hostNotPermitted)
            }
        }
        #expect(cache.count == 0)
    }

    @Test("By default the work is done on a thread of NIO's pool")
    func threadPool() async throws {
        let issuer = try LeafIssuer(authority: try AuthoritySandbox().authority())
        let cache = try LeafCache(issuer: issuer, clock: { AuthoritySandbox.noon })
        let hosts = try (0..<40).map { try CertificateHost("host-\($0 % 8).test") }
        let futures = hosts.map { cache.context(for: $0, on: loop) }
        let contexts = try await futures.asyncMap { ObjectIdentifier(try await $0.get()) }
        #expect(Set(contexts).count == 8)
        let wasOnLoop = Mutex<Bool?>(nil)
        let isDone = loop.makePromise(of: Void.self)
        LeafCache.threadPool { [loop] in
            wasOnLoop.withLock { $0 = loop.inEventLoop }
            isDone.succeed()
        }
        try await isDone.futureResult.get()
        #expect(wasOnLoop.withLock { $0 } == false)
    }
}

extension Array {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
