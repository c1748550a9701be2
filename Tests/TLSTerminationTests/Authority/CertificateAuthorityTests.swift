import Basics
import Crypto
import Glibc
import ProxyTestKit
import SwiftASN1
import Synchronization
import Testing
import X509

@testable import TLSTermination

@Suite("The certificate authority")
struct CertificateAuthorityTests {
    @Test("The certificate is one of an authority for servers, and of nothing below it")
    func properties() throws {
        let sandbox = AuthoritySandbox()
        let authority = try sandbox.authority()
        let extensions = authority.certificate.extensions
        #expect(try extensions.basicConstraints == .isCertificateAuthority(maxPathLength: 0))
        #expect(try extensions.keyUsage == KeyUsage(keyCertSign: true, cRLSign: true))
        #expect(extensions.filter(\.critical).count == 2)
        #expect(try extensions.subjectKeyIdentifier == SubjectKeyIdentifier(hash: authority.certificate.publicKey))
        #expect(try extensions.nameConstraints == nil)
        #expect(authority.certificate.signatureAlgorithm == .ecdsaWithSHA256)
        #expect(
            authority.certificate.publicKey.isValidSignature(
                authority.certificate.signature, for: authority.certificate))
        #expect(authority.certificate.serialNumber.bytes.count == 16)
        #expect(authority.certificate.notBeforeSeconds == AuthoritySandbox.noon - 86_400)
        #expect(authority.notAfter == AuthoritySandbox.noon + 3650 * 86_400)
        let text = try sandbox.printed(authority.der)
        for line in [
            "prime256v1", "CA:TRUE, pathlen:0", "Certificate Sign, CRL Sign", "O = subproxy, CN = \"subproxy CA ",
        ] {
            #expect(text.contains(line))
        }
    }

    @Test("Both files are PEM that openssl reads, and only the key's holds the key")
    func files() throws {
        let sandbox = AuthoritySandbox()
        let authority = try sandbox.authority()
        #expect(try sandbox.names() == ["ca-key.pem", "ca.pem"])
        #expect(try sandbox.text(of: "ca.pem") == authority.pem)
        #expect(authority.pem.hasSuffix("-----END CERTIFICATE-----\n"))
        #expect(try sandbox.text(of: "ca-key.pem").hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(try !sandbox.text(of: "ca.pem").contains("PRIVATE"))
        let key = try ChildProcess.run(["openssl", "pkey", "-in", sandbox.at("ca-key.pem"), "-pubout"])
        let certificate = try ChildProcess.run(["openssl", "x509", "-in", sandbox.at("ca.pem"), "-pubkey", "-noout"])
        #expect(key.output == certificate.output)
        let hash = try ChildProcess.run([
            "sh", "-c", "openssl pkey -in '\(sandbox.at("ca-key.pem"))' -pubout -outform der | sha256sum",
        ])
        #expect(hash.output.hasPrefix(Hexadecimal.text(authority.keyHash)))
        let print = try ChildProcess.run(
            ["openssl", "x509", "-in", sandbox.at("ca.pem"), "-noout", "-fingerprint", "-sha256"])
        let digits = print.output.lowercased().filter { $0 != ":" }
        #expect(digits.contains(Hexadecimal.text(authority.fingerprint)))
    }

    @Test("What was made is found again, also without making one")
    func persistence() throws {
        let sandbox = AuthoritySandbox()
        #expect(try CertificateAuthority.existing(in: sandbox.path, now: AuthoritySandbox.noon) == nil)
        #expect(try CertificateAuthority.existing(in: sandbox.at("missing"), now: AuthoritySandbox.noon) == nil)
        #expect(try sandbox.names().isEmpty)
        let made = try sandbox.authority()
        #expect(try sandbox.authority().der == made.der)
        let found = try CertificateAuthority.existing(in: sandbox.path, now: AuthoritySandbox.noon)
        #expect(found?.der == made.der)
        #expect(CertificateAuthority.certificatePath(in: sandbox.path) == sandbox.at("ca.pem"))
    }

    @Test("No two installations have the same name, key or serial number")
    func uniqueness() throws {
        let first = try AuthoritySandbox().authority()
        let second = try AuthoritySandbox().authority()
        #expect(first.name != second.name)
        #expect(first.name.hasPrefix("subproxy CA "))
        #expect(first.certificate.publicKey != second.certificate.publicKey)
        #expect(first.certificate.serialNumber != second.certificate.serialNumber)
    }

    @Test("Of many who start at once all get the same authority", arguments: 0..<20)
    func race(round: Int) throws {
        let sandbox = AuthoritySandbox()
        let path = sandbox.at("new/folder")
        let ready = Mutex(0)
        let results = Mutex<[[UInt8]]>([])
        for _ in 0..<4 {
            Threads.start {
                ready.withLock { $0 += 1 }
                while ready.withLock({ $0 < 4 }) { sched_yield() }
                let made = try? CertificateAuthority.open(in: path).der
                results.withLock { $0.append(made ?? []) }
            }
        }
        try Wait.until { results.withLock { $0.count == 4 } }
        let found = try CertificateAuthority.existing(in: path)
        #expect(results.withLock { Set($0) } == [found?.der])
        #expect(try ChildProcess.run(["ls", "-A", path]).output == "ca-key.pem\nca.pem\n")
    }

    @Test("A key that a crash left without its certificate is used, and an unfinished file is not")
    func crash() throws {
        let sandbox = AuthoritySandbox()
        let key = P256.Signing.PrivateKey()
        sandbox.write(key.pemRepresentation, to: "ca-key.pem")
        sandbox.write("-----BEGIN PRIV", to: ".draft-ca-key.pem.00")
        // A child of this process that is just being made holds the folder's lock for a moment.
        func areSwept() throws -> Bool {
            try Wait.holds {
                _ = try sandbox.authority()
                return try sandbox.names() == ["ca-key.pem", "ca.pem"]
            }
        }
        #expect(try sandbox.authority().certificate.publicKey == Certificate.PublicKey(key.publicKey))
        #expect(try areSwept())
        sandbox.write("-----BEGIN PRIV", to: ".draft-ca-key.pem.01")
        #expect(try areSwept())
    }

    @Test("An authority made elsewhere, of another kind of key, can be used")
    func foreign() throws {
        let sandbox = AuthoritySandbox()
        let made = try ChildProcess.run([
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Ours & <Co>", "-days", "30",
            "-keyout", sandbox.at("ca-key.pem"), "-out", sandbox.at("ca.pem"),
            "-addext", "nameConstraints=critical,permitted;DNS:a.test", "-addext", "keyUsage=critical,keyCertSign",
        ])
        #expect(made.status == 0)
        chmod(sandbox.at("ca-key.pem"), 0o600)
        let now = WallClock.system()
        let authority = try CertificateAuthority.open(in: sandbox.path, now: now)
        #expect(authority.name == "Ours & <Co>")
        #expect(try authority.permits(CertificateHost("b.a.test")))
        #expect(try !authority.permits(CertificateHost("b.test")))
        let leaf = try LeafIssuer(certificateAuthority: authority).leaf(for: CertificateHost("a.test"), now: now)
        #expect(leaf.validity.upperBound == authority.notAfter)
        let verdict = try sandbox.verify(leaf.der, for: "a.test", at: now)
        #expect(verdict.isValid, "\(verdict.message)")
    }

    @Test("A missing key, files that don't belong together, and rubbish are refused with what to do")
    func refusals() throws {
        func failure(_ spoil: (AuthoritySandbox) throws -> Void) throws -> AuthorityFailure? {
            let sandbox = AuthoritySandbox()
            _ = try sandbox.authority()
            try spoil(sandbox)
            let before = try sandbox.text(of: "ca.pem")
            let failure = #expect(throws: AuthorityFailure.self) { try sandbox.authority() }
            #expect(try sandbox.text(of: "ca.pem") == before)
            #expect(failure?.description.contains(sandbox.at("ca")) == true)
            #expect(failure?.description.contains("\n") == false)
            return failure
        }
        #expect(try failure { unlink($0.at("ca-key.pem")) }?.code == .keyMissing)
        #expect(try failure { chmod($0.at("ca-key.pem"), 0o644) }?.code == .exposed)
        #expect(try failure { $0.write("", to: "ca-key.pem") }?.code == .malformed)
        #expect(try failure { $0.write("", to: "ca.pem") }?.code == .malformed)
        #expect(try failure { $0.write("-----BEGIN CERTIFICATE-----", to: "ca.pem") }?.code == .malformed)
        #expect(
            try failure { $0.write(P256.Signing.PrivateKey().pemRepresentation, to: "ca-key.pem") }?.code == .mismatch)
        #expect(
            try failure { sandbox in
                sandbox.write(LeafText.pem(try sandbox.leaf("a.test").der), to: "ca.pem")
            }?.code == .notAuthority)
        let secret = P256.Signing.PrivateKey().pemRepresentation.dropLast(40)
        let spoilt = try failure { $0.write(String(secret), to: "ca-key.pem") }
        #expect(spoilt?.code == .malformed)
        #expect(spoilt?.description.contains(secret.split(separator: "\n")[1]) == false)
    }

    @Test(
        "An authority is used from its first to its last second",
        arguments: [
            (-86_401, .notYetValid), (-86_400, nil), (3650 * 86_400, nil), (3650 * 86_400 + 1, .expired),
        ] as [(Int64, AuthorityFailure.Code?)])
    func validity(offset: Int64, code: AuthorityFailure.Code?) throws {
        let sandbox = AuthoritySandbox()
        _ = try sandbox.authority()
        do {
            _ = try sandbox.authority(now: AuthoritySandbox.noon + offset)
            #expect(code == nil)
        } catch {
            #expect(error.code == code)
        }
    }
}
