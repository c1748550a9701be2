import NIOCore
import NIOEmbedded
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

    @Test(
        "count by the URL's scheme in absolute form, and else by the listener's",
        arguments: [
            ("http://localhost/healthz", true, 80, 200), ("http://localhost/healthz", false, 80, 200),
            ("/healthz", true, 443, 200), ("/healthz", false, 80, 200), ("/healthz", true, 80, 421),
            ("*", true, 443, 200), ("*", true, 80, 421),
        ])
    func forms(_ target: String, _ isEncrypted: Bool, _ port: Int, _ status: Int) throws {
        var names = OwnNames()
        names.add(listener: try SocketAddress(ipAddress: "127.0.0.1", port: port))
        let stage = try LoopStage("substitutions:\n  http://a.test/: { text: x }\n", ownNames: names)
        let channel = try stage.connect([
            ClientConnection(loop: stage.context, address: "127.0.0.1", isLocal: true, isEncrypted: isEncrypted)
        ])
        let method = target == "*" ? "OPTIONS" : "GET"
        try channel.writeInbound(ByteBuffer(string: "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        stage.loop.run()
        #expect(stage.watch.all.map(\.status) == [status])
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}
