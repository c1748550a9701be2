import Crypto
import SwiftASN1
import Testing
import X509

@testable import TLSTermination

@Suite("The certificates of decrypted hosts")
struct LeafIssuerTests {
    static let longName = String(repeating: "a", count: 60) + "." + String(repeating: "b", count: 60) + ".test"

    @Test(
        "A certificate names its host, in the right kind of name, and nothing else",
        arguments: [
            ("a.test", GeneralName.dnsName("a.test")), ("A.test.", .dnsName("a.test")),
            ("xn--bcher-kva.example", .dnsName("xn--bcher-kva.example")), ("_a.test", .dnsName("_a.test")),
            (longName, .dnsName(longName)), (CertificateHostTests.longest, .dnsName(CertificateHostTests.longest)),
            ("127.0.0.1", .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1]))),
            ("[::1]", .ipAddress(ASN1OctetString(contentBytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]))),
        ])
    func names(host: String, expected: GeneralName) throws {
        let certificate = try AuthoritySandbox().leaf(host).certificate
        let names = try #require(try certificate.extensions.subjectAlternativeNames)
        #expect(Array(names) == [expected])
        let hasSubject = try !CertificateHost(host).isAddress && host.utf8.count <= 64
        #expect(certificate.subject.isEmpty == !hasSubject)
        #expect(certificate.extensions[oid: .X509ExtensionID.subjectAlternativeName]?.critical == !hasSubject)
    }

    @Test("A certificate may authenticate a server, and do nothing else")
    func usages() throws {
        let sandbox = AuthoritySandbox()
        let authority = try sandbox.authority()
        let key = P256.Signing.PrivateKey()
        let issuer = try LeafIssuer(certificateAuthority: authority, key: key)
        let leaf = try issuer.leaf(for: CertificateHost("a.test"), now: AuthoritySandbox.noon)
        let extensions = leaf.certificate.extensions
        #expect(try extensions.basicConstraints == .notCertificateAuthority)
        #expect(try extensions.keyUsage == KeyUsage(digitalSignature: true))
        #expect(extensions[oid: .X509ExtensionID.keyUsage]?.critical == true)
        #expect(try extensions.extendedKeyUsage == ExtendedKeyUsage([.serverAuth]))
        let identifier = try authority.certificate.extensions.subjectKeyIdentifier?.keyIdentifier
        #expect(try extensions.authorityKeyIdentifier == AuthorityKeyIdentifier(keyIdentifier: identifier))
        #expect(extensions.count == 5)
        #expect(leaf.certificate.issuer == authority.certificate.subject)
        #expect(leaf.certificate.publicKey == Certificate.PublicKey(key.publicKey))
        #expect(try Certificate(derEncoded: leaf.der) == leaf.certificate)
        let text = try sandbox.printed(leaf.der)
        for line in [
            "prime256v1", "CA:FALSE", "Digital Signature\n", "TLS Web Server Authentication\n", "DNS:a.test\n",
            "CN = a.test\n",
        ] {
            #expect(text.contains(line))
        }
    }

    @Test("Certificates share a key, and have serial numbers of their own")
    func serials() throws {
        let issuer = try LeafIssuer(certificateAuthority: try AuthoritySandbox().authority())
        let leaves = try (0..<50).map { _ in try issuer.leaf(for: CertificateHost("a.test"), now: AuthoritySandbox.noon)
        }
        #expect(Set(leaves.map(\.certificate.serialNumber)).count == 50)
        #expect(leaves.allSatisfy { $0.certificate.serialNumber.bytes.count == 16 })
        #expect(Set(leaves.map(\.certificate.publicKey)).count == 1)
        #expect(leaves.first?.certificate.publicKey != issuer.certificateAuthority.certificate.publicKey)
    }

    @Test(
        "A certificate begins a day ago, lasts 198 days and not longer than the authority",
        arguments: [(0, 197 * 86_400 - 1), (3600 * 86_400, 3650 * 86_400), (3650 * 86_400, 3650 * 86_400)]
            as [(Int64, Int64)])
    func lifetime(offset: Int64, end: Int64) throws {
        let now = AuthoritySandbox.noon + offset
        let sandbox = AuthoritySandbox()
        _ = try sandbox.authority()
        let leaf = try sandbox.leaf("a.test", now: now)
        #expect(leaf.validity == now - 86_400...AuthoritySandbox.noon + end)
        #expect(leaf.certificate.notBeforeSeconds == leaf.validity.lowerBound)
        #expect(leaf.certificate.notAfterSeconds == leaf.validity.upperBound)
        #expect(leaf.certificate.notAfterSeconds - leaf.certificate.notBeforeSeconds < 198 * 86_400)
    }

    @Test(
        "A certificate is used until 30 days before its end, or as long as the authority lasts",
        arguments: [
            (0, -86_401, false), (0, -86_400, true), (0, 167 * 86_400 - 1, true), (0, 167 * 86_400, false),
            (3600 * 86_400, 50 * 86_400, true), (3600 * 86_400, 50 * 86_400 + 1, false),
        ] as [(Int64, Int64, Bool)])
    func renewal(offset: Int64, later: Int64, isUsable: Bool) throws {
        let now = AuthoritySandbox.noon + offset
        let sandbox = AuthoritySandbox()
        _ = try sandbox.authority()
        #expect(try sandbox.leaf("a.test", now: now).isUsable(at: now + later) == isUsable)
    }

    @Test(
        "openssl accepts a certificate for its host and for no other",
        arguments: [
            ("a.test", "b.test"), ("a.test", "b.a.test"), ("xn--bcher-kva.example", "bcher.example"),
            (longName, "a.test"), (CertificateHostTests.longest, "a.test"), ("localhost", "a.localhost"),
            ("_a.test", "a.test"), ("127.0.0.1", "127.0.0.2"), ("::1", "::2"), ("127.0.0.1", "a.test"),
        ])
    func verification(host: String, other: String) throws {
        let sandbox = AuthoritySandbox()
        let leaf = try sandbox.leaf(host)
        let own = try sandbox.verify(leaf.der, for: host)
        #expect(own.isValid, "\(own.message)")
        #expect(try !sandbox.verify(leaf.der, for: other).isValid)
        #expect(try !sandbox.verify(leaf.der, for: host, at: AuthoritySandbox.noon + 198 * 86_400).isValid)
    }

    @Test("No certificate is made for a host outside the authority's limits, nor by one that has expired")
    func refusals() throws {
        let sandbox = AuthoritySandbox()
        let issuer = try LeafIssuer(
            certificateAuthority: try sandbox.authority(permitting: [try CertificateHost("a.test")]))
        let outside = #expect(throws: AuthorityFailure.self) {
            try issuer.leaf(for: CertificateHost("b.test"), now: AuthoritySandbox.noon)
        }
        #expect(outside?.code == .hostNotPermitted)
        #expect(outside?.message.contains("b.test") == true)
        #expect(outside?.advice.contains("`subproxy ca uninstall --delete --ca-dir \(sandbox.path)`") == true)
        let late = #expect(throws: AuthorityFailure.self) {
            try issuer.leaf(for: CertificateHost("a.test"), now: issuer.certificateAuthority.notAfter + 1)
        }
        #expect(late?.code == .expired)
    }
}
