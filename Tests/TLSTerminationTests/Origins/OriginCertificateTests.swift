import NIOSSL
import ProxyTestKit
import Testing

@testable import TLSTermination

@Suite("Origins' certificates")
struct OriginCertificateTests {
    private static let unknown = "certificate key or signature too weak or not known"

    @Test(
        "A name is the host's without regard to case, or stands for one label of it",
        arguments: [
            ("www.example.test", "www.example.test", true), ("WWW.Example.Test", "www.example.TEST", true),
            ("example.test", "www.example.test", false), ("www.example.test", "example.test", false),
            ("*.example.test", "www.example.test", true), ("*.example.test", "a.www.example.test", false),
            ("*.example.test", "example.test", false), ("*.example.test", ".example.test", false),
            ("*.test", "example.test", false), ("*", "example", false), ("*.", "example.", false),
            ("w*.example.test", "www.example.test", false), ("www.*.test", "www.example.test", false),
            ("*.example.test", "*.example.test", true), ("", "", false),
            ("www.example.test", "www.example.test\u{0}", false),
        ])
    func names(name: String, host: String, isMatch: Bool) {
        #expect(OriginCertificate.matches(name, Array(host.utf8)) == isMatch)
    }

    @Test("A certificate is for the name or the address that it names, and not for the other kind")
    func identities() throws {
        let sandbox = AuthoritySandbox()
        func refusal(_ named: String, _ host: String, isAddress: Bool) throws -> String? {
            let certificate = try NIOSSLCertificate(bytes: try sandbox.leaf(named).der, format: .der)
            return OriginCertificate.refusal(certificate, host: host, isAddress: isAddress)
        }
        #expect(try refusal("a.test", "a.test", isAddress: false) == nil)
        #expect(try refusal("127.0.0.1", "127.0.0.1", isAddress: true) == nil)
        #expect(try refusal("[2001:db8::1]", "2001:db8:0:0::1", isAddress: true) == nil)
        for (named, host, isAddress) in [
            ("a.test", "b.test", false), ("127.0.0.1", "a.test", false), ("a.test", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", true), ("127.0.0.1", "127.0.0.1", false), ("127.0.0.1", "", true),
        ] {
            #expect(
                try refusal(named, host, isAddress: isAddress)
                    == "no alternative certificate subject name matches target host name '\(host)'")
        }
    }

    @Test(
        "Weak signatures and keys are refused, also of a certificate that is right otherwise",
        arguments: [
            (["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "sha256", nil), (["rsa:2048"], "sha256", nil),
            (["rsa:1024"], "sha256", unknown), (["rsa:2047"], "sha256", unknown),
            (["rsa:2048"], "sha1", "certificate has a weak signature"),
            (["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "sha1", unknown),
        ] as [([String], String, String?)])
    func strength(key: [String], digest: String, reason: String?) throws {
        let sandbox = AuthoritySandbox()
        let authority = [
            "-x509", "-subj", "/CN=authority", "-keyout", sandbox.at("root.key"), "-out", sandbox.at("root.pem"),
        ]
        let leaf = [
            "-x509", "-subj", "/CN=leaf", "-addext", "subjectAltName=DNS:a.test", "-CA", sandbox.at("root.pem"),
            "-CAkey",
            sandbox.at("root.key"), "-keyout", sandbox.at("leaf.key"), "-out", sandbox.at("leaf.pem"),
        ]
        for arguments in [authority, leaf] {
            let made = try ChildProcess.run(["openssl", "req", "-noenc", "-newkey"] + key + ["-\(digest)"] + arguments)
            try #require(made.status == 0, "\(made.error)")
        }
        let certificate = try #require(try NIOSSLCertificate.fromPEMFile(sandbox.at("leaf.pem")).first)
        #expect(OriginCertificate.refusal(certificate, host: "a.test", isAddress: false) == reason)
    }
}
