import Glibc
import NIOCore
import Testing

@testable import ForwardProxy

@Suite("Which addresses may be connected to")
struct AddressPolicyTests {
    private func judge(
        _ text: String, port: Int = 80, local: Bool, _ policy: AddressPolicy = AddressPolicy()
    ) throws -> AddressVerdict {
        try SocketAddress(ipAddress: text, port: port).withSockAddr { pointer, _ in
            policy.judge(pointer, clientIsLocal: local)
        }
    }

    private func isProhibited(_ verdict: AddressVerdict) -> Bool {
        if case .prohibited = verdict { return true }
        return false
    }

    @Test(
        "link-local and multicast addresses are reached by nobody",
        arguments: ["169.254.169.254", "224.0.0.1", "255.255.255.255", "fe80::1", "ff02::1", "::ffff:169.254.169.254"])
    func neverReached(_ address: String) throws {
        #expect(isProhibited(try judge(address, local: true)))
        #expect(isProhibited(try judge(address, local: false)))
    }

    @Test(
        "loopback and private addresses are for clients on this machine",
        arguments: [
            "127.0.0.1", "127.8.9.10", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
            "0.0.0.0",
            "::1", "::", "fc00::1", "fdff::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
        ])
    func onlyLocal(_ address: String) throws {
        #expect(try judge(address, local: true) == .allowed)
        #expect(isProhibited(try judge(address, local: false)))
        let policy = AddressPolicy(allowsPrivateForRemote: true)
        #expect(try judge(address, local: false, policy) == .allowed)
    }

    @Test(
        "public addresses are for everybody",
        arguments: ["93.184.216.34", "172.32.0.1", "2606:2800:220:1::1", "9.9.9.9"])
    func everybody(_ address: String) throws {
        #expect(try judge(address, local: true) == .allowed)
        #expect(try judge(address, local: false) == .allowed)
    }

    @Test("the proxy's own listeners are reached under no spelling of their address")
    func ownListeners() throws {
        var policy = AddressPolicy()
        policy.addListener(try SocketAddress(ipAddress: "127.0.0.1", port: 8888))
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0", "::"] {
            #expect(try judge(address, port: 8888, local: true, policy) == .ownListener)
        }
        #expect(try judge("127.0.0.1", port: 8889, local: true, policy) == .allowed)
        #expect(try judge("127.0.0.2", port: 8888, local: true, policy) == .allowed)
    }

    @Test("a listener on every address is reached under none of this machine's")
    func wildcardListener() throws {
        var policy = AddressPolicy()
        policy.addListener(try SocketAddress(ipAddress: "0.0.0.0", port: 8888))
        for address in ["127.0.0.1", "127.0.0.2", "::1", "0.0.0.0"] {
            #expect(try judge(address, port: 8888, local: true, policy) == .ownListener)
        }
    }
}
