import NIOCore
import Testing

@testable import subproxy

@Suite("An address to listen on")
struct ListenAddressTests {
    @Test(
        "is read in each of its forms",
        arguments: [
            ("127.0.0.1:8888", ["127.0.0.1:8888"], false), ("8888", ["127.0.0.1:8888"], false),
            (":8888", ["127.0.0.1:8888"], false), ("[::1]:8888", ["[::1]:8888"], false),
            ("localhost:1", ["127.0.0.1:1", "[::1]:1"], false), ("LOCALHOST:1", ["127.0.0.1:1", "[::1]:1"], false),
            ("http://0.0.0.0:80/", ["0.0.0.0:80"], false), ("https://[::]:443", ["[::]:443"], true),
            ("HTTPS://127.0.0.1:0", ["127.0.0.1:0"], true),
        ])
    func forms(text: String, addresses: [String], isSecure: Bool) throws {
        let address = try ListenAddress(text, hasIPv6: true)
        #expect(address.addresses.map(\.hostAndPort) == addresses)
        #expect(address.isSecure == isSecure)
    }

    @Test("localhost is the one address that a machine without IPv6 has")
    func withoutIPv6() throws {
        #expect(try ListenAddress("localhost:1", hasIPv6: false).addresses.map(\.hostAndPort) == ["127.0.0.1:1"])
    }

    @Test(
        "is refused with the reason",
        arguments: [
            ("127.0.0.1", .noPort), ("[::1]", .noPort), ("", .badPort), ("x", .badPort), ("127.0.0.1:", .badPort),
            ("127.0.0.1:65536", .badPort), ("127.0.0.1:-1", .badPort), ("::1:8888", .noBrackets),
            ("example.com:80", .noAddress), ("[127.0.0.1]:80", .noAddress), ("[::1:80", .noAddress),
            ("127.1:80", .noAddress),
        ] as [(String, ListenAddressError)])
    func refusals(text: String, reason: ListenAddressError) {
        #expect(throws: reason) { try ListenAddress(text, hasIPv6: true) }
    }

    @Test(
        "is this machine's alone, or everybody's",
        arguments: [
            ("127.0.0.1", true, false), ("127.255.0.9", true, false), ("::1", true, false),
            ("::ffff:127.0.0.1", true, false), ("0.0.0.0", false, true), ("::", false, true),
            ("192.0.2.1", false, false), ("::ffff:192.0.2.1", false, false), ("fe80::1", false, false),
        ])
    func reach(text: String, isLoopback: Bool, isUnspecified: Bool) throws {
        let address = try SocketAddress(ipAddress: text, port: 1)
        #expect(address.isLoopback == isLoopback)
        #expect(address.isUnspecified == isUnspecified)
    }

    @Test(
        "has the URL that clients are given; programs of this machine reach what stands for all addresses by loopback")
    func urls() throws {
        let every = try SocketAddress(ipAddress: "::", port: 8888)
        #expect(every.proxyURL() == "http://[::]:8888")
        #expect(every.localProxyURL() == "http://[::1]:8888")
        #expect(every.localHost == "::1")
        let one = try SocketAddress(ipAddress: "192.0.2.1", port: 443)
        #expect(one.localProxyURL(isSecure: true) == "https://192.0.2.1:443")
        #expect(one.localHost == "192.0.2.1")
        #expect(try SocketAddress(ipAddress: "0.0.0.0", port: 1).localProxyURL() == "http://127.0.0.1:1")
        #expect(try SocketAddress(unixDomainSocketPath: "/run/p").proxyURL() == "http+unix:/run/p")
    }
}
