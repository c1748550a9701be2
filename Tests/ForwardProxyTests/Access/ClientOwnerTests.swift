import Glibc
import NIOCore
import ProxyTestKit
import Testing

@testable import ForwardProxy

@Suite("Whose a client's socket is")
struct ClientOwnerTests {
    /// Both ends of a connection of this process, and its addresses as the accepting end sees them.
    private func connection() throws -> (client: Socket, listener: CInt, pair: ClientOwner.Pair) {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 4) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        try #require(isBound)
        let client = try Socket.connect(port: UInt16(bigEndian: address.sin_port))
        var remote = sockaddr_in()
        let accepted = withUnsafeMutablePointer(to: &remote) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { accept(listener, $0, &size) }
        }
        try #require(accepted >= 0)
        close(accepted)
        return (client, listener, ClientOwner.Pair(remote: SocketAddress(remote), local: SocketAddress(address)))
    }

    @Test("the kernel and its table say that it is this process's user's")
    func own() throws {
        let (client, listener, pair) = try connection()
        #expect(try SocketTable.asked(pair) == geteuid())
        #expect(SocketTable.read(pair) == geteuid())
        #expect(SocketTable.owner(of: pair) == .user(geteuid()))
        // The other way round it is nobody's: that end is closed.
        #expect(SocketTable.owner(of: ClientOwner.Pair(remote: pair.local, local: pair.remote)) == .unknown)
        withExtendedLifetime(client) { _ = close(listener) }
    }

    @Test("a socket that is closed, and one that never was, are nobody's; a listener of that port does not stand in")
    func gone() throws {
        let (client, listener, pair) = try connection()
        client.close()
        #expect(SocketTable.owner(of: pair) == .unknown)
        let other = ClientOwner.Pair(remote: pair.local, local: try SocketAddress(ipAddress: "127.0.0.1", port: 1))
        #expect(SocketTable.owner(of: other) == .unknown)
        close(listener)
        let unix = try SocketAddress(unixDomainSocketPath: "/x")
        #expect(SocketTable.owner(of: ClientOwner.Pair(remote: unix, local: pair.local)) == .unknown)
    }

    @Test("where the kernel answers for one socket, not all are looked through for one that is gone")
    func goneAtOnce() throws {
        let (client, listener, pair) = try connection()
        #expect(SocketTable.owner(of: pair) == .user(geteuid()))
        client.close()
        var isRead = false
        let owner = SocketTable.owner(of: pair) { _ in
            isRead = true
            return nil
        }
        #expect(owner == .unknown && !isRead)
        close(listener)
    }

    @Test(
        "the number that stands for all users whom the namespace has not is nobody's, unless it has all",
        arguments: [
            (0, false, .user(0)), (1000, false, .user(1000)), (65_534, false, .unknown),
            (65_534, true, .user(65_534)), (.max, true, .unknown),
        ] as [(UInt32, Bool, ClientOwner.Answer)])
    func namespaces(_ user: UInt32, _ hasAllUsers: Bool, _ answer: ClientOwner.Answer) {
        #expect(SocketTable.answer(user, hasAllUsers: hasAllUsers) == answer)
    }

    @Test(
        "a line of the table counts if its addresses are the connection's, and somebody holds the socket",
        arguments: [
            (
                "  1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20",
                1000
            ),
            (
                "  1: 0100007F:1F90 0100007F:D431 08 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20",
                1000
            ),
            ("  1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20", nil),
            (
                "  1: 0100007F:1F90 0100007F:D431 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20",
                nil
            ),
            (
                "  1: 0100007F:1F90 0100007F:D431 06 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20",
                nil
            ),
            (
                "  1: 0100007F:1F91 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20",
                nil
            ),
            ("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode", nil),
            ("", nil), ("  1: 0100007F:1F90 0100007F:D431 01", nil),
        ] as [(String, UInt32?)])
    func lines(_ line: String, _ user: UInt32?) {
        #expect(SocketTable.user(Array(line.utf8)[...], from: "0100007F:1F90", to: "0100007F:D431") == user)
    }

    @Test(
        "addresses stand in the table as numbers of 32 bits",
        arguments: [
            ("127.0.0.1", false, "0100007F:1F90"), ("127.0.0.1", true, "0000000000000000FFFF00000100007F:1F90"),
            ("::1", true, "00000000000000000000000001000000:1F90"), ("::1", false, nil),
            ("::ffff:127.0.0.1", false, "0100007F:1F90"), ("10.1.2.3", false, "0302010A:1F90"),
        ] as [(String, Bool, String?)])
    func places(_ address: String, _ isIPv6: Bool, _ place: String?) throws {
        #expect(SocketTable.place(try SocketAddress(ipAddress: address, port: 8080), isIPv6: isIPv6) == place)
    }

    @Test(
        "other users' connections are closed where the proxy is for its own user alone",
        .kernel(geteuid() == 0, "other users"), .program("setpriv", of: "util-linux"))
    func ownUserAlone() throws {
        let map = "substitutions:\n  http://mapped.test/x: { text: mapped }\n"
        let own = try TestProxy(map) { $0.admitsOwnUserAlone = true }
        let open = try TestProxy(map)
        func ask(_ proxy: TestProxy, as user: [String]) throws -> String {
            try ChildProcess.run(
                user + ["curl", "--disable", "-sS", "-x", "http://127.0.0.1:\(proxy.port)", "http://mapped.test/x"]
            ).output
        }
        let other = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"]
        #expect(try ask(own, as: []) == "mapped")
        #expect(try ask(own, as: other) == "")
        #expect(try ask(open, as: other) == "mapped")
    }
}
