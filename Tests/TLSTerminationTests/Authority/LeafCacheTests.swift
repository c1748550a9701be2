import NIOSSL
import Synchronization
import Testing

@testable import TLSTermination

@Suite("The contexts of decrypted hosts")
struct LeafCacheTests {
    /// A clock that a test sets, and a count of the certificates made.
    private final class Conditions: Sendable {
        let time = Mutex(AuthoritySandbox.noon)
        let made = Mutex(0)
    }

    private let conditions = Conditions()

    private func cache(
        capacity: Int = 1000, maxUses: Int = 1 << 16, permitting hosts: [CertificateHost]? = nil
    ) throws -> LeafCache {
        // A serial number is all that a certificate asks of the random source.
        let random = RandomBytes { [conditions] count in
            conditions.made.withLock { $0 += 1 }
            return RandomBytes.system.bytes(count)
        }
        let issuer = try LeafIssuer(
            certificateAuthority: try AuthoritySandbox().authority(permitting: hosts), random: random)
        return try LeafCache(
            issuer: issuer, capacity: capacity, maxUses: maxUses,
            clock: { [conditions] in conditions.time.withLock { $0 } })
    }

    private var made: Int { conditions.made.withLock { $0 } }

    @Test("A host's context is made once, however many ask for it at the same time")
    func once() async throws {
        let cache = try cache()
        let host = try CertificateHost("a.test")
        let contexts = try await withThrowingTaskGroup(of: ObjectIdentifier.self) { group in
            for _ in 0..<64 { group.addTask { ObjectIdentifier(try cache.context(for: host)) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(contexts.count == 1)
        #expect(made == 1)
        #expect(cache.count == 1)
    }

    @Test("Each host has its own context, and spellings of one host share theirs")
    func hosts() throws {
        let cache = try cache()
        let names = ["a.test", "A.TEST.", "b.test", "::1", "[0::1]", "127.0.0.1"]
        let contexts = try names.map { try cache.context(for: CertificateHost($0)) }
        #expect(contexts[0] === contexts[1])
        #expect(contexts[3] === contexts[4])
        #expect(Set(contexts.map(ObjectIdentifier.init)).count == 4)
        #expect(cache.count == 4)
        #expect(made == 4)
    }

    @Test("Of 5,000 hosts the last 1,000 are kept")
    func bound() throws {
        let cache = try cache()
        let hosts = try (0..<5000).map { try CertificateHost("host-\($0).test") }
        for host in hosts { _ = try cache.context(for: host) }
        #expect(cache.count == 1000)
        #expect(made == 5000)
        for host in hosts.suffix(1000) { _ = try cache.context(for: host) }
        #expect(made == 5000)
        _ = try cache.context(for: hosts[3999])
        #expect(made == 5001)
        #expect(cache.count == 1000)
    }

    @Test(
        "A context is made anew when its certificate nears its end, and when the clock was set back before its beginning",
        arguments: [(0, true), (-86_400, true), (-86_401, false), (167 * 86_400 - 1, true), (167 * 86_400, false)]
            as [(Int64, Bool)])
    func renewal(later: Int64, isKept: Bool) throws {
        let cache = try cache()
        let host = try CertificateHost("a.test")
        let first = try cache.context(for: host)
        conditions.time.withLock { $0 += later }
        let second = try cache.context(for: host)
        #expect((first === second) == isKept)
        #expect(try cache.context(for: host) === second)
        #expect(cache.count == 1)
    }

    @Test("After so many uses all contexts are made anew, and with them their memory of sessions goes")
    func outworn() throws {
        let cache = try cache(maxUses: 4)
        let hosts = try ["a.test", "b.test"].map { try CertificateHost($0) }
        let contexts = try (0..<10).map { try cache.context(for: hosts[$0 % 2]) }
        #expect(contexts[0] === contexts[2] && contexts[1] === contexts[3])
        #expect(contexts[4] !== contexts[0] && contexts[5] !== contexts[1])
        #expect(contexts[4] === contexts[6] && contexts[5] === contexts[7])
        #expect(contexts[8] !== contexts[4])
        #expect(made == 6)
        #expect(cache.count == 2)
    }

    @Test("A host that the authority may not sign for fails each time, and others don't suffer")
    func failure() throws {
        let cache = try cache(permitting: [try CertificateHost("a.test")])
        for _ in 0..<2 {
            let failure = #expect(throws: AuthorityFailure.self) { try cache.context(for: CertificateHost("b.test")) }
            #expect(failure?.code == .hostNotPermitted)
        }
        #expect(cache.count == 0)
        _ = try cache.context(for: CertificateHost("a.test"))
        #expect(cache.count == 1)
    }
}
