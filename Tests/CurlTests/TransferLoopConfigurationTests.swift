import Testing

@testable import Curl

@Suite("Which hosts go through the parent proxy")
struct TransferLoopConfigurationTests {
    @Test(
        "Names, subdomains and addresses in the list don't",
        arguments: [
            ("a.test", "", true), ("a.test", "a.test", false), ("A.Test", "a.tEST", false),
            ("b.a.test", "a.test", false),
            ("b.a.test", ".a.test", false), ("ba.test", "a.test", true), ("a.test", "b.test,a.test", false),
            ("a.test", "b.test, a.test", false), ("a.test", "*", false), ("a.test", "test", false),
            ("a.test.", "a.test", false),
            ("[::1]", "::1", false), ("[::1]", "[::1]", false), ("127.0.0.1", "127.0.0.1", false),
            ("a.test", ",,", true),
            ("a.test", ".", true), ("", "a", true),
        ])
    func list(host: String, noProxy: String, uses: Bool) {
        var configuration = TransferLoopConfiguration()
        configuration.noProxy = noProxy
        #expect(!configuration.usesProxy(for: host))
        configuration.upstreamProxy = "http://p.test:3128"
        #expect(configuration.usesProxy(for: host) == uses)
    }
}
