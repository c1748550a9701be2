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
        arguments: [
            "169.254.1.1", "224.0.0.1", "255.255.255.255", "fe80::1", "ff02::1", "::ffff:169.254.1.1",
            "::169.254.1.1", "64:ff9b::a9fe:101", "::ffff:0:169.254.1.1", "2002:a9fe:101::1",
            "2001:0:102:304::5601:fefe",
            // Of each of the lengths that a prefix of a network's own NAT64 may have.
            "64:ff9b:1::a9fe:101", "64:ff9b:1:7:a9:fe01:100:0", "64:ff9b:1:7a9:fe:101::", "64:ff9b:1:a9fe:1:100::",
        ])
    func neverReached(_ address: String) throws {
        let policy = AddressPolicy(allowsPrivateForRemote: true, allowsMetadata: true)
        for local in [true, false] {
            #expect(isProhibited(try judge(address, local: local)))
            #expect(isProhibited(try judge(address, local: local, policy)))
        }
    }

    @Test(
        "metadata services of clouds are for clients on this machine alone, and where that is asked for",
        arguments: [
            "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192", "168.63.129.16",
            "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "::ffff:168.63.129.16", "64:ff9b::c000:c0",
            "2002:6464:64c8::1", "::ffff:0:168.63.129.16", "64:ff9b:1:a83f:81:1000::",
        ])
    func metadata(_ address: String) throws {
        let open = AddressPolicy(allowsPrivateForRemote: true, allowsMetadata: true)
        #expect(isProhibited(try judge(address, local: true)))
        #expect(isProhibited(try judge(address, local: true, AddressPolicy(allowsPrivateForRemote: true))))
        #expect(isProhibited(try judge(address, local: false)))
        #expect(isProhibited(try judge(address, local: false, open)))
        #expect(try judge(address, local: true, open) == .allowed)
    }

    /// A machine with two public addresses, which it may have got at any time.
    private func owning(_ policy: AddressPolicy = AddressPolicy()) throws -> AddressPolicy {
        let own = try ["203.0.113.7", "2001:db8::7"].compactMap {
            AddressBytes(try SocketAddress(ipAddress: $0, port: 0))
        }
        var policy = policy
        policy.ownership = { own.contains($0) ? .own : .foreign }
        return policy
    }

    @Test(
        "an address of this machine is for clients on it, whatever leads there",
        arguments: [
            ("203.0.113.7", true), ("203.0.113.8", false), ("2001:db8::7", true), ("2001:db8::8", false),
            ("::ffff:203.0.113.7", true), ("64:ff9b::cb00:7107", true), ("2002:cb00:7107::1", true),
        ])
    func ownAddresses(_ address: String, isOwn: Bool) throws {
        #expect(try judge(address, local: true, try owning()) == .allowed)
        #expect(isProhibited(try judge(address, local: false, try owning())) == isOwn)
        let open = try owning(AddressPolicy(allowsPrivateForRemote: true))
        #expect(try judge(address, local: false, open) == .allowed)
    }

    @Test("where the system does not say whose an address is, clients on other machines do not get there")
    func undetermined() throws {
        var policy = AddressPolicy()
        policy.ownership = { _ in .unknown(EMFILE) }
        #expect(try judge("203.0.113.7", local: false, policy) == .undetermined(EMFILE))
        #expect(try judge("203.0.113.7", local: true, policy) == .allowed)
        let error = try #require(ProxyError(.undetermined(EMFILE), host: "h"))
        #expect(error.status == 503)
    }

    @Test(
        "the kernel knows which addresses are this machine's",
        arguments: [
            ("127.0.0.1", true), ("127.8.9.10", true), ("::1", true), ("::ffff:127.0.0.1", true),
            ("203.0.113.7", false), ("2001:db8::7", false),
        ])
    func kernel(_ address: String, isOwn: Bool) throws {
        let bytes = try #require(AddressBytes(try SocketAddress(ipAddress: address, port: 0)))
        #expect(AddressOwnership(of: bytes) == (isOwn ? .own : .foreign))
    }

    @Test(
        "loopback and private addresses are for clients on this machine",
        arguments: [
            "127.0.0.1", "127.8.9.10", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
            "0.0.0.0",
            "::1", "::", "fc00::1", "fdff::1", "fec0::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
            "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "64:ff9b:1::808:808", "64:ff9b:1:ffff::1", "::ffff:0:10.0.0.1",
            "2002:7f00:1::1", "2002:a01:203::1", "2001:0:102:304::80ff:fffe",
        ])
    func onlyLocal(_ address: String) throws {
        #expect(try judge(address, local: true) == .allowed)
        #expect(isProhibited(try judge(address, local: false)))
        let policy = AddressPolicy(allowsPrivateForRemote: true)
        #expect(try judge(address, local: false, policy) == .allowed)
    }

    @Test(
        "public addresses are for everybody",
        arguments: [
            "93.184.216.34", "172.32.0.1", "2606:2800:220:1::1", "9.9.9.9", "64:ff9b::808:808", "::ffff:0:8.8.8.8",
            "2002:808:808::1", "2001:0:102:304::f7f7:f7f7", "64:ff9b:2::7f00:1", "2003:7f00:1::1",
        ])
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
        for address in ["127.0.0.1", "127.0.0.2", "::1", "0.0.0.0", "203.0.113.7", "2001:db8::7"] {
            #expect(try judge(address, port: 8888, local: true, try owning(policy)) == .ownListener)
            #expect(try judge(address, port: 8889, local: true, try owning(policy)) == .allowed)
        }
        #expect(try judge("203.0.113.8", port: 8888, local: true, try owning(policy)) == .allowed)
    }
}
