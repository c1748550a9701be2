import Crypto
import ProxyTestKit
import SwiftASN1
import Testing
import X509

@testable import TLSTermination

@Suite("The certificate of a new authority")
struct AuthorityTemplateTests {
    private let random = RandomBytes { Array(repeating: 0xff, count: $0) }

    private func make(
        _ installation: String, hosts: [CertificateHost]? = nil, now: Int64 = AuthoritySandbox.noon
    ) throws -> Certificate {
        let template = AuthorityTemplate(installation: installation, hosts: hosts, now: now)
        return try Certificate(
            pemEncoded: try template.certificate(key: Certificate.PrivateKey(P256.Signing.PrivateKey()), random: random)
        )
    }

    @Test(
        "The common name tells installations apart, in at most 64 plain characters",
        arguments: [
            ("u@host", "u@host"), ("u ü\"<&>\n@h", "u--------@h"),
            (String(repeating: "u", count: 300), String(repeating: "u", count: 29)), ("", ""),
        ])
    func names(installation: String, shown: String) throws {
        let subject = try make(installation).subject
        #expect("\(subject)".contains("CN=subproxy CA ffffffff ("))
        let name = try #require(subject.last?.first.flatMap { String($0.value) } ?? nil)
        #expect(name == "subproxy CA ffffffff (\(shown), 2025-11-21)")
        #expect(name.utf8.count <= 64)
    }

    @Test("This process's user and machine are in it")
    func here() {
        #expect(AuthorityTemplate.here.hasSuffix("@\(Account.machine)"))
    }

    @Test("The serial number is positive, 16 bytes long and from the random source")
    func serial() throws {
        #expect(Array(try make("").serialNumber.bytes) == [0x7f] + [UInt8](repeating: 0xff, count: 15))
        #expect(CertificateSerial.make(RandomBytes { Array(repeating: 0, count: $0) }).bytes.first == 0x40)
        #expect(CertificateSerial.make(.system) != CertificateSerial.make(.system))
    }

    @Test(
        "Dates beyond 2049 are written and read", arguments: [2_524_607_999, 2_524_608_000, 3_000_000_000] as [Int64])
    func farDates(now: Int64) throws {
        let certificate = try make("", now: now)
        #expect(certificate.notBeforeSeconds == now - 86_400)
        #expect(certificate.notAfterSeconds == now + AuthorityTemplate.lifetime)
    }

    @Test("An authority for some hosts says so critically, and openssl holds it to that")
    func constraints() throws {
        let sandbox = AuthoritySandbox()
        let hosts = try ["a.test", "10.0.0.1"].map { try CertificateHost($0) }
        let authority = try sandbox.authority(permitting: hosts)
        let text = try sandbox.printed(authority.der)
        #expect(text.contains("X509v3 Name Constraints: critical"))
        #expect(text.contains("DNS:a.test"))
        #expect(text.contains("IP:10.0.0.1/255.255.255.255"))
        for host in ["a.test", "b.a.test", "10.0.0.1"] {
            #expect(try sandbox.verify(try sandbox.leaf(host).der, for: host).isValid)
        }
        for host in ["ba.test", "evil.test", "10.0.0.2", "::1"] {
            #expect(try sandbox.verify(try forged(host, authority), for: host).message.contains("permitted subtree"))
        }
    }

    @Test(
        "A kind of host that is not listed is excluded",
        arguments: [("a.test", ["10.0.0.1", "::1"]), ("::1", ["a.test"])])
    func otherKinds(permitted: String, others: [String]) throws {
        let sandbox = AuthoritySandbox()
        let authority = try sandbox.authority(permitting: [try CertificateHost(permitted)])
        #expect(try sandbox.verify(try sandbox.leaf(permitted).der, for: permitted).isValid)
        for host in others {
            #expect(try sandbox.verify(try forged(host, authority), for: host).message.contains("excluded subtree"))
        }
    }

    /// A certificate that ``LeafIssuer`` would refuse to sign.
    private func forged(_ host: String, _ authority: CertificateAuthority) throws -> [UInt8] {
        let host = try CertificateHost(host)
        let name =
            host.isAddress
            ? GeneralName.ipAddress(ASN1OctetString(contentBytes: host.address[...])) : .dnsName(host.text)
        let certificate = try Certificate(
            serialNumber: CertificateSerial.make(random), publicKey: authority.certificate.publicKey,
            validity: AuthoritySandbox.noon...AuthoritySandbox.noon, issuer: authority.certificate.subject,
            subject: DistinguishedName(),
            extensions: Certificate.Extensions {
                Critical(SubjectAlternativeNames([name]))
                try AuthorityKeyIdentifier(
                    keyIdentifier: authority.certificate.extensions.subjectKeyIdentifier?.keyIdentifier)
            }, issuerKey: authority.key)
        return try certificate.serializeAsPEM().derBytes
    }
}
