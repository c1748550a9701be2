import SwiftASN1
import Testing
import X509

@testable import TLSTermination

@Suite("Name constraints")
struct NameScopeTests {
    @Test(
        "Constraints permit the listed hosts, names below them, and nothing else",
        arguments: [
            (["a.test"], "a.test", true), (["a.test"], "b.a.test", true), (["a.test"], "ba.test", false),
            (["a.test"], "test", false), (["a.test"], "10.0.0.1", false), (["a.test"], "::1", false),
            (["a.test", "10.0.0.1"], "10.0.0.1", true), (["a.test", "10.0.0.1"], "10.0.0.2", false),
            (["a.test", "10.0.0.1"], "::1", false), (["::1"], "::1", true), (["::1"], "::2", false),
            (["::1"], "10.0.0.1", false), (["::1"], "a.test", false), ([], "a.test", false), ([], "10.0.0.1", false),
        ])
    func permitting(hosts: [String], host: String, isPermitted: Bool) throws {
        let scope = NameScope(NameScope.constraints(permitting: try hosts.map { try CertificateHost($0) }))
        #expect(scope.contains(try CertificateHost(host)) == isPermitted)
    }

    @Test(
        "Constraints of other tools are read as RFC 5280 and OpenSSL do",
        arguments: [
            ([".a.test"], [], "a.test", false), ([".a.test"], [], "b.a.test", true), (["A.Test"], [], "a.test", true),
            ([], ["a.test"], "b.a.test", false), ([], ["a.test"], "b.test", true),
            (["a.test"], ["b.a.test"], "b.a.test", false), (["a.test"], ["b.a.test"], "c.a.test", true),
        ])
    func foreign(permitted: [String], excluded: [String], host: String, isPermitted: Bool) throws {
        let scope = NameScope(NameConstraints(permittedDNSDomains: permitted, excludedDNSDomains: excluded))
        #expect(scope.contains(try CertificateHost(host)) == isPermitted)
    }

    @Test(
        "Constraints are told in words",
        arguments: [
            (["a.test"], "a.test and all names below it"),
            (["a.test", "b.test", "10.0.0.1"], "a.test, b.test and all names below them, 10.0.0.1"),
            (["::1"], "::1"), ([], "no host"),
        ])
    func words(hosts: [String], text: String) throws {
        let scope = NameScope(NameScope.constraints(permitting: try hosts.map { try CertificateHost($0) }))
        #expect(scope.description == text)
    }

    @Test("Constraints of other tools are told in words too")
    func foreignWords() throws {
        let range = ASN1OctetString(contentBytes: [10, 1, 0, 0, 255, 255, 0, 0])
        #expect(NameScope().description == "any name, any address")
        let names = NameScope(NameConstraints(permittedDNSDomains: ["a.test"], excludedDNSDomains: ["b.a.test"]))
        #expect(names.description == "a.test and all names below it, any address, but not b.a.test")
        let ranges = NameScope(NameConstraints(permittedIPRanges: [range]))
        #expect(ranges.description == "any name, 10.1.0.0/255.255.0.0")
        let short = NameScope(NameConstraints(permittedIPRanges: [ASN1OctetString(contentBytes: [10])]))
        #expect(short.description == "any name, a malformed range")
    }

    @Test("A range of addresses holds what its mask says", arguments: [("10.1.255.9", true), ("10.2.0.0", false)])
    func ranges(host: String, isPermitted: Bool) throws {
        let range = ASN1OctetString(contentBytes: [10, 1, 0, 0, 255, 255, 0, 0])
        let scope = NameScope(NameConstraints(permittedIPRanges: [range]))
        #expect(scope.contains(try CertificateHost(host)) == isPermitted)
    }

    @Test("Without constraints every host is permitted", arguments: ["a.test", "10.0.0.1", "::1"])
    func everything(host: String) throws {
        #expect(NameScope().contains(try CertificateHost(host)))
    }
}
