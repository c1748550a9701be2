import NIOCore
import Testing

@testable import ForwardProxy

@Suite("The proxy's own names")
struct OwnNamesTests {
    @Test(
        "have the port that clients leave out where it is the scheme's",
        arguments: [
            ("127.0.0.1", 443, "localhost", true, true), ("127.0.0.1", 443, "localhost", false, false),
            ("127.0.0.1", 443, "localhost:443", true, true), ("127.0.0.1", 443, "LOCALHOST.", true, true),
            ("127.0.0.1", 80, "localhost", false, true), ("127.0.0.1", 80, "localhost", true, false),
            ("127.0.0.1", 80, "127.1", false, true), ("127.0.0.1", 80, "[::1]", false, true),
            ("127.0.0.1", 8888, "localhost", false, false), ("127.0.0.1", 8888, "localhost:8888", true, true),
            ("127.0.0.1", 8888, "[::1]:8888", false, true), ("127.0.0.1", 8888, "localhost:8889", false, false),
            ("127.0.0.1", 80, "localhost:", false, false), ("127.0.0.1", 80, "localhost:99999", false, false),
            ("0.0.0.0", 443, "127.0.0.2", true, true), ("0.0.0.0", 443, "127.0.0.2:443", false, true),
            ("0.0.0.0", 443, "127.0.0.2", false, false), ("0.0.0.0", 80, "192.0.2.1", false, false),
        ])
    func ports(_ address: String, _ port: Int, _ authority: String, _ isSecure: Bool, _ isOwn: Bool) throws {
        var names = OwnNames()
        names.add(listener: try SocketAddress(ipAddress: address, port: port))
        let found = Array(authority.utf8).withUnsafeBytes { names.contains($0, isSecure: isSecure) }
        #expect(found == isOwn)
    }
}
