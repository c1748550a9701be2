import HTTPSemantics
import Testing

@testable import ForwardProxy

@Suite("The origin of a decrypted tunnel")
struct SecureAuthorityTests {
    private static let usual = SecureAuthority(Authority(host: "a.test", port: 443))
    private static let other = SecureAuthority(Authority(host: "a.test", port: 8443))
    private static let address = SecureAuthority(Authority(host: "[2001:db8::7]", port: 443))

    private static let local = SecureAuthority(Authority(host: "127.0.0.1", port: 8443))

    private static func isNamed(_ authority: SecureAuthority, _ value: String) -> Bool {
        Array(value.utf8).withUnsafeBytes { authority.isNamed(by: $0) }
    }

    @Test(
        "A Host field names it in any case, with its port or, where that is 443, without",
        arguments: [
            (usual, "a.test", true), (usual, "A.Test", true), (usual, "a.test:443", true), (usual, "A.TEST:443", true),
            (usual, "a.test:8443", false), (usual, "a.test:44", false), (usual, "a.test:4430", false),
            (usual, "a.test:", false), (usual, "a.test..", false), (usual, "b.test", false), (usual, "a.tes", false),
            (usual, "a.test.", true), (usual, "A.Test.:443", true), (usual, "a.test.:8443", false),
            (other, "a.test.:8443", true), (usual, ".a.test", false), (usual, "a.testx", false),
            (usual, "", false), (usual, "xa.test", false), (usual, "a.testaaaa", false), (usual, "a.test;443", false),
            (other, "a.test:8443", true), (other, "a.test", false), (other, "a.test:443", false),
            (other, "A.test:8443", true), (address, "[2001:DB8::7]", true), (address, "[2001:db8::7]:443", true),
            (address, "2001:db8::7", false), (address, "[2001:db8:0:0:0:0:0:7]:443", true),
            (address, "[2001:0db8::0007]", true), (address, "[2001:db8::8]", false), (local, "127.1:8443", true),
            (local, "2130706433:8443", true), (local, "127.2:8443", false), (local, "127.1:443", false),
        ])
    func named(authority: SecureAuthority, value: String, isNamed: Bool) {
        #expect(Self.isNamed(authority, value) == isNamed)
    }

    @Test(
        "A URI is one of its own where scheme, host and port are",
        arguments: [
            (usual, "https://a.test/x", true), (usual, "https://A.test:443/x", true), (usual, "http://a.test/x", false),
            (usual, "http://a.test:443/x", false), (usual, "https://a.test:8443/x", false),
            (usual, "https://b.test/x", false), (usual, "https://a.test.b/x", false),
            (usual, "https://a.test./x", true),
            (other, "https://a.test:8443/x", true), (other, "https://a.test/x", false),
            (address, "https://[2001:db8::7]/", true),
        ])
    func origin(authority: SecureAuthority, uri: String, isOrigin: Bool) throws {
        #expect(authority.isOrigin(of: try TargetURI(uri)) == isOrigin)
    }

    @Test("In a URI the port stands where it is not 443")
    func text() {
        #expect(Self.usual.text == "a.test")
        #expect(Self.other.text == "a.test:8443")
        #expect(Self.address.text == "[2001:db8::7]")
    }
}
